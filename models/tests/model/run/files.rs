//! Where a program's storage lies.

use std::path::PathBuf;
use std::sync::Arc;

use larder_idb::{DiskFileSystem, FileSystem, MemoryFileSystem, StoreForm};
use tempfile::TempDir;

/// The files, which a storage is opened on again and again.
#[derive(Clone)]
pub(crate) struct Files {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) folder: PathBuf,
    pub(super) form: StoreForm,
    /// Goes with the last clone.
    _on_disk: Option<Arc<TempDir>>,
}

impl Files {
    /// LevelDB on these files.
    pub(crate) fn in_leveldb(fs: Arc<dyn FileSystem>) -> Self {
        Self {
            fs,
            folder: "storage".into(),
            form: StoreForm::LevelDb,
            _on_disk: None,
        }
    }

    /// No files yet: LevelDB in memory, or, if `LARDER_STORE_FORM` is `sqlite`, SQLite files in a temporary folder.
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
                    _on_disk: Some(Arc::new(on_disk)),
                }
            }
            form => panic!("LARDER_STORE_FORM: {form} is none"),
        }
    }
}
