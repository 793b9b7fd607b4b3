//! A byte changed or a file cut, anywhere: nothing wrong is shown as if it were right.

use crate::store::{Operation, StoreBuilder, get_file, open, put_file};
use crate::support::sampled;
use larder_leveldb::file_name::FileName;
use larder_leveldb::storage::{CrashImage, FileSystem, MemoryFileSystem};
use larder_leveldb::{Db, Iter, OnDamage, Options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(on_damage: OnDamage) -> Options {
    Options {
        on_damage,
        log_value_bytes: 500,
        ..Options::default()
    }
}

/// Reproducible numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Keys are overwritten and deleted over and over, through all levels.
fn operations(count: usize, seed: u64) -> Vec<Operation> {
    let mut random = Random(seed);
    let operation = |i: usize| {
        let key = format!("key{:03}", random.below(90)).into_bytes();
        let len = if random.below(40) == 0 {
            700
        } else {
            random.below(30) as usize
        };
        let value = format!("{i}:{}", "v".repeat(len)).into_bytes();
        (key, (random.below(4) > 0).then_some(value))
    };
    (0..count).map(operation).collect()
}

fn truth(operations: &[Operation]) -> Map {
    let mut map = Map::new();
    for (key, value) in operations {
        match value {
            Some(value) => drop(map.insert(key.clone(), value.clone())),
            None => drop(map.remove(key)),
        }
    }
    map
}

fn rows(iter: &mut Iter, backward: bool) -> larder_leveldb::Result<Map> {
    let mut rows = Map::new();
    if backward {
        iter.seek_to_last()?
    } else {
        iter.seek_to_first()?
    }
    while iter.valid() {
        assert!(
            rows.insert(iter.key().to_vec(), iter.value()?.to_vec())
                .is_none(),
            "a key came twice"
        );
        if backward { iter.prev()? } else { iter.next()? }
    }
    Ok(rows)
}

/// `may_be_outdated`: whether the damage list may say that rows are outdated.
fn check_skipping(
    fs: &MemoryFileSystem,
    truth: &Map,
    keys: &[Vec<u8>],
    may_be_outdated: bool,
    case: &str,
) {
    let db = match open(fs, options(OnDamage::Skip)) {
        Ok(db) => db,
        Err(error) => panic!("{case}: {error}"),
    };
    let forward = rows(&mut db.snapshot().iter(), false).unwrap();
    let backward = rows(&mut db.snapshot().iter(), true).unwrap();
    let gets: Vec<_> = keys
        .iter()
        .map(|key| (key, db.snapshot().get(key)))
        .collect();
    let damage = db.damage();
    if damage.iter().any(|damage| damage.outdated_possible) {
        assert!(may_be_outdated, "{case}: {damage:#?}");
        return;
    }
    assert_eq!(forward, backward, "{case}: {damage:#?}");
    for (key, value) in &forward {
        assert_eq!(
            Some(value),
            truth.get(key),
            "{case}: {:?} {damage:#?}",
            String::from_utf8_lossy(key)
        );
    }
    assert!(
        forward.len() == truth.len() || !damage.is_empty(),
        "{case}: rows vanished silently"
    );
    for (key, got) in gets {
        match got {
            Ok(value) => assert_eq!(
                value.as_ref(),
                truth.get(key),
                "{case}: get {key:?} {damage:#?}"
            ),
            Err(error) => assert_eq!(
                error.kind(),
                larder_leveldb::ErrorKind::Corruption,
                "{case}: {error}"
            ),
        }
    }
}

fn check_failing(fs: &MemoryFileSystem, truth: &Map, case: &str) {
    let all = |db: Db| {
        let forward = rows(&mut db.snapshot().iter(), false)?;
        let backward = rows(&mut db.snapshot().iter(), true)?;
        assert_eq!(forward, backward, "{case}");
        Ok::<Map, larder_leveldb::Error>(forward)
    };
    if let Ok(shown) = open(fs, options(OnDamage::Fail)).and_then(all) {
        assert_eq!(shown, *truth, "{case}: wrong and no error");
    }
}

fn files(fs: &MemoryFileSystem) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new("store")).unwrap();
    names.sort();
    names
        .iter()
        .map(|name| Path::new("store").join(name))
        .collect()
}

fn all_keys() -> Vec<Vec<u8>> {
    (0..90).map(|i| format!("key{i:03}").into_bytes()).collect()
}

#[test]
fn a_byte_changed_anywhere_shows_nothing_wrong() {
    let operations = operations(600, 1);
    let (truth, keys) = (truth(&operations), all_keys());
    let store = StoreBuilder::spread(&operations);
    check_skipping(&store.fs, &truth, &keys, false, "undamaged");
    assert_eq!(store.open(options(OnDamage::Skip)).unwrap().damage(), []);
    let mut random = Random(2);
    for path in files(&store.fs) {
        let whole = get_file(&store.fs, &path);
        // In all other files a single byte is enough known about to say which rows it touches.
        let is_map = path.ends_with("CURRENT") || path.ends_with("MANIFEST-000001");
        for at in (0..whole.len()).step_by(sampled(7)) {
            let bits = 1 << random.below(8);
            let bits = if random.below(2) == 0 {
                bits
            } else {
                1 + random.below(255) as u8
            };
            let case = format!(
                "{} byte {at} of {} ^ {bits:02x}",
                path.display(),
                whole.len()
            );
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            put_file(&store.fs, &path, &damaged);
            check_skipping(&store.fs, &truth, &keys, is_map, &case);
            check_failing(&store.fs, &truth, &case);
        }
        put_file(&store.fs, &path, &whole);
    }
}

