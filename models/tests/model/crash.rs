//! Crashes in the middle of programs: what is found afterwards is what was committed, in order, up to some commit; at least
//! up to the last one that was acknowledged (or, if the machine went, to the last of those that asked for durability).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use larder_fixtures::random::Random;
use larder_leveldb::storage::{CrashImage, FaultFileSystem, MemoryFileSystem};

use crate::naive::Committed;
use crate::program::program;
use crate::run::dump::{Dump, compare, of_files, of_model};
use crate::run::{Commits, Files, Host, Runner, Setup, Verdict};

/// What a crash left, and which commits it may show.
struct Image {
    fs: MemoryFileSystem,
    what: String,
    least: usize,
    most: usize,
    is_concurrent: bool,
}

/// Runs the program of a seed, and takes an image before about every `every`th file operation.
fn images(seed: u64, every: u64) -> Verdict<(Vec<Image>, Vec<Committed>)> {
    let memory = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(memory.clone()));
    let commits = Arc::new(Commits::default());
    let images = Arc::new(Mutex::new(Vec::new()));
    let random = Mutex::new(Random::new(!seed));
    let (told, taken) = (Arc::clone(&commits), Arc::clone(&images));
    fs.watch(move |operation| {
        let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
        if !random.one_in(every) {
            return;
        }
        let seed = random.next();
        let acknowledged = told.acknowledged.load(Ordering::SeqCst);
        let strict = told.strict.load(Ordering::SeqCst);
        let cut = *random.of(&CrashImage::POWER_CUTS);
        let (image, least) = *random.of(&[
            (CrashImage::KeepWritten, acknowledged),
            (CrashImage::LoseUnsynced, strict),
            (cut(seed), strict),
            (cut(seed), strict),
        ]);
        let mut images = taken.lock().unwrap_or_else(PoisonError::into_inner);
        images.push(Image {
            fs: memory.crash_image(image),
            what: format!("seed {seed}, before operation {operation}, {image:?}"),
            least,
            is_concurrent: told.is_concurrent.load(Ordering::SeqCst),
            most: told.begun.load(Ordering::SeqCst).max(acknowledged),
        });
    });
    let setup = Setup {
        host: Host::Driven(Some(seed)),
        has_snapshots: false,
        is_small: seed.is_multiple_of(2),
        has_foreign: seed.is_multiple_of(3),
    };
    let runner = Runner::new(setup, Files::in_leveldb(Arc::new(fs)), Some(commits))?;
    let world = runner.run_to_the_end(&program(seed))?;
    let images = std::mem::take(&mut *images.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((images, world.history))
}

fn check(image: Image, states: &[Dump]) -> Verdict {
    let found = of_files(&Files::in_leveldb(Arc::new(image.fs)))?;
    let allowed = &states[image.least..=image.most];
    if allowed.contains(&found) {
        return Ok(());
    }
    // Commits in two databases at the same time have no order: each is looked at by itself.
    let has = |state: &Dump, name: &Vec<u16>| state.get(name) == found.get(name);
    let names = || {
        allowed
            .iter()
            .chain([&found])
            .flat_map(|state| state.keys())
    };
    if image.is_concurrent && names().all(|name| allowed.iter().any(|state| has(state, name))) {
        return Ok(());
    }
    let is_old = states[..image.least]
        .iter()
        .rposition(|state| *state == found);
    let nearest = compare(&found, &states[image.most])
        .err()
        .unwrap_or_default();
    Err(format!(
        "what is there is not what was committed first of {} to {}; it is that of {is_old:?}; {nearest}",
        image.least, image.most
    ))
}

/// How many programs were crashed, and how often.
pub(crate) fn crash(seeds: impl Iterator<Item = u64>, every: u64) -> (usize, usize) {
    let (mut programs, mut crashes) = (0, 0);
    for seed in seeds {
        let (images, history) =
            images(seed, every).unwrap_or_else(|what| panic!("crashing, seed {seed}: {what}"));
        let mut states = vec![Dump::new()];
        states.extend(
            history
                .iter()
                .map(|committed| of_model(&committed.databases)),
        );
        programs += 1;
        for image in images {
            crashes += 1;
            let what = image.what.clone();
            if let Err(difference) = check(image, &states) {
                panic!("seed {seed}: {what}: {difference}");
            }
        }
    }
    (programs, crashes)
}
