//! Comparing two encoded user keys, sentinels included, along their bytes.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::differ;
use super::field::{self, Decision, settle};
use crate::idb_key::{
    LEVEL_MAX, TAG_ARRAY, TAG_BINARY, TAG_DATE, TAG_MAX, TAG_MIN, TAG_NUMBER, TAG_STRING,
};

/// Levels of nesting that are followed with little stack; deeper keys take a bigger frame.
const LEVELS_USUAL: usize = 16;

/// Compares the keys at the front of `a` and `b`; if they are equal both are moved past them.
#[inline]
pub(super) fn compare<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    match compare_heads(a, b)? {
        None => ControlFlow::Continue(()),
        Some(array) => compare_arrays(array, a, b),
    }
}

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
fn compare_heads<'k>(
    a: &mut &'k [u8],
    b: &mut &'k [u8],
) -> ControlFlow<Ordering, Option<OpenArray>> {
    let (tag_a, tag_b) = (a.first().copied(), b.first().copied());
    let (rank_a, rank_b) = settle(rank(tag_a), rank(tag_b), a, b)?;
    differ(rank_a.cmp(&rank_b))?;
    // Equal ranks are equal tags, so both keys have a first byte.
    *a = a.get(1..).unwrap_or_default();
    *b = b.get(1..).unwrap_or_default();
    match tag_a {
        Some(TAG_NUMBER | TAG_DATE) => {
            let (value_a, value_b) = field::read_double(a, b)?;
            // Neither is NaN; -0 equals 0.
            differ(value_a.partial_cmp(&value_b).unwrap_or(Ordering::Equal))?;
        }
        Some(TAG_STRING) => {
            let (units_a, units_b) = field::read_string(a, b)?;
            differ(units_a.cmp(units_b))?;
        }
        Some(TAG_BINARY) => {
            let (bytes_a, bytes_b) = field::read_binary(a, b)?;
            differ(bytes_a.cmp(bytes_b))?;
        }
        Some(TAG_ARRAY) => {
            let (len_a, len_b) = field::read_count(a, b)?;
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

/// The place of a type in the order; `None` for what is no type.
#[inline]
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

fn compare_arrays<'k>(array: OpenArray, a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    let (mut rest_a, mut rest_b) = (*a, *b);
    match follow::<LEVELS_USUAL>(array, &mut rest_a, &mut rest_b)? {
        Followed::ToTheEnd => {
            *a = rest_a;
            *b = rest_b;
            ControlFlow::Continue(())
        }
        Followed::TooDeep => compare_deep_arrays(array, a, b),
    }
}

/// Starts again with room for every level a key may have: the way back is rarer than the copying
/// that could avoid it.
#[cold]
#[inline(never)]
fn compare_deep_arrays<'k>(array: OpenArray, a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    match follow::<LEVEL_MAX>(array, a, b)? {
        Followed::ToTheEnd => ControlFlow::Continue(()),
        // Keys at a deeper level are unreadable, on both sides.
        Followed::TooDeep => ControlFlow::Break((*a).cmp(*b)),
    }
}

enum Followed {
    ToTheEnd,
    /// The next element would stand `LEVELS` + 1 levels down; the keys are left in front of it.
    TooDeep,
}

/// Compares elements depth first, keeping the arrays above in a fixed number of places.
fn follow<'k, const LEVELS: usize>(
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
        if let Some(inner) = compare_heads(a, b)? {
            if let Some(place) = above.get_mut(levels) {
                *place = array;
            }
            levels += 1;
            array = inner;
        }
    }
}
