//! Power cuts: a real run on a real disk is recorded, and of any moment of it the states are made that a power cut could have
//! left. Each opens for writing; no strict transaction is lost, none is there by half, and relaxed ones are a prefix.
//!
//! `LARDER_POWER_CUTS` says how many states of each model (40), `LARDER_SEED` what they are chosen by. `LARDER_TRACE=FILE` writes
//! the recorded steps down, to be compared with what the system was asked for.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "helpers of tests fail and print like tests"
)]

mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use larder_fixtures::random::Random;
use larder_idb::{DiskFileSystem, LossCallback, LossKind, MemoryFileSystem, TailKind};
use larder_leveldb::storage::{CrashImage, Rebuilt, RecordingFileSystem, Step};
use workload::{Note, Place, begun_and_acknowledged};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

/// A model of a power cut, by name: what it leaves, for a seed.
type Model = (&'static str, fn(u64) -> CrashImage);

const MODELS: [Model; 8] = [
    ("unsynced lost", |_| CrashImage::LoseUnsynced),
    ("files cut", CrashImage::POWER_CUTS[0]),
    ("zero tails", CrashImage::POWER_CUTS[1]),
    ("holes", CrashImage::POWER_CUTS[2]),
    ("pages", CrashImage::POWER_CUTS[3]),
    ("sectors", CrashImage::POWER_CUTS[4]),
    ("names and renames lost", CrashImage::POWER_CUTS[5]),
    ("directories lost", CrashImage::POWER_CUTS[6]),
];

/// What came of the states of one model.
#[derive(Debug, Default)]
struct Outcomes {
    states: u64,
    strict_only: u64,
    relaxed_lost: u64,
    told: u64,
    kinds: BTreeMap<String, u64>,
}

#[test]
fn whatever_a_power_cut_leaves_of_a_real_run_opens_with_every_strict_transaction_and_none_by_half()
{
    let (count, seed) = (number("LARDER_POWER_CUTS", 40), number("LARDER_SEED", 1));
    println!("{count} states of each model, LARDER_SEED={seed}");
    let dir = tempfile::tempdir().unwrap();
    let steps = record(dir.path(), seed);
    let mut random = Random::new(seed);
    let mut cuts: Vec<(u64, usize, u64)> = Vec::new();
    for model in 0..MODELS.len() {
        let cut = |_| {
            (
                random.next() % (steps.len() as u64 + 1),
                model,
                random.next(),
            )
        };
        cuts.extend((0..count).map(cut).collect::<Vec<_>>());
    }
    cuts.sort_unstable();
    let (mut rebuilt, mut taken) = (Rebuilt::default(), 0);
    let mut notes = Vec::new();
    let mut outcomes: BTreeMap<&str, Outcomes> = BTreeMap::new();
    for (n, (at, model, seed)) in cuts.into_iter().enumerate() {
        for step in &steps[taken..at as usize] {
            rebuilt.take(step).unwrap();
            if let Step::Note(note) = step {
                notes.push(Note::from_number(*note));
            }
        }
        taken = at as usize;
        let (name, image) = (MODELS[model].0, MODELS[model].1(seed));
        let after = rebuilt.files().crash_image(image);
        let what = format!("step {at} of {}, {image:?}", steps.len());
        check(
            after,
            dir.path(),
            &notes,
            &what,
            n % 16 == 0,
            outcomes.entry(name).or_default(),
        );
    }
    for (name, _) in MODELS {
        println!("{name}: {:?}", outcomes[name]);
    }
    let kinds: BTreeSet<&String> = outcomes.values().flat_map(|one| one.kinds.keys()).collect();
    assert!(kinds.len() >= 3, "tails of all kinds are met: {kinds:?}");
}

/// Runs the workload on the disk, and writes down what it asks of it.
fn record(folder: &Path, seed: u64) -> Vec<Step> {
    let fs = Arc::new(RecordingFileSystem::new(Arc::new(DiskFileSystem::new())));
    let told = Arc::clone(&fs);
    workload::run(fs.clone(), folder, seed, move |note: Note| {
        told.note(note.number())
    });
    let steps = fs.steps();
    let syncs = steps
        .iter()
        .filter(|step| matches!(step, Step::Sync { .. }));
    println!("{} steps, {} syncs of files", steps.len(), syncs.count());
    if let Some(path) = std::env::var_os("LARDER_TRACE") {
        let lines: String = steps.iter().map(|step| format!("{step}\n")).collect();
        std::fs::write(path, lines).unwrap();
    }
    steps
}

/// Opens a state, looks at what is there, and now and then goes on with it.
fn check(
    fs: MemoryFileSystem,
    folder: &Path,
    notes: &[Note],
    what: &str,
    goes_on: bool,
    outcomes: &mut Outcomes,
) {
    let fs = Arc::new(fs);
    let tails = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&tails);
    let callback = LossCallback::new(move |loss| match &loss.what {
        LossKind::TornTail(tail) => seen.lock().unwrap().push(tail.kind),
        other => panic!("{other:?}"),
    });
    let place = Place::driven(fs.clone(), folder, Some(callback));
    let (begun, acknowledged, strict) = begun_and_acknowledged(notes);
    let connection = place
        .open()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = workload::last_whole(&connection).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        found >= strict && found <= begun,
        "{what}: up to transaction {found}; strict up to {strict}, begun up to {begun}"
    );
    let tails: Vec<TailKind> = std::mem::take(&mut *tails.lock().unwrap());
    outcomes.states += 1;
    outcomes.relaxed_lost += u64::from(found < acknowledged);
    outcomes.strict_only += u64::from(found == strict && strict < acknowledged);
    outcomes.told += u64::from(!tails.is_empty());
    for kind in tails {
        *outcomes.kinds.entry(format!("{kind:?}")).or_default() += 1;
    }
    if goes_on {
        workload::write(&connection, found + 1, true).unwrap();
        connection.close();
        place.close();
        let after = MemoryFileSystem::crash_image(&fs, CrashImage::LoseUnsynced);
        let place = Place::driven(Arc::new(after), folder, None);
        let connection = place.open().unwrap();
        assert_eq!(
            workload::last_whole(&connection).unwrap(),
            found + 1,
            "{what}"
        );
    }
}

