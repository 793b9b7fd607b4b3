//! Writers that are stopped, shown with a background thread that is never started; and comparators that panic.

use super::*;
use crate::options::Background;
use crate::storage::MemoryFileSystem;
use crate::write_batch::BatchWriter;
use crate::{Comparator, Db, ErrorKind};
use std::cmp::Ordering as Order;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn a_writer_stops_at_twelve_tables_of_level_0_and_goes_on_when_there_are_fewer() {
    let options = Options {
        create_if_missing: true,
        write_buffer_bytes: 2000,
        background: Background::Thread,
        ..Options::default()
    };
    let fs = Arc::new(MemoryFileSystem::new());
    let opened = Engine::open(fs, Path::new("db"), options).unwrap();
    let engine = opened.engine;
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..500u32 {
                let mut batch = BatchWriter::new();
                batch.put(&n.to_be_bytes(), &[0; 100]);
                engine.write(&mut batch, Durability::Relaxed).unwrap();
            }
            is_done.store(true, Ordering::Release);
        });
        let (mut most, mut idle) = (0, 0);
        while !is_done.load(Ordering::Acquire) {
            let is_flushed = engine.flush_full(&mut locked(&engine.work), false);
            idle = if is_flushed.unwrap() { 0 } else { idle + 1 };
            engine.report_done();
            most = most.max(engine.l0_tables.load(Ordering::Acquire));
            // Time enough for a writer that would not stop.
            if most == L0_STOP && idle > 2000 {
                engine.work_once().unwrap();
                idle = 0;
            }
            std::thread::yield_now();
        }
        assert_eq!(most, L0_STOP);
    });
    assert!(engine.statistics().stops > 0);
    assert_eq!(engine.last_sequence(), 500);
}

/// A store with a write buffer of 1 MiB, whose background thread is never started.
fn idle() -> Arc<Engine> {
    let options = Options {
        create_if_missing: true,
        write_buffer_bytes: 1 << 20,
        background: Background::Thread,
        ..Options::default()
    };
    let fs = Arc::new(MemoryFileSystem::new());
    Engine::open(fs, Path::new("db"), options).unwrap().engine
}

fn put(engine: &Engine, value: &[u8]) {
    let mut batch = BatchWriter::new();
    batch.put(b"key", value);
    engine.write(&mut batch, Durability::Relaxed).unwrap();
}

