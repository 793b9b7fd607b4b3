//! Calls that read records.

use larder_idb::{CursorDirection, GetAllOptions, KeyRange, Result};

use super::{Answered, DONE};
use crate::handles::Source;
use crate::instance::Instance;
use crate::outcome::{Asked, Projection};
use crate::wire::Ask;

/// The bits of a range, as `key_range.js` of `larder-binding` has them, and two more: whether there is a bound.
const LOWER_OPEN: u32 = 1;
const UPPER_OPEN: u32 = 2;
const ONLY: u32 = 4;
const HAS_LOWER: u32 = 8;
const HAS_UPPER: u32 = 16;

/// Reading more records than these is a thread's work.
const FEW: u32 = 128;

/// A request that an object store and an index have in the same way.
macro_rules! read {
    ($source:expr, $method:ident($($arg:expr),*)) => {
        match $source {
            Source::Store(store) => store.$method($($arg),*)?,
            Source::Index(index) => index.$method($($arg),*)?,
        }
    };
}

/// The range whose bits are given, and whether it is one key.
pub(super) fn range(ask: &mut Ask<'_>, flags: u32) -> Result<(KeyRange, bool)> {
    let lower = (flags & HAS_LOWER != 0).then(|| ask.key()).transpose()?;
    let upper = (flags & HAS_UPPER != 0).then(|| ask.key()).transpose()?;
    let (lower_open, upper_open) = (flags & LOWER_OPEN != 0, flags & UPPER_OPEN != 0);
    Ok(match (lower, upper) {
        (None, None) => (KeyRange::all(), false),
        (Some(key), _) if flags & ONLY != 0 => (KeyRange::only(key), true),
        (Some(lower), None) => (KeyRange::lower_bound(lower, lower_open), false),
        (None, Some(upper)) => (KeyRange::upper_bound(upper, upper_open), false),
        (Some(lower), Some(upper)) => (
            KeyRange::bound(lower, upper, lower_open, upper_open)?,
            false,
        ),
    })
}

/// Request, source, bits of the range; its keys.
pub(super) fn get(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let flags = ask.word(3);
    let (range, _) = range(&mut ask, flags)?;
    let (source, queue) = instance.handles.source(ask.word(2))?;
    let asked = Asked::Value(read!(source, get(range)));
    instance.queues.push(queue, ask.word(1), asked, false);
    Ok(DONE)
}

/// As `get`.
pub(super) fn get_key(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let flags = ask.word(3);
    let (range, _) = range(&mut ask, flags)?;
    let (source, queue) = instance.handles.source(ask.word(2))?;
    let asked = Asked::MaybeKey(read!(source, get_key(range)));
    instance.queues.push(queue, ask.word(1), asked, false);
    Ok(DONE)
}

/// As `get`.
pub(super) fn count(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let flags = ask.word(3);
    let (range, is_one) = range(&mut ask, flags)?;
    let (source, queue) = instance.handles.source(ask.word(2))?;
    let is_short = is_one && matches!(source, Source::Store(_));
    let asked = Asked::Count(read!(source, count(range)));
    instance.queues.push(queue, ask.word(1), asked, !is_short);
    Ok(DONE)
}

/// Request, source, bits, which parts (0 values, 1 primary keys, 2 all), how many at most (0: all), direction.
pub(super) fn get_all(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let flags = ask.word(3);
    let (range, _) = range(&mut ask, flags)?;
    let count = ask.word(5);
    let options = GetAllOptions::new()
        .count(count)
        .direction(direction(ask.word(6)));
    let (source, queue) = instance.handles.source(ask.word(2))?;
    let asked = match ask.word(4) {
        0 => Asked::Records(read!(source, get_all(range, options)), Projection::Values),
        1 => Asked::Records(
            read!(source, get_all_keys(range, options)),
            Projection::PrimaryKeys,
        ),
        _ => Asked::Records(read!(source, get_all(range, options)), Projection::Whole),
    };
    let is_long = count == 0 || count > FEW;
    instance.queues.push(queue, ask.word(1), asked, is_long);
    Ok(DONE)
}

/// Request, source, bits, whether with values, direction.
pub(super) fn open_cursor(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let flags = ask.word(3);
    let (range, _) = range(&mut ask, flags)?;
    let direction = direction(ask.word(5));
    let (source, queue) = instance.handles.source(ask.word(2))?;
    let asked = match ask.flag(4) {
        true => read!(source, open_cursor(range, direction)),
        false => read!(source, open_key_cursor(range, direction)),
    };
    instance
        .queues
        .push(queue, ask.word(1), Asked::Cursor(asked), false);
    Ok(DONE)
}

fn direction(number: u32) -> CursorDirection {
    match number {
        1 => CursorDirection::NextUnique,
        2 => CursorDirection::Prev,
        3 => CursorDirection::PrevUnique,
        _ => CursorDirection::Next,
    }
}
