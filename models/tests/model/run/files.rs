//! Where a program's storage lies.

#[path = "../../../../idb/tests/support/at_address.rs"]
mod at_address;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use larder_idb::{DiskFileSystem, FileSystem, MemoryFileSystem, StoreForm};

/// The files, which a storage is opened on again and again.
#[derive(Clone)]
pub(crate) struct Files {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) folder: PathBuf,
    pub(super) form: StoreForm,
    /// Goes with the last clone.
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Files {
    /// LevelDB on these files.
    pub(crate) fn in_leveldb(fs: Arc<dyn FileSystem>) -> Self {
        Self {
            fs,
            folder: "storage".into(),
            form: StoreForm::LevelDb,
            _kept: None,
        }
    }

    /// No files yet: LevelDB in memory, or, if `LARDER_STORE_FORM` is `sqlite`, SQLite files in a temporary folder, or LevelDB in the distributed
    /// engine that it names.
    pub(crate) fn new() -> Self {
        let form = std::env::var("LARDER_STORE_FORM").unwrap_or_else(|_| "leveldb".into());
        match &*form {
            "leveldb" => Self::in_leveldb(Arc::new(MemoryFileSystem::new())),
            "sqlite" => {
                let on_disk = tempfile::tempdir().unwrap();
                Self {
                    fs: Arc::new(DiskFileSystem::new()),
                    folder: on_disk.path().join("IndexedDB"),
                    form: StoreForm::Sqlite,
                    _kept: Some(Arc::new(on_disk)),
                }
            }
            form => match at_address::new_namespace(form) {
                Some(writer) => Self {
                    fs: Arc::new(writer.files().clone()),
                    folder: "/".into(),
                    form: StoreForm::LevelDb,
                    _kept: Some(Arc::new(writer)),
                },
                None => panic!("LARDER_STORE_FORM: {form} is none"),
            },
        }
    }
}
