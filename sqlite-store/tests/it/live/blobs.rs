//! The contents of blobs: how long they lie in the tables.

use super::*;

#[test]
fn blobs_lie_in_the_tables_as_long_as_a_record_or_a_reader_has_them() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let (one, two) = (Key::Number(1.0), Key::Number(2.0));
    let large: Vec<u8> = (0..(5 << 20) + 17).map(|n: u32| (n / 7) as u8).collect();
    let handle = |token: &[u8]| NewExternalObject::FileSystemAccessHandle {
        token: token.to_vec(),
    };
    let file = NewExternalObject::File {
        mime_type: "".into(),
        content: Arc::new(b"of a file".to_vec()),
        name: "n.txt".into(),
        last_modified_micros: 13_000_000_000_000_000,
    };
    let objects = [
        handle(b"first"),
        blob(large.clone()),
        file,
        blob(Vec::new()),
        handle(b"second"),
    ];
    ids.put(&store, &one, VALUE, &objects);
    ids.put(&store, &two, VALUE, &[blob(b"other".to_vec())]);
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 6);
    assert_eq!(place.ask("SELECT count(*) FROM overflow_blob_chunks"), 1);
    let check = |reads: &Reads| {
        let objects = ids.objects(reads, &one);
        // Handles have numbers of their own in values.
        let contents: Vec<_> = objects[..3]
            .iter()
            .map(|object| content(reads, ids.database, object))
            .collect();
        assert!(contents == [large.clone(), b"of a file".to_vec(), Vec::new()]);
        let tokens = objects[3..].iter().map(|object| match object {
            ExternalObject::FileSystemAccessHandle { token } => &**token,
            other => panic!("{other:?}"),
        });
        assert_eq!(tokens.collect::<Vec<_>>(), [&b"first"[..], b"second"]);
        assert!(
            matches!(&objects[1], ExternalObject::File { name, last_modified_micros, .. }
            if name.to_string_lossy() == "n.txt" && *last_modified_micros == 13_000_000_000_000_000)
        );
    };
    check(&store.read());
    // No file of a content is left beside the tables.
    assert!(
        !place
            .dir()
            .join("blobs")
            .join("1")
            .join("00")
            .read_dir()
            .is_ok_and(|mut dir| dir.next().is_some())
    );
    store.close().unwrap();
    let store = place.open().unwrap();
    check(&store.read());

    let read = store.read();
    let object = ids.objects(&read, &two).pop().unwrap();
    let held = read.hold_blob(ids.database, info(&object).number);
    ids.put(&store, &two, VALUE, &[]);
    ids.delete(&store, &one);
    // A reader that began before may ask for all of them; handles are in the rows that it sees.
    check(&read);
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 4);
    drop(read);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!(content(&store.read(), ids.database, &object), b"other");
    assert_eq!(place.ask("SELECT count(*) FROM overflow_blob_chunks"), 0);
    drop(held);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 0);
    // New ones have numbers of their own.
    ids.put(&store, &one, VALUE, &[blob(b"new".to_vec())]);
    let new = ids.objects(&store.read(), &one).pop().unwrap();
    assert!(info(&new).number > info(&object).number);
}

#[test]
fn what_a_process_held_that_is_gone_goes_with_the_next_write() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let (read, object) = ids.put_blob(&store, b"held");
    let _held = read.hold_blob(ids.database, info(&object).number);
    ids.delete(&store, &Key::Number(1.0));
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 1);
    // As a process that was killed leaves it: what lies in the folder now.
    let after = Place::new();
    fs::create_dir_all(after.dir().join("blobs/1/00")).unwrap();
    for name in ["0", "0-wal"] {
        fs::copy(place.dir().join(name), after.dir().join(name)).unwrap();
    }
    fs::write(after.dir().join("blobs/1/00/9"), b"never committed").unwrap();
    let store = after.open().unwrap();
    assert!(!after.dir().join("blobs").exists());
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    assert_eq!(after.ask("SELECT count(*) FROM blobs"), 0);
}

#[test]
fn a_database_is_deleted_with_its_file_and_its_held_blobs_are_read_on() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let (read, object) = ids.put_blob(&store, b"held");
    let held = read.hold_blob(ids.database, info(&object).number);
    assert!(store.delete_database(&JsString::from("")).unwrap());
    assert_eq!(place.names(), ["LOCK", "blobs"]);
    assert!(store.databases().unwrap().is_empty());
    // Of the same name, another, which has a blob of the same number.
    let (again, database) = place.fill(store);
    let store = again;
    assert!(database > ids.database);
    assert_eq!(content(&store.read(), ids.database, &object), b"held");
    drop((held, read));
    while store.maintain().unwrap() == Maintenance::Step {}
    assert!(store.read().open_blob(ids.database, info(&object)).is_err());
    assert!(store.delete_database(&JsString::from("")).unwrap());
    store.close().unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAStore, "{error}");
}

#[test]
fn a_commit_that_fails_lets_no_blob_go_that_is_held() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let (read, object) = ids.put_blob(&store, b"held");
    let _held = read.hold_blob(ids.database, info(&object).number);
    ids.delete(&store, &Key::Number(1.0));
    drop(read);
    let other = Connection::open(place.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let put = ids.try_put(&store, &Key::Number(2.0), VALUE, &[]);
    let error = put.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    drop(other);
    ids.put(&store, &Key::Number(3.0), VALUE, &[]);
    assert_eq!(content(&store.read(), ids.database, &object), b"held");
}
