//! Random programs on the crate and on a naive IndexedDB in memory that was written from the specification: every result, every
//! event, and what is there at the end must be the same.
//!
//! `LARDER_STORE_FORM=sqlite` lets the crate keep SQLite files on the disk, an address (`etcd://127.0.0.1:2379`) or `model` LevelDB in a distributed
//! engine; the crashes stay LevelDB's in memory.
//!
//! `LARDER_PROGRAMS` says how many programs, `LARDER_SEED` with which seed they begin. A program that fails is cut down to the
//! actions that it takes to fail, and printed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "helpers of tests fail and print like tests, and watch over what may hang from another thread"
)]

mod crash;
mod naive;
mod program;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use program::{Action, program, shrink};
use run::{Files, Host, Runner, Setup, Verdict};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

/// Runs a program on a thread of its own: one that hangs, or panics, fails.
fn verdict(actions: &[Action], setup: Setup, patience: Duration) -> Verdict {
    let (sender, receiver) = mpsc::channel();
    let (copy, at) = (actions.to_vec(), Arc::new(AtomicUsize::new(0)));
    let told = Arc::clone(&at);
    let runner = thread::spawn(move || {
        let verdict = Runner::new(setup, Files::new(), None).and_then(|mut runner| {
            runner.at = told;
            runner.run(&copy)
        });
        let _ = sender.send(verdict);
    });
    match receiver.recv_timeout(patience) {
        Ok(verdict) => {
            let _ = runner.join();
            verdict
        }
        Err(error) => {
            let at = at.load(Ordering::Relaxed);
            let action = actions.get(at);
            let what = match error {
                mpsc::RecvTimeoutError::Timeout => "hangs",
                mpsc::RecvTimeoutError::Disconnected => "panics",
            };
            Err(format!("{what} in action {at}, {action:?}"))
        }
    }
}

fn agree<S: Into<Setup>>(name: &str, count: u64, setup: impl Fn(u64) -> S) {
    let first = number("LARDER_SEED", 1);
    let count = number("LARDER_PROGRAMS", count);
    println!("{name}: {count} programs from LARDER_SEED={first}");
    for seed in first..first + count {
        let actions = program(seed);
        let setup = setup(seed).into();
        let Err(what) = verdict(
            &actions,
            setup,
            Duration::from_secs(number("LARDER_PATIENCE_S", 30)),
        ) else {
            continue;
        };
        println!("seed {seed}, {setup:?}: {what}");
        // Fewer actions take no longer; hanging takes so long again and again.
        let patience = Duration::from_millis(500);
        let fails = |actions: &[Action]| verdict(actions, setup, patience).is_err();
        let least = shrink(actions, 200, fails);
        let what_least = verdict(&least, setup, patience);
        let list: Vec<String> = least.iter().map(|action| format!("  {action:?}")).collect();
        panic!(
            "seed {seed}, {setup:?}: {what}\ncut down: {what_least:?}\n{}",
            list.join("\n")
        );
    }
}

#[test]
fn programs_give_what_the_specification_says_driven_in_order() {
    agree("driven", 2500, |_| Host::Driven(None));
}

#[test]
fn programs_give_what_the_specification_says_driven_in_any_order() {
    agree("driven, seeded", 4000, |seed| Host::Driven(Some(seed)));
}

#[test]
fn programs_give_what_the_specification_says_on_threads() {
    agree("threads", 2500, |_| Host::Threads);
}

#[test]
fn programs_give_what_the_specification_says_in_a_loop_that_sleeps_until_it_is_called() {
    agree("loop", 1000, |seed| {
        Host::Loop((seed % 2 == 0).then_some(seed))
    });
}

#[test]
fn programs_come_to_every_kind_of_result() {
    for seed in 0..600 {
        let verdict = verdict(
            &program(seed),
            Host::Driven(None).into(),
            Duration::from_secs(60),
        );
        assert_eq!(verdict, Ok(()), "seed {seed}");
    }
    let reached = run::reached();
    println!("{reached:#?}");
    let wanted = [
        "refused InvalidStateError",
        "refused TransactionInactiveError",
        "refused ReadOnlyError",
        "refused DataError",
        "refused ConstraintError",
        "refused SyntaxError",
        "refused InvalidAccessError",
        "refused NotFoundError",
        "refused TypeError",
        "put done",
        "put ConstraintError",
        "put AbortError",
        "put many done",
        "get finds nothing",
        "get done",
        "get AbortError",
        "get many done",
        "get all done",
        "count done",
        "delete done",
        "clear done",
        "cursor done",
        "cursor finds nothing",
        "transaction ends committed",
        "transaction ends AbortError",
        "transaction ends ConstraintError",
        "transaction ends QuotaExceededError",
        "event version change",
        "event close",
        "event blocked",
        "event upgrade needed",
        "event opened or deleted",
        "event AbortError",
        "event VersionError",
    ];
    for what in wanted {
        assert!(reached.contains_key(what), "{what}");
    }
}

#[test]
fn programs_give_the_same_where_writers_wait_for_no_readers() {
    agree("snapshots", 1500, |seed| Setup {
        host: match seed % 2 {
            0 => Host::Threads,
            _ => Host::Driven(Some(seed)),
        },
        has_snapshots: true,
        is_small: false,
        has_foreign: false,
    });
}

#[test]
fn programs_give_the_same_where_memory_is_short() {
    agree("little memory", 1500, |seed| Setup {
        host: match seed % 2 {
            0 => Host::Threads,
            _ => Host::Driven(Some(seed)),
        },
        has_snapshots: seed % 3 == 0,
        is_small: true,
        has_foreign: false,
    });
}

#[test]
fn programs_give_the_same_with_values_of_another_engine_whose_host_gives_the_keys() {
    agree("foreign", 3000, |seed| Setup {
        host: match seed % 3 {
            0 => Host::Threads,
            1 => Host::Driven(Some(seed)),
            _ => Host::Driven(None),
        },
        has_snapshots: seed % 5 == 0,
        is_small: seed % 4 == 0,
        has_foreign: true,
    });
    let reached = run::reached();
    for what in [
        "value of another engine",
        "asked for keys of another engine",
    ] {
        let count = reached.get(what).copied().unwrap_or_default();
        println!("{what}: {count}");
        // Very few programs need not come to it.
        assert!(count > 0 || number("LARDER_PROGRAMS", 3000) < 50, "{what}");
    }
}

#[test]
fn a_crash_leaves_what_was_committed_up_to_some_commit() {
    let (first, count) = (number("LARDER_SEED", 1), number("LARDER_PROGRAMS", 1000));
    println!("crashes: {count} programs from LARDER_SEED={first}");
    let (programs, crashes) = crash::crash(first..first + count, 6);
    println!("{programs} programs crashed {crashes} times");
    assert!(crashes > programs, "{crashes}");
}
