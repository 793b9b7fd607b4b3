//! `larder pages diff`.

use std::io::Write;

use larder_pages::{EntryDiff, ErrorKind, Page};

use super::entry::{CUT_LEN, write_json, write_text};
use super::session::Session;
use crate::args::PagesDiffArgs;
use crate::output::Output;
use crate::pages::{PagesError, ShownBytes, ValueForm, parse_bytes, resolve_commit};

pub(super) fn run(session: &mut Session, args: &PagesDiffArgs) -> Result<(), PagesError> {
    let prefix = args.prefix.as_deref().map(parse_bytes).transpose();
    let prefix = prefix.map_err(PagesError::Argument)?.unwrap_or_default();
    session.with_page(&args.page, |session, page, place| {
        let a = resolve_commit(page, &args.a)?;
        let b = resolve_commit(page, &args.b)?;
        let mut out = Output::open(None)?;
        let mut last_key = None;
        let len_max = if args.values { u64::MAX } else { CUT_LEN };
        for found in page.tree(&a).diff(&b.root(), &prefix)? {
            session.progress.tick();
            let found = match found {
                Ok(found) => found,
                // Without a node it is not known what of it differs.
                Err(error) => {
                    let after: Option<Vec<u8>> = last_key;
                    let after = after
                        .map_or_else(String::new, |key| format!(" behind {}", ShownBytes(&key)));
                    let what = format!("{error}; what lies{after} was not compared");
                    match error.kind() {
                        ErrorKind::NeedsFetch => session.report.unreadable(place, what),
                        _ => session.report.damage(place, what),
                    }
                    break;
                }
            };
            if !found.key.starts_with(&prefix) {
                break;
            }
            match args.json {
                true => json_line(session, page, place, &found, len_max, &mut out)?,
                false => text_line(session, page, place, &found, len_max, &mut out)?,
            }
            last_key = Some(found.key);
        }
        Ok(out.finish()?)
    })
}

fn text_line(
    session: &mut Session,
    page: &Page,
    place: &str,
    found: &EntryDiff,
    len_max: u64,
    out: &mut Output,
) -> Result<(), PagesError> {
    let mark = match (&found.old, &found.new) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    let key = session.style.key(ShownBytes(&found.key));
    write!(out, "{mark} {key} = ")?;
    let sides = [&found.old, &found.new];
    for (n, entry) in sides.into_iter().flatten().enumerate() {
        if n > 0 {
            write!(out, " -> ")?;
        }
        write_text(session, page, (place, entry), len_max, ValueForm::Text, out)?;
    }
    Ok(writeln!(out)?)
}

fn json_line(
    session: &mut Session,
    page: &Page,
    place: &str,
    found: &EntryDiff,
    len_max: u64,
    out: &mut Output,
) -> Result<(), PagesError> {
    let change = match (&found.old, &found.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let key = ShownBytes(&found.key).to_json();
    write!(out, "{{\"key\":{key},\"change\":\"{change}\"")?;
    for (name, entry) in [("old", &found.old), ("new", &found.new)] {
        if let Some(entry) = entry {
            write!(out, ",\"{name}\":")?;
            write_json(session, page, (place, entry), len_max, out)?;
        }
    }
    Ok(writeln!(out, "}}")?)
}
