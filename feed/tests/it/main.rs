//! The feed beside a naive model: random programs, crashes, and cases by name. `LARDER_SEEDS` says how many programs (200), `LARDER_SEED` where
//! they begin.
#![cfg(test)]

mod beside;
mod cases;
mod clean;
mod crash;
mod from_source;
mod host;
mod index_laws;
mod naive;
mod others;
mod program;
mod write_back;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use larder_idb::MemoryFileSystem;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

#[test]
fn random_programs_agree_with_the_model() {
    let (first, count) = (setting("LARDER_SEED", 1), setting("LARDER_SEEDS", 200));
    for seed in first..first + count {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let fs = Arc::new(MemoryFileSystem::new());
            let mut run = program::Run::new(seed, Arc::clone(&fs) as _, Arc::default());
            run.run(30, true);
            let naive = run.naive.clone();
            run.host.storage.close().unwrap();
            // Opened again, by another process as it were.
            let again = host::Host::open(fs, false).unwrap();
            program::compare(&again, &naive).unwrap();
        }));
        if let Err(panic) = ran {
            eprintln!("seed {seed}");
            resume_unwind(panic);
        }
    }
    println!("{count} programs from seed {first}");
}
