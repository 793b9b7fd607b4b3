//! The report of what came out: a table per theme, what was unexpected, and all as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::expectations::Expected;
use crate::run::FileResult;
use crate::suite::{Form, NotRun};

/// Themes by the beginnings of file names; the first that fits.
const THEMES: [(&str, &[&str]); 9] = [
    (
        "interfaces",
        &[
            "idlharness",
            "historical",
            "globalscope",
            "string-list",
            "list_ordering",
        ],
    ),
    (
        "cursors",
        &[
            "idbcursor",
            "cursor-",
            "interleaved",
            "parallel",
            "index_sort",
        ],
    ),
    (
        "object stores",
        &["idbobjectstore", "objectstore", "delete-range"],
    ),
    ("indexes", &["idbindex"]),
    (
        "keys",
        &[
            "key",
            "idbkeyrange",
            "idb_binary",
            "idb-binary",
            "bindings-inject",
            "reading-auto",
        ],
    ),
    (
        "transactions",
        &[
            "transaction",
            "idbtransaction",
            "idb-explicit",
            "upgrade-",
            "writer-",
            "request-",
            "event-",
        ],
    ),
    (
        "databases",
        &[
            "idbdatabase",
            "idbfactory",
            "open-",
            "delete-request",
            "get-databases",
            "close-",
            "abort-",
            "name-",
            "idbversion",
        ],
    ),
    (
        "values",
        &[
            "structured-clone",
            "clone-",
            "nested-cloning",
            "value",
            "blob",
            "large-requests",
        ],
    ),
    ("requests and events", &[""]),
];

/// All results, as JSON.
pub(crate) fn write_json(path: &Path, results: &[FileResult]) -> io::Result<()> {
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    let mut file = io::BufWriter::new(file);
    serde_json::to_writer_pretty(&mut file, results)?;
    file.flush()
}

/// Prints the tables and what is unexpected; whether nothing is. `is_whole`: all files were run.
pub(crate) fn print(
    results: &[FileResult],
    expected: &[Expected],
    forms: &[Form],
    is_whole: bool,
) -> bool {
    for form in forms {
        table(results, *form);
    }
    let mut is_well = true;
    let mut unexpected = |what: String| {
        println!("{what}");
        is_well = false;
    };
    for result in results {
        let message = result.message.as_deref().unwrap_or_default();
        let file = format!("{}, {}", result.file, result.form.name());
        if result.status != 0 {
            unexpected(format!("{file}: the harness failed: {message}"));
        }
        for test in &result.tests {
            let name = &test.name;
            let reason = reason(expected, result, name);
            match (test.status.as_str(), reason) {
                ("PASS", None) => {}
                ("PASS", Some(_)) => unexpected(format!("{file}: passes: {name}")),
                (_, Some(reason)) => println!("{file}: expected: {name}: {reason}"),
                (status, None) => {
                    let message = test.message.as_deref().unwrap_or_default();
                    unexpected(format!("{file}: {status}: {name}: {message}"));
                }
            }
        }
    }
    for form in forms.iter().filter(|_| is_whole) {
        for entry in expected.iter().filter(|entry| entry.is_for(*form)) {
            for name in entry
                .subtests
                .iter()
                .filter(|name| !is_there(results, entry, *form, name))
            {
                unexpected(format!(
                    "{}, {}: is not there: {name}",
                    entry.file,
                    form.name()
                ));
            }
        }
    }
    is_well
}

/// Prints which tests of the folder were not run, and why.
pub(crate) fn print_not_run(not_run: &[NotRun]) {
    println!(
        "not run: {} tests of the folder, and the others in shared and service workers",
        not_run.len()
    );
    for NotRun { file, why } in not_run {
        println!("  {file}: {why}");
    }
}

fn is_there(results: &[FileResult], entry: &Expected, form: Form, name: &str) -> bool {
    let mut results = results.iter();
    let result = results.find(|result| result.form == form && result.file == entry.file);
    result.is_some_and(|result| result.tests.iter().any(|test| test.name == name))
}

fn reason<'e>(expected: &'e [Expected], result: &FileResult, name: &str) -> Option<&'e str> {
    let entry = expected.iter().find(|entry| {
        entry.file == result.file
            && entry.is_for(result.form)
            && entry.subtests.iter().any(|subtest| subtest == name)
    });
    entry.map(|entry| entry.reason.as_str())
}

#[derive(Default)]
struct Sum {
    files: usize,
    files_passed: usize,
    tests: usize,
    tests_passed: usize,
    duration_ms: u64,
}

impl Sum {
    fn add(&mut self, result: &FileResult) {
        let passed = result
            .tests
            .iter()
            .filter(|test| test.status == "PASS")
            .count();
        self.files += 1;
        self.tests += result.tests.len();
        self.tests_passed += passed;
        self.files_passed += usize::from(passed == result.tests.len() && result.status == 0);
        self.duration_ms += result.duration_ms;
    }

    fn print(&self, theme: &str) {
        println!(
            "{theme:<20} {:>4} of {:>4} files {:>5} of {:>5} subtests {:>8} ms",
            self.files_passed, self.files, self.tests_passed, self.tests, self.duration_ms
        );
    }
}

fn table(results: &[FileResult], form: Form) {
    println!("in a {}:", form.name());
    let of_form = |result: &&FileResult| result.form == form;
    let mut themes: BTreeMap<usize, Sum> = BTreeMap::new();
    let mut all = Sum::default();
    for result in results.iter().filter(of_form) {
        let fits = |(_, beginnings): &(&str, &[&str])| {
            beginnings
                .iter()
                .any(|beginning| result.file.starts_with(beginning))
        };
        let theme = THEMES.iter().position(fits).unwrap_or(THEMES.len() - 1);
        themes.entry(theme).or_default().add(result);
        all.add(result);
    }
    for (theme, sum) in &themes {
        sum.print(THEMES[*theme].0);
    }
    all.print("all");
    if let Some(slowest) = results
        .iter()
        .filter(of_form)
        .max_by_key(|result| result.duration_ms)
    {
        println!("slowest: {} {} ms", slowest.file, slowest.duration_ms);
    }
}
