//! The reserve's room is for what asks for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, thread};

use larder_leveldb::storage::{Fault, FaultFileSystem, FileSystem as _, Manner};

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

/// Puts a row with a disk that is full from the so-manieth operation of it on: what the last error and every try are.
fn put_on_a_full_disk(from: u64) -> (ErrorKind, Vec<ErrorKind>) {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let mut options = options();
    options.create_if_missing = true;
    let store = BackingStore::open(fs.clone(), paths(), options).unwrap();
    store.settle().unwrap();
    fs.set_manner(Manner {
        raw_os_error: Some(28),
        ..Manner::default()
    });
    fs.fail_at(Fault {
        operation: fs.operations() + from,
        kind: io::ErrorKind::Other,
        every_later_too: true,
    });
    let mut tries = Vec::new();
    let done = store.core.with_reserve(|_| {
        let put = store.core.db.put(b"key", b"value", Durability::Strict);
        let put = put.map_err(Error::from);
        tries.extend(put.as_ref().err().map(Error::kind));
        put
    });
    (done.unwrap_err().kind(), tries)
}

#[test]
fn what_nothing_is_certain_of_is_not_tried_again() {
    let outcomes = [1, 2, 3, 4].map(put_on_a_full_disk);
    assert!(outcomes.iter().any(|(_, tries)| tries.len() == 2));
    let is_uncertain = |(_, tries): &&(ErrorKind, Vec<ErrorKind>)| tries[0] == ErrorKind::Uncertain;
    let uncertain = outcomes.iter().filter(is_uncertain);
    let uncertain = Vec::from_iter(uncertain);
    assert!(!uncertain.is_empty(), "{outcomes:?}");
    for (error, tries) in uncertain {
        assert_eq!((*error, tries.len()), (ErrorKind::Uncertain, 1));
    }
}
