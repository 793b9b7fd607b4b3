//! Threads that write while others hold up the background work.

use super::{explore, key_of, options, size};
use crate::storage::MemoryFileSystem;
use crate::sync::thread;
use crate::{Db, Durability};
use std::path::Path;
use std::sync::Arc;

/// Two threads write, of which one pauses the work every few writes, and a third pauses it, too.
fn write_with_pauses() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = &Db::open(fs, Path::new("db"), options()).unwrap();
    let count = size(400, 6) as usize;
    thread::scope(|scope| {
        for part in [0, 1] {
            scope.spawn(move || {
                for n in (part..count).step_by(2) {
                    let pause = (part == 0 && n % 4 == 0).then(|| db.pause_background().unwrap());
                    db.put(&key_of(n), &[0; 300], Durability::Relaxed).unwrap();
                    if n % 6 == 0 {
                        db.flush().unwrap();
                    }
                    drop(pause);
                }
            });
        }
        scope.spawn(move || {
            for _ in 0..size(50, 2) {
                drop(db.pause_background().unwrap());
            }
        });
    });
    for n in 0..count {
        assert!(db.get(&key_of(n)).unwrap().is_some(), "{n}");
    }
}

#[test]
fn writers_get_on_though_background_work_is_paused() {
    explore(size(0, 400) as usize, |_| write_with_pauses());
}
