//! Running all files, so many at once, each with a time limit.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use larder_idb::StoreForm;
use serde::{Deserialize, Serialize};

use crate::child::RESULT;
use crate::process::{self, Ended};
use crate::suite::{Form, TestFile};

/// No file may take longer on a machine that has the time.
const LIMIT: Duration = Duration::from_secs(20);

/// How the suite is run.
pub(crate) struct Settings {
    pub(crate) suite: PathBuf,
    /// A folder, or an address.
    pub(crate) storage: Option<PathBuf>,
    /// The form of stores in a folder.
    pub(crate) store_form: StoreForm,
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
            store_form: StoreForm::LevelDb,
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

impl FileResult {
    /// The result of a process that failed. It has the subtests' results as far as there are any.
    fn failed(message: String, tests: Vec<Subtest>) -> Self {
        Self {
            file: String::new(),
            form: Form::default(),
            duration_ms: 0,
            status: -1,
            message: Some(message),
            tests,
        }
    }
}

/// What a process's end and its output come to. Results count for nothing unless the process has ended well: what a
/// script left behind may be what ended it.
fn result_of(ended: &Ended, limit: Duration) -> FileResult {
    let mut lines = ended.output.lines();
    let line = lines.find_map(|line| line.strip_prefix(RESULT));
    let parsed = line.map(serde_json::from_str::<FileResult>);
    let (result, trouble) = match parsed {
        None => (None, Some("without a result".to_owned())),
        Some(Err(error)) => (None, Some(format!("with no result of ours: {error}"))),
        Some(Ok(result)) => (Some(result), None),
    };
    let message = match (ended.status, trouble) {
        (None, _) => format!("it took longer than {limit:?}"),
        (Some(status), Some(what)) => format!("the process ended {what} ({status})"),
        (Some(status), None) if !status.success() => {
            format!("the process ended badly after its results: {status}")
        }
        (Some(_), None) => String::new(),
    };
    match (message.as_str(), result) {
        ("", Some(result)) => result,
        (_, result) => {
            let tests = result.map_or_else(Vec::new, |result| result.tests);
            FileResult::failed(message, tests)
        }
    }
}

/// One subtest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Subtest {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) message: Option<String>,
}

/// Runs those of the files whose names contain one of `names`, or all, in these forms.
pub(crate) fn all(
    settings: &Settings,
    files: &[String],
    forms: &[Form],
    names: &[String],
) -> io::Result<Vec<FileResult>> {
    let mut work = Vec::new();
    for file in files {
        if names.is_empty() || names.iter().any(|name| file.contains(name.as_str())) {
            let test = TestFile::read(&settings.suite, file)?;
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
    let ended = command_for(settings, (file, variant, form))
        .and_then(|command| process::run(command, settings.limit));
    let mut result = match ended {
        Ok(ended) => result_of(&ended, settings.limit),
        Err(error) => FileResult::failed(error.to_string(), Vec::new()),
    };
    result.file = format!("{file}{variant}");
    result.form = form;
    result.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    result
}

/// The process for one file.
fn command_for(
    settings: &Settings,
    (file, variant, form): (&str, &str, Form),
) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(storage) = &settings.storage {
        command.arg("--storage").arg(storage);
    }
    if settings.store_form != StoreForm::LevelDb {
        command.arg("--sqlite");
    }
    if settings.threads {
        command.arg("--threads");
    }
    if let Some(keep) = &settings.keep {
        command.arg("--keep").arg(keep);
    }
    command.args(["--child", file, variant, form.name()]);
    command.env("WPT_DIR", &settings.suite);
    Ok(command)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = r#"echo 'larder-wpt-result {"status":0,"message":null,"tests":[{"name":"a","status":"PASS","message":null}]}'"#;
    const FOREVER: Duration = Duration::from_secs(3600);

    fn result(script: &str, limit: Duration) -> FileResult {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        result_of(&process::run(command, limit).unwrap(), limit)
    }

    #[test]
    fn a_process_that_dies_after_its_results_has_not_passed() {
        let passed = result(PASSED, FOREVER);
        assert_eq!((passed.status, passed.tests.len()), (0, 1));
        for (end, expected) in [
            ("kill -ABRT $$", "signal: 6"),
            ("kill -9 $$", "signal: 9"),
            ("exit 3", "exit status: 3"),
        ] {
            let died = result(&format!("{PASSED}; {end}"), FOREVER);
            let message = died.message.unwrap();
            assert_eq!(died.status, -1, "{end}");
            assert!(message.contains("after its results"), "{message}");
            assert!(message.contains(expected), "{message}");
            assert_eq!(died.tests.len(), 1, "what it printed is reported");
        }
    }

    #[test]
    fn no_result_and_no_end_are_distinguished() {
        let silent = result("echo nothing", FOREVER).message.unwrap();
        assert!(silent.contains("without a result"), "{silent}");
        let garbage = result("echo 'larder-wpt-result {'", FOREVER);
        let garbage = garbage.message.unwrap();
        assert!(garbage.contains("no result of ours"), "{garbage}");
        let endless = result(&format!("{PASSED}; exec sleep 1000"), Duration::ZERO);
        assert_eq!(endless.status, -1);
        assert_eq!(endless.message.unwrap(), "it took longer than 0ns");
    }
}
