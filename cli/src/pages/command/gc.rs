//! `larder pages gc`.

use std::io::Write;
use std::sync::Arc;

use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_pages::Collectable;

use super::session::{Session, wanted};
use crate::args::PagesGcArgs;
use crate::display::{Counted, Size};
use crate::output::Output;
use crate::pages::{FoundPage, PagesError, collect};

pub(super) fn run(session: &mut Session, args: &PagesGcArgs) -> Result<(), PagesError> {
    let selected = session.found.selected(wanted(&args.pages))?;
    let selected: Vec<FoundPage> = selected.into_iter().cloned().collect();
    let mut out = Output::open(None)?;
    for found in &selected {
        let place = found.leveldb.display().to_string();
        if found.is_being_deleted {
            let note = "the page is being deleted: nothing is collected in it";
            session.report.note(&place, note);
            continue;
        }
        session.progress.at(place.clone());
        // By the way on which no symbolic link below PATH is followed, a page is seen before it is written to.
        if let Err(error) = found.open(&session.fs) {
            if !session.found.is_repository {
                return Err(error);
            }
            session.report.failed(&place, error);
            continue;
        }
        let fs: Arc<dyn FileSystem> = match args.dry_run {
            true => Arc::clone(&session.fs),
            false => Arc::new(DiskFileSystem::new()),
        };
        let usage_dir = session.found.usage_dir.as_deref();
        match collect(&fs, found, usage_dir, args.prune, args.dry_run) {
            Ok(gone) => say(&mut out, found, gone, args)?,
            Err(error) => session.report.failed(&place, error),
        }
    }
    Ok(out.finish()?)
}

fn say(
    out: &mut Output,
    found: &FoundPage,
    gone: Collectable,
    args: &PagesGcArgs,
) -> Result<(), PagesError> {
    let verb = match args.dry_run {
        true => "would delete",
        false => "deleted",
    };
    write!(out, "{}: {verb} ", found.shown())?;
    if args.prune {
        write!(out, "{} and ", Counted(gone.commits, "commit"))?;
    }
    let (pieces, bytes) = (gone.collected.pieces, gone.collected.bytes);
    Ok(writeln!(
        out,
        "{} ({})",
        Counted(pieces, "piece"),
        Size(bytes)
    )?)
}
