//! Whole processes, measured: wall clock, CPU time of user and system, peak memory.
//!
//! The system adds up what children used, so each command is run as the only child of a fresh process of this very
//! benchmark, which reports for it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The argument that makes this benchmark measure one command and print three numbers.
pub(crate) const MEASURE: &str = "--measure-one";

/// What a command took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Wall clock.
    pub(crate) wall: Duration,
    /// User and system time.
    pub(crate) cpu: Duration,
    /// The most memory that was resident at once, in bytes.
    pub(crate) peak_bytes: u64,
    /// Whether it exited with status 0.
    pub(crate) ok: bool,
}

/// Runs a command; its output is thrown away.
pub(crate) fn run(command: &[String]) -> Measured {
    let this = std::env::current_exe().expect("the benchmark itself");
    let output = Command::new(this)
        .arg(MEASURE)
        .args(command)
        .stderr(Stdio::inherit())
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    let [wall, cpu, peak_bytes, ok] = numbers[..] else {
        panic!("no measurement: {text}")
    };
    Measured {
        wall: Duration::from_micros(wall),
        cpu: Duration::from_micros(cpu),
        peak_bytes,
        ok: ok == 1,
    }
}

/// The other end of [`run`].
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn measure_one(command: &[String]) {
    let start = Instant::now();
    let status = Command::new(&command[0])
        .args(&command[1..])
        .stdout(Stdio::null())
        .status()
        .expect("the command");
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage of children");
    let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!(
        "{} {cpu} {} {}",
        wall.as_micros(),
        usage.max_rss() * 1024,
        u8::from(status.success())
    );
}
