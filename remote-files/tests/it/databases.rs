//! IndexedDB on it, unchanged: `larder-idb` is given the file system, as it is given a folder's elsewhere.

use crate::setting::Setting;
use larder_idb::{
    Connection, Executor, FixedClock, IndexParameters, Key, ObjectStoreParameters, Origin, Storage,
    StorageOptions, TransactionDurability, TransactionMode, TransactionOptions, Upgrade, Value,
};
use std::sync::Arc;

/// The storage of another process, which takes the namespace over.
fn storage(setting: &Setting) -> Storage {
    let clock = Arc::new(FixedClock::default());
    let mut options = StorageOptions::new(setting.take(), "stores", clock);
    options.executor = Executor::Driven { seed: None };
    Storage::new(options).unwrap()
}

fn connect(storage: &Storage) -> Connection {
    let factory = storage.factory(&Origin::from_url("https://library.example").unwrap());
    let upgrade = |upgrade: &Upgrade| {
        let transaction = &upgrade.transaction;
        let books = ObjectStoreParameters::new().key_path("title");
        let books = transaction.create_object_store("books", books)?;
        books.create_index("by year", "year", IndexParameters::new())?;
        Ok(())
    };
    let request = factory.open("library", Some(1)).unwrap();
    request.with_upgrade(upgrade).wait().unwrap()
}

fn put_strictly(library: &Connection, number: i32) {
    let options = TransactionOptions::new().durability(TransactionDurability::Strict);
    let writing = library
        .transaction("books", TransactionMode::ReadWrite, options)
        .unwrap();
    let book = serde_json::json!({ "title": format!("book {number}"), "year": 1800 + number % 7 });
    let books = writing.object_store("books").unwrap();
    books
        .put(Value::serialize(&book).unwrap(), None)
        .unwrap()
        .detach();
    writing.commit().unwrap().wait().unwrap();
}

/// How many books there are, by the object store and by its index.
fn count(library: &Connection) -> (u64, u64) {
    let reading = library
        .transaction(
            "books",
            TransactionMode::ReadOnly,
            TransactionOptions::new(),
        )
        .unwrap();
    let books = reading.object_store("books").unwrap();
    let by_year = books.index("by year").unwrap();
    let of_the_index = (0..7).map(|year| {
        let year = Key::from(1800 + year);
        by_year.count(year).unwrap().wait().unwrap()
    });
    (books.count(..).unwrap().wait().unwrap(), of_the_index.sum())
}

/// Processes follow one another, of which some are closed and the others die; each finds what those before have committed strictly.
pub(crate) fn processes(setting: &Setting) {
    for number in 0..6u8 {
        let storage = storage(setting);
        let library = connect(&storage);
        let found = u64::from(number) * 20;
        assert_eq!(count(&library), (found, found), "process {number}");
        for book in 0..20 {
            put_strictly(&library, i32::from(number) * 20 + book);
        }
        if number % 2 == 0 {
            // It is closed. The others are dead from here on: nothing of theirs runs any more.
            drop(library);
            storage.close().unwrap();
        } else {
            std::mem::forget((library, storage));
        }
    }
}

#[test]
fn what_a_process_has_committed_strictly_is_there_for_the_one_that_takes_over() {
    processes(&Setting::of_model());
}
