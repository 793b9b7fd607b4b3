//! Comparing two encoded user keys, sentinels included, along their bytes. `SIGNED`: those of strings and binaries are
//! compared as signed ones.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::{LEVEL_MAX, TAG_ARRAY, TAG_BINARY, TAG_DATE, TAG_MAX, TAG_MIN, TAG_NUMBER, TAG_STRING};
use crate::pairwise::{self, Decision, compare_bytes, differ, settle};

/// Levels of nesting that are followed with little stack; deeper keys take a bigger frame.
const LEVELS_USUAL: usize = 16;

/// Compares the keys at the front of `a` and `b`; if they are equal both are moved past them.
#[inline]
pub(crate) fn compare<'k, const SIGNED: bool>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    match compare_heads::<SIGNED>(a, b)? {
        None => ControlFlow::Continue(()),
        Some(array) => {
            (*a, *b) = compare_arrays::<SIGNED>(array, a, b)?;
            ControlFlow::Continue(())
        }
    }
}

/// The order of two keys, or what follows them.
type AfterBoth<'k> = ControlFlow<Ordering, (&'k [u8], &'k [u8])>;

/// An array of which both keys have read the head.
#[derive(Clone, Copy)]
struct OpenArray {
    /// Elements still to be compared: those that both sides have.
    left: u64,
    /// The order of the two lengths, which decides if all those are equal.
    by_length: Ordering,
}

/// Compares scalars, or only the heads of two arrays.
#[inline]
fn compare_heads<'k, const SIGNED: bool>(
    a: &mut &'k [u8],
    b: &mut &'k [u8],
) -> ControlFlow<Ordering, Option<OpenArray>> {
    let (tag, rest_a, rest_b) = match (*a, *b) {
        ([tag_a, rest_a @ ..], [tag_b, rest_b @ ..]) if tag_a == tag_b && *tag_a <= TAG_BINARY => {
            (*tag_a, rest_a, rest_b)
        }
        _ => return ControlFlow::Break(compare_types(a, b)),
    };
    *a = rest_a;
    *b = rest_b;
    match tag {
        TAG_NUMBER | TAG_DATE => {
            let (value_a, value_b) = pairwise::read_double(a, b)?;
            // Neither is NaN; -0 equals 0.
            differ(value_a.partial_cmp(&value_b).unwrap_or(Ordering::Equal))?;
        }
        TAG_STRING => {
            let (units_a, units_b) = pairwise::read_string(a, b)?;
            differ(compare_bytes::<SIGNED>(units_a, units_b))?;
        }
        TAG_BINARY => {
            let (bytes_a, bytes_b) = pairwise::read_binary(a, b)?;
            differ(compare_bytes::<SIGNED>(bytes_a, bytes_b))?;
        }
        TAG_ARRAY => {
            let (len_a, len_b) = pairwise::read_count(a, b)?;
            return ControlFlow::Continue(Some(OpenArray {
                left: len_a.min(len_b),
                by_length: len_a.cmp(&len_b),
            }));
        }
        // The sentinels have nothing after their type byte.
        _ => {}
    }
    ControlFlow::Continue(None)
}

/// The order of two keys of different types, or of which one has no known type.
fn compare_types(a: &[u8], b: &[u8]) -> Ordering {
    match settle(rank(a.first().copied()), rank(b.first().copied()), a, b) {
        ControlFlow::Continue((rank_a, rank_b)) => rank_a.cmp(&rank_b),
        ControlFlow::Break(order) => order,
    }
}

/// The place of a type in the order; `None` for what is no type.
const fn rank(tag: Option<u8>) -> Option<u8> {
    match tag {
        Some(TAG_MIN) => Some(0),
        Some(TAG_NUMBER) => Some(1),
        Some(TAG_DATE) => Some(2),
        Some(TAG_STRING) => Some(3),
        Some(TAG_BINARY) => Some(4),
        Some(TAG_ARRAY) => Some(5),
        Some(TAG_MAX) => Some(6),
        _ => None,
    }
}

/// Gives what follows both arrays if they are equal. By value and not inlined, so that the two places
/// stay in registers for all other keys.
#[inline(never)]
fn compare_arrays<'k, const SIGNED: bool>(
    array: OpenArray,
    a: &'k [u8],
    b: &'k [u8],
) -> AfterBoth<'k> {
    let (mut rest_a, mut rest_b) = (a, b);
    match follow::<LEVELS_USUAL, SIGNED>(array, &mut rest_a, &mut rest_b)? {
        Followed::ToTheEnd => ControlFlow::Continue((rest_a, rest_b)),
        Followed::TooDeep => compare_deep_arrays::<SIGNED>(array, a, b),
    }
}

/// Starts again with room for every level a key may have: the way back is rarer than the copying
/// that could avoid it.
#[cold]
#[inline(never)]
fn compare_deep_arrays<'k, const SIGNED: bool>(
    array: OpenArray,
    a: &'k [u8],
    b: &'k [u8],
) -> AfterBoth<'k> {
    let (mut rest_a, mut rest_b) = (a, b);
    match follow::<LEVEL_MAX, SIGNED>(array, &mut rest_a, &mut rest_b)? {
        Followed::ToTheEnd => ControlFlow::Continue((rest_a, rest_b)),
        // Keys at a deeper level are unreadable, on both sides.
        Followed::TooDeep => ControlFlow::Break(rest_a.cmp(rest_b)),
    }
}

enum Followed {
    ToTheEnd,
    /// The next element would stand `LEVELS` + 1 levels down; the keys are left in front of it.
    TooDeep,
}

/// Compares elements depth first, keeping the arrays above in a fixed number of places.
fn follow<'k, const LEVELS: usize, const SIGNED: bool>(
    outermost: OpenArray,
    a: &mut &'k [u8],
    b: &mut &'k [u8],
) -> ControlFlow<Ordering, Followed> {
    let mut above = [outermost; LEVELS];
    let mut levels = 0_usize;
    let mut array = outermost;
    loop {
        if array.left == 0 {
            differ(array.by_length)?;
            let Some(outer) = levels.checked_sub(1).and_then(|level| above.get(level)) else {
                return ControlFlow::Continue(Followed::ToTheEnd);
            };
            array = *outer;
            levels -= 1;
            continue;
        }
        // The elements of the array at level n stand at level n + 1.
        if levels >= LEVELS {
            return ControlFlow::Continue(Followed::TooDeep);
        }
        array.left -= 1;
        if let Some(inner) = compare_heads::<SIGNED>(a, b)? {
            if let Some(place) = above.get_mut(levels) {
                *place = array;
            }
            levels += 1;
            array = inner;
        }
    }
}
