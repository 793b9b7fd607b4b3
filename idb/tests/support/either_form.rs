//! Storages for tests of what holds whatever form a store lies in: LevelDB in memory, or, if `LARDER_STORE_FORM` is `sqlite`, SQLite files in a
//! temporary folder, or LevelDB in the distributed engine that it names.

#[path = "at_address.rs"]
mod at_address;

use std::sync::Arc;

use larder_idb::{FixedClock, StorageOptions};
use larder_remote_files::Writer;

#[cfg(feature = "sqlite")]
thread_local! {
    /// They are removed when the test, which has a thread of its own, has ended.
    static FOLDERS: std::cell::RefCell<Vec<tempfile::TempDir>> = std::cell::RefCell::default();
}
thread_local! {
    /// They are given up when the test has ended.
    static NAMESPACES: std::cell::RefCell<Vec<Writer>> = std::cell::RefCell::default();
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
        Ok(form) => match at_address::new_namespace(form) {
            Some(writer) => {
                let fs = Arc::new(writer.files().clone());
                NAMESPACES.with_borrow_mut(|namespaces| namespaces.push(writer));
                let mut options = StorageOptions::new(fs, "/", clock);
                options.new_store_version = in_memory.new_store_version;
                options.raise_data_version = in_memory.raise_data_version;
                options
            }
            None => panic!("LARDER_STORE_FORM: {form} is none that this was built for"),
        },
    }
}
