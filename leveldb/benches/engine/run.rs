//! Runs both sides by turns, each run a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a process shall do.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) mode: String,
    pub(crate) dir: PathBuf,
    /// flat, or idb: the keys and their order.
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) value_len: usize,
    /// A batch's length, a number of operations or of threads.
    pub(crate) extra: u64,
    /// Whether C++ LevelDB verifies checksums when it reads; Larder always does.
    pub(crate) verify: bool,
}

/// What it printed: nanoseconds, bytes, numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) longest: u64,
    pub(crate) wall: u64,
    pub(crate) cpu: u64,
    pub(crate) peak: u64,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Job {
    pub(crate) fn new(mode: &str, dir: &Path, (kind, count, value_len): Shape) -> Job {
        Job {
            mode: mode.to_owned(),
            dir: dir.to_owned(),
            kind: kind.to_owned(),
            count,
            value_len,
            extra: 0,
            verify: true,
        }
    }

    fn args(&self) -> Vec<String> {
        vec![
            self.mode.clone(),
            self.dir.to_str().unwrap().to_owned(),
            self.kind.clone(),
            self.count.to_string(),
            self.value_len.to_string(),
            self.extra.to_string(),
            u8::from(self.verify).to_string(),
        ]
    }

    /// From the arguments of a process.
    pub(crate) fn parse(args: &[String]) -> Option<Job> {
        let [mode, dir, kind, count, value_len, extra, verify] = args else {
            return None;
        };
        Some(Job {
            mode: mode.clone(),
            dir: dir.into(),
            kind: kind.clone(),
            count: count.parse().ok()?,
            value_len: value_len.parse().ok()?,
            extra: extra.parse().ok()?,
            verify: verify == "1",
        })
    }
}

/// Kind of keys, number of rows, length of values.
pub(crate) type Shape = (&'static str, u64, usize);

/// The two programs, and how often they run.
#[derive(Debug)]
pub(crate) struct Pair {
    ours: PathBuf,
    theirs: PathBuf,
    pub(crate) scratch: PathBuf,
    pub(crate) runs: usize,
}

impl Pair {
    /// Builds C++ LevelDB's side; says what is missing if that fails.
    pub(crate) fn build(scratch: &Path, runs: usize) -> Option<Pair> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let theirs = scratch.join("engine");
        let built = Command::new("g++")
            .args(["-O2", "-std=c++17", "-I"])
            .arg(here.join("tests/oracle"))
            .arg("-o")
            .arg(&theirs)
            .arg(here.join("benches/engine/engine.cc"))
            .args(["-lleveldb", "-lpthread"])
            .output();
        match built {
            Ok(output) if output.status.success() => Some(Pair {
                ours: std::env::current_exe().unwrap(),
                theirs,
                scratch: scratch.to_owned(),
                runs,
            }),
            other => {
                println!(
                    "no C++ LevelDB to compare with (install g++, libleveldb-dev, libsnappy-dev): {other:?}"
                );
                None
            }
        }
    }

    pub(crate) fn ours(&self, job: &Job) -> Measured {
        run(&self.ours, job)
    }

    pub(crate) fn theirs(&self, job: &Job) -> Measured {
        run(&self.theirs, job)
    }

    /// Ours and theirs by turns. `fresh`: each on an empty directory.
    pub(crate) fn alternate(&self, job: &Job, fresh: bool) -> (Runs, Runs) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            for (program, measured) in [(&self.ours, &mut ours), (&self.theirs, &mut theirs)] {
                if !fresh {
                    measured.push(run(program, job));
                    continue;
                }
                let dir = tempfile::tempdir_in(&self.scratch).unwrap();
                let job = Job {
                    dir: dir.path().join("store"),
                    ..job.clone()
                };
                measured.push(run(program, &job));
            }
        }
        (Runs(ours), Runs(theirs))
    }
}

/// Several runs of one job.
#[derive(Debug)]
pub(crate) struct Runs(pub(crate) Vec<Measured>);

impl Runs {
    pub(crate) fn median(&self, of: impl Fn(&Measured) -> u64) -> f64 {
        let mut values: Vec<u64> = self.0.iter().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2] as f64
    }
}

/// The median of the pairs' ratios.
pub(crate) fn ratio((ours, theirs): &(Runs, Runs), of: impl Fn(&Measured) -> u64) -> f64 {
    let pairs = ours.0.iter().zip(&theirs.0);
    let mut ratios: Vec<f64> = pairs.map(|(a, b)| of(a) as f64 / of(b) as f64).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn run(program: &Path, job: &Job) -> Measured {
    let output = Command::new(program).args(job.args()).output().unwrap();
    assert!(output.status.success(), "{job:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let [longest, wall, cpu, peak, rows, bytes] = numbers.try_into().unwrap();
    Measured {
        longest,
        wall,
        cpu,
        peak,
        rows,
        bytes,
    }
}
