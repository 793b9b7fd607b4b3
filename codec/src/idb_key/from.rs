//! Keys from values of Rust.
//!
//! One conversion each, and each value has one key: bytes are binary keys, arrays and tuples are array keys. A `u8` alone is no
//! key, so that `[1_u8, 2]` cannot be taken for either. Integers of 64 bits are no keys: beyond 2^53 a number has no place for
//! them.

use std::time::{Duration, SystemTime};

use super::{Key, KeyArray};
use crate::js_string::JsString;

/// What makes a key that is no array: numbers, texts, bytes and times of Rust. Arrays and tuples of these are array keys.
///
/// ```
/// use larder_codec::Key;
///
/// assert_eq!(Key::from(5), Key::Number(5.0));
/// assert_eq!(Key::from(b"\x00\xff"), Key::Binary(vec![0x00, 0xff]));
/// let (text, number) = (Key::from("a"), Key::from(5));
/// assert_eq!(Key::from(("a", 5)), Key::array(vec![text, number])?);
/// assert_eq!(Key::from([1, 2]), Key::from((1.0, 2.0)));
/// # Ok::<(), larder_codec::Error>(())
/// ```
///
/// What may be an array itself goes into another one by [`Key::array`], which looks at how deep it is.
pub trait KeyScalar: Into<Key> + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($(#[$doc:meta])* $scalar:ty: $value:ident => $key:expr,)*) => {
        $(
            $(#[$doc])*
            impl From<$scalar> for Key {
                fn from($value: $scalar) -> Self {
                    $key
                }
            }

            impl sealed::Sealed for $scalar {}
            impl KeyScalar for $scalar {}
        )*
    };
}

scalars! {
    /// NaN is no key: what it is put or asked for with is refused.
    f64: number => Self::Number(number),
    i8: number => Self::Number(number.into()),
    i16: number => Self::Number(number.into()),
    i32: number => Self::Number(number.into()),
    u16: number => Self::Number(number.into()),
    u32: number => Self::Number(number.into()),
    &str: text => Self::String(text.into()),
    String: text => Self::String(text.into()),
    &String: text => Self::String(text.as_str().into()),
    JsString: string => Self::String(string),
    &JsString: string => Self::String(string.clone()),
    Vec<u8>: bytes => Self::Binary(bytes),
    &[u8]: bytes => Self::Binary(bytes.to_vec()),
    /// A date, in whole milliseconds as JavaScript has it: the time is rounded down, and beyond 271821 BC and 275760 AD it is the
    /// first or the last date.
    SystemTime: time => Self::Date(milliseconds(time)),
}

impl<const N: usize> From<&[u8; N]> for Key {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Binary(bytes.to_vec())
    }
}

impl<const N: usize> sealed::Sealed for &[u8; N] {}
impl<const N: usize> KeyScalar for &[u8; N] {}

impl<T: KeyScalar, const N: usize> From<[T; N]> for Key {
    fn from(elements: [T; N]) -> Self {
        Self::Array(KeyArray::of_scalars(
            elements.into_iter().map(Into::into).collect(),
        ))
    }
}

impl<T: KeyScalar> From<Vec<T>> for Key {
    fn from(elements: Vec<T>) -> Self {
        Self::Array(KeyArray::of_scalars(
            elements.into_iter().map(Into::into).collect(),
        ))
    }
}

macro_rules! tuples {
    ($(($($kind:ident $element:ident),*))*) => {
        $(
            impl<$($kind: KeyScalar),*> From<($($kind,)*)> for Key {
                fn from(($($element,)*): ($($kind,)*)) -> Self {
                    Self::Array(KeyArray::of_scalars(vec![$($element.into()),*]))
                }
            }
        )*
    };
}

tuples! {
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
}

/// The farthest that a JavaScript date is from 1970, either way.
const DATE_MAX_MS: u128 = 8_640_000_000_000_000;

fn milliseconds(time: SystemTime) -> f64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => after.as_millis().min(DATE_MAX_MS) as f64,
        Err(before) => {
            let before = before.duration();
            let is_whole = before.subsec_nanos().is_multiple_of(NANOS_PER_MS);
            let milliseconds = before.as_millis() + u128::from(!is_whole);
            -(milliseconds.min(DATE_MAX_MS) as f64)
        }
    }
}

const NANOS_PER_MS: u32 = Duration::from_millis(1).subsec_nanos();

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(milliseconds: i64) -> SystemTime {
        let distance = Duration::from_millis(milliseconds.unsigned_abs());
        match milliseconds < 0 {
            true => SystemTime::UNIX_EPOCH - distance,
            false => SystemTime::UNIX_EPOCH + distance,
        }
    }

    #[test]
    fn times_are_dates_in_whole_milliseconds_rounded_down() {
        let micros = Duration::from_micros(900);
        for milliseconds in [-86_400_000, -1, 0, 1, 1_700_000_000_123] {
            let date = Key::Date(milliseconds as f64);
            assert_eq!(Key::from(at_ms(milliseconds)), date);
            assert_eq!(Key::from(at_ms(milliseconds) + micros), date);
        }
        let far = Duration::from_secs(9_000_000_000_000);
        let last = DATE_MAX_MS as f64;
        for (time, date) in [
            (SystemTime::UNIX_EPOCH.checked_add(far), last),
            (SystemTime::UNIX_EPOCH.checked_sub(far), -last),
        ] {
            let Some(time) = time else { continue };
            assert_eq!(Key::from(time), Key::Date(date));
        }
    }

    #[test]
    fn arrays_and_tuples_are_the_array_keys_of_their_elements() {
        let [one, two] = [1.0, 2.0].map(Key::Number);
        let both = Key::array(vec![one.clone(), two]).unwrap();
        assert_eq!(Key::from([1, 2]), both);
        assert_eq!(Key::from(vec![1_u16, 2]), both);
        assert_eq!(Key::from((1_i8, 2_u32)), both);
        let nothing: [&str; 0] = [];
        assert_eq!(Key::from(nothing), Key::array(Vec::new()).unwrap());
        assert_eq!(Key::from(nothing).height(), 0);
        let three = Key::array(vec![one, Key::from("b"), Key::Binary(vec![3])]).unwrap();
        assert_eq!(Key::from((1, String::from("b"), b"\x03")), three);
        assert_eq!(three.height(), 1);
    }

    #[test]
    fn bytes_are_binary_keys_however_they_are_held() {
        let binary = Key::Binary(vec![1, 2]);
        let bytes = [1_u8, 2];
        assert_eq!(Key::from(&bytes), binary);
        assert_eq!(Key::from(bytes.as_slice()), binary);
        assert_eq!(Key::from(bytes.to_vec()), binary);
        assert_eq!(Key::from([&bytes]), Key::array(vec![binary]).unwrap());
    }
}
