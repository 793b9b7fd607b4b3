//! `larder pages log`.

use std::io::{self, Write};

use larder_pages::{Commit, ErrorKind, Page};
use serde::Serialize;

use super::session::Session;
use crate::args::PagesLogArgs;
use crate::display::Hex;
use crate::output::Output;
use crate::pages::moment::iso;
use crate::pages::{Changes, History, PagesError, changes, short_id};
use crate::style::Style;

/// A commit as `--json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: String,
    time: String,
    generation: u64,
    parents: Vec<String>,
    is_head: bool,
    is_merge: bool,
    /// Against the first parent; `None` if that, or something of a tree, is not here or cannot be read.
    changes: Option<Changes>,
}

pub(super) fn run(session: &mut Session, args: &PagesLogArgs) -> Result<(), PagesError> {
    session.with_page(&args.page, |session, page, place| {
        let heads: Vec<_> = page.heads().iter().map(Commit::id).collect();
        let mut out = Output::open(None)?;
        let mut left = args.limit.unwrap_or(u64::MAX);
        let mut history = History::new(page);
        while left > 0 {
            let commit = match history.next() {
                None => break,
                Some(Ok(commit)) => commit,
                Some(Err(error)) => {
                    session.report.damage(place, error);
                    continue;
                }
            };
            left -= 1;
            let changes = changes_of(session, page, &commit, place);
            let line = Line {
                id: Hex(&commit.id().0).to_string(),
                time: iso(commit.timestamp()),
                generation: commit.generation(),
                parents: commit
                    .parents()
                    .iter()
                    .map(|id| Hex(&id.0).to_string())
                    .collect(),
                is_head: heads.contains(&commit.id()),
                is_merge: commit.is_merge(),
                changes,
            };
            match args.json {
                true => {
                    serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
                    writeln!(out)?;
                }
                false => write_text(&mut out, session.style, page, &commit, &line)?,
            }
        }
        Ok(out.finish()?)
    })
}

fn changes_of(session: &mut Session, page: &Page, commit: &Commit, place: &str) -> Option<Changes> {
    let progress = &mut session.progress;
    match changes(page, commit, &mut || progress.tick()) {
        Ok(changes) => changes,
        // A page may give up old trees that have been synced, and it may have been damaged: what is lost of the files is said at the end.
        Err(error) if error.kind() == ErrorKind::NeedsFetch => None,
        Err(error) => {
            session.report.damage(place, error);
            None
        }
    }
}

fn write_text(
    out: &mut Output,
    style: Style,
    page: &Page,
    commit: &Commit,
    line: &Line,
) -> Result<(), PagesError> {
    let (id, time) = (short_id(page, commit.id())?, &line.time);
    write!(
        out,
        "{} {time} generation {}",
        style.key(id),
        line.generation
    )?;
    for (n, parent) in commit.parents().iter().enumerate() {
        let before = if n == 0 { ", of" } else { "" };
        write!(out, "{before} {}", short_id(page, *parent)?)?;
    }
    if line.is_merge {
        write!(out, ", {}", style.name("merge"))?;
    }
    if line.is_head {
        write!(out, ", {}", style.name("head"))?;
    }
    match line.changes {
        _ if commit.parents().is_empty() => writeln!(out, ": the first commit")?,
        Some(Changes {
            added,
            changed,
            removed,
        }) => {
            writeln!(out, ": {added} added, {changed} changed, {removed} removed")?;
        }
        None => writeln!(out, ": what it changed is not here")?,
    }
    Ok(())
}
