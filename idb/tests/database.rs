//! The front door: a database in a folder, opened, upgraded, refused and found again.

use larder_fixtures::chromium;
use larder_idb::{Database, ErrorName, ObjectStoreParameters, Value};
use serde_json::json;

#[test]
fn a_database_is_found_again_in_its_folder_and_upgraded_once() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("IndexedDB");
    let open = |version, name: &'static str| {
        let opening = Database::open(&folder, "library", version, move |upgrade| {
            let parameters = ObjectStoreParameters::new();
            upgrade.transaction.create_object_store(name, parameters)?;
            Ok(())
        });
        opening.unwrap().wait()
    };
    let library = open(1, "books").unwrap();
    let writing = library.write("books").unwrap();
    let books = writing.object_store("books").unwrap();
    let emma = Value::serialize("Emma").unwrap();
    books.put(emma, Some(5.into())).unwrap().detach();
    writing.commit().unwrap().wait().unwrap();
    library.close().unwrap();
    assert!(folder.join("file__0.indexeddb.leveldb").is_dir());

    let library = open(2, "loans").unwrap();
    let reading = library.read(["books", "loans"]).unwrap();
    let books = reading.object_store("books").unwrap();
    let found = books.get(5).unwrap().wait().unwrap().unwrap();
    assert_eq!(found.deserialize::<String>().unwrap(), "Emma");
    library.close().unwrap();

    let refused = open(1, "never").unwrap_err();
    assert_eq!(refused.name(), ErrorName::VersionError);
    let library = open(2, "never").unwrap();
    assert_eq!(library.connection().object_store_names().len(), 2);
}

#[test]
fn a_writer_of_the_front_door_does_not_wait_for_a_reader_that_is_still_held() {
    let opening = Database::in_memory("library", 1, |upgrade| {
        let numbered = ObjectStoreParameters::new().auto_increment(true);
        upgrade.transaction.create_object_store("books", numbered)?;
        Ok(())
    });
    let library = opening.unwrap().wait().unwrap();
    let reading = library.read("books").unwrap();
    let read = reading.object_store("books").unwrap();
    assert_eq!(read.count(..).unwrap().wait().unwrap(), 0);
    let writing = library.write("books").unwrap();
    let books = writing.object_store("books").unwrap();
    books
        .put(Value::serialize("Emma").unwrap(), None)
        .unwrap()
        .wait()
        .unwrap();
    writing.commit().unwrap().wait().unwrap();
    // It still sees what was there when it began.
    assert_eq!(read.count(..).unwrap().wait().unwrap(), 0);
    let later = library
        .read("books")
        .unwrap()
        .object_store("books")
        .unwrap();
    assert_eq!(later.count(..).unwrap().wait().unwrap(), 1);
}

/// What the page of a local file finds in "books", after it has put a book there.
const READ_AND_PUT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
  request.onupgradeneeded = () => reject(new Error("made anew"));
});
const library = await done(indexedDB.open("library"));
const writing = library.transaction("books", "readwrite");
const books = writing.objectStore("books");
const found = await done(books.getAll());
// The browser ends when the page has its answer, which a put has before its transaction commits.
await new Promise((resolve, reject) => {
  writing.oncomplete = resolve;
  writing.onabort = () => reject(writing.error);
  books.put(args);
});
library.close();
return { version: library.version, found };
"#;

#[test]
fn a_page_of_a_local_file_in_chromium_has_the_front_doors_databases() {
    let Some(chromium) = chromium::shared() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("profile");
    let open = || {
        let folder = profile.join("Default/IndexedDB");
        let opening = Database::open(folder, "library", 3, |upgrade| {
            let by_title = ObjectStoreParameters::new().key_path("title");
            upgrade.transaction.create_object_store("books", by_title)?;
            Ok(())
        });
        opening.unwrap().wait().unwrap()
    };
    let emma = json!({ "title": "Emma", "year": 1815 });
    let library = open();
    let writing = library.write("books").unwrap();
    let books = writing.object_store("books").unwrap();
    books
        .put(Value::serialize(&emma).unwrap(), None)
        .unwrap()
        .detach();
    writing.commit().unwrap().wait().unwrap();
    library.close().unwrap();

    let middlemarch = json!({ "title": "Middlemarch", "year": 1871 });
    let answer = chromium.run_in_profile(&profile, "file://", READ_AND_PUT, &middlemarch);
    assert_eq!(answer.unwrap(), json!({ "version": 3, "found": [emma] }));

    let library = open();
    let reading = library.read("books").unwrap();
    let books = reading.object_store("books").unwrap();
    let found = books.get("Middlemarch").unwrap().wait().unwrap().unwrap();
    assert_eq!(
        found.deserialize::<serde_json::Value>().unwrap(),
        middlemarch
    );
    library.close().unwrap();
}