#[test]
fn a_callback_hears_of_a_torn_tail_and_a_damaged_origin_can_be_repaired() {
    use larder_idb::{ErrorKind, FileSystem, RowsInDoubt};
    let folder = Path::new("idb");
    let fs = Arc::new(MemoryFileSystem::new());
    workload::run(fs.clone(), folder, 3, |_| {});
    let place = Place::driven(fs.clone(), folder, None);
    let connection = place.open().unwrap();
    let last = workload::last_whole(&connection).unwrap();
    for n in last + 1..last + 4 {
        workload::write(&connection, n, n == last + 2).unwrap();
    }
    let store = workload::leveldb_folder(folder);
    let logs = || {
        let names = fs.list(&store).unwrap();
        let mut logs = names
            .iter()
            .map(|name| store.join(name))
            .filter(|path| path.extension().is_some_and(|end| end == "log"))
            .collect::<Vec<_>>();
        logs.sort();
        logs
    };
    let log = logs().pop().unwrap();
    let at = |fs: &MemoryFileSystem, from: u64, bytes: &[u8]| {
        let file = fs.open_random(&log).unwrap();
        let mut whole = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut whole).unwrap();
        let from = if from == u64::MAX {
            whole.len() - bytes.len()
        } else {
            from as usize
        };
        whole[from..from + bytes.len()].copy_from_slice(bytes);
        fs.create(&log).unwrap().append(&whole).unwrap();
    };
    // The last transaction was not synced: without its end the others are there, and the host hears of it.
    let cut = Arc::new(fs.crash_image(CrashImage::KeepWritten));
    at(&cut, u64::MAX, &[0; 40]);
    let heard = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&heard);
    let callback = LossCallback::new(move |loss| {
        let LossKind::TornTail(tail) = &loss.what else {
            panic!("{loss:?}");
        };
        assert!(tail.set_aside.is_some(), "{tail}");
        count.fetch_add(1, Ordering::SeqCst);
    });
    let after = Place::driven(cut, folder, Some(callback));
    assert_eq!(
        workload::last_whole(&after.open().unwrap()).unwrap(),
        last + 2
    );
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    // The first one was: that is damage. Repairing brings back what is whole.
    let damaged = Arc::new(fs.crash_image(CrashImage::KeepWritten));
    at(&damaged, 0, &[0; 20]);
    let after = Place::driven(damaged.clone(), folder, None);
    let error = after.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.message().contains("larder repair"), "{error}");
    let repaired = after
        .factory()
        .repair(RowsInDoubt::BringBack)
        .wait()
        .unwrap();
    assert!(!repaired.damage.is_empty() && !repaired.set_aside.is_empty());
    let connection = after.open().unwrap();
    assert!(workload::rows(&connection).unwrap().len() > 20);
}
