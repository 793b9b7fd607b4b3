//! From the command line to the stores: opens each, hands it to the command, tells what was damaged.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use larder_backing_store::{ErrorKind, OpenOptions, Store, StorePaths};
use larder_codec::{JsString, Origin};
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use crate::args::{Cli, ColorWhen, Command};
use crate::locate::find_stores;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::{EXIT_NOT_A_STORE, EXIT_OK, EXIT_USAGE, Report};
use crate::scan::{Scan, Selection, Stop};
use crate::{dump, ls, rows};

/// What a command does with each store and at the end.
pub(crate) trait PerStore {
    /// Takes one store.
    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop>;

    /// The last store has been taken: puts the output in its place.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Whose store it is.
#[derive(Debug, Clone)]
pub(crate) struct StoreOrigin {
    /// The origin as a URL shows it, or the identifier if it is no such thing, or the folder's name.
    pub(crate) shown: String,
    identifier: Option<String>,
}

impl StoreOrigin {
    /// From the folder's name, or, if that tells nothing, from the store's own name rows.
    fn of(store: &Store) -> Self {
        let identifier = match store.paths().identifier() {
            Some(identifier) => Some(identifier.to_owned()),
            None => {
                let databases = store.databases(&mut Vec::new()).unwrap_or_default();
                let text = databases
                    .first()
                    .map(|database| database.origin.to_string_lossy());
                text.map(|text| text.strip_suffix("@1").unwrap_or(&text).to_owned())
            }
        };
        let origin = identifier.as_deref().and_then(Origin::from_identifier);
        let shown = match (origin, &identifier) {
            (Some(origin), _) => origin.to_string(),
            (None, Some(identifier)) => identifier.clone(),
            (None, None) => {
                let name = store.paths().leveldb.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        };
        Self { shown, identifier }
    }

    fn is(&self, wanted: &str) -> bool {
        let wanted_origin = Origin::from_url(wanted.strip_suffix('/').unwrap_or(wanted));
        self.shown == wanted
            || self.identifier.as_deref() == Some(wanted.strip_suffix("@1").unwrap_or(wanted))
            || wanted_origin.is_some_and(|origin| Some(origin.identifier()) == self.identifier)
    }
}

/// Runs a command line.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let color = match cli.color {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    let (path, origin, selection, output) = match &cli.command {
        Command::Completions { shell } => return completions(*shell),
        Command::Man => return manual(),
        Command::Ls(args) => (&args.path, &args.origin, Selection::default(), None),
        Command::Dump(args) => {
            let name = |name: &Option<String>| name.as_deref().map(JsString::from);
            let selection = Selection {
                database: name(&args.database),
                object_store: name(&args.store),
            };
            (&args.path, &args.origin, selection, args.output.as_deref())
        }
        Command::Rows(args) => (
            &args.path,
            &args.origin,
            Selection::default(),
            args.output.as_deref(),
        ),
    };
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let mut report = Report::on_stderr();
    let paths = match locate(&*fs, path, &mut report) {
        Ok(paths) => paths,
        Err(code) => return code,
    };
    let output = match Output::open(output) {
        Ok(output) => output,
        Err(error) => return output_failed(&error),
    };
    // Colours are for text on standard output only.
    let color = color && (cli.color == ColorWhen::Always || output.is_stdout());
    let mut command: Box<dyn PerStore> = match &cli.command {
        Command::Ls(args) => Box::new(ls::Ls::new(args, output, color)),
        Command::Dump(args) => dump::command(args, output, color),
        Command::Rows(args) => Box::new(rows::Rows::new(args, output, color)),
        Command::Completions { .. } | Command::Man => return ExitCode::from(EXIT_OK),
    };
    let mut session = Session {
        fs,
        wanted_origin: origin.as_deref(),
        selection,
        report,
        progress: Progress::new(cli.quiet),
        opened: 0,
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

struct Session<'a> {
    fs: Arc<dyn FileSystem>,
    wanted_origin: Option<&'a str>,
    selection: Selection,
    report: Report,
    progress: Progress,
    opened: usize,
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
        let store = match Store::open_read_only(Arc::clone(&self.fs), paths, options) {
            Ok(store) => store,
            Err(error) if error.kind() == ErrorKind::NotAStore => {
                self.not_stores.push((leveldb, error.to_string()));
                return Ok(());
            }
            Err(error) => {
                self.opened += 1;
                self.report.damage(&place, &error);
                return Ok(());
            }
        };
        self.opened += 1;
        let origin = StoreOrigin::of(&store);
        if self.wanted_origin.is_some_and(|wanted| !origin.is(wanted)) {
            return Ok(());
        }
        self.notes(&store, &place);
        let mut scan = Scan {
            store: &store,
            selection: &self.selection,
            report: &mut self.report,
            progress: &mut self.progress,
            place: place.clone(),
        };
        let result = command.store(&mut scan, &origin);
        // Last, because reading is what finds damage in tables.
        for damage in store.db().damage() {
            self.report.damage(&place, &damage);
        }
        match result {
            Err(Stop::Output(error)) => Err(error),
            Err(Stop::Store(error)) => {
                self.report.damage(&place, &error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// What a person should know of the store before they trust what comes out.
    fn notes(&mut self, store: &Store, place: &str) {
        if let Some(holder) = store.db().lock_holder() {
            let holder = holder.pid.map_or_else(
                || "another process".to_owned(),
                |pid| format!("process {pid}"),
            );
            self.report.note(
                place,
                format_args!("in use by {holder}; this is how it stood a moment ago"),
            );
        }
        for tail in store.db().torn_tails() {
            let note = format_args!(
                "{} ends in the middle of a write at byte {}, as a crash leaves it",
                tail.file, tail.offset
            );
            self.report.note(place, note);
        }
        let recovery = store.recovery();
        if !recovery.undone.is_empty() {
            self.report.note(
                place,
                format_args!(
                    "{} unfinished transactions are shown undone",
                    recovery.undone.len()
                ),
            );
        }
        for problem in &recovery.problems {
            self.report.damage(place, problem);
        }
    }

    fn finish(mut self, command: Box<dyn PerStore>) -> ExitCode {
        self.progress.finish();
        if self.opened == 0 {
            for (path, error) in &self.not_stores {
                self.report.note(path.display(), error);
            }
            complain("no IndexedDB store here");
            return ExitCode::from(EXIT_NOT_A_STORE);
        }
        for (path, error) in &self.not_stores {
            self.report.damage(path.display(), error);
        }
        if let Err(error) = command.finish() {
            return output_failed(&error);
        }
        self.report.exit_status()
    }
}

fn locate(
    fs: &dyn FileSystem,
    path: &Path,
    report: &mut Report,
) -> Result<Vec<StorePaths>, ExitCode> {
    let found = match find_stores(fs, path) {
        Ok(found) => found,
        Err(error) => {
            complain(&format!("{}: {error}", path.display()));
            return Err(ExitCode::from(EXIT_NOT_A_STORE));
        }
    };
    for (dir, error) in &found.unreadable {
        report.damage(dir.display(), error);
    }
    if found.stores.is_empty() {
        complain(&format!("{}: no IndexedDB store here", path.display()));
        return Err(ExitCode::from(EXIT_NOT_A_STORE));
    }
    Ok(found.stores)
}

/// The reader of a pipe that went away wants no more: that is no error to tell.
fn output_failed(error: &io::Error) -> ExitCode {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ExitCode::from(EXIT_OK);
    }
    complain(&format!("output: {error}"));
    ExitCode::from(EXIT_USAGE)
}

fn complain(what: &str) {
    // Nothing better can be done if standard error is gone.
    let _ = writeln!(io::stderr(), "larder: {what}");
}

fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "larder", &mut script);
    print(&script)
}

fn manual() -> ExitCode {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
    let subcommands: io::Result<()> = Cli::command()
        .get_subcommands()
        .filter(|command| !matches!(command.get_name(), "help" | "completions" | "man"))
        .try_for_each(|command| {
            clap_mangen::Man::new(
                command
                    .clone()
                    .display_name(format!("larder-{}", command.get_name())),
            )
            .render(&mut page)
        });
    match rendered.and(subcommands) {
        Ok(()) => print(&page),
        Err(error) => output_failed(&error),
    }
}

fn print(bytes: &[u8]) -> ExitCode {
    match io::stdout()
        .write_all(bytes)
        .and_then(|()| io::stdout().flush())
    {
        Ok(()) => ExitCode::from(EXIT_OK),
        Err(error) => output_failed(&error),
    }
}
