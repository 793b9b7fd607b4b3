//! `larder export` and `larder import`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use larder_codec::Origin;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use super::export::{ArchiveWriter, Source};
use super::import::{ImportOptions, import_archive};
use super::target::Form;
use crate::args::{ExportArgs, ImportArgs};
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::progress::Progress;
use crate::report::{EXIT_USAGE, Report, complain};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::within::Within;

/// So many problems are named.
const PROBLEMS_NAMED_MAX: usize = 100;

/// `larder export`.
pub(crate) struct Export {
    from: PathBuf,
    to: PathBuf,
    dry_run: bool,
    writer: ArchiveWriter,
    has_stores: bool,
    output: Output,
}

impl Export {
    /// The command; `from` is the path below which stores were found.
    ///
    /// # Errors
    /// In words, if nothing can be written there.
    pub(crate) fn new(args: &ExportArgs, from: PathBuf, output: Output) -> Result<Self, String> {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let begin = match args.dry_run {
            true => ArchiveWriter::dry_run,
            false => ArchiveWriter::begin,
        };
        let writer = begin(fs, &args.to, Form::of_name(&args.to));
        Ok(Self {
            from,
            to: args.to.clone(),
            dry_run: args.dry_run,
            writer: writer.map_err(|error| error.to_string())?,
            has_stores: false,
            output,
        })
    }
}

impl PerStore for Export {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let leveldb = scan.store.paths().leveldb.clone();
        let below = leveldb.strip_prefix(&self.from).ok();
        let below = below.filter(|below| !below.as_os_str().is_empty());
        let name = || Path::new(leveldb.file_name().unwrap_or_default());
        self.has_stores = true;
        let source = Source {
            origin: &origin.shown,
            identifier: origin.identifier(),
            bucket: origin.bucket.as_deref(),
            folder: below.unwrap_or_else(name),
        };
        self.writer.store(scan, &source)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Self {
            to,
            dry_run,
            writer,
            has_stores,
            mut output,
            ..
        } = *self;
        if has_stores {
            let exported = writer.finish()?;
            let would = if dry_run { "would have " } else { "" };
            writeln!(output, "{}: {would}{exported}", to.display())?;
        }
        output.finish()
    }
}

/// `larder import`.
pub(crate) fn import(args: &ImportArgs, quiet: bool) -> ExitCode {
    let origin = args.origin.as_deref().map(|text| {
        Origin::from_url(text.strip_suffix('/').unwrap_or(text))
            .map_err(|error| format!("--origin {text}: {error}"))
    });
    let origin = match origin.transpose() {
        Ok(origin) => origin,
        Err(what) => return failed(&what),
    };
    let disk: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let source: Arc<dyn FileSystem> = Arc::new(Within::new(Arc::clone(&disk), &args.archive));
    let mut progress = Progress::new(quiet);
    progress.at(args.archive.display().to_string());
    let options = ImportOptions {
        origin,
        dry_run: args.dry_run,
    };
    let mut tick = || progress.tick();
    let imported = import_archive(&source, &args.archive, &disk, &args.to, &options, &mut tick);
    progress.finish();
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => return failed(&error.to_string()),
    };
    let mut report = Report::on_stderr();
    for problem in imported.problems.iter().take(PROBLEMS_NAMED_MAX) {
        report.damage(args.archive.display(), problem);
    }
    let more = imported.problems.len().saturating_sub(PROBLEMS_NAMED_MAX);
    if more > 0 {
        report.damage(
            args.archive.display(),
            format!("{more} more records are not whole"),
        );
    }
    match said(&imported.stores, &imported.counts.to_string(), args.dry_run) {
        Ok(()) => report.exit_status(),
        Err(error) => failed(&format!("output: {error}")),
    }
}

fn said(
    stores: &[larder_backing_store::StorePaths],
    counts: &str,
    dry_run: bool,
) -> io::Result<()> {
    let mut output = Output::open(None)?;
    let done = if dry_run {
        "would be imported"
    } else {
        "imported"
    };
    for store in stores {
        writeln!(output, "{}: {done}", store.leveldb.display())?;
    }
    writeln!(output, "{counts}")?;
    output.finish()
}

fn failed(what: &str) -> ExitCode {
    complain(what);
    ExitCode::from(EXIT_USAGE)
}
