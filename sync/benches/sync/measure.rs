//! Time and memory of a step.

use std::fmt;
use std::time::Instant;

/// What a step has cost: seconds, and the peak of its process's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
    pub(crate) peak_mib: f64,
}

impl Measured {
    pub(crate) fn of(work: impl FnOnce()) -> Self {
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        work();
        Self {
            cpu: cpu_seconds() - cpu,
            wall: wall.elapsed().as_secs_f64(),
            peak_mib: peak_mib(),
        }
    }

    /// What another process has printed.
    pub(crate) fn parse(line: &str) -> Self {
        let numbers = line
            .split_whitespace()
            .map(|number| number.parse().unwrap());
        let [cpu, wall, peak_mib] = numbers.collect::<Vec<_>>()[..] else {
            unreachable!("{line}");
        };
        Self {
            cpu,
            wall,
            peak_mib,
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.cpu, self.wall, self.peak_mib)
    }
}

fn cpu_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn peak_mib() -> f64 {
    let status = std::fs::read("/proc/self/status").unwrap();
    let status = String::from_utf8(status).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().trim().trim_end_matches(" kB");
    peak.parse::<f64>().unwrap() / 1024.0
}

pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
