//! Two stores on one pool: with a thread, and with none that ever begins.

use super::{explore, key_of, size};
use crate::options::Background;
use crate::storage::MemoryFileSystem;
use crate::sync::{Condvar, Mutex, thread};
use crate::{BackgroundPool, BackgroundWork, Db, Durability, Options};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, PoisonError};

/// A queue, and threads that the test starts.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    works: VecDeque<BackgroundWork>,
    is_stopped: bool,
}

impl BackgroundPool for Queue {
    fn run_soon(&self, work: BackgroundWork) {
        self.state.lock().unwrap().works.push_back(work);
        self.changed.notify_one();
    }
}

impl Queue {
    /// What a thread of the pool does.
    fn serve(&self) {
        loop {
            let mut state = self.state.lock().unwrap();
            while state.works.is_empty() && !state.is_stopped {
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            }
            let Some(work) = state.works.pop_front() else {
                return;
            };
            drop(state);
            work.run();
        }
    }

    fn stop(&self) {
        self.state.lock().unwrap().is_stopped = true;
        self.changed.notify_all();
    }
}

fn open(fs: &MemoryFileSystem, queue: &Arc<Queue>, name: &str) -> Db {
    let options = Options {
        background: Background::Pool(queue.clone()),
        ..super::options()
    };
    Db::open(Arc::new(fs.clone()), Path::new(name), options).unwrap()
}

/// Two threads write to each of two stores and flush, while so many threads serve both.
fn write_to_two_stores(threads: usize) {
    let (fs, queue) = (MemoryFileSystem::new(), Arc::new(Queue::default()));
    let names = ["a", "b"];
    let count = size(400, 6) as usize;
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| queue.serve());
        }
        let stores = names.map(|name| open(&fs, &queue, name));
        thread::scope(|scope| {
            for (db, part) in stores.iter().flat_map(|db| [(db, 0), (db, 1)]) {
                scope.spawn(move || {
                    for n in (part..count).step_by(2) {
                        let value = [0; 300];
                        db.put(&key_of(n), &value, Durability::Relaxed).unwrap();
                    }
                    db.flush().unwrap();
                });
            }
        });
        for db in stores {
            db.close().unwrap();
        }
        // The lock is free, and everything there.
        for name in names {
            let db = open(&fs, &queue, name);
            for n in 0..count {
                assert!(db.get(&key_of(n)).unwrap().is_some(), "{n} of {name}");
            }
        }
        queue.stop();
    });
}

#[test]
fn two_stores_get_on_whenever_their_pool_does() {
    explore(size(0, 400) as usize, |_| write_to_two_stores(1));
}

#[test]
fn two_stores_get_on_though_their_pool_does_not() {
    explore(size(0, 400) as usize, |_| write_to_two_stores(0));
}
