//! Deterministic simulation: processes that write and one that reads, over one engine; they die between any two requests, stand still
//! for longer than their leases, and their requests fail in every way. Each run is a seed.

mod mutants;
mod oracle;
mod reader;
mod schedule;
mod writer;

use crate::support::{LEASE, namespace, options};
use larder_remote_files::model::Model;
use larder_remote_files::{
    Blobs, Catalogue, Clock, Cluster, Error, ErrorKind, Options, RemoteFileSystem, Session,
    SessionOptions,
};
use mutants::Mutant;
use oracle::Oracle;
use schedule::{EngineClock, Process, Schedule};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const WRITERS: usize = 3;
const GRACE: Duration = Duration::from_secs(60);

/// What all processes of a run have in common.
pub(crate) struct Setting {
    schedule: Arc<Schedule>,
    model: Model,
    oracle: Oracle,
    options: Options,
    per_mille: u64,
    mutant: Option<Mutant>,
}

impl Setting {
    fn new(seed: u64, mutant: Option<Mutant>) -> Setting {
        let schedule = Schedule::new(seed, WRITERS + 1, 1500);
        let model = Model::new(Arc::new(EngineClock(Arc::clone(&schedule))));
        let delay = [Duration::ZERO, Duration::from_secs(1)][(seed % 2) as usize];
        Setting {
            oracle: Oracle::new(model.client()),
            options: Options {
                flush_delay: delay,
                grace: GRACE,
                inline_len_max: [0, 40, 1000][(seed / 2 % 3) as usize],
                // Threads have no place in a schedule.
                fetches_at_once: 1,
                ..options()
            },
            per_mille: [0, 20, 150][(seed / 6 % 3) as usize],
            schedule,
            model,
            mutant,
        }
    }

    /// The engine, as a process reaches it.
    fn engine(&self, process: &Process) -> (Arc<dyn Catalogue>, Arc<dyn Blobs>) {
        let client = Arc::new(self.model.client_through(Arc::new(process.clone())));
        match self.mutant {
            Some(mutant) => mutant.over(client),
            None => (client.clone(), client),
        }
    }

    /// A writer of an epoch could not read its own files. It may be dead, or have lost them, or the engine does not answer.
    fn judge(&self, process: &Process, epoch: u32, error: &io::Error) {
        let may_be = may_pass(error) || process.is_dead() || self.oracle.epoch() != epoch;
        if !may_be {
            self.oracle
                .violation(format!("epoch {epoch} cannot read its own: {error}"));
        }
    }

    /// A process after all others, and after everything that was on its way: what does it find?
    fn end(&self) {
        self.schedule.skip(Duration::from_secs(3600));
        let client = Arc::new(self.model.client());
        let clock = Arc::new(LastClock(Arc::clone(&self.schedule)));
        let cluster = Cluster::new(client.clone(), client.clone(), clock, LEASE);
        let options = SessionOptions {
            nonce: [0xff; 16],
            label: "the last one".to_owned(),
            duration: LEASE,
        };
        let session = Session::begin(&cluster, options).unwrap();
        let fs = RemoteFileSystem::write(&session, &namespace(), self.options.clone(), LEASE * 3)
            .unwrap();
        match writer::read_all(&fs) {
            Ok(files) => {
                let names = files.len();
                self.oracle.taken(fs.epoch().unwrap(), files);
                self.nothing_is_left_over(&fs, &*client, names);
            }
            Err(error) => self
                .oracle
                .violation(format!("the last one cannot read: {error}")),
        }
    }

    /// Every blob that is there has a name, once what has none was collected.
    fn nothing_is_left_over(&self, fs: &RemoteFileSystem, blobs: &dyn Blobs, names: usize) {
        fs.collect_garbage().unwrap();
        let left = blobs.list(&namespace(), None, 100).unwrap();
        if left.len() > names {
            self.oracle
                .violation(format!("{} blobs are left of {names} files", left.len()));
        }
    }
}

