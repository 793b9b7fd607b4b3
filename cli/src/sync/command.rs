//! `larder sync`: prints what the library's functions give.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use larder_codec::JsString;
use larder_idb::{Storage, StorageOptions, SystemClock};
use larder_leveldb::storage::DiskFileSystem;
use larder_sync::{DeviceId, ErrorKind, MergeBy};
use std::sync::Arc;

use super::{
    DatabaseSync, Place, RoundReport, SyncError, SyncOptions, cloud, pages_beside, write_conflict,
};
use crate::args::{MergeRule, SyncArgs};
use crate::display::{Counted, Quoted};
use crate::locate::named;
use crate::report::{EXIT_DAMAGE, EXIT_NOT_A_STORE, EXIT_OK, EXIT_USAGE, complain, output_failed};

/// How often `--watch` looks for changes.
const WATCH_EVERY: Duration = Duration::from_secs(3);

/// Does the command.
pub(crate) fn run(args: &SyncArgs) -> ExitCode {
    let options = match options(args) {
        Ok(options) => options,
        Err((code, what)) => {
            complain(&what);
            return ExitCode::from(code);
        }
    };
    let code = match done(args, options) {
        Ok(is_alike) => {
            if is_alike {
                EXIT_OK
            } else {
                EXIT_DAMAGE
            }
        }
        Err(SyncError::Output(error)) => return output_failed(&error),
        Err(error) => {
            complain(&format!("{}: {error}", args.path.display()));
            exit_code(&error)
        }
    };
    ExitCode::from(code)
}

fn exit_code(error: &SyncError) -> u8 {
    match error {
        SyncError::NoDatabase(_) => EXIT_NOT_A_STORE,
        SyncError::Cloud(error) => match error.kind() {
            ErrorKind::Erased | ErrorKind::Rewritten | ErrorKind::Damaged | ErrorKind::WrongKey => {
                EXIT_DAMAGE
            }
            _ => EXIT_USAGE,
        },
        SyncError::Database(error) if error.kind() == larder_idb::ErrorKind::Corruption => {
            EXIT_DAMAGE
        }
        SyncError::Page(error) if error.kind() == larder_pages::ErrorKind::Corruption => {
            EXIT_DAMAGE
        }
        SyncError::Mirror(larder_sync::MirrorError::Malformed { .. }) => EXIT_DAMAGE,
        _ => EXIT_USAGE,
    }
}

fn options(args: &SyncArgs) -> Result<SyncOptions, (u8, String)> {
    let usage = |what: String| (EXIT_USAGE, what);
    let path = named(&args.path);
    let place = Place::find(&DiskFileSystem::new(), &path, args.origin.as_deref());
    let place = place.map_err(|what| (EXIT_NOT_A_STORE, what))?;
    let database = match &args.database {
        Some(name) => JsString::from(name.as_str()),
        None => only_database(&place)?,
    };
    let mut fresh = [0; 16];
    getrandom::fill(&mut fresh).map_err(|error| usage(format!("no random numbers: {error}")))?;
    let pages = args.pages.clone();
    Ok(SyncOptions {
        pages: pages.unwrap_or_else(|| pages_beside(&place.folder)),
        place,
        database,
        key: args
            .key
            .as_deref()
            .map(cloud::read_key)
            .transpose()
            .map_err(usage)?,
        cloud: cloud::open(&args.cloud).map_err(usage)?,
        merge_by: match args.merge_by {
            MergeRule::Record => MergeBy::Record,
            MergeRule::Property => MergeBy::Property,
        },
        fresh: DeviceId(fresh),
    })
}

/// The one database of the store.
fn only_database(place: &Place) -> Result<JsString, (u8, String)> {
    let mut options = StorageOptions::new(
        Arc::new(DiskFileSystem::new()),
        &place.folder,
        Arc::new(SystemClock),
    );
    options.read_only = true;
    let names = || {
        let storage = Storage::new(options)?;
        let databases = storage.factory(&place.origin).databases().wait()?;
        storage.close()?;
        Ok(databases)
    };
    let databases = names().map_err(|error: larder_idb::Error| (EXIT_USAGE, error.to_string()))?;
    match &databases[..] {
        [only] => Ok(only.name.clone()),
        [] => Err((
            EXIT_NOT_A_STORE,
            "there is no database here yet: --database names the one that is to be made".to_owned(),
        )),
        several => {
            let names = several.iter();
            let names: Vec<String> = names
                .map(|database| Quoted(&database.name).to_string())
                .collect();
            let what = format!(
                "there are several databases ({}): choose one with --database",
                names.join(", ")
            );
            Err((EXIT_USAGE, what))
        }
    }
}

