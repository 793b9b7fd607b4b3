//! The keys that an iterator is confined to.

use crate::internal_key::{InternalOrder, user_key};
use std::cmp::Ordering;
use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

/// User keys between two bounds, each of which may be included, excluded or missing. Made from ranges of Rust's over anything that
/// has bytes, or from a pair of [`Bound`]s. The default is all keys.
///
/// Bounds that have no key between them, the lower one behind the upper one included, are no error: there are no rows within them.
///
/// ```
/// use larder_leveldb::Bounds;
/// use std::ops::Bound::{Excluded, Unbounded};
///
/// assert_eq!(Bounds::from("pear".."peas"), Bounds::prefix(b"pear"));
/// assert_eq!(Bounds::from(b"\xff".to_vec()..), Bounds::prefix(b"\xff"));
/// let behind_pear = Bounds::from((Excluded("pear"), Unbounded));
/// assert_ne!(behind_pear, Bounds::from("pear"..));
/// assert_eq!(Bounds::from(..), Bounds::default());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }
    }
}

impl Bounds {
    /// All keys that begin with `prefix`, for an order of keys by their bytes
    /// ([`BytewiseComparator`](crate::BytewiseComparator)); under another order they need not be neighbours.
    pub fn prefix(prefix: &[u8]) -> Bounds {
        let mut upper = prefix.to_vec();
        while upper.last() == Some(&0xff) {
            upper.pop();
        }
        let upper = match upper.last_mut() {
            Some(last) => {
                *last += 1;
                Bound::Excluded(upper)
            }
            None => Bound::Unbounded,
        };
        Bounds {
            lower: Bound::Included(prefix.to_vec()),
            upper,
        }
    }

    fn between<K: AsRef<[u8]>>(lower: Bound<K>, upper: Bound<K>) -> Bounds {
        let copy = |key: K| key.as_ref().to_vec();
        Bounds {
            lower: lower.map(copy),
            upper: upper.map(copy),
        }
    }

    /// Whether a user key is before all that count.
    pub(crate) fn is_before(&self, order: &InternalOrder, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Unbounded => false,
            Bound::Included(lower) => order.compare_user(key, lower) == Ordering::Less,
            Bound::Excluded(lower) => order.compare_user(key, lower) != Ordering::Greater,
        }
    }

    /// Whether a user key is after all that count.
    pub(crate) fn is_after(&self, order: &InternalOrder, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Unbounded => false,
            Bound::Included(upper) => order.compare_user(key, upper) == Ordering::Greater,
            Bound::Excluded(upper) => order.compare_user(key, upper) != Ordering::Less,
        }
    }

    /// Whether everything that begins with this internal key is after all that count; not if it is not known.
    pub(crate) fn starts_after(&self, order: &InternalOrder, smallest: Option<&Vec<u8>>) -> bool {
        smallest.is_some_and(|smallest| self.is_after(order, user_key(smallest)))
    }

    /// Whether everything that ends with this internal key is before all that count; not if it is not known.
    pub(crate) fn ends_before(&self, order: &InternalOrder, largest: Option<&Vec<u8>>) -> bool {
        largest.is_some_and(|largest| self.is_before(order, user_key(largest)))
    }
}

impl RangeBounds<[u8]> for Bounds {
    fn start_bound(&self) -> Bound<&[u8]> {
        self.lower.as_ref().map(Vec::as_slice)
    }

    fn end_bound(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map(Vec::as_slice)
    }
}

/// All keys.
impl From<RangeFull> for Bounds {
    fn from(_: RangeFull) -> Bounds {
        Bounds::default()
    }
}

impl<K: AsRef<[u8]>> From<Range<K>> for Bounds {
    fn from(range: Range<K>) -> Bounds {
        Bounds::between(Bound::Included(range.start), Bound::Excluded(range.end))
    }
}

impl<K: AsRef<[u8]>> From<RangeInclusive<K>> for Bounds {
    fn from(range: RangeInclusive<K>) -> Bounds {
        let (start, end) = range.into_inner();
        Bounds::between(Bound::Included(start), Bound::Included(end))
    }
}

impl<K: AsRef<[u8]>> From<RangeFrom<K>> for Bounds {
    fn from(range: RangeFrom<K>) -> Bounds {
        Bounds::between(Bound::Included(range.start), Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> From<RangeTo<K>> for Bounds {
    fn from(range: RangeTo<K>) -> Bounds {
        Bounds::between(Bound::Unbounded, Bound::Excluded(range.end))
    }
}

impl<K: AsRef<[u8]>> From<RangeToInclusive<K>> for Bounds {
    fn from(range: RangeToInclusive<K>) -> Bounds {
        Bounds::between(Bound::Unbounded, Bound::Included(range.end))
    }
}

impl<K: AsRef<[u8]>> From<(Bound<K>, Bound<K>)> for Bounds {
    fn from((lower, upper): (Bound<K>, Bound<K>)) -> Bounds {
        Bounds::between(lower, upper)
    }
}
