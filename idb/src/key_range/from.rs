//! Ranges of keys from keys, and from ranges of Rust.

use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};
use std::time::SystemTime;

use larder_codec::{JsString, Key, KeyScalar};

use super::{KeyRange, Kind};

/// One for each type that makes a key: a conversion for all of them at once could not stand beside those of Rust's ranges.
macro_rules! keys {
    ($($key:ty),* $(,)?) => {
        $(
            impl From<$key> for KeyRange {
                fn from(key: $key) -> Self {
                    Self::only(key)
                }
            }
        )*
    };
}

keys!(
    Key,
    f64,
    i8,
    i16,
    i32,
    u16,
    u32,
    &str,
    String,
    &String,
    JsString,
    &JsString,
    Vec<u8>,
    &[u8],
    SystemTime,
);

impl<const N: usize> From<&[u8; N]> for KeyRange {
    fn from(key: &[u8; N]) -> Self {
        Self::only(key)
    }
}

impl<T: KeyScalar, const N: usize> From<[T; N]> for KeyRange {
    fn from(key: [T; N]) -> Self {
        Self::only(key)
    }
}

impl<A: KeyScalar, B: KeyScalar> From<(A, B)> for KeyRange {
    fn from(key: (A, B)) -> Self {
        Self::only(key)
    }
}

impl<A: KeyScalar, B: KeyScalar, C: KeyScalar> From<(A, B, C)> for KeyRange {
    fn from(key: (A, B, C)) -> Self {
        Self::only(key)
    }
}

impl<A: KeyScalar, B: KeyScalar, C: KeyScalar, D: KeyScalar> From<(A, B, C, D)> for KeyRange {
    fn from(key: (A, B, C, D)) -> Self {
        Self::only(key)
    }
}

impl From<RangeFull> for KeyRange {
    fn from(_: RangeFull) -> Self {
        Self::all()
    }
}

impl<K: Into<Key>> From<Range<K>> for KeyRange {
    fn from(range: Range<K>) -> Self {
        between(Bound::Included(range.start), Bound::Excluded(range.end))
    }
}

impl<K: Into<Key>> From<RangeInclusive<K>> for KeyRange {
    fn from(range: RangeInclusive<K>) -> Self {
        let (start, end) = range.into_inner();
        between(Bound::Included(start), Bound::Included(end))
    }
}

impl<K: Into<Key>> From<RangeFrom<K>> for KeyRange {
    fn from(range: RangeFrom<K>) -> Self {
        between(Bound::Included(range.start), Bound::Unbounded)
    }
}

impl<K: Into<Key>> From<RangeTo<K>> for KeyRange {
    fn from(range: RangeTo<K>) -> Self {
        between(Bound::Unbounded, Bound::Excluded(range.end))
    }
}

impl<K: Into<Key>> From<RangeToInclusive<K>> for KeyRange {
    fn from(range: RangeToInclusive<K>) -> Self {
        between(Bound::Unbounded, Bound::Included(range.end))
    }
}

impl KeyRange {
    /// The range between two bounds, which have no form of Rust's otherwise.
    ///
    /// ```
    /// use std::ops::Bound::{Excluded, Included};
    /// use larder_idb::KeyRange;
    ///
    /// let behind = KeyRange::from_bounds(Excluded("a"), Included("b"));
    /// assert_eq!(behind, KeyRange::bound("a", "b", true, false)?);
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    #[must_use]
    pub fn from_bounds<K: Into<Key>>(lower: Bound<K>, upper: Bound<K>) -> Self {
        between(lower, upper)
    }
}

fn between<K: Into<Key>>(lower: Bound<K>, upper: Bound<K>) -> KeyRange {
    KeyRange(Kind::Between(lower.map(Into::into), upper.map(Into::into)))
}

impl RangeBounds<Key> for KeyRange {
    fn start_bound(&self) -> Bound<&Key> {
        self.lower()
    }

    fn end_bound(&self) -> Bound<&Key> {
        self.upper()
    }
}
