//! Reading the same field from the front of two keys at once.
//!
//! Each reader gives both values and moves both keys on, or breaks with the order: a key whose field
//! is readable sorts before one whose field is not; two unreadable ones sort by their bytes.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use byteorder::{ByteOrder, LittleEndian};

/// `Break` is the order of the two keys; `Continue` means equal so far.
pub(crate) type Decision = ControlFlow<Ordering>;

type Both<T> = ControlFlow<Ordering, (T, T)>;

/// The order of bytes, shorter first. `SIGNED`: 80 to ff before 00 to 7f.
#[inline]
pub(crate) fn compare_bytes<const SIGNED: bool>(a: &[u8], b: &[u8]) -> Ordering {
    match SIGNED {
        false => a.cmp(b),
        true => {
            let (a, b) = (a.iter().copied(), b.iter().copied());
            a.map(u8::cast_signed).cmp(b.map(u8::cast_signed))
        }
    }
}

/// The order that was decided; equal if nothing was.
pub(crate) fn decided(decision: Decision) -> Ordering {
    match decision {
        ControlFlow::Break(order) => order,
        ControlFlow::Continue(()) => Ordering::Equal,
    }
}

/// Breaks with the order as soon as it is known.
pub(crate) fn differ(order: Ordering) -> Decision {
    match order {
        Ordering::Equal => ControlFlow::Continue(()),
        other => ControlFlow::Break(other),
    }
}

/// Decides for the readable side, or by `rest_a` and `rest_b`, the bytes where the field starts.
#[inline]
pub(crate) fn settle<A, B>(
    a: Option<A>,
    b: Option<B>,
    rest_a: &[u8],
    rest_b: &[u8],
) -> ControlFlow<Ordering, (A, B)> {
    match (a, b) {
        (Some(a), Some(b)) => ControlFlow::Continue((a, b)),
        (Some(_), None) => ControlFlow::Break(Ordering::Less),
        (None, Some(_)) => ControlFlow::Break(Ordering::Greater),
        (None, None) => ControlFlow::Break(rest_a.cmp(rest_b)),
    }
}

/// Applies `take`, which gives a value and what is left, to both keys.
#[inline]
fn read_both<'k, T>(
    a: &mut &'k [u8],
    b: &mut &'k [u8],
    take: impl Fn(&'k [u8]) -> Option<(T, &'k [u8])>,
) -> Both<T> {
    let ((value_a, rest_a), (value_b, rest_b)) = settle(take(a), take(b), a, b)?;
    *a = rest_a;
    *b = rest_b;
    ControlFlow::Continue((value_a, value_b))
}

#[inline]
pub(crate) fn read_byte<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Both<u8> {
    read_both(a, b, |rest| {
        rest.split_first().map(|(byte, rest)| (*byte, rest))
    })
}

#[inline]
pub(crate) fn read_var_int<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Both<i64> {
    read_both(a, b, take_var_int)
}

/// A count of something to come; negative counts are unreadable.
#[inline]
pub(crate) fn read_count<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Both<u64> {
    read_both(a, b, take_count)
}

/// NaN is unreadable: it has no place in an order by value.
#[inline]
pub(crate) fn read_double<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Both<f64> {
    read_both(a, b, take_double)
}

#[inline]
pub(crate) fn take_double(input: &[u8]) -> Option<(f64, &[u8])> {
    let (bytes, rest) = input.split_first_chunk::<8>()?;
    let value = LittleEndian::read_f64(bytes);
    (!value.is_nan()).then_some((value, rest))
}

/// The big-endian units of a StringWithLength: their bytes order like the string.
#[inline]
pub(crate) fn read_string<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Both<&'k [u8]> {
    read_both(a, b, take_string)
}

#[inline]
pub(crate) fn take_string(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len_units, rest) = take_count(input)?;
    let len_bytes = usize::try_from(len_units).ok()?.checked_mul(2)?;
    rest.split_at_checked(len_bytes)
}

#[inline]
pub(crate) fn read_binary<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Both<&'k [u8]> {
    read_both(a, b, take_binary)
}

#[inline]
pub(crate) fn take_binary(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len_bytes, rest) = take_count(input)?;
    rest.split_at_checked(usize::try_from(len_bytes).ok()?)
}

pub(crate) fn take_count(input: &[u8]) -> Option<(u64, &[u8])> {
    let (value, rest) = take_var_int(input)?;
    Some((u64::try_from(value).ok()?, rest))
}

/// [`crate::primitive::var_int`] without the error, which costs more than the number.
#[inline]
pub(crate) fn take_var_int(input: &[u8]) -> Option<(i64, &[u8])> {
    match input.split_first()? {
        (&first @ 0..0x80, rest) => Some((first.into(), rest)),
        _ => crate::primitive::var_int::decode(input).ok(),
    }
}
