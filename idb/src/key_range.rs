//! Key ranges (specification, 2.9): which records a request is about.

mod from;

use std::ops::Bound;

use larder_codec::{Key, RawKey};

use crate::error::{Error, ErrorName, Result};

/// A range of keys. Calls take what it is made from: a key, or whatever makes one, which is the range of that key alone; or a
/// range of Rust's. Numbers sort before dates, these before texts, bytes and arrays, so that `"a"..` has bytes and arrays in it,
/// too.
///
/// ```
/// use larder_idb::{Key, KeyRange};
///
/// let range = KeyRange::from(1..3);
/// assert_eq!(range, KeyRange::bound(1, 3, false, true)?);
/// assert!(range.includes(&Key::from(1)) && !range.includes(&Key::from(3)));
/// assert!(KeyRange::from("a"..="b").includes(&Key::from("apple")));
/// assert!(KeyRange::from(..).includes(&Key::from(("any", 1))));
/// # Ok::<(), larder_idb::Error>(())
/// ```
///
/// A range of Rust's whose end is not above its start, such as `3..3` or `3..=1`, has no keys in it, and requests find none.
/// [`bound`](Self::bound) refuses it, as the specification says. Requests for ranges with NaN in a key fail with `DataError`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange(Kind);

/// One key is held once: most ranges are of this kind.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Only(Key),
    Between(Bound<Key>, Bound<Key>),
}

impl KeyRange {
    /// Every key.
    #[must_use]
    pub const fn all() -> Self {
        Self(Kind::Between(Bound::Unbounded, Bound::Unbounded))
    }

    /// One key.
    #[must_use]
    pub fn only(key: impl Into<Key>) -> Self {
        Self(Kind::Only(key.into()))
    }

    /// From a key on; without that key itself if `open`.
    #[must_use]
    pub fn lower_bound(lower: impl Into<Key>, open: bool) -> Self {
        Self(Kind::Between(bound(lower.into(), open), Bound::Unbounded))
    }

    /// Up to a key; without that key itself if `open`.
    #[must_use]
    pub fn upper_bound(upper: impl Into<Key>, open: bool) -> Self {
        Self(Kind::Between(Bound::Unbounded, bound(upper.into(), open)))
    }

    /// Between two keys, without those that are `open`.
    ///
    /// # Errors
    /// `DataError` if the lower is greater than the upper, or they are equal and either is open.
    pub fn bound(
        lower: impl Into<Key>,
        upper: impl Into<Key>,
        lower_open: bool,
        upper_open: bool,
    ) -> Result<Self> {
        Self::bound_of(lower.into(), upper.into(), lower_open, upper_open)
    }

    fn bound_of(lower: Key, upper: Key, lower_open: bool, upper_open: bool) -> Result<Self> {
        if lower > upper || (lower == upper && (lower_open || upper_open)) {
            let what = "the lower key is not below the upper one";
            return Err(Error::new(ErrorName::DataError, what));
        }
        let (lower, upper) = (bound(lower, lower_open), bound(upper, upper_open));
        Ok(Self(Kind::Between(lower, upper)))
    }

    /// The key, if it is one key's; else the range again.
    pub(crate) fn into_only(self) -> std::result::Result<Key, Self> {
        match self.0 {
            Kind::Only(key) => Ok(key),
            between @ Kind::Between(..) => Err(Self(between)),
        }
    }

    /// Where it begins.
    #[must_use]
    pub fn lower(&self) -> Bound<&Key> {
        match &self.0 {
            Kind::Only(key) => Bound::Included(key),
            Kind::Between(lower, _) => lower.as_ref(),
        }
    }

    /// Where it ends.
    #[must_use]
    pub fn upper(&self) -> Bound<&Key> {
        match &self.0 {
            Kind::Only(key) => Bound::Included(key),
            Kind::Between(_, upper) => upper.as_ref(),
        }
    }

    /// Calls `work` with the range in its bytes, for which `buffer` lends the memory.
    pub(crate) fn with_bytes<T>(
        &self,
        buffer: &mut Vec<u8>,
        work: impl FnOnce(&larder_backing_store::KeyRange<'_>) -> Result<T>,
    ) -> Result<T> {
        buffer.clear();
        let (lower, upper) = match &self.0 {
            Kind::Only(key) => {
                key.encode(buffer);
                let key = raw_key(buffer)?;
                return work(&larder_backing_store::KeyRange::only(key));
            }
            Kind::Between(lower, upper) => (lower, upper),
        };
        let (lower, upper) = (lower.as_ref(), upper.as_ref());
        let _ = lower.map(|key| key.encode(buffer));
        let middle = buffer.len();
        let _ = upper.map(|key| key.encode(buffer));
        let (lower_bytes, upper_bytes) = buffer.split_at(middle);
        work(&larder_backing_store::KeyRange {
            lower: raw(lower, lower_bytes)?,
            upper: raw(upper, upper_bytes)?,
        })
    }

    /// Whether a key is in it.
    #[must_use]
    pub fn includes(&self, key: &Key) -> bool {
        let above_lower = match self.lower() {
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
            Bound::Unbounded => true,
        };
        let below_upper = match self.upper() {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        };
        above_lower && below_upper
    }
}

fn bound(key: Key, open: bool) -> Bound<Key> {
    match open {
        true => Bound::Excluded(key),
        false => Bound::Included(key),
    }
}

fn raw<'a>(bound: Bound<&Key>, bytes: &'a [u8]) -> Result<Bound<RawKey<'a>>> {
    Ok(match bound {
        Bound::Included(_) => Bound::Included(raw_key(bytes)?),
        Bound::Excluded(_) => Bound::Excluded(raw_key(bytes)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// A host's key, which has just been encoded.
///
/// # Errors
/// `DataError` if it has NaN for a number or a date: all else that the type can hold is a key.
pub(crate) fn raw_key(encoded: &[u8]) -> Result<RawKey<'_>> {
    RawKey::decode_exact(encoded)
        .map_err(|error| Error::new(ErrorName::DataError, format!("no key: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_leave_nothing_are_refused() {
        let make = |lower: f64, upper: f64, lower_open, upper_open| {
            KeyRange::bound(lower, upper, lower_open, upper_open)
        };
        assert!(make(1.0, 1.0, false, false).is_ok());
        assert!(make(1.0, 2.0, true, true).is_ok());
        for refused in [
            make(2.0, 1.0, false, false),
            make(1.0, 1.0, true, false),
            make(1.0, 1.0, false, true),
        ] {
            assert_eq!(refused.unwrap_err().name(), ErrorName::DataError);
        }
    }
}
