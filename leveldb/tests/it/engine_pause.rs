//! Background work that is held up: no other thread touches a file meanwhile, and writers get on.

use larder_leveldb::storage::{FaultFileSystem, MemoryFileSystem};
use larder_leveldb::{Db, Durability, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// A store with small memtables, and how many file operations other threads than this have done.
fn open() -> (Db, Arc<AtomicU64>) {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let of_others = Arc::new(AtomicU64::new(0));
    let (here, counted) = (thread::current().id(), of_others.clone());
    fs.watch(move |_| {
        if thread::current().id() != here {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let options = Options {
        create_if_missing: true,
        write_buffer_bytes: 4000,
        table_file_bytes: 3000,
        ..Options::default()
    };
    let db = Db::open(Arc::new(fs), Path::new("db"), options).unwrap();
    (db, of_others)
}

/// Memtables enough that level 0 would stop writers.
fn write_many(db: &Db) {
    for n in 0..400_u32 {
        db.put(&n.to_be_bytes(), &[7; 300], Durability::Relaxed)
            .unwrap();
    }
}

#[test]
fn no_other_thread_touches_a_file_while_background_work_is_paused() {
    let (db, of_others) = open();
    write_many(&db);
    let pause = db.pause_background().unwrap();
    let before = of_others.load(Ordering::SeqCst);
    write_many(&db);
    db.flush().unwrap();
    let another = db.pause_background().unwrap();
    drop(pause);
    write_many(&db);
    assert_eq!(of_others.load(Ordering::SeqCst), before);
    drop(another);
    // The thread goes on.
    write_many(&db);
    db.flush().unwrap();
    assert!(of_others.load(Ordering::SeqCst) > before);
    for n in 0..400_u32 {
        assert!(db.get(&n.to_be_bytes()).unwrap().is_some(), "{n}");
    }
}

#[test]
fn what_is_due_is_done_when_the_pause_ends() {
    let (db, _) = open();
    let level_0 = || db.statistics().levels[0].tables;
    let pause = db.pause_background().unwrap();
    while level_0() < 4 {
        db.put(b"key", &[7; 1000], Durability::Relaxed).unwrap();
    }
    // The last write has woken the thread, and it finds the pause.
    thread::sleep(Duration::from_millis(50));
    drop(pause);
    // Nothing else wakes it.
    let is_done = |_| {
        thread::sleep(Duration::from_millis(1));
        level_0() < 4
    };
    assert!((0..60_000).any(is_done), "nothing is done");
}
