//! From the command line to the stores: opens each, passes it to the command, reports what was damaged.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use larder_backing_store::{ErrorKind, OpenOptions, RowNames, StorePaths};
use larder_codec::JsString;
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use crate::args::{Cli, ColorWhen, Command, CopyArgs, DumpFormat, ExportFormat};
use crate::bucket_names::BucketNames;
use crate::copy::Copy;
use crate::damage::Tally;
use crate::diff::{Diff, Others};
use crate::find::Find;
use crate::locate::named;
use crate::maintain::{Job, Maintain};
use crate::open_store::open_store;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::progress::Progress;
use crate::report::{EXIT_NOT_A_STORE, EXIT_OK, EXIT_USAGE, Report, complain, output_failed};
use crate::scan::{Scan, Selection, Stop};
#[cfg(feature = "scripts")]
use crate::scripts;
use crate::stat::Stat;
use crate::store_notes::{report_notes, report_use};
use crate::store_origin::{StoreOrigin, origins_text};
use crate::stores_at::{WHERE_STORES_ARE, locate, with_only_store};
#[cfg(feature = "sync")]
use crate::sync;
use crate::table::TableExport;
use crate::verify::Verify;
#[cfg(feature = "view")]
use crate::view;
use crate::{archive, dump, feed, ls, manual, pages, remote, repair, rows};

