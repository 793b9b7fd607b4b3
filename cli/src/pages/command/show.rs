//! `larder pages show`.

use std::io::{self, IsTerminal, Write};

use larder_pages::{Commit, ErrorKind, Page};

use super::entry::{CUT_LEN, write_text};
use super::session::Session;
use crate::args::PagesShowArgs;
use crate::display::Hex;
use crate::output::Output;
use crate::pages::{
    PagesError, ShownBytes, ValueForm, ValueState, parse_bytes, resolve_commit, write_value,
};

pub(super) fn run(session: &mut Session, args: &PagesShowArgs) -> Result<(), PagesError> {
    let bytes = |text: &Option<String>| {
        let bytes = text.as_deref().map(parse_bytes).transpose();
        bytes.map_err(PagesError::Argument)
    };
    let (key, prefix) = (bytes(&args.key)?, bytes(&args.prefix)?.unwrap_or_default());
    session.with_page(&args.page, |session, page, place| {
        let commit = resolve_commit(page, &args.commit)?;
        let output = args.to.output.as_deref();
        let open = || {
            Output::open(output).map_err(|error| match output {
                Some(path) => {
                    let what = format!("{}: {error}", path.display());
                    PagesError::Output(io::Error::new(error.kind(), what))
                }
                None => error.into(),
            })
        };
        match &key {
            Some(key) => one(page, &commit, key, args.hex, open),
            None => all(session, page, place, &commit, (&prefix, args.hex), open()?),
        }
    })
}

/// Writes a value whole.
fn one(
    page: &Page,
    commit: &Commit,
    key: &[u8],
    hex: bool,
    open: impl FnOnce() -> Result<Output, PagesError>,
) -> Result<(), PagesError> {
    let entry = page.tree(commit).get(key)?;
    let entry = entry.ok_or_else(|| PagesError::NoEntry(ShownBytes(key).to_string()))?;
    let mut out = open()?;
    // Bytes of a store could drive a terminal.
    let is_shown = out.is_stdout() && io::stdout().is_terminal();
    let form = match (hex, is_shown) {
        (true, _) => ValueForm::Hex,
        (false, true) => ValueForm::Text,
        (false, false) => ValueForm::Raw,
    };
    match write_value(page, &entry, u64::MAX, form, &mut out)? {
        ValueState::Written { .. } if form == ValueForm::Raw => {}
        ValueState::Written { .. } => writeln!(out)?,
        ValueState::NotHere(error) | ValueState::Unreadable(error) => return Err(error.into()),
    }
    Ok(out.finish()?)
}

/// Writes the entries of a commit, with their values cut.
fn all(
    session: &mut Session,
    page: &Page,
    place: &str,
    commit: &Commit,
    (prefix, hex): (&[u8], bool),
    mut out: Output,
) -> Result<(), PagesError> {
    let form = if hex { ValueForm::Hex } else { ValueForm::Text };
    let style = match out.is_stdout() {
        true => session.style,
        false => crate::style::Style::new(false),
    };
    for entry in page.tree(commit).entries(prefix)?.past_unreadable() {
        session.progress.tick();
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if error.kind() == ErrorKind::NeedsFetch => {
                session.report.unreadable(place, error);
                continue;
            }
            Err(error) => {
                session.report.damage(place, error);
                continue;
            }
        };
        if !entry.key.starts_with(prefix) {
            break;
        }
        match hex {
            true => write!(
                out,
                "{}",
                style.key(format_args!("bytes:{}", Hex(&entry.key)))
            )?,
            false => write!(out, "{}", style.key(ShownBytes(&entry.key)))?,
        }
        write!(out, " = ")?;
        write_text(session, page, (place, &entry), CUT_LEN, form, &mut out)?;
        writeln!(out)?;
    }
    Ok(out.finish()?)
}
