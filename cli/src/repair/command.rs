//! `larder repair`: repairs one store and says what came of it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use larder_backing_store::{ErrorKind, StorePaths};
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use super::{Destination, RepairOptions, RepairReport, repair_store};
use crate::args::RepairArgs;
use crate::display::Size;
use crate::open_store::needs_leveldb;
use crate::progress::Progress;
use crate::report::{EXIT_DAMAGE, EXIT_NOT_A_STORE, EXIT_OK, EXIT_USAGE, complain};

/// So many damaged places are named; the report has all.
const NAMED_MAX: usize = 10;

/// After the name of a store's folder, in the name of the folder that a repair makes if none is given.
const REPAIRED_SUFFIX: &str = ".repaired";

/// Repairs the store at `paths`.
pub(crate) fn run(args: &RepairArgs, quiet: bool, paths: &StorePaths) -> ExitCode {
    if paths.is_sqlite() {
        complain(&needs_leveldb(paths).to_string());
        return ExitCode::from(EXIT_USAGE);
    }
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let destination = match (args.dry_run, args.in_place) {
        (true, _) => Destination::DryRun,
        (false, true) => Destination::InPlace,
        (false, false) => Destination::Folder(args.to.clone().unwrap_or_else(|| beside(paths))),
    };
    let options = RepairOptions {
        destination,
        with_doubtful: args.with_doubtful,
    };
    let mut progress = Progress::new(quiet);
    let place = paths.leveldb.display().to_string();
    progress.at(&place);
    let repaired = repair_store(&fs, paths, &options, &mut || progress.tick());
    progress.finish();
    let report = match repaired {
        Ok(report) => report,
        Err(error) => {
            complain(&format!("{place}: not repaired: {error}"));
            return ExitCode::from(match error.kind() {
                ErrorKind::NotAStore => EXIT_NOT_A_STORE,
                _ => EXIT_USAGE,
            });
        }
    };
    if let Err(error) = write(&mut io::stdout().lock(), args, &options, &report)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        complain(&format!("output: {error}"));
        return ExitCode::from(EXIT_USAGE);
    }
    ExitCode::from(match report.is_whole() {
        true => EXIT_OK,
        false => EXIT_DAMAGE,
    })
}

fn beside(paths: &StorePaths) -> PathBuf {
    let mut name = paths.leveldb.file_name().unwrap_or_default().to_owned();
    name.push(REPAIRED_SUFFIX);
    paths.leveldb.with_file_name(name)
}

fn write(
    out: &mut dyn Write,
    args: &RepairArgs,
    options: &RepairOptions,
    report: &RepairReport,
) -> io::Result<()> {
    if args.json {
        serde_json::to_writer(&mut *out, report).map_err(io::Error::from)?;
        return writeln!(out);
    }
    let is_dry = options.destination == Destination::DryRun;
    writeln!(out, "{}", report.source)?;
    if let Some(said) = &report.chromium_said {
        writeln!(out, "  Chromium has discarded this store: {said}")?;
    }
    named(out, "damaged", &report.damage)?;
    named(out, "torn", &report.torn)?;
    named(out, "problem", &report.problems)?;
    if let Some(why) = &report.nothing_certain {
        match options.with_doubtful {
            false => writeln!(out, "  no record is certain: {why}")?,
            true => writeln!(out, "  records may be outdated or deleted: {why}")?,
        }
    }
    if let Some(as_of) = &report.as_of {
        writeln!(
            out,
            "  as it was before a loss, after write {}: {}",
            as_of.sequence, as_of.why
        )?;
    }
    let kept = match (is_dry, options.with_doubtful) {
        (true, _) => "would be kept",
        (false, false) => "certain",
        (false, true) => "in the store",
    };
    write!(
        out,
        "  {kept}: {} databases, {} records",
        report.databases, report.records
    )?;
    match report.blobs {
        0 => writeln!(out)?,
        blobs => writeln!(out, ", {blobs} blobs ({})", Size(report.blob_bytes))?,
    }
    if report.unmeasured_blobs > 0 {
        writeln!(
            out,
            "  blobs of which the store does not say the length, so that a cut one is not noticed: {}",
            report.unmeasured_blobs
        )?;
    }
    if report.index_entries_made > 0 {
        writeln!(
            out,
            "  index entries made anew: {}",
            report.index_entries_made
        )?;
    }
    if report.doubtful > 0 {
        let reasons = report.doubtful_by_reason.iter();
        let reasons: Vec<String> = reasons
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        writeln!(
            out,
            "  in doubt: {} records ({})",
            report.doubtful,
            reasons.join(", ")
        )?;
    }
    if report.lost > 0 {
        writeln!(out, "  lost: {} records", report.lost)?;
    }
    if report.loose_blobs > 0 {
        let size = Size(report.loose_blob_bytes);
        writeln!(
            out,
            "  blob files of no kept record: {} ({size})",
            report.loose_blobs
        )?;
    }
    if !report.makes_store {
        let made = if is_dry { "would be" } else { "was" };
        writeln!(out, "  nothing certain was found: no store {made} made")?;
    }
    if let Some(path) = &report.repaired {
        writeln!(out, "  repaired: {path}")?;
    }
    if is_dry {
        writeln!(out, "  nothing was written (--dry-run)")?;
    }
    if let Some(path) = &report.salvaged {
        writeln!(out, "  salvaged: {path}")?;
    }
    if let Some(path) = &report.set_aside {
        writeln!(out, "  what was there: {path}")?;
    }
    if report.may_help() && !options.with_doubtful {
        writeln!(
            out,
            "  larder repair --with-doubtful puts records that may be outdated or deleted into the store, too"
        )?;
    }
    Ok(())
}

fn named(out: &mut dyn Write, kind: &str, all: &[String]) -> io::Result<()> {
    for what in all.iter().take(NAMED_MAX) {
        writeln!(out, "  {kind}: {what}")?;
    }
    match all.len().saturating_sub(NAMED_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  {kind}: and {more} more"),
    }
}