/// Runs a command line.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let color = match cli.color {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
        }
    };
    if let Some(address) = on_this_machine(&cli.command).find(|path| remote::is_address(path)) {
        complain(&format!(
            "{}: this command works in folders: larder copy brings a store from an address into one, and back",
            remote::shown(address)
        ));
        return ExitCode::from(EXIT_USAGE);
    }
    match &cli.command {
        Command::Completions { shell } => return print(&manual::completions(*shell)),
        Command::Man => {
            return match manual::page() {
                Ok(page) => print(&page),
                Err(error) => output_failed(&error),
            };
        }
        #[cfg(feature = "scripts")]
        Command::Run(args) => return scripts::run(args),
        #[cfg(feature = "view")]
        Command::View(args) => return view::run(args),
        #[cfg(feature = "sync")]
        Command::Sync(args) => return sync::run(args),
        Command::Import(args) => return archive::import(args, cli.quiet),
        Command::Feed(args) => return feed::run(&args.command),
        Command::Pages(args) => return pages::run(&args.command, cli.quiet, color),
        Command::Repair(args) => {
            let (fs, path) = (DiskFileSystem::new(), named(&args.path));
            return with_only_store(&fs, &path, "repaired", |paths| {
                repair::run(args, cli.quiet, paths)
            });
        }
        #[cfg(feature = "remote")]
        Command::Remote(args) => return remote::run(&args.command, print),
        Command::Copy(args)
            if iter::once(&args.from)
                .chain(&args.to)
                .any(|path| remote::is_address(path)) =>
        {
            return copy_files(args, cli.quiet);
        }
        Command::Dump(args) if args.digests && args.format != DumpFormat::Canonical => {
            complain("--digests is a form of --format canonical");
            return ExitCode::from(EXIT_USAGE);
        }
        _ => {}
    }
    let Some(wanted) = cli.wanted() else {
        return ExitCode::from(EXIT_OK);
    };
    let mut report = Report::on_stderr();
    // The name of a store's folder says whose it is and where its blobs are.
    let (fs, path) = match remote::files(wanted.path) {
        Ok(found) => found,
        Err(what) => {
            complain(&what);
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let path = &path;
    let paths = match locate(&*fs, path, &mut report) {
        Ok(paths) => paths,
        Err(code) => return code,
    };
    let output = match Output::open(wanted.output) {
        Ok(opened) => opened,
        Err(error) => {
            let path = wanted.output.unwrap_or(Path::new("standard output"));
            complain(&format!("{}: cannot be written: {error}", path.display()));
            return ExitCode::from(EXIT_USAGE);
        }
    };
    // Colours are for text on standard output only.
    let color = color && (cli.color == ColorWhen::Always || output.is_stdout());
    let mut command: Box<dyn PerStore> = match &cli.command {
        Command::Ls(args) => Box::new(ls::Ls::new(args, output, color)),
        Command::Dump(args) => match dump::command(args, output, color) {
            Ok(command) => command,
            Err(error) => return output_failed(&error),
        },
        Command::Rows(args) => Box::new(rows::Rows::new(args, output, color)),
        Command::Find(args) => match Find::new(args, output, color) {
            Ok(command) => Box::new(command),
            Err(what) => {
                complain(&what);
                return ExitCode::from(EXIT_USAGE);
            }
        },
        Command::Stat(args) => Box::new(Stat::new(args, output, color)),
        Command::Diff(args) => match others(&args.b, &mut report) {
            Ok(others) => {
                let (root, count) = (path.clone(), paths.len());
                Box::new(Diff::new(args, root, count, others, output, color))
            }
            Err(code) => return code,
        },
        Command::Copy(args) => match Copy::new(args, path.clone(), output) {
            Ok(command) => Box::new(command),
            Err(what) => {
                complain(&what);
                return ExitCode::from(EXIT_USAGE);
            }
        },
        Command::Export(args) if args.format != ExportFormat::Archive => {
            match TableExport::new(args, output) {
                Ok(command) => Box::new(command),
                Err(what) => {
                    complain(&what);
                    return ExitCode::from(EXIT_USAGE);
                }
            }
        }
        Command::Export(args) => match archive::Export::new(args, path.clone(), output) {
            Ok(command) => Box::new(command),
            Err(what) => {
                complain(&what);
                return ExitCode::from(EXIT_USAGE);
            }
        },
        Command::Verify(args) => Box::new(Verify::new(args, cli.verbose, output, color)),
        Command::Compact(args) => Box::new(Maintain::new(args, Job::Compact, output)),
        Command::Clean(args) => Box::new(Maintain::new(args, Job::Clean, output)),
        // Those that take no store after the other have returned above.
        _ => return ExitCode::from(EXIT_OK),
    };
    let mut session = Session {
        fs,
        wanted_origin: wanted.origin,
        wanted_bucket: wanted.bucket,
        bucket_names: BucketNames::default(),
        selection: Selection {
            database: wanted.database.map(JsString::from),
            object_store: wanted.object_store.map(JsString::from),
        },
        report,
        progress: Progress::new(cli.quiet),
        names_all: cli.verbose,
        opened: 0,
        other_origins: BTreeSet::new(),
        origin_found: false,
        bucket_found: false,
        selection_found: false,
        not_stores: Vec::new(),
    };
    for paths in paths {
        match session.take(paths, &mut *command) {
            Ok(()) => {}
            Err(error) => {
                session.progress.finish();
                return output_failed(&error);
            }
        }
    }
    session.finish(command)
}

/// The paths that cannot be addresses: where a command writes otherwise than by copying all files.
fn on_this_machine(command: &Command) -> impl Iterator<Item = &Path> {
    let paths = match command {
        Command::Compact(args) | Command::Clean(args) => [Some(&args.path), None],
        Command::Repair(args) => [Some(&args.path), args.to.as_ref()],
        Command::Import(args) => [Some(&args.archive), Some(&args.to)],
        Command::Export(args) => [Some(&args.to), None],
        Command::Pages(args) => [Some(&args.command.pages().path), None],
        #[cfg(feature = "sync")]
        Command::Sync(args) => [Some(&args.path), args.pages.as_ref()],
        _ => [None, None],
    };
    paths.into_iter().flatten().map(PathBuf::as_path)
}

/// Copies all files, where one end is an address.
fn copy_files(args: &CopyArgs, quiet: bool) -> ExitCode {
    let has_parts = args.origin.is_some() || args.dry_run || args.takes_a_part();
    let copied = match &args.to {
        Some(to) if !has_parts => remote::copy(&args.from, to, quiet),
        _ => Err("to and from an address all files are copied: without parts of stores, --origin, --format, --in-place, --on-conflict and --dry-run".to_owned()),
    };
    match copied {
        Ok(text) => print(format!("{text}\n").as_bytes()),
        Err(what) => {
            complain(&what);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// The stores that others are compared with.
fn others(path: &Path, report: &mut Report) -> Result<Others, ExitCode> {
    let (fs, root) = remote::files(path).map_err(|what| {
        complain(&what);
        ExitCode::from(EXIT_USAGE)
    })?;
    let stores = locate(&*fs, &root, report)?;
    Ok(Others { root, fs, stores })
}

struct Session<'a> {
    fs: Arc<dyn FileSystem>,
    wanted_origin: Option<&'a str>,
    wanted_bucket: Option<&'a str>,
    bucket_names: BucketNames,
    selection: Selection,
    report: Report,
    progress: Progress,
    /// Every damaged row is named, not only the first ones of a kind.
    names_all: bool,
    opened: usize,
    /// The origins of stores that were passed over.
    other_origins: BTreeSet<String>,
    origin_found: bool,
    bucket_found: bool,
    /// Something had the names that are wanted.
    selection_found: bool,
    not_stores: Vec<(PathBuf, String)>,
}

impl Session<'_> {
    /// Takes one store. An error means that the output is gone.
    fn take(&mut self, paths: StorePaths, command: &mut dyn PerStore) -> io::Result<()> {
        let place = paths.leveldb.display().to_string();
        self.progress.at(&place);
        let options = OpenOptions {
            on_damage: OnDamage::Skip,
            ..OpenOptions::default()
        };
        let leveldb = paths.leveldb.clone();
        let store = match open_store(&self.fs, paths, options) {
            Ok(store) => store,
            Err(error) if error.kind() == ErrorKind::NotAStore => {
                self.not_stores.push((leveldb, error.to_string()));
                return Ok(());
            }
            Err(error) => {
                self.opened += 1;
                if error.kind() == ErrorKind::Io {
                    self.report.unreadable(&place, &error);
                } else {
                    self.report.damage(&place, &error);
                }
                return Ok(());
            }
        };
        self.opened += 1;
        let names = RowNames::of(&store);
        let report = &mut self.report;
        let bucket_name = self
            .bucket_names
            .get(&*self.fs, store.paths(), |file, why| {
                report.note(file.display(), why);
            });
        let origin = StoreOrigin::of(&store, names.databases(), bucket_name);
        if self.wanted_origin.is_some_and(|wanted| !origin.is(wanted)) {
            self.other_origins.insert(origin.shown);
            return Ok(());
        }
        self.origin_found = true;
        if self
            .wanted_bucket
            .is_some_and(|wanted| !origin.is_bucket(wanted))
        {
            return Ok(());
        }
        self.bucket_found = true;
        let is_beside = command.problems() == Problems::AreBeside;
        let others = origin.other_owners(names.databases());
        for owner in others.into_iter().filter(|_| is_beside) {
            let note = format!(
                "has databases of {owner}, as if the folder had been copied or renamed: Chromium shows none of them under its name"
            );
            self.report.note(&place, note);
        }
        if is_beside {
            report_use(&store, &mut self.report);
            report_notes(&*self.fs, &store, &mut self.report);
        }
        if self.selection.is_in(names.databases()) {
            self.selection_found = true;
        } else if store.damage().is_empty() && store.recovery().problems.is_empty() {
            // Nothing of it is wanted, and nothing that is wanted can have been lost in it.
            return Ok(());
        }
        let tally = Tally::new(&store, names, self.names_all);
        let mut scan = Scan {
            store: &store,
            selection: &self.selection,
            report: &mut self.report,
            progress: &mut self.progress,
            tally,
        };
        if is_beside {
            for problem in &store.recovery().problems {
                scan.damage(problem);
            }
        }
        let result = match command.store(&mut scan, &origin) {
            Err(Stop::Output(error)) => Err(error),
            Err(Stop::Store(error)) => {
                scan.damage(&error);
                Ok(())
            }
            Ok(()) => Ok(()),
        };
        // Last, because reading is what finds damage in tables.
        if is_beside {
            scan.tally.finish(scan.report, &store);
        }
        result
    }

    fn finish(mut self, mut command: Box<dyn PerStore>) -> ExitCode {
        self.progress.finish();
        if self.opened == 0 {
            for (path, error) in &self.not_stores {
                self.report.note(path.display(), error);
            }
            complain(&format!("no IndexedDB store here: {WHERE_STORES_ARE}"));
            return ExitCode::from(EXIT_NOT_A_STORE);
        }
        for (path, error) in &self.not_stores {
            self.report.damage(path.display(), error);
        }
        if let Some(nothing) = self.nothing_found() {
            complain(&nothing);
            if !self.report.is_damaged() {
                return ExitCode::from(EXIT_NOT_A_STORE);
            }
        }
        let said = command.last(&mut self.report);
        if let Err(error) = said.and_then(|()| command.finish()) {
            return output_failed(&error);
        }
        self.report.exit_status()
    }
}

impl Session<'_> {
    /// What to say if there was nothing of what the person asked for: a misspelt name must not look like an empty store.
    fn nothing_found(&self) -> Option<String> {
        match self.wanted_origin {
            Some(wanted) if !self.origin_found => {
                let mut text = format!("no store of origin {wanted} here");
                if !self.other_origins.is_empty() {
                    text.push_str("; there is ");
                    text.push_str(&origins_text(&self.other_origins));
                }
                Some(text)
            }
            _ if !self.bucket_found => self
                .wanted_bucket
                .map(|wanted| format!("no store of bucket {wanted} here: {LIST}")),
            _ if !self.selection_found => self
                .selection
                .describe()
                .map(|what| format!("no {what} here: {LIST}")),
            _ => None,
        }
    }
}

/// What a person does when a name is not found.
const LIST: &str = "larder ls lists what is there";

fn print(bytes: &[u8]) -> ExitCode {
    match io::stdout()
        .write_all(bytes)
        .and_then(|()| io::stdout().flush())
    {
        Ok(()) => ExitCode::from(EXIT_OK),
        Err(error) => output_failed(&error),
    }
}
