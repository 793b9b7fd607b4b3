//! The keys that an iterator is confined to.

use crate::internal_key::{InternalOrder, user_key};
use std::cmp::Ordering;

/// User keys from a lower one, included, up to an upper one, not included. The default is all keys.
///
/// ```
/// use larder_leveldb::Bounds;
/// assert_eq!(Bounds::prefix(b"pear"), Bounds { lower: Some(b"pear".to_vec()), upper: Some(b"peas".to_vec()) });
/// assert_eq!(Bounds::prefix(b"\xff").upper, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The first key that counts; `None` if there is none before all.
    pub lower: Option<Vec<u8>>,
    /// The first key that counts no more; `None` if there is none after all.
    pub upper: Option<Vec<u8>>,
}

impl Bounds {
    /// All keys that begin with `prefix`, for an order of keys by their bytes
    /// ([`BytewiseComparator`](crate::BytewiseComparator)); under another order they need not be neighbours.
    pub fn prefix(prefix: &[u8]) -> Bounds {
        let mut upper = prefix.to_vec();
        while upper.last() == Some(&0xff) {
            upper.pop();
        }
        if let Some(last) = upper.last_mut() {
            *last += 1;
        }
        Bounds {
            lower: Some(prefix.to_vec()),
            upper: (!upper.is_empty()).then_some(upper),
        }
    }

    /// Whether a user key is before all that count.
    pub(crate) fn is_before(&self, order: &InternalOrder, key: &[u8]) -> bool {
        let lower = self.lower.as_ref();
        lower.is_some_and(|lower| order.compare_user(key, lower) == Ordering::Less)
    }

    /// Whether a user key is after all that count.
    pub(crate) fn is_after(&self, order: &InternalOrder, key: &[u8]) -> bool {
        let upper = self.upper.as_ref();
        upper.is_some_and(|upper| order.compare_user(key, upper) != Ordering::Less)
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
