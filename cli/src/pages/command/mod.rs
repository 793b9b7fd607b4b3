//! `larder pages`: prints what the library's functions give.

mod diff;
mod entry;
mod gc;
mod log;
mod ls;
mod session;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use larder_leveldb::storage::FileSystem;
use larder_pages::ErrorKind;

use super::{PagesError, find_pages};
use crate::args::PagesCommand;
use crate::remote;
use crate::report::{EXIT_DAMAGE, EXIT_NOT_A_STORE, EXIT_USAGE, complain, output_failed};
use crate::style::Style;
use session::Session;

/// Does the command.
pub(crate) fn run(command: &PagesCommand, quiet: bool, color: bool) -> ExitCode {
    let (fs, path) = match remote::files(&command.pages().path) {
        Ok(found) => found,
        Err(what) => {
            complain(&what);
            return ExitCode::from(EXIT_USAGE);
        }
    };
    match done(command, fs, path, quiet, Style::new(color)) {
        Ok(code) => code,
        Err(PagesError::Output(error)) => output_failed(&error),
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &PagesError) -> u8 {
    match error {
        PagesError::NoRepository(..)
        | PagesError::NotAPage(..)
        | PagesError::NoPage(..)
        | PagesError::NoEntry(_) => EXIT_NOT_A_STORE,
        PagesError::Page(error) => match error.kind() {
            ErrorKind::Corruption | ErrorKind::NeedsFetch | ErrorKind::Storage => EXIT_DAMAGE,
            _ => EXIT_USAGE,
        },
        _ => EXIT_USAGE,
    }
}

fn done(
    command: &PagesCommand,
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    quiet: bool,
    style: Style,
) -> Result<ExitCode, PagesError> {
    let found = find_pages(&fs, &path)?;
    let mut session = Session::new(fs, path, found, quiet, style);
    let done = match command {
        PagesCommand::Ls(args) => ls::run(&mut session, args),
        PagesCommand::Log(args) => log::run(&mut session, args),
        PagesCommand::Diff(args) => diff::run(&mut session, args),
        PagesCommand::Show(args) => show::run(&mut session, args),
        PagesCommand::Gc(args) => gc::run(&mut session, args),
    };
    session.progress.finish();
    done?;
    Ok(session.report.exit_status())
}
