//! Crashes at file operations: what is found is what was committed, feed and records together.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use larder_fixtures::random::Random;
use larder_leveldb::storage::{CrashImage, FaultFileSystem, MemoryFileSystem};

use crate::host::Host;
use crate::program::{Commits, Run, compare};

/// Whether every file operation is tried, where some are by default.
fn every() -> u64 {
    if std::env::var_os("LARDER_WHOLE").is_some() {
        1
    } else {
        6
    }
}

#[test]
fn after_a_crash_at_any_file_operation_the_feed_is_that_of_the_records() {
    let (first, count) = (
        crate::setting("LARDER_SEED", 1),
        crate::setting("LARDER_CRASHED", 8),
    );
    let mut crashes = 0;
    for seed in first..first + count {
        let memory = MemoryFileSystem::new();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        let commits = Arc::new(Commits::default());
        let images = Arc::new(Mutex::new(Vec::new()));
        let random = Mutex::new(Random::new(!seed));
        let (told, taken) = (Arc::clone(&commits), Arc::clone(&images));
        fs.watch(move |operation| {
            if !random.lock().unwrap().one_in(every()) {
                return;
            }
            let least = told.acknowledged.load(Ordering::SeqCst);
            let most = told.begun.load(Ordering::SeqCst);
            let died = (CrashImage::KeepWritten, least);
            // Nothing is synced that was not asked to be: of what was acknowledged some is lost, from its end.
            let cuts = CrashImage::POWER_CUTS.map(|model| (model(operation), 0));
            for (model, least) in cuts.into_iter().chain([died]) {
                let image = memory.crash_image(model);
                let taken = &mut *taken.lock().unwrap();
                taken.push((operation, model, image, least, most));
            }
        });
        let mut run = Run::new(seed, fs, commits);
        run.run(12, false);
        let states = run.states.clone();
        drop(run);
        let images = std::mem::take(&mut *images.lock().unwrap());
        for (operation, model, image, least, most) in images {
            crashes += 1;
            let host = Host::open(Arc::new(image), false).unwrap();
            let allowed = &states[least..=most];
            let compared: Vec<_> = allowed.iter().map(|state| compare(&host, state)).collect();
            assert!(
                compared.iter().any(Result::is_ok),
                "seed {seed}, before operation {operation}, {model:?}: none of the commits {least} to {most}: {compared:?}"
            );
        }
    }
    println!("{crashes} crashes of {count} programs from seed {first}");
}