/// Whether all records are alike.
fn done(args: &SyncArgs, options: SyncOptions) -> Result<bool, SyncError> {
    let mut sync = DatabaseSync::open(options)?;
    if args.start_over {
        sync.start_over()?;
    }
    let done = match args.watch {
        true => watch(args, &mut sync).map(|()| true),
        false => once(args, &mut sync),
    };
    let closed = sync.close();
    let is_alike = done?;
    closed?;
    Ok(is_alike)
}

fn once(args: &SyncArgs, sync: &mut DatabaseSync) -> Result<bool, SyncError> {
    let report = sync.round()?;
    let mut out = io::stdout().lock();
    if args.conflicts {
        for conflict in &sync.conflicts()? {
            write_conflict(conflict, &mut out)?;
        }
    } else {
        show(args, &report, &mut out)?;
    }
    say_apart(&report);
    if args.settle {
        let settled = sync.settle()?;
        complain(&format!("{} off the list", Counted(settled, "conflict")));
    }
    out.flush()?;
    Ok(report.apart.is_empty() && report.problem.is_none())
}

fn show(args: &SyncArgs, report: &RoundReport, out: &mut impl Write) -> Result<(), SyncError> {
    if args.json {
        serde_json::to_writer(&mut *out, report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        report.write_text(out)?;
    }
    Ok(out.flush()?)
}

/// Names the records that are not alike, and what cannot be taken.
fn say_apart(report: &RoundReport) {
    if let Some(problem) = &report.problem {
        complain(problem);
    }
    for apart in &report.apart {
        complain(&format!("{} {}: {}", apart.store, apart.key, apart.reason));
    }
}

/// Rounds until the command is interrupted. The store is opened when something has changed here or there, since a browser cannot open it
/// meanwhile; if one has it open, the command waits.
fn watch(args: &SyncArgs, sync: &mut DatabaseSync) -> Result<(), SyncError> {
    // What was said last: it is said again when it is another.
    let (mut failed, mut apart) = (None, (None, Vec::new()));
    let mut looks_again = Duration::ZERO;
    loop {
        let round = until_news(sync, looks_again).and_then(|()| sync.round());
        let retry_after = sync.sync().retry_after().unwrap_or_default();
        match round {
            Ok(report) => {
                if !report.is_quiet() {
                    show(args, &report, &mut io::stdout().lock())?;
                }
                if (&report.problem, &report.apart) != (&apart.0, &apart.1) {
                    say_apart(&report);
                }
                (failed, apart) = (None, (report.problem, report.apart));
                looks_again = retry_after;
                sleep(WATCH_EVERY);
            }
            Err(error) if may_pass(&error) => {
                let what = error.to_string();
                if failed.as_ref() != Some(&what) {
                    complain(&format!("{what}; it is tried again"));
                }
                failed = Some(what);
                looks_again = Duration::ZERO;
                sleep(WATCH_EVERY.max(retry_after));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Waits until the store has changed, or the cloud has something new. What is there and cannot be taken is new each time that one looks, so
/// the cloud is not looked at for some time after a round in which something could not be.
fn until_news(sync: &DatabaseSync, mut looks_again: Duration) -> Result<(), SyncError> {
    while !sync.is_store_changed() && (!looks_again.is_zero() || !sync.has_news()?) {
        sleep(WATCH_EVERY);
        looks_again = looks_again.saturating_sub(WATCH_EVERY);
    }
    Ok(())
}

fn may_pass(error: &SyncError) -> bool {
    match error {
        SyncError::Cloud(error) => error.kind() == ErrorKind::Unavailable,
        SyncError::Mirror(larder_sync::MirrorError::Busy) => true,
        SyncError::Database(error) => error.kind() == larder_idb::ErrorKind::Conflict,
        _ => false,
    }
}
