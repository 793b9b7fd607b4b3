//! Repair beside C++ LevelDB's, on the same damaged stores.

use super::*;

#[expect(clippy::disallowed_methods, reason = "tests damage stores")]
#[test]
fn cpp_leveldb_opens_what_was_repaired_and_its_own_repair_finds_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ours_total, mut theirs_total) = (0, 0);
    for seed in 1..=6u64 {
        let comparator = if seed % 2 == 0 { "idb" } else { "bytewise" };
        let path = |name: &str| dir.path().join(format!("{name}-{seed}"));
        let (store, ours, theirs, dumped) =
            (path("store"), path("ours"), path("theirs"), path("dumped"));
        let make = [
            "make",
            store.to_str().unwrap(),
            &seed.to_string(),
            "3000",
            comparator,
            "snappy",
        ];
        if run_oracle(&make).is_none() {
            return;
        }
        copy_dir(&store, &dumped);
        let (truth, _) = oracle_dump(&dumped, comparator).unwrap();
        let truth: Map = truth.into_iter().collect();
        let options = crate::support::options(comparator, OnDamage::Fail);
        damage(&store, seed);
        copy_dir(&store, &ours);
        copy_dir(&store, &theirs);
        let fs = Arc::new(DiskFileSystem::new());
        let repaired = repair(fs, &ours, &options, RowsInDoubt::BringBack).unwrap();
        let rows = forward(&open_disk(&ours, options).unwrap()).unwrap();
        let (cpp_forward, mut cpp_backward) = oracle_dump(&ours, comparator).unwrap();
        cpp_backward.reverse();
        assert!(rows == cpp_forward && rows == cpp_backward, "seed {seed}");
        assert_eq!(rows.len() as u64, repaired.rows);
        // Not a dump: rows of it need not be found by get.
        let theirs = oracle_repair(&theirs, comparator).unwrap();
        let right = |rows: &Rows| {
            rows.iter()
                .filter(|(key, value)| truth.get(key) == Some(value))
                .count()
        };
        let ours: Map = rows.iter().cloned().collect();
        for (key, value) in theirs
            .iter()
            .filter(|(key, value)| truth.get(key) == Some(value))
        {
            assert_eq!(ours.get(key), Some(value), "seed {seed}: {key:?}");
        }
        println!(
            "seed {seed}, {comparator}: {} rows; ours {} right and {} outdated, theirs {} and {}",
            truth.len(),
            right(&rows),
            rows.len() - right(&rows),
            right(&theirs),
            theirs.len() - right(&theirs),
        );
        ours_total += right(&rows);
        theirs_total += right(&theirs);
    }
    assert!(ours_total > theirs_total);
    println!("{ours_total} right rows, C++ LevelDB {theirs_total}");

    /// A byte of each table. Not of logs: C++ LevelDB's repair takes their records without looking at checksums.
    fn damage(store: &Path, seed: u64) {
        let names = std::fs::read_dir(store).unwrap();
        let mut names: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let is_table = |path: &&PathBuf| path.extension().is_some_and(|suffix| suffix == "ldb");
        for (i, path) in names.iter().filter(is_table).enumerate() {
            let mut bytes = std::fs::read(path).unwrap();
            if bytes.len() < 48 {
                // C++ LevelDB had just begun it when it was killed.
                continue;
            }
            let at = bytes.len() * (3 + (seed as usize + i) % 5) / 9;
            bytes[at] ^= 0x20;
            if i % 4 == 1 {
                // Without its footer a table is lost to C++ LevelDB.
                bytes.truncate(bytes.len() - 48);
            }
            std::fs::write(path, bytes).unwrap();
        }
        if seed.is_multiple_of(3) {
            std::fs::remove_file(store.join("CURRENT")).unwrap();
        }
    }
}
