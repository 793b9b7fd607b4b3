//! What a transaction may write, and so what no other transaction may write meanwhile.

mod object_store_set;

pub use object_store_set::ObjectStoreSet;

use std::cmp::Ordering;

use larder_codec::compare::compare;
use larder_codec::row_key::GlobalKey;
use larder_codec::{DatabaseId, range};

/// The scope of a transaction that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything of a database: a version change.
    VersionChange(DatabaseId),
    /// Some object stores of a database, their records, indexes, and generators.
    Stores(DatabaseId, ObjectStoreSet),
}

impl Scope {
    /// The database.
    #[must_use]
    pub const fn database_id(&self) -> DatabaseId {
        match self {
            Self::VersionChange(id) | Self::Stores(id, _) => *id,
        }
    }

    /// Whether both reach the same object store.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.database_id() == other.database_id()
            && match (self, other) {
                (Self::Stores(_, ours), Self::Stores(_, theirs)) => !ours.is_disjoint(theirs),
                _ => true,
            }
    }

    /// The rows, as disjoint ranges without their ends.
    pub(crate) fn ranges(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        match self {
            Self::VersionChange(id) => vec![(range::database_low(*id), range::database_end(*id))],
            Self::Stores(id, stores) => {
                let metadata = stores.iter().map(|store| {
                    let (low, high) = (
                        range::object_store_low(*id, *store),
                        range::object_store_high(*id, *store),
                    );
                    (low, high)
                });
                let rows = stores.iter().map(|store| {
                    let (low, end) = (
                        range::object_store_rows_low(*id, *store),
                        range::object_store_rows_end(*id, *store),
                    );
                    (low, end)
                });
                metadata.chain(rows).collect()
            }
        }
    }

    /// Whether a transaction may write this row: one of the scope's, or a blob journal at commit.
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        let in_range = |(low, end): &(Vec<u8>, Vec<u8>)| {
            compare(low, key) != Ordering::Greater && compare(key, end) == Ordering::Less
        };
        let is_journal = || {
            [GlobalKey::RecoveryBlobJournal, GlobalKey::ActiveBlobJournal]
                .iter()
                .any(|journal| {
                    let mut bytes = Vec::new();
                    journal.encode(&mut bytes);
                    bytes == key
                })
        };
        self.ranges().iter().any(in_range) || is_journal()
    }
}

#[cfg(test)]
mod tests {
    use larder_codec::ObjectStoreId;

    use super::*;

    fn stores(database: i64, stores: &[i64]) -> Scope {
        let ids = stores.iter().map(|id| ObjectStoreId::new(*id).unwrap());
        Scope::Stores(DatabaseId::new(database).unwrap(), ids.collect())
    }

    #[test]
    fn scopes_overlap_where_they_share_a_store_and_a_version_change_takes_the_whole_database() {
        assert!(stores(1, &[1, 2]).overlaps(&stores(1, &[2, 3])));
        assert!(!stores(1, &[1, 2]).overlaps(&stores(1, &[3])));
        assert!(!stores(1, &[1]).overlaps(&stores(2, &[1])));
        let upgrade = Scope::VersionChange(DatabaseId::MIN);
        assert!(upgrade.overlaps(&stores(1, &[7])) && stores(1, &[7]).overlaps(&upgrade));
        assert!(upgrade.overlaps(&upgrade));
        assert!(!upgrade.overlaps(&stores(2, &[7])));
    }

    #[test]
    fn a_scope_covers_metadata_records_and_indexes_of_its_stores_and_no_others() {
        let scope = stores(1, &[2]);
        for (key, is_covered) in [
            (&[0, 1, 0, 0, 50, 2, 4][..], true),
            (&[0, 1, 0, 0, 100, 2, 31, 0], false),
            (&[0, 1, 0, 0, 50, 3, 4], false),
            (&[0, 1, 2, 1, 1, 1, 0, 0x61], true),
            (&[0, 1, 2, 31, 1, 1, 0, 0x61, 0, 1, 1, 0, 0x61], true),
            (&[0, 1, 3, 1, 1, 1, 0, 0x61], false),
            (&[0, 2, 2, 1, 1, 1, 0, 0x61], false),
            (&[0, 0, 0, 0, 3], true),
            (&[0, 0, 0, 0, 1], false),
        ] {
            assert_eq!(scope.covers(key), is_covered, "{key:?}");
        }
        let upgrade = Scope::VersionChange(DatabaseId::MIN);
        assert!(upgrade.covers(&[0, 1, 0, 0, 4]) && upgrade.covers(&[0, 1, 3, 1, 1, 0]));
        assert!(!upgrade.covers(&[0, 2, 0, 0, 4]));
    }
}
