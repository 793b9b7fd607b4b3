//! The front door: a database in a folder, opened, upgraded, refused and found again.

use larder_idb::{Database, ErrorName, ObjectStoreParameters, Value};

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
