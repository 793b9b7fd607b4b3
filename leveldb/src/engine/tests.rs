//! Writers that are stopped: shown with a background thread that is never started.

use super::*;
use crate::options::Background;
use crate::storage::MemoryFileSystem;
use crate::write_batch::BatchWriter;
use std::path::Path;

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
            engine.tell_done();
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
