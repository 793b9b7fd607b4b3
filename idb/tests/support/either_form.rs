//! Storages for tests of what holds whatever form a store lies in: LevelDB in memory, or, if `LARDER_STORE_FORM` is `sqlite`, SQLite files in a
//! temporary folder.

use std::sync::Arc;

use larder_idb::{FixedClock, StorageOptions};

#[cfg(feature = "sqlite")]
thread_local! {
    /// They are removed when the test, which has a thread of its own, has ended.
    static FOLDERS: std::cell::RefCell<Vec<tempfile::TempDir>> = std::cell::RefCell::default();
}

pub(crate) fn options() -> StorageOptions {
    let clock = Arc::new(FixedClock::default());
    let in_memory = StorageOptions::in_memory(clock.clone());
    match std::env::var("LARDER_STORE_FORM").as_deref() {
        Err(_) | Ok("leveldb") => in_memory,
        #[cfg(feature = "sqlite")]
        Ok("sqlite") => {
            let folder = tempfile::tempdir().unwrap();
            let fs = Arc::new(larder_idb::DiskFileSystem::new());
            let mut options = StorageOptions::new(fs, folder.path().join("IndexedDB"), clock);
            options.new_store_form = larder_idb::StoreForm::Sqlite;
            options.new_store_version = in_memory.new_store_version;
            options.raise_data_version = in_memory.raise_data_version;
            FOLDERS.with_borrow_mut(|folders| folders.push(folder));
            options
        }
        Ok(form) => panic!("LARDER_STORE_FORM: {form} is none that this was built for"),
    }
}
