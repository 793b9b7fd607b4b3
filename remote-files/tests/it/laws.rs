//! What holds on every engine: the three suites, LevelDB's engine, and IndexedDB.

use crate::mortal::mortal;
use crate::setting::Setting;
use crate::support::namespace;
use crate::workload;
use larder_leveldb::{Db, Durability, ErrorKind};
use larder_remote_files::{Options, RemoteFileSystem};
use std::path::Path;
use std::time::Duration;

/// The tests of a real engine: of settings that a function makes, `None` if there is no server here, and with so many batches of processes that die.
#[cfg(feature = "engine")]
macro_rules! of_engine {
    ($setting:path, $batches:literal) => {
        #[test]
        fn it_keeps_both_contracts() {
            let Some(setting) = $setting() else { return };
            $crate::laws::contracts(&setting);
        }

        #[test]
        fn the_file_system_keeps_its_contract() {
            let Some(setting) = $setting() else { return };
            $crate::laws::file_system(&setting);
        }

        #[test]
        fn no_strict_write_is_lost_when_processes_die() {
            let Some(setting) = $setting() else { return };
            $crate::laws::dying(&setting, $batches);
        }

        #[test]
        fn the_engine_works_on_it_unchanged() {
            for law in [
                $crate::laws::taken_for_dead,
                $crate::laws::readers_elsewhere,
                $crate::laws::relaxed_writes,
            ] {
                let Some(setting) = $setting() else { return };
                law(&setting);
            }
        }

        #[test]
        fn databases_go_from_process_to_process() {
            let Some(setting) = $setting() else { return };
            $crate::databases::processes(&setting);
        }
    };
}
#[cfg(feature = "engine")]
pub(crate) use of_engine;

/// Catalogue and blobs.
#[cfg(feature = "engine")]
pub(crate) fn contracts(setting: &Setting) {
    larder_remote_files::conformance::catalogue(&*setting.catalogue).unwrap();
    larder_remote_files::conformance::blobs(&*setting.blobs, &namespace()).unwrap();
}

/// The file system, with chunks and delays of several sizes.
#[cfg(feature = "engine")]
pub(crate) fn file_system(setting: &Setting) {
    for (chunk_len, inline_len_max, flush_delay) in [
        (4096, 100, Duration::ZERO),
        (65_536, 16 << 10, Duration::from_secs(1)),
        (Options::CHUNK_LEN_MAX, 0, Duration::from_secs(1)),
    ] {
        let options = Options {
            chunk_len,
            inline_len_max,
            flush_delay,
            ..Options::default()
        };
        let session = setting.session();
        let wait = setting.lease;
        let fs = RemoteFileSystem::write(&session, &namespace(), options, wait).unwrap();
        let dir = format!("d{chunk_len}");
        larder_leveldb::storage::FileSystem::create_dir(&fs, Path::new(&dir)).unwrap();
        larder_leveldb::storage::conformance::check(&fs, Path::new(&dir)).unwrap();
        fs.close().unwrap();
    }
}

/// Processes follow one another; each dies at some request.
pub(crate) fn dying(setting: &Setting, batches_wanted: u32) {
    let (mut requests, mut acknowledged, mut batches) = (3, 0, 0);
    for number in 0..1000 {
        let dying = mortal(setting, requests, number % 2 == 0);
        let written = dying.take_of(&dying.cluster()).ok().and_then(|fs| {
            let db = Db::open(fs, Path::new("db"), workload::options()).ok()?;
            Some(workload::write(&db, workload::found(&db).ok()?, 60))
        });
        acknowledged = acknowledged.max(written.unwrap_or(0));
        requests = requests * 4 / 3 + 1;
        let fs = setting.take();
        if fs.metadata(Path::new("db/CURRENT")).is_ok() {
            let db = Db::open_read_only(fs, Path::new("db"), workload::options()).unwrap();
            batches = workload::found(&db).unwrap();
            assert!(
                batches >= acknowledged,
                "process {number}: {batches} of {acknowledged}"
            );
            workload::check(&db, batches);
        }
        if batches >= batches_wanted {
            return;
        }
    }
    panic!("{batches}");
}

/// A process that was taken for dead writes nothing more, and its store says that it is lost.
pub(crate) fn taken_for_dead(setting: &Setting) {
    let open = || Db::open(setting.take(), Path::new("db"), workload::options()).unwrap();
    let old = open();
    assert_eq!(workload::write(&old, 0, 5), 5);
    let new = open();
    assert_eq!(workload::write(&new, 5, 5), 10);
    let error = old.put(b"stale", b"x", Durability::Strict).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Conflict | ErrorKind::Uncertain | ErrorKind::Io
        ),
        "{error:?}"
    );
    let error = old.put(b"stale", b"x", Durability::Relaxed).unwrap_err();
    assert!(error.to_string().contains("open"), "{error}");
    drop(old);
    workload::check(&new, 10);
    assert_eq!(new.get(b"stale").unwrap(), None);
}

/// A reader elsewhere sees the last strict write.
pub(crate) fn readers_elsewhere(setting: &Setting) {
    let db = Db::open(setting.take(), Path::new("db"), workload::options()).unwrap();
    for batch in [3, 40, 41, 120] {
        let from = workload::found(&db).unwrap();
        workload::write(&db, from, batch - from);
        let elsewhere = setting.reader();
        let elsewhere =
            Db::open_read_only(elsewhere, Path::new("db"), workload::options()).unwrap();
        assert!(elsewhere.lock_holder().is_some());
        assert_eq!(workload::found(&elsewhere).unwrap(), batch);
        workload::check(&elsewhere, batch);
    }
}

/// What a relaxed write has put is there for the next process after the delay.
pub(crate) fn relaxed_writes(setting: &Setting) {
    let db = Db::open(setting.take(), Path::new("db"), workload::options()).unwrap();
    db.put(b"early", b"x", Durability::Relaxed).unwrap();
    let delay = Options::default().flush_delay + Duration::from_millis(1);
    setting.clock.wait(delay);
    db.put(b"later", b"x", Durability::Relaxed).unwrap();
    std::mem::forget(db);
    let next = Db::open(setting.take(), Path::new("db"), workload::options()).unwrap();
    assert!(next.get(b"early").unwrap().is_some() && next.get(b"later").unwrap().is_some());
}

mod on_the_model {
    use super::*;
    use crate::support::{Bench, LEASE};
    use std::sync::Arc;

    #[test]
    fn a_store_of_a_process_that_was_taken_for_dead_says_that_it_is_lost() {
        taken_for_dead(&Setting::of_model());
    }

    #[test]
    fn a_reader_elsewhere_sees_the_last_strict_write() {
        readers_elsewhere(&Setting::of_model());
    }

    #[test]
    fn relaxed_writes_are_there_for_the_next_process_after_the_delay() {
        relaxed_writes(&Setting::of_model());
    }

    #[test]
    fn relaxed_writes_of_the_last_moment_go_with_their_process() {
        let bench = Bench::new();
        let take = |number| {
            let session = bench.session(number);
            let fs = RemoteFileSystem::write(&session, &namespace(), Options::default(), LEASE * 3);
            Db::open(Arc::new(fs.unwrap()), Path::new("db"), workload::options()).unwrap()
        };
        let db = take(1);
        db.put(b"last", b"x", Durability::Relaxed).unwrap();
        std::mem::forget(db);
        assert_eq!(take(2).get(b"last").unwrap(), None);
    }

    #[test]
    fn no_strict_write_is_lost_when_processes_die() {
        dying(&Setting::of_model(), 200);
    }
}
