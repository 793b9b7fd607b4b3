//! Some object stores of a database, as a scope names them.

use std::slice;
use std::sync::Arc;

use larder_codec::ObjectStoreId;

/// Object stores by their numbers, each once, in ascending order. Cheap to clone; one alone, as most are, takes no memory apart.
///
/// ```
/// use larder_backing_store::ObjectStoreSet;
/// use larder_codec::ObjectStoreId;
///
/// let [first, second] = [1, 2].map(|id| ObjectStoreId::new(id).unwrap());
/// let set: ObjectStoreSet = [second, first, second].into();
/// assert_eq!(set.as_slice(), [first, second]);
/// ```
#[derive(Debug, Clone)]
pub struct ObjectStoreSet(Ids);

#[derive(Debug, Clone)]
enum Ids {
    One(ObjectStoreId),
    /// Sorted.
    Many(Arc<[ObjectStoreId]>),
}

impl ObjectStoreSet {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self(Ids::Many(Arc::default()))
    }

    /// All, in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[ObjectStoreId] {
        match &self.0 {
            Ids::One(id) => slice::from_ref(id),
            Ids::Many(ids) => ids,
        }
    }

    /// All, in ascending order.
    pub fn iter(&self) -> slice::Iter<'_, ObjectStoreId> {
        self.as_slice().iter()
    }

    /// Whether it is one of them.
    #[must_use]
    pub fn contains(&self, id: ObjectStoreId) -> bool {
        self.as_slice().binary_search(&id).is_ok()
    }

    /// Whether no object store is in both.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|id| other.contains(*id))
    }
}

impl Default for ObjectStoreSet {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for ObjectStoreSet {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for ObjectStoreSet {}

impl From<ObjectStoreId> for ObjectStoreSet {
    fn from(id: ObjectStoreId) -> Self {
        Self(Ids::One(id))
    }
}

impl<const N: usize> From<[ObjectStoreId; N]> for ObjectStoreSet {
    fn from(ids: [ObjectStoreId; N]) -> Self {
        ids.into_iter().collect()
    }
}

impl FromIterator<ObjectStoreId> for ObjectStoreSet {
    fn from_iter<I: IntoIterator<Item = ObjectStoreId>>(ids: I) -> Self {
        let mut ids = ids.into_iter();
        let Some(first) = ids.next() else {
            return Self::new();
        };
        let Some(second) = ids.find(|id| *id != first) else {
            return first.into();
        };
        let mut all = vec![first, second];
        all.extend(ids);
        all.sort_unstable();
        all.dedup();
        Self(Ids::Many(all.into()))
    }
}

impl<'a> IntoIterator for &'a ObjectStoreSet {
    type Item = &'a ObjectStoreId;
    type IntoIter = slice::Iter<'a, ObjectStoreId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quickcheck::quickcheck;

    use super::*;

    fn ids(numbers: Vec<u8>) -> impl Iterator<Item = ObjectStoreId> {
        // Few, so that many are there twice.
        let id = |number| ObjectStoreId::new(i64::from(number % 8) + 1);
        numbers.into_iter().filter_map(id)
    }

    quickcheck! {
        fn it_is_a_set(ours: Vec<u8>, theirs: Vec<u8>) -> bool {
            let sets = |numbers: &Vec<u8>| {
                let set: ObjectStoreSet = ids(numbers.clone()).collect();
                (set, ids(numbers.clone()).collect::<BTreeSet<_>>())
            };
            let ((ours, naive_ours), (theirs, naive_theirs)) = (sets(&ours), sets(&theirs));
            let mut all = (0..=9).filter_map(ObjectStoreId::new);
            ours.iter().eq(&naive_ours)
                && all.all(|id| ours.contains(id) == naive_ours.contains(&id))
                && ours.is_disjoint(&theirs) == naive_ours.is_disjoint(&naive_theirs)
                && (ours == theirs) == (naive_ours == naive_theirs)
        }
    }
}
