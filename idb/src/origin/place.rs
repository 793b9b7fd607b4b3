//! Where the store of an origin lies: beside those of other origins, in a bucket of its own, or in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::StorePaths;
use larder_codec::Origin as OriginName;
use larder_leveldb::storage::FileSystem;

use crate::bucket_id::BucketId;
use crate::store_form::{self, StoreForm};

/// A store's place.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Distinguishes it from all others of the storage.
    pub(crate) key: String,
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Where it lies if it lies in LevelDB.
    leveldb: StorePaths,
    new_store_form: StoreForm,
    pub(crate) bucket: Option<BucketId>,
    /// The private session that it is gone with. No browser opens it.
    pub(crate) session: Option<u64>,
}

impl Place {
    /// That of an origin's default bucket in its own site.
    pub(crate) fn of_origin(fs: Arc<dyn FileSystem>, folder: &Path, origin: &OriginName) -> Self {
        Self {
            key: origin.identifier(),
            fs,
            leveldb: StorePaths::of_leveldb(&folder.join(origin.leveldb_folder_name())),
            new_store_form: StoreForm::LevelDb,
            bucket: None,
            session: None,
        }
    }

    /// The place, for which this is the form of a new store.
    pub(crate) fn for_new_in(self, new_store_form: StoreForm) -> Self {
        Self {
            new_store_form,
            ..self
        }
    }

    /// Where the store lies if it lies in LevelDB.
    pub(crate) const fn in_leveldb(&self) -> &StorePaths {
        &self.leveldb
    }

    /// Where the store lies, in its form; or would lie, if there is none.
    pub(crate) fn paths(&self) -> StorePaths {
        store_form::at(&*self.fs, &self.leveldb, self.new_store_form)
    }

    /// That of any other bucket.
    pub(crate) fn of_bucket(
        fs: Arc<dyn FileSystem>,
        folder: &Path,
        id: BucketId,
        origin: &OriginName,
    ) -> Self {
        Self {
            // The bucket of another origin is another one. They have one folder, and the one that has it open keeps the other out.
            key: format!("bucket {id} {}", origin.identifier()),
            fs,
            leveldb: bucket_paths(folder, id),
            new_store_form: StoreForm::LevelDb,
            bucket: Some(id),
            session: None,
        }
    }

    /// That of an origin in a session that is kept in memory.
    pub(crate) fn of_session(fs: Arc<dyn FileSystem>, session: u64, origin: &OriginName) -> Self {
        Self {
            key: format!("session {session} {}", origin.identifier()),
            session: Some(session),
            ..Self::of_origin(fs, &PathBuf::from("idb"), origin)
        }
    }
}

/// The folders of a bucket's store, in the folder of all buckets (`WebStorage`).
pub(crate) fn bucket_paths(folder: &Path, id: BucketId) -> StorePaths {
    let own = folder.join(id.to_string()).join("IndexedDB");
    StorePaths::of_leveldb(&own.join("indexeddb.leveldb"))
}
