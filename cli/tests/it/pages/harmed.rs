//! Cut files and flipped bits: no panic, no entry that was not put, and nothing missing in silence.

use std::collections::BTreeSet;

use larder_fixtures::sampled;
use larder_leveldb::{Db, Options};

use super::*;

/// A repository with a page of a few commits, in tables and a log.
fn prepare(dir: &Path) {
    let repository = open(dir);
    let page = page(&repository, b"l", PageId::ROOT);
    let mut base = Commit::first();
    for n in 0..12_u8 {
        let key = |m: u8| format!("key{:03}", u32::from(n) * 20 + u32::from(m)).into_bytes();
        let keys: Vec<_> = (0..20).map(key).collect();
        let value = [b'a' + n; 60];
        let changes: Vec<_> = keys
            .iter()
            .map(|key| (&key[..], Some(&value[..])))
            .collect();
        base = commit(&page, &base, &changes, i64::from(n) * SECOND);
    }
    page.close(Timestamp(20 * SECOND)).unwrap();
    drop(repository);
}

/// Makes a table of the page's log.
fn compact(leveldb: &Path) {
    let fs = Arc::new(DiskFileSystem::new());
    let db = Db::open(fs, leveldb, Options::default()).unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
}

/// Harms of a file: a bit flipped at every so many bytes, and its end gone from there on.
fn harms(bytes: &[u8], count: usize) -> Vec<(String, Vec<u8>)> {
    let step = (bytes.len() / count).max(1);
    let flips = (0..bytes.len()).step_by(step).map(|at| {
        let mut harmed = bytes.to_vec();
        harmed[at] ^= 1 << (at % 8);
        (format!("bit {} of byte {at} flipped", at % 8), harmed)
    });
    let cuts = (0..bytes.len())
        .step_by(step * 2)
        .map(|at| (format!("cut at {at}"), bytes[..at].to_vec()));
    flips.chain(cuts).collect()
}

const COMMANDS: [&[&str]; 5] = [
    &["ls"],
    &["log"],
    &["show"],
    &["diff", "first", "head", "--values"],
    &["gc", "--dry-run", "--prune"],
];

/// What the commands print of the whole repository, by command.
fn whole(dir: &Path) -> Vec<BTreeSet<String>> {
    let printed = COMMANDS.iter().map(|words| printed(dir, words));
    printed
        .map(|text| text.lines().map(str::to_owned).collect())
        .collect()
}

/// What is wrong with what the commands say of a harmed repository, if anything is.
fn fault(dir: &Path, whole: &[BTreeSet<String>]) -> Option<String> {
    for (words, whole) in COMMANDS.iter().zip(whole) {
        let output = pages(dir, words);
        let (said, code) = (stderr(&output), output.status.code());
        if said.contains("panicked") || code.is_none_or(|code| code > 3) {
            return Some(format!("{words:?}: {code:?}: {said}"));
        }
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        let is_of_entries = ["show", "diff"].contains(&words[0]);
        // The head may be an older one, if what a crash may leave is left; values that cannot be read are named.
        let is_new = |line: &&String| {
            !whole.contains(*line)
                && !line.ends_with("(unreadable)")
                && !line.ends_with("(not on this device)")
        };
        if let Some(line) = lines.iter().find(is_new).filter(|_| is_of_entries) {
            return Some(format!("{words:?}: not put: {line}"));
        }
        if is_of_entries && lines.len() < whole.len() && said.is_empty() {
            return Some(format!(
                "{words:?}: {} of {} in silence",
                lines.len(),
                whole.len()
            ));
        }
    }
    None
}

#[test]
fn whatever_byte_is_harmed_it_is_said_and_no_entry_is_made_up() {
    for is_compacted in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let good = dir.path().join("good");
        prepare(&good);
        if is_compacted {
            let listed = lines(&good, &["ls", "--json"]);
            compact(Path::new(listed[0]["path"].as_str().unwrap()));
        }
        let whole = whole(&good);
        assert!(whole.iter().all(|lines| !lines.is_empty()));
        let harmed = dir.path().join("harmed");
        copy(&good, &harmed);
        let (mut count, mut faults) = (0, Vec::new());
        for (path, bytes) in files(&good) {
            let path = harmed.join(path.strip_prefix(&good).unwrap());
            for (what, changed) in harms(&bytes, 12 / sampled(2)) {
                fs::write(&path, changed).unwrap();
                count += 1;
                let name = path.strip_prefix(&harmed).unwrap().display();
                faults
                    .extend(fault(&harmed, &whole).map(|fault| format!("{name}: {what}: {fault}")));
            }
            fs::remove_file(&path).unwrap();
            faults.extend(
                fault(&harmed, &whole).map(|fault| format!("{}: gone: {fault}", path.display())),
            );
            fs::write(&path, &bytes).unwrap();
        }
        println!("{count} harms");
        assert!(
            count > 50 && faults.is_empty(),
            "{count} harms: {}",
            faults.join("\n")
        );
    }
}

#[test]
fn what_a_damaged_block_does_not_have_comes_out_and_the_exit_status_is_1() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let leveldb = lines(dir.path(), &["ls", "--json"])[0]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    compact(Path::new(&leveldb));
    let all = printed(dir.path(), &["show"]);
    let table = files(Path::new(&leveldb))
        .into_iter()
        .find(|(path, _)| path.extension().is_some_and(|extension| extension == "ldb"));
    let (path, bytes) = table.unwrap();
    let (mut partial, mut count) = (0, 0);
    for at in (0..bytes.len() * 3 / 4).step_by(bytes.len() / 24) {
        let mut harmed = bytes.clone();
        harmed[at] ^= 0x10;
        fs::write(&path, harmed).unwrap();
        let output = pages(dir.path(), &["show"]);
        if output.status.success() {
            // That block has rows that showing a head does not need.
            assert_eq!(output.stdout, all.as_bytes());
            continue;
        }
        count += 1;
        let said = stderr(&output);
        assert!(said.contains("damaged: "), "{said}");
        let shown = String::from_utf8(output.stdout).unwrap();
        let is_of_all = |line: &&str| all.contains(*line);
        partial += u32::from(shown.lines().filter(is_of_all).count() > 20);
        let log = pages(dir.path(), &["log", "--json"]);
        assert!(log.status.code() < Some(2), "{}", stderr(&log));
    }
    println!("{partial} of {count} damaged tables still showed entries");
    assert!(partial > 3, "{partial} of {count}");
}