#[test]
fn a_table_cut_anywhere_shows_nothing_wrong_and_what_is_left_of_it() {
    let operations = operations(600, 3);
    let (truth, keys) = (truth(&operations), all_keys());
    let store = StoreBuilder::spread(&operations);
    for path in files(&store.fs) {
        let is_table = path
            .extension()
            .is_some_and(|suffix| suffix == "ldb" || suffix == "sst");
        if !is_table {
            continue;
        }
        let whole = get_file(&store.fs, &path);
        for len in (0..whole.len()).step_by(sampled(7)) {
            let case = format!("{} cut to {len} of {} bytes", path.display(), whole.len());
            put_file(&store.fs, &path, &whole[..len]);
            check_skipping(&store.fs, &truth, &keys, false, &case);
            check_failing(&store.fs, &truth, &case);
        }
        store.fs.remove(&path).unwrap();
        check_skipping(
            &store.fs,
            &truth,
            &keys,
            false,
            &format!("{} removed", path.display()),
        );
        assert!(open(&store.fs, options(OnDamage::Fail)).is_err());
        put_file(&store.fs, &path, &whole);
    }
}

#[test]
fn a_log_cut_anywhere_shows_the_batches_before_the_cut() {
    let operations = operations(600, 4);
    let store = StoreBuilder::spread(&operations);
    let path = files(&store.fs)
        .into_iter()
        .rfind(|path| path.extension().is_some_and(|s| s == "log"))
        .unwrap();
    let whole = get_file(&store.fs, &path);
    let (mut untorn, mut counts) = (0, std::collections::BTreeSet::new());
    for len in 0..=whole.len() {
        put_file(&store.fs, &path, &whole[..len]);
        let db = open(&store.fs, options(OnDamage::Fail)).unwrap();
        let shown = rows(&mut db.snapshot().iter(), false).unwrap();
        let count = db.latest_sequence() as usize;
        assert_eq!(shown, truth(&operations[..count]), "cut to {len}");
        counts.insert(count);
        untorn += usize::from(db.torn_tails().is_empty());
        assert_eq!(
            open(&store.fs, options(OnDamage::Skip)).unwrap().damage(),
            []
        );
    }
    // Three operations a batch, and the log holds the last fifty. Between two batches nothing is torn.
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [vec![550], (553..600).step_by(3).collect(), vec![600]].concat()
    );
    assert_eq!(untorn, 18);
}

#[test]
fn current_and_manifest_gone_or_cut_show_everything_and_say_so() {
    let operations = operations(600, 5);
    let (truth, keys) = (truth(&operations), all_keys());
    let store = StoreBuilder::spread(&operations);
    for name in [FileName::Current, FileName::Manifest(1)] {
        let path = store.path(name);
        let whole = get_file(&store.fs, &path);
        for len in 0..=whole.len() {
            if len == whole.len() {
                store.fs.remove(&path).unwrap();
            } else {
                put_file(&store.fs, &path, &whole[..len]);
            }
            let case = format!("{} cut to {len}", path.display());
            let db = open(&store.fs, options(OnDamage::Skip)).unwrap();
            assert!(!db.damage().is_empty(), "{case}");
            // Nothing was compacted away here, so the sequence numbers are all the information that is needed.
            assert_eq!(
                rows(&mut db.snapshot().iter(), false).unwrap(),
                truth,
                "{case}"
            );
            assert_eq!(
                rows(&mut db.snapshot().iter(), true).unwrap(),
                truth,
                "{case}"
            );
            check_skipping(&store.fs, &truth, &keys, true, &case);
            assert!(open(&store.fs, options(OnDamage::Fail)).is_err(), "{case}");
        }
        put_file(&store.fs, &path, &whole);
    }
}

#[test]
fn blocks_of_zeros_anywhere_show_nothing_wrong() {
    let operations = operations(2000, 6);
    let (truth, keys) = (truth(&operations), all_keys());
    let store = StoreBuilder::spread(&operations);
    for path in files(&store.fs) {
        let whole = get_file(&store.fs, &path);
        for start in (0..whole.len()).step_by(64) {
            let mut damaged = whole.clone();
            let end = (start + 512).min(whole.len());
            damaged[start..end].fill(0);
            put_file(&store.fs, &path, &damaged);
            // The end of a log that was never written, and nothing after it: as a crash leaves it.
            let is_torn =
                end == whole.len() && path.extension().is_some_and(|suffix| suffix == "log");
            if !is_torn {
                let case = format!("{} bytes {start}..{end} zeroed", path.display());
                check_skipping(&store.fs, &truth, &keys, true, &case);
                // A log without a word of a sync ends there, as after a power cut, and says so.
                let opened = open(&store.fs, options(OnDamage::Fail));
                match opened.as_ref().map(Db::torn_tails) {
                    Ok([tail, ..]) => {
                        assert!(path.ends_with(&tail.file), "{case}: {tail}");
                        let count = opened.as_ref().unwrap().latest_sequence() as usize;
                        let truth = self::truth(&operations[..count]);
                        check_failing(&store.fs, &truth, &case);
                    }
                    _ => check_failing(&store.fs, &truth, &case),
                }
            }
        }
        put_file(&store.fs, &path, &whole);
    }
}

#[test]
fn reading_changes_nothing() {
    let store = StoreBuilder::spread(&operations(300, 7));
    let before: Vec<_> = files(&store.fs)
        .iter()
        .map(|path| get_file(&store.fs, path))
        .collect();
    let names = files(&store.fs);
    let db = store.open(options(OnDamage::Skip)).unwrap();
    rows(&mut db.snapshot().iter(), false).unwrap();
    let image = store.fs.crash_image(CrashImage::KeepWritten);
    assert_eq!(files(&image), names);
    let after: Vec<_> = names.iter().map(|path| get_file(&image, path)).collect();
    assert!(before == after);
}
