//! Runs IndexedDB's conformance suite, web-platform-tests, on this host.
//!
//! `WPT_DIR` names the suite's folder, with `IndexedDB/`, `resources/testharness.js` and, for the check
//! of interfaces, `resources/idlharness.js`, `resources/WebIDLParser.js` and `interfaces/*.idl`. Without
//! it nothing is run, and that is said. One process per file and variant; what is expected to fail is in
//! `js-host/wpt-expectations.json`, each with its reason, and anything else that fails, and anything of
//! these that passes, fails the run; so does a process that dies, also after its results. At the end come the tests
//! of the folder that were not run.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that prints what it finds"
)]

mod child;
mod expectations;
mod keep;
mod place;
mod process;
mod report;
mod run;
mod server;
mod suite;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use run::Settings;
use suite::{Files, Form};

const USAGE: &str =
    "usage: WPT_DIR=SUITE wpt [--form FORM] [--storage PLACE [--sqlite] [--keep FOLDER]] [--threads] [--jobs N] [--limit SECONDS] [--json FILE] [NAME...]
  NAME             only files whose names contain one of these
  --form FORM      window or worker (otherwise both)
  --storage PLACE  stores on disk, a folder for each file; or at an address of a distributed
                   store (postgres://…, etcd://…, rados://…, fdb://…, with ?content=s3://BUCKET/PREFIX
                   content in a bucket), a namespace for each (otherwise in memory)
  --sqlite         stores in a folder are SQLite files (a build with the feature sqlite)
  --keep FOLDER    copies of the stores in which a script is about to delete a database
  --threads        the engine on threads of its own (otherwise the host drives it)
  --jobs N         so many processes at once (2)
  --limit SECONDS  no file may take longer (20)
  --json FILE      results as JSON";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("wpt: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let Some(suite) = std::env::var_os("WPT_DIR").map(PathBuf::from) else {
        println!("skipped: WPT_DIR does not name the suite's folder");
        return Ok(ExitCode::SUCCESS);
    };
    let mut settings = Settings::new(suite);
    let mut names = Vec::new();
    let mut json = None;
    let mut child = None;
    let mut forms = Form::ALL.to_vec();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(USAGE);
        match arg.as_str() {
            "--storage" => settings.storage = Some(PathBuf::from(value()?)),
            "--keep" => settings.keep = Some(PathBuf::from(value()?)),
            "--form" => forms = vec![Form::of_name(&value()?).ok_or(USAGE)?],
            #[cfg(feature = "sqlite")]
            "--sqlite" => settings.store_form = larder_idb::StoreForm::Sqlite,
            "--threads" => settings.threads = true,
            "--jobs" => settings.jobs = value()?.parse()?,
            "--limit" => settings.limit = Duration::from_secs(value()?.parse()?),
            "--json" => json = Some(PathBuf::from(value()?)),
            "--child" => child = Some((value()?, value()?, value()?)),
            _ if arg.starts_with('-') => return Err(USAGE.into()),
            _ => names.push(arg),
        }
    }
    // A copy is one of a folder, and whole only if nothing happens beside it.
    let is_folder = |storage: &PathBuf| !place::is_address(storage);
    if settings.keep.is_some()
        && (!settings.storage.as_ref().is_some_and(is_folder) || settings.threads)
    {
        return Err(USAGE.into());
    }
    if let Some((file, variant, form)) = child {
        let form = Form::of_name(&form).ok_or(USAGE)?;
        child::run(&settings, &file, &variant, form)?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = Files::read(&settings.suite)?;
    let results = run::all(&settings, &files.run, &forms, &names)?;
    if let Some(json) = json {
        report::write_json(&json, &results)?;
    }
    let expectations = expectations::read()?;
    let is_well = report::print(&results, &expectations, &forms, names.is_empty());
    if names.is_empty() {
        report::print_not_run(&files.not_run);
    }
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
