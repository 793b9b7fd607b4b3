//! Values of entries as lines have them.

use std::io::Write;

use larder_pages::{Entry, Page, Priority};

use super::session::Session;
use crate::output::Output;
use crate::pages::{PagesError, ValueForm, ValueState, write_value};

/// So many bytes of a value are shown where values are cut.
pub(super) const CUT_LEN: u64 = 100;

/// Writes a value for people: `"red"`, `"once upon… (4000 bytes)`, `(not on this device)`.
pub(super) fn write_text(
    session: &mut Session,
    page: &Page,
    (place, entry): (&str, &Entry),
    len_max: u64,
    form: ValueForm,
    out: &mut Output,
) -> Result<(), PagesError> {
    match write_value(page, entry, len_max, form, out)? {
        ValueState::Written { len, is_cut: true } => write!(out, "… ({len} bytes)")?,
        ValueState::Written { .. } => {}
        ValueState::NotHere(_) => write!(out, "(not on this device)")?,
        ValueState::Unreadable(error) => {
            session.report.damage(place, error);
            write!(out, "(unreadable)")?;
        }
    }
    match entry.priority {
        Priority::Lazy => write!(out, " (lazy)")?,
        Priority::Eager => {}
    }
    Ok(())
}

/// Writes a value for programs: an object with `value`, `size` and `isCut`, or, instead of the last two, `isMissing` or `isUnreadable`.
pub(super) fn write_json(
    session: &mut Session,
    page: &Page,
    (place, entry): (&str, &Entry),
    len_max: u64,
    out: &mut Output,
) -> Result<(), PagesError> {
    let is_lazy = entry.priority == Priority::Lazy;
    write!(out, "{{\"isLazy\":{is_lazy},\"value\":")?;
    match write_value(page, entry, len_max, ValueForm::Json, out)? {
        ValueState::Written { len, is_cut } => {
            write!(out, ",\"size\":{len},\"isCut\":{is_cut}}}")?;
        }
        ValueState::NotHere(_) => write!(out, "null,\"isMissing\":true}}")?,
        ValueState::Unreadable(error) => {
            session.report.damage(place, error);
            write!(out, "null,\"isUnreadable\":true}}")?;
        }
    }
    Ok(())
}
