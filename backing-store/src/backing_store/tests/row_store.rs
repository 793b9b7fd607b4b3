//! Commits to a store that does not lie in LevelDB.

use larder_codec::DatabaseId;

use super::*;
use crate::row_source::{RowIter, RowSource};
use crate::row_store::RowCommit;
use crate::sync::locked;
use crate::{ObjectStoreParameters, RaiseDataVersion};

/// Notes what commits ask for, and keeps nothing.
#[derive(Debug, Default)]
struct Noting(std::sync::Mutex<Vec<(DataVersion, Durability)>>);

#[derive(Debug)]
struct Nothing;

impl RowSource for Nothing {
    fn iter(&self) -> Box<dyn RowIter> {
        Box::new(Nothing)
    }
}

impl RowIter for Nothing {
    fn seek(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn seek_for_prev(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        Ok(())
    }

    fn valid(&self) -> bool {
        false
    }

    fn key(&self) -> &[u8] {
        &[]
    }

    fn value(&self) -> &[u8] {
        &[]
    }
}

impl RowStore for Noting {
    fn rows(&self) -> Arc<dyn RowSource> {
        Arc::new(Nothing)
    }

    fn commit(&self, commit: RowCommit<'_>) -> Result<()> {
        locked(&self.0).push((commit.data_version, commit.durability));
        Ok(())
    }

    fn delete_database(&self, _: DatabaseId) -> Result<()> {
        Ok(())
    }

    fn used_bytes(&self) -> Result<u64> {
        Ok(0)
    }

    fn maintain(&self) -> Result<bool> {
        Ok(false)
    }

    fn compact(&self) -> Result<()> {
        Ok(())
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_commit_that_raises_the_data_version_is_strict_whatever_was_asked_for() {
    const RAISED: DataVersion = DataVersion { v8: 16, blink: 21 };
    let rows = Arc::new(Noting::default());
    let mut options = options();
    options.raise_data_version = RaiseDataVersion::WhenNeeded;
    let fs = Arc::new(MemoryFileSystem::new());
    let store = BackingStore::open_rows(rows.clone(), &[], fs, paths(), options).unwrap();
    let id = store.create_database(&"d".into()).unwrap();
    let scope = Scope::VersionChange(id);
    let mut change = store.begin(scope, Durability::Relaxed).unwrap();
    change.set_version(1).unwrap();
    let parameters = ObjectStoreParameters {
        id: None,
        name: "s".into(),
        key_path: larder_codec::KeyPath::Null,
        auto_increment: true,
    };
    let object_store = change.create_object_store(&parameters).unwrap();
    change.commit().unwrap();
    let before = store.versions().data();
    for raises in [false, true, false] {
        let scope = Scope::Stores(id, [object_store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        if raises {
            transaction.require_data_version(RAISED).unwrap();
        }
        let put = crate::Put {
            key: crate::PutKey::Generated,
            value: b"v",
            mode: crate::PutMode::Add,
            index_keys: &[],
            external_objects: &[],
        };
        transaction.put(object_store, &put).unwrap();
        transaction.commit().unwrap();
    }
    assert_ne!(before, RAISED);
    let noted = locked(&rows.0).split_off(1);
    let expected = [
        (before, Durability::Relaxed),
        (RAISED, Durability::Strict),
        (RAISED, Durability::Relaxed),
    ];
    assert_eq!(noted, expected);
}
