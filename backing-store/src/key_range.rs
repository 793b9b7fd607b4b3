//! A range of keys, still in their bytes.

use std::ops::Bound;

use larder_codec::RawKey;

/// Keys between two ends. Each end is included, excluded or absent.
///
/// ```
/// use larder_backing_store::KeyRange;
/// use larder_codec::{Key, RawKey};
/// use std::ops::Bound;
///
/// let (mut a, mut b) = (Vec::new(), Vec::new());
/// Key::from("a").encode(&mut a);
/// Key::from("b").encode(&mut b);
/// let (a, b) = (RawKey::decode_exact(&a)?, RawKey::decode_exact(&b)?);
/// let range = KeyRange { lower: Bound::Excluded(a), upper: Bound::Included(b) };
/// assert!(!range.contains(a) && range.contains(b));
/// assert!(KeyRange::ALL.contains(a));
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange<'a> {
    /// Where it begins.
    pub lower: Bound<RawKey<'a>>,
    /// Where it ends. Below the beginning, nothing is in the range.
    pub upper: Bound<RawKey<'a>>,
}

impl<'a> KeyRange<'a> {
    /// All keys.
    pub const ALL: KeyRange<'static> = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };

    /// One key.
    #[must_use]
    pub const fn only(key: RawKey<'a>) -> Self {
        Self {
            lower: Bound::Included(key),
            upper: Bound::Included(key),
        }
    }

    /// Whether the key is in the range.
    #[must_use]
    pub fn contains(&self, key: RawKey<'_>) -> bool {
        let above_lower = match self.lower {
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
            Bound::Unbounded => true,
        };
        let below_upper = match self.upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        };
        above_lower && below_upper
    }

    /// The key that the range was made of, if it was made of one.
    pub(crate) fn single(&self) -> Option<RawKey<'a>> {
        match (self.lower, self.upper) {
            (Bound::Included(lower), Bound::Included(upper))
                if lower.as_bytes() == upper.as_bytes() =>
            {
                Some(lower)
            }
            _ => None,
        }
    }
}
