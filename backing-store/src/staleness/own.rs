//! What a transaction that writes changes in the facts about indexes.

use larder_codec::{IndexId, ObjectStoreId};

use super::suspects::Suspects;

/// The changes, by object store; of those without indexes there are none.
#[derive(Debug, Default)]
pub(crate) struct OwnFacts {
    pub(super) stores: Vec<OwnStore>,
}

/// The changes of one object store.
#[derive(Debug)]
pub(super) struct OwnStore {
    pub(super) id: ObjectStoreId,
    /// Versions of records that it has replaced or deleted.
    pub(super) suspects: Suspects,
    /// Indexes that had no rows at some moment of the transaction.
    pub(super) fresh: Vec<IndexId>,
    /// Nothing holds any more of what was known before the transaction.
    pub(super) is_base_void: bool,
    /// Indexes that it has deleted.
    pub(super) gone: Vec<IndexId>,
}

impl OwnFacts {
    fn find(&self, id: ObjectStoreId) -> Option<&OwnStore> {
        self.stores.iter().find(|store| store.id == id)
    }

    fn of(&mut self, id: ObjectStoreId) -> &mut OwnStore {
        let at = match self.stores.iter().position(|store| store.id == id) {
            Some(at) => at,
            None => {
                self.stores.push(OwnStore {
                    id,
                    suspects: Suspects::default(),
                    fresh: Vec::new(),
                    is_base_void: false,
                    gone: Vec::new(),
                });
                self.stores.len() - 1
            }
        };
        &mut self.stores[at]
    }

    /// Whether an index is known to have had no rows.
    pub(crate) fn has_fresh(&self, id: ObjectStoreId) -> bool {
        self.find(id).is_some_and(|store| !store.fresh.is_empty())
    }

    /// A record of this version is replaced or deleted.
    pub(crate) fn suspect(&mut self, id: ObjectStoreId, version: i64) {
        self.of(id).suspects.insert(version);
    }

    /// Any records up to this version may have been replaced or deleted.
    pub(crate) fn suspect_up_to(&mut self, id: ObjectStoreId, version: i64) {
        self.of(id).suspects.insert_up_to(version);
    }

    /// Records are replaced or deleted, and it is not noted which: for an object store of whose indexes nothing is known.
    pub(crate) fn void(&mut self, id: ObjectStoreId) {
        self.of(id).is_base_void = true;
    }

    /// An index has no rows.
    pub(crate) fn note_empty(&mut self, id: ObjectStoreId, index_id: IndexId) {
        self.of(id).fresh.push(index_id);
    }

    /// No index of the object store has any rows.
    pub(crate) fn note_cleared(
        &mut self,
        id: ObjectStoreId,
        indexes: impl IntoIterator<Item = IndexId>,
    ) {
        let store = self.of(id);
        store.suspects = Suspects::default();
        store.fresh = indexes.into_iter().collect();
    }

    /// An index is deleted.
    pub(crate) fn note_gone(&mut self, id: ObjectStoreId, index_id: IndexId) {
        let store = self.of(id);
        store.fresh.retain(|fresh| *fresh != index_id);
        store.gone.push(index_id);
    }

    /// The object store is deleted.
    pub(crate) fn note_store_gone(&mut self, id: ObjectStoreId) {
        let store = self.of(id);
        store.fresh.clear();
        store.is_base_void = true;
    }

    /// Whether rows of this version are live, as the transaction sees the index. `is_certain_before` is the answer for what it
    /// began with.
    #[inline]
    pub(crate) fn is_certain(
        &self,
        (id, index_id): (ObjectStoreId, IndexId),
        version: i64,
        is_certain_before: bool,
    ) -> bool {
        match self.find(id) {
            None => is_certain_before,
            Some(store) => {
                let is_certain = match store.fresh.contains(&index_id) {
                    true => true,
                    false => is_certain_before && !store.is_base_void,
                };
                is_certain && !store.suspects.contains(version)
            }
        }
    }
}
