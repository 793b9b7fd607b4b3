//! Key ranges (specification, 2.9): which records a request is about.

use std::ops::Bound;

use larder_codec::IdbKey;

use crate::error::{Error, ErrorName, Result};

/// A range of keys. A key is the range of that key alone.
///
/// ```
/// use larder_idb::{Key, KeyRange};
/// let range = KeyRange::bound(1.0.into(), 3.0.into(), false, true)?;
/// assert!(range.includes(&Key::Number(1.0)) && !range.includes(&Key::Number(3.0)));
/// assert!(KeyRange::all().includes(&Key::from("any")));
/// # Ok::<(), larder_idb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    lower: Bound<IdbKey>,
    upper: Bound<IdbKey>,
}

impl KeyRange {
    /// Every key.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }
    }

    /// One key.
    #[must_use]
    pub fn only(key: IdbKey) -> Self {
        Self {
            lower: Bound::Included(key.clone()),
            upper: Bound::Included(key),
        }
    }

    /// From a key on; without that key itself if `open`.
    #[must_use]
    pub fn lower_bound(lower: IdbKey, open: bool) -> Self {
        Self {
            lower: bound(lower, open),
            upper: Bound::Unbounded,
        }
    }

    /// Up to a key; without that key itself if `open`.
    #[must_use]
    pub fn upper_bound(upper: IdbKey, open: bool) -> Self {
        Self {
            lower: Bound::Unbounded,
            upper: bound(upper, open),
        }
    }

    /// Between two keys, without those that are `open`.
    ///
    /// # Errors
    /// `DataError` if the lower is greater than the upper, or they are equal and either is open.
    pub fn bound(lower: IdbKey, upper: IdbKey, lower_open: bool, upper_open: bool) -> Result<Self> {
        if lower > upper || (lower == upper && (lower_open || upper_open)) {
            let what = "the lower key is not below the upper one";
            return Err(Error::new(ErrorName::DataError, what));
        }
        Ok(Self {
            lower: bound(lower, lower_open),
            upper: bound(upper, upper_open),
        })
    }

    /// Where it begins.
    #[must_use]
    pub fn lower(&self) -> Bound<&IdbKey> {
        self.lower.as_ref()
    }

    /// Where it ends.
    #[must_use]
    pub fn upper(&self) -> Bound<&IdbKey> {
        self.upper.as_ref()
    }

    /// Whether a key is in it.
    #[must_use]
    pub fn includes(&self, key: &IdbKey) -> bool {
        let above_lower = match &self.lower {
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
            Bound::Unbounded => true,
        };
        let below_upper = match &self.upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        };
        above_lower && below_upper
    }
}

fn bound(key: IdbKey, open: bool) -> Bound<IdbKey> {
    match open {
        true => Bound::Excluded(key),
        false => Bound::Included(key),
    }
}

impl From<IdbKey> for KeyRange {
    fn from(key: IdbKey) -> Self {
        Self::only(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_leave_nothing_are_refused() {
        let make = |lower: f64, upper: f64, lower_open, upper_open| {
            KeyRange::bound(lower.into(), upper.into(), lower_open, upper_open)
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