/// Ten writes of 64 KiB are reported one step after the other, and no more than one is ahead.
fn ten_writes_get_on_as_far_as(engine: &Engine, tell: impl Fn(u64)) {
    let before = engine.last_sequence();
    let written = || engine.last_sequence() - before;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..10).for_each(|_| put(engine, &[0; 64 << 10])));
        while engine.statistics().slow_downs == 0 {
            assert!(written() < 10, "it did not wait");
            std::thread::yield_now();
        }
        let mut steps = 0;
        loop {
            let is_finished = writer.is_finished();
            // Time enough for a writer that would not wait.
            (0..1000).for_each(|_| std::thread::yield_now());
            assert!(written() <= steps + 2, "{steps} steps");
            if is_finished {
                break;
            }
            steps += 1;
            tell(steps);
            engine.report_done();
        }
    });
    assert_eq!(written(), 10);
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn while_level_0_is_behind_writers_get_on_as_far_as_its_compaction_does() {
    let engine = idle();
    while engine.l0_tables.load(Ordering::Acquire) < L0_SLOW_DOWN {
        put(&engine, b"small");
        engine.switch(&mut locked(&engine.writer)).unwrap();
        engine.flush_full(&mut locked(&engine.work), false).unwrap();
    }
    // What may be written before the stop is four write buffers and this one, 80 writes: each has a step of the work.
    engine.progress.flushed(1, 1);
    engine.progress.begin(80 * pace::STEP_BYTES);
    ten_writes_get_on_as_far_as(&engine, |_| engine.progress.advance(pace::STEP_BYTES));
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn while_a_memtable_is_made_a_table_writers_get_on_as_far_as_that_does() {
    let engine = idle();
    put(&engine, b"small");
    engine.switch(&mut locked(&engine.writer)).unwrap();
    // The write buffer has room for 16 writes: each has a step of the work, a fifth of which are syncs.
    engine.progress.begin_flush(16 * pace::STEP_BYTES / 5 * 4);
    let tell = |steps| engine.progress.advance_flush(steps * pace::STEP_BYTES);
    ten_writes_get_on_as_far_as(&engine, tell);
    // A write does not wait for a flush that will make no more progress.
    engine.progress.finish_flush();
    put(&engine, &[0; 64 << 10]);
}

/// Panics for one key once it is armed, and when it shall shorten keys for a table.
#[derive(Debug)]
struct Panicking {
    says_that_it_is_there: Mutex<mpsc::Sender<()>>,
    may_go_on: Mutex<mpsc::Receiver<()>>,
    panics_at_tables: AtomicBool,
}

impl Comparator for Panicking {
    fn name(&self) -> &str {
        "panicking"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        if a == b"panic" || b == b"panic" {
            locked(&self.says_that_it_is_there).send(()).unwrap();
            locked(&self.may_go_on).recv().unwrap();
            panic!("a comparator that panics");
        }
        a.cmp(b)
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {
        if self.panics_at_tables.load(Ordering::Relaxed) {
            panic!("a comparator that panics");
        }
    }
}

type Panics = (
    Arc<Panicking>,
    mpsc::Receiver<()>,
    mpsc::Sender<()>,
    Arc<MemoryFileSystem>,
);

fn panics() -> Panics {
    let (says_that_it_is_there, is_there) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let panicking = Panicking {
        says_that_it_is_there: Mutex::new(says_that_it_is_there),
        may_go_on: Mutex::new(may_go_on),
        panics_at_tables: AtomicBool::new(false),
    };
    let fs = Arc::new(MemoryFileSystem::new());
    (Arc::new(panicking), is_there, go_on, fs)
}

fn open(fs: &Arc<MemoryFileSystem>, order: &Arc<Panicking>, background: Background) -> Db {
    let options = Options {
        create_if_missing: true,
        background,
        ..Options::new(order.clone())
    };
    Db::open(fs.clone(), Path::new("db"), options).unwrap()
}

fn is_refused(written: Result<()>) {
    let error = written.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[test]
fn a_panic_in_a_write_is_an_error_for_waiting_writers_and_for_all_later() {
    let (order, is_there, go_on, fs) = panics();
    let db = open(&fs, &order, Background::Caller);
    let put = |key: &[u8]| db.put(key, b"value", Durability::Relaxed);
    put(b"before").unwrap();
    let engine = db.engine().unwrap();
    let waiting_entries = || {
        let queue = locked(&engine.queue);
        queue.waiting_entries()
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| put(b"panic"))));
        is_there.recv().unwrap();
        let waiting = [b"one", b"two"].map(|key| scope.spawn(move || put(key)));
        while waiting_entries() < 2 {
            std::thread::yield_now();
        }
        go_on.send(()).unwrap();
        assert!(first.join().unwrap().is_err());
        for writer in waiting {
            is_refused(writer.join().unwrap());
        }
    });
    is_refused(put(b"after"));
    is_refused(db.flush());
    let read = |key: &[u8]| db.get(key).unwrap().is_some();
    assert!(read(b"before") && !read(b"one") && !read(b"after"));
    is_refused(db.close());
}

#[test]
fn a_panic_in_background_work_is_an_error_for_writers_that_wait_for_it() {
    for background in [Background::Thread, Background::Caller] {
        let (order, _is_there, _go_on, fs) = panics();
        let db = open(&fs, &order, background.clone());
        db.put(b"key", b"value", Durability::Relaxed).unwrap();
        order.panics_at_tables.store(true, Ordering::Relaxed);
        let flushed = catch_unwind(AssertUnwindSafe(|| db.flush()));
        match background {
            Background::Thread => is_refused(flushed.unwrap()),
            Background::Caller | Background::Pool(_) => assert!(flushed.is_err()),
        }
        is_refused(db.put(b"after", b"value", Durability::Relaxed));
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
        is_closed_with_an_error(db);
        // Nothing is lost.
        order.panics_at_tables.store(false, Ordering::Relaxed);
        let db = open(&fs, &order, background);
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
        assert_eq!(db.get(b"after").unwrap(), None);
    }
}

fn is_closed_with_an_error(db: Db) {
    let error = db.close().unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
}
