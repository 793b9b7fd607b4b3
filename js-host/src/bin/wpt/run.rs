//! Running all files, so many at once, each with a time limit.

use std::error::Error;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::child::RESULT;
use crate::suite::{self, Form, TestFile};

/// No file may take longer on a machine that has the time.
const LIMIT: Duration = Duration::from_secs(20);

/// How the suite is run.
pub(crate) struct Settings {
    pub(crate) suite: PathBuf,
    pub(crate) storage: Option<PathBuf>,
    /// Where copies of the stores go that are about to lose a database.
    pub(crate) keep: Option<PathBuf>,
    pub(crate) threads: bool,
    pub(crate) jobs: usize,
    pub(crate) limit: Duration,
}

impl Settings {
    pub(crate) const fn new(suite: PathBuf) -> Self {
        Self {
            suite,
            storage: None,
            keep: None,
            threads: false,
            jobs: 2,
            limit: LIMIT,
        }
    }
}

/// What one file, in one variant, came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FileResult {
    /// The file's name and its variant.
    #[serde(default)]
    pub(crate) file: String,
    #[serde(default)]
    pub(crate) form: Form,
    #[serde(default)]
    pub(crate) duration_ms: u64,
    /// The harness's own: 0 if it is well.
    pub(crate) status: i32,
    pub(crate) message: Option<String>,
    pub(crate) tests: Vec<Subtest>,
}

/// One subtest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Subtest {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) message: Option<String>,
}

/// Runs the files whose names contain one of `names`, or all, in these forms.
pub(crate) fn all(
    settings: &Settings,
    forms: &[Form],
    names: &[String],
) -> Result<Vec<FileResult>, Box<dyn Error>> {
    let mut work = Vec::new();
    for file in suite::files(&settings.suite)? {
        if names.is_empty() || names.iter().any(|name| file.contains(name.as_str())) {
            let test = TestFile::read(&settings.suite, &file)?;
            for form in test.forms.iter().filter(|form| forms.contains(form)) {
                let variants = test.variants.iter().cloned();
                work.extend(variants.map(|variant| (file.clone(), variant, *form)));
            }
        }
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.max(1) {
            scope.spawn(|| {
                while let Some(one) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (file, variant, form) = one;
                    let result = self::one(settings, file, variant, *form);
                    if let Ok(mut results) = results.lock() {
                        results.push(result);
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by(|a, b| (a.form, &a.file).cmp(&(b.form, &b.file)));
    Ok(results)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a root measures how long a file takes"
)]
fn one(settings: &Settings, file: &str, variant: &str, form: Form) -> FileResult {
    let started = Instant::now();
    let outcome = output_of(settings, (file, variant, form), started);
    let parsed = outcome.and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix(RESULT));
        let line = line.ok_or("the process ended without a result")?;
        Ok(serde_json::from_str::<FileResult>(line)?)
    });
    let mut result = parsed.unwrap_or_else(|error| FileResult {
        file: String::new(),
        form,
        duration_ms: 0,
        status: -1,
        message: Some(error.to_string()),
        tests: Vec::new(),
    });
    result.file = format!("{file}{variant}");
    result.form = form;
    result.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    result
}

/// What the process of a file says, within the limit.
fn output_of(
    settings: &Settings,
    (file, variant, form): (&str, &str, Form),
    started: Instant,
) -> Result<String, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(storage) = &settings.storage {
        command.arg("--storage").arg(storage);
    }
    if settings.threads {
        command.arg("--threads");
    }
    if let Some(keep) = &settings.keep {
        command.arg("--keep").arg(keep);
    }
    command.args(["--child", file, variant, form.name()]);
    command.env("WPT_DIR", &settings.suite);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let Some(mut stdout) = child.stdout.take() else {
        return Err("no output".into());
    };
    let reader = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let in_time = wait(&mut child, started, settings.limit);
        let text = reader.join().map_err(|_| "the output cannot be read")?;
        Ok::<_, Box<dyn Error>>((text?, in_time?))
    })?;
    match reader {
        (text, true) => Ok(text),
        (_, false) => Err(format!("it took longer than {:?}", settings.limit).into()),
    }
}

/// Waits for the process, and ends it at the limit: whether it ended by itself.
fn wait(child: &mut Child, started: Instant, limit: Duration) -> std::io::Result<bool> {
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
