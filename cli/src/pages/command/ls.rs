//! `larder pages ls`.

use std::io::{self, Write};

use super::session::{Session, wanted};
use crate::args::PagesLsArgs;
use crate::display::{Counted, Size};
use crate::output::Output;
use crate::pages::{FoundPage, PageState, PagesError};
use crate::style::Style;

pub(super) fn run(session: &mut Session, args: &PagesLsArgs) -> Result<(), PagesError> {
    let selected = session.found.selected(wanted(&args.pages))?;
    let selected: Vec<FoundPage> = selected.into_iter().cloned().collect();
    let mut out = Output::open(None)?;
    if !args.json && session.found.is_repository {
        let path = session.path.display();
        writeln!(out, "{}", session.style.heading(path))?;
        if selected.is_empty() {
            writeln!(out, "  no page")?;
        }
    }
    if let Err(error) = &session.found.uses {
        let place = session.found.usage_dir.as_deref().unwrap_or(&session.path);
        session.report.damage(place.display(), error);
    }
    for found in &selected {
        let page = match session.open(found) {
            Ok(page) => page,
            Err(error) if !session.found.is_repository => return Err(error),
            Err(PagesError::NotAPage(path, why)) => {
                session.report.note(path.display(), why);
                continue;
            }
            Err(error) => {
                session.report.damage(found.leveldb.display(), error);
                continue;
            }
        };
        let uses = session.found.uses.as_deref().unwrap_or_default();
        let progress = &mut session.progress;
        let mut tick = || progress.tick();
        let state = PageState::of(
            &session.fs,
            found,
            &page,
            uses,
            &mut tick,
            &mut session.report,
        );
        match args.json {
            true => {
                serde_json::to_writer(&mut out, &state).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            false => write_text(&mut out, session.style, found, &state)?,
        }
        session.say_damage(&page, found);
    }
    Ok(out.finish()?)
}

fn write_text(
    out: &mut Output,
    style: Style,
    found: &FoundPage,
    state: &PageState,
) -> io::Result<()> {
    writeln!(out, "  {}", style.name(found.shown()))?;
    if found.place.is_some() {
        writeln!(out, "    {}", style.faint(&state.path))?;
    }
    for head in &state.heads {
        write!(out, "    head {} of {}: ", style.key(&head.id), head.time)?;
        match head.entries {
            Some(1) => writeln!(out, "1 entry")?,
            Some(entries) => writeln!(out, "{entries} entries")?,
            None => writeln!(out, "entries that cannot all be read")?,
        }
    }
    if state.heads.is_empty() {
        writeln!(out, "    no head can be read")?;
    }
    write!(out, "    ")?;
    if let Some(commits) = state.commits {
        write!(out, "{}, ", Counted(commits, "commit"))?;
    }
    if let Some(pieces) = state.pieces {
        write!(
            out,
            "pieces: {} transient, {} local, {} synced, ",
            pieces.transient, pieces.local, pieces.synced
        )?;
    }
    writeln!(out, "{} on disk", Size(state.bytes_on_disk))?;
    write!(out, "    ")?;
    match (state.is_synced, state.unsynced_commits) {
        (Some(true), _) => write!(out, "synced")?,
        (Some(false), Some(commits)) => {
            write!(out, "not synced: {}", Counted(commits, "commit"))?;
        }
        _ => write!(out, "whether it is synced cannot be read")?,
    }
    match (&state.last_used, state.is_open) {
        (Some(time), _) => writeln!(out, "; used last {time}")?,
        (None, Some(true)) => writeln!(out, "; open, or open when its program ended")?,
        _ => writeln!(out)?,
    }
    if state.dialect == "bytes" {
        writeln!(out, "    rows in single bytes: only read")?;
    }
    Ok(())
}
