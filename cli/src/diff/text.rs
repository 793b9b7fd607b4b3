//! A difference for eyes.

use std::io::{self, Write};

use super::{Change, Difference, PropertyChange, Shown};
use crate::display::{Quoted, ShownKey, write_harmless};
use crate::style::Style;

/// So many characters of a text are shown.
const TEXT_SHOWN_MAX: usize = 100;

const fn mark(change: Change) -> char {
    match change {
        Change::Removed => '-',
        Change::Added => '+',
        Change::Changed => '~',
    }
}

pub(super) fn write(
    out: &mut dyn Write,
    style: Style,
    difference: &Difference<'_>,
) -> io::Result<()> {
    let database = style.name(Quoted(difference.database));
    write!(out, "{} {database}", mark(difference.change))?;
    if let Some(name) = difference.object_store {
        write!(out, " / {}", style.name(Quoted(name)))?;
    }
    if let Some(name) = difference.index {
        write!(out, " index {}", style.name(Quoted(name)))?;
    }
    if let Some(key) = difference.key {
        write!(out, " {}", style.key(ShownKey(key)))?;
    }
    if let Some(records) = difference.records {
        write!(out, ", {records} records")?;
    }
    writeln!(out)?;
    for property in &difference.properties {
        write_property(out, property)?;
    }
    match difference.more {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more properties"),
    }
}

fn write_property(out: &mut dyn Write, property: &PropertyChange) -> io::Result<()> {
    write!(out, "    {} ", mark(property.change))?;
    match &*property.path {
        "" => write!(out, "value")?,
        path => write_harmless(out, path)?,
    }
    match (&property.from, &property.to) {
        (None, None) => write!(out, " differs in what has no text of its own")?,
        (Some(from), None) => {
            write!(out, ": ")?;
            write_shown(out, from)?;
        }
        (None, Some(to)) => {
            write!(out, ": ")?;
            write_shown(out, to)?;
        }
        (Some(from), Some(to)) => {
            write!(out, ": ")?;
            write_shown(out, from)?;
            write!(out, " -> ")?;
            write_shown(out, to)?;
        }
    }
    writeln!(out)
}

fn write_shown(out: &mut dyn Write, shown: &Shown) -> io::Result<()> {
    if shown.text != shown.kind {
        write!(out, "{} ", shown.kind)?;
    }
    let end = shown.text.char_indices().nth(TEXT_SHOWN_MAX);
    match end.and_then(|(end, _)| shown.text.get(..end)) {
        Some(start) => {
            write_harmless(out, start)?;
            write!(out, "…")
        }
        None => write_harmless(out, &shown.text),
    }
}