/// Whether an error says no more than that the engine did not answer, or that the namespace is another process's.
fn may_pass(error: &io::Error) -> bool {
    Error::within(error).is_some_and(|error| error.may_pass() || error.kind() == ErrorKind::Lost)
}

#[derive(Debug)]
struct LastClock(Arc<Schedule>);

impl Clock for LastClock {
    fn monotonic(&self) -> Duration {
        self.0.now()
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + self.0.now()
    }

    fn wait(&self, time: Duration) {
        self.0.skip(time);
    }
}

/// What a run came to.
struct Run {
    violations: Vec<String>,
    acknowledged: u32,
    takings: u32,
    deaths: u32,
    freezes: u32,
}

fn simulate(seed: u64, mutant: Option<Mutant>) -> Run {
    let setting = Setting::new(seed, mutant);
    std::thread::scope(|scope| {
        for slot in 0..WRITERS {
            let setting = &setting;
            scope.spawn(move || writer::run(setting, slot));
        }
        scope.spawn(|| reader::run(&setting, WRITERS));
    });
    setting.end();
    let (violations, acknowledged, takings) = setting.oracle.result();
    let (deaths, freezes) = setting.schedule.deaths_and_freezes();
    Run {
        violations,
        acknowledged,
        takings,
        deaths,
        freezes,
    }
}

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// `LARDER_SIMULATIONS` is how many seeds, `LARDER_SEED` the first.
#[test]
fn no_acknowledged_write_is_lost_and_no_stale_one_is_named_whatever_dies_or_hangs() {
    let first = number("LARDER_SEED", 1);
    let count = number("LARDER_SIMULATIONS", 300);
    let mut total = (0, 0, 0, 0);
    for seed in first..first + count {
        let run = simulate(seed, None);
        let violations = run.violations.join("\n");
        assert!(run.violations.is_empty(), "seed {seed}: {violations}");
        total.0 += run.acknowledged;
        total.1 += run.takings;
        total.2 += run.deaths;
        total.3 += run.freezes;
    }
    let (acknowledged, takings, deaths, freezes) = total;
    println!(
        "seeds {first} to {}: {acknowledged} writes acknowledged, {takings} takings, {deaths} deaths, {freezes} freezes",
        first + count - 1
    );
    let each = |n: u32, least: u64| assert!(u64::from(n) >= least * count, "{n} in {count} runs");
    each(acknowledged, 30);
    each(takings, 3);
    each(deaths, 2);
    each(freezes, 1);
}

/// One run is one history: a seed that fails can be looked at again.
#[test]
fn a_seed_repeats_itself() {
    for seed in [3, 11] {
        let (one, other) = (simulate(seed, None), simulate(seed, None));
        let of = |run: &Run| (run.acknowledged, run.takings, run.deaths, run.freezes);
        assert_eq!(of(&one), of(&other), "seed {seed}");
    }
}

fn is_caught(mutant: Mutant) {
    let caught = (1..=400).find_map(|seed| {
        let run = simulate(seed, Some(mutant));
        run.violations
            .first()
            .map(|violation| (seed, violation.clone()))
    });
    let (seed, violation) =
        caught.unwrap_or_else(|| panic!("{mutant:?} was not noticed in 400 runs"));
    println!("{mutant:?}: seed {seed}: {violation}");
}

#[test]
fn a_commit_without_the_epochs_condition_is_noticed() {
    is_caught(Mutant::NoEpoch);
}

#[test]
fn a_name_before_its_content_is_noticed() {
    is_caught(Mutant::NameFirst);
}

#[test]
fn content_that_is_deleted_at_once_is_noticed() {
    is_caught(Mutant::DeleteAtOnce);
}

#[test]
fn a_takeover_of_a_lease_that_is_alive_loses_nothing() {
    for seed in 1..=30 {
        let run = simulate(seed, Some(Mutant::NoLease));
        assert!(
            run.violations.is_empty(),
            "seed {seed}: {}",
            run.violations.join("\n")
        );
    }
}
