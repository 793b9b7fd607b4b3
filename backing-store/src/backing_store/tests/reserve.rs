//! The reserve's room is for what asks for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, thread};

use larder_leveldb::storage::{FaultFileSystem, FileSystem as _};

use super::*;
use crate::backing_store::reserve::RESERVE;

/// Rows enough that several memtables become tables.
fn write_many(store: &BackingStore) {
    for n in 0..200_u32 {
        let key = [&[0, 0, 0, 0, 201][..], &n.to_be_bytes()].concat();
        let db = &store.core.db;
        db.put(&key, &[7; 300], Durability::Relaxed).unwrap();
    }
    store.core.db.flush().unwrap();
}

#[test]
fn what_uses_the_reserve_has_no_background_work_beside_it() {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let of_others = Arc::new(AtomicU64::new(0));
    let (here, counted) = (thread::current().id(), of_others.clone());
    fs.watch(move |_| {
        if thread::current().id() != here {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut options = options();
    options.create_if_missing = true;
    options.background = Background::Thread;
    options.write_buffer_bytes = 10_000;
    let store = BackingStore::open(fs.clone(), paths(), options).unwrap();
    store.settle().unwrap();
    let reserve = paths().leveldb.join(RESERVE);
    assert!(fs.metadata(&reserve).is_ok());
    let mut runs = Vec::new();
    let done = store.core.with_reserve(|has_no_reserve| {
        assert_eq!(fs.metadata(&reserve).is_err(), has_no_reserve);
        let before = of_others.load(Ordering::SeqCst);
        write_many(&store);
        let is_alone = of_others.load(Ordering::SeqCst) == before;
        runs.push((has_no_reserve, is_alone));
        match has_no_reserve {
            true => Ok(()),
            false => {
                let error = io::Error::from(io::ErrorKind::StorageFull);
                Err(Error::io(&reserve, "cannot be written", error))
            }
        }
    });
    done.unwrap();
    assert_eq!(runs, [(false, false), (true, true)]);
}
