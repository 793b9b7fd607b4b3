use super::*;
use crate::options::{Background, Options};
use crate::storage::MemoryFileSystem;
use crate::{Db, Durability};
use std::collections::VecDeque;
use std::path::Path;

/// Keeps the work that it gets until a test runs it.
#[derive(Debug, Default)]
struct Kept(std::sync::Mutex<VecDeque<BackgroundWork>>);

impl Kept {
    fn take(&self) -> Option<BackgroundWork> {
        self.0.lock().unwrap().pop_front()
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl BackgroundPool for Kept {
    fn run_soon(&self, work: BackgroundWork) {
        self.0.lock().unwrap().push_back(work);
    }
}

fn options(pool: &Arc<Kept>) -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 2000,
        background: Background::Pool(pool.clone()),
        ..Options::default()
    }
}

fn open(fs: &Arc<MemoryFileSystem>, pool: &Arc<Kept>, name: &str) -> Db {
    Db::open(fs.clone(), Path::new(name), options(pool)).unwrap()
}

/// So many bytes, a memtable and more.
fn fill(db: &Db, memtables: u32) {
    for n in 0..memtables * 25 {
        let key = (n % 40).to_be_bytes();
        db.put(&key, &[0; 100], Durability::Relaxed).unwrap();
    }
}

#[test]
fn writers_get_on_though_no_thread_of_the_pool_ever_begins() {
    let (fs, pool) = (Arc::default(), Arc::default());
    let db = open(&fs, &pool, "db");
    fill(&db, 60);
    assert_eq!(pool.len(), 1, "a store has one work waiting");
    db.flush().unwrap();
    let tables: usize = db.statistics().levels.iter().map(|l| l.tables).sum();
    assert!((1..=20).contains(&tables), "{tables} tables");
    db.close().unwrap();
    // There is nothing left to do.
    pool.take().unwrap().run();
    assert_eq!(pool.len(), 0);
    let db = open(&fs, &pool, "db");
    assert!((0..40_u32).all(|n| db.get(&n.to_be_bytes()).unwrap().is_some()));
}

#[test]
fn stores_take_turns_on_a_pool() {
    let (fs, pool) = (Arc::default(), Arc::default());
    let stores = ["a", "b", "c"].map(|name| open(&fs, &pool, name));
    let works = |db: &Db| db.statistics().flushed_bytes;
    for db in &stores {
        fill(db, 2);
    }
    assert_eq!(pool.len(), 3);
    for (at, db) in stores.iter().enumerate() {
        let before = works(db);
        pool.take().unwrap().run();
        assert!(works(db) > before, "store {at}");
    }
    // All that is due is done by the pool alone.
    while let Some(work) = pool.take() {
        work.run();
    }
    for db in &stores {
        assert!(!db.do_background_work().unwrap());
    }
}

#[test]
fn work_that_was_put_off_is_handed_over_when_there_is_a_reason_to_try_it_again() {
    use crate::storage::{Fault, FaultFileSystem};
    let memory: Arc<MemoryFileSystem> = Arc::default();
    let fs = Arc::new(FaultFileSystem::new(memory));
    let pool: Arc<Kept> = Arc::default();
    let db = Db::open(fs.clone(), Path::new("db"), options(&pool)).unwrap();
    fill(&db, 1);
    fs.fail_at(Fault {
        operation: fs.operations(),
        kind: std::io::ErrorKind::StorageFull,
        every_later_too: true,
    });
    let work = pool.take().unwrap();
    work.run();
    assert_eq!(pool.len(), 0, "no thread spins");
    fs.heal();
    fill(&db, 2);
    assert_eq!(pool.len(), 1);
    while let Some(work) = pool.take() {
        work.run();
    }
    assert!(!db.do_background_work().unwrap());
}

#[test]
fn a_store_that_is_closed_has_left_the_pool_and_its_lock() {
    for round in 0..200 {
        let (fs, pool) = (Arc::default(), Arc::default());
        let db = open(&fs, &pool, "db");
        fill(&db, 2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(work) = pool.take() {
                    work.run();
                }
            });
            if round % 2 == 0 {
                std::thread::yield_now();
            }
            db.close().unwrap();
            // Another handle can be had at once.
            drop(open(&fs, &pool, "db"));
        });
    }
}
