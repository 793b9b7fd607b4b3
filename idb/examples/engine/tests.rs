//! What an engine relies on.

use std::path::Path;

use larder_fixtures::copy_open_folder;
use larder_idb::{DiskFileSystem, FixedClock, Key, KeyPath, MemoryFileSystem, StorageOptions};

use super::*;

struct Place {
    storage: Storage,
    factory: Factory,
}

fn place(mut options: StorageOptions) -> Place {
    // So little that a version change is on the disk before it is committed.
    options.transaction_memory_bytes = 300;
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url("https://library.example").unwrap());
    Place { storage, factory }
}

fn in_memory() -> Place {
    let fs = Arc::new(MemoryFileSystem::new());
    place(StorageOptions::new(
        fs,
        "storage",
        Arc::new(FixedClock::default()),
    ))
}

fn on_disk(folder: &Path) -> Place {
    let fs = Arc::new(DiskFileSystem::new());
    place(StorageOptions::new(
        fs,
        folder,
        Arc::new(FixedClock::default()),
    ))
}

fn put_books(library: &Database, books: &[Book]) -> Vec<Answer> {
    let puts = books.iter().map(|book| put(library, book).unwrap());
    transact(library, true, puts.collect()).unwrap()
}

fn shelf() -> Vec<Book> {
    let books = [
        ("Emma", "Austen"),
        ("Persuasion", "Austen"),
        ("Villette", "Brontë"),
    ];
    books.map(|(title, author)| Book::new(title, author)).into()
}

fn values(library: &Database) -> Vec<Book> {
    let answers = transact(library, false, vec![Operation::GetAll(KeyRange::all())]).unwrap();
    let [Answer::Values(values)] = &answers[..] else {
        panic!("{answers:?}");
    };
    values
        .iter()
        .map(|bytes| Book::deserialize(bytes).unwrap())
        .collect()
}

#[test]
fn every_operation_gives_the_engine_its_bytes_back_by_the_keys_that_it_gave() {
    let place = in_memory();
    let library = make_library(&place.factory).unwrap();
    let [emma, persuasion, villette] = ["Emma", "Persuasion", "Villette"].map(Key::from);
    assert_eq!(
        put_books(&library, &shelf()),
        [&emma, &persuasion, &villette].map(|key| Answer::Key(key.clone()))
    );
    let iterate = |index: Option<&str>, direction| Operation::Iterate {
        index: index.map(str::to_owned),
        range: KeyRange::all(),
        direction,
    };
    let reads = vec![
        Operation::Get(emma.clone().into()),
        Operation::Get("Middlemarch".into()),
        Operation::Keys(KeyRange::all()),
        Operation::Count("Persuasion".into()),
        iterate(None, CursorDirection::Prev),
        iterate(Some("by author"), CursorDirection::PrevUnique),
    ];
    let last = Book::new("Villette", "Brontë").serialize();
    let expected = [
        Answer::Value(Some(shelf()[0].serialize())),
        Answer::Value(None),
        Answer::Keys(vec![emma.clone(), persuasion.clone(), villette.clone()]),
        Answer::Count(1),
        Answer::Record(Some((villette.clone(), villette.clone(), last.clone()))),
        Answer::Record(Some(("Brontë".into(), villette.clone(), last))),
    ];
    assert_eq!(transact(&library, false, reads).unwrap(), expected);
    assert_eq!(values(&library), shelf());

    let remove = vec![
        Operation::Remove(emma.into()),
        Operation::Count(KeyRange::all()),
    ];
    let answers = transact(&library, true, remove).unwrap();
    assert_eq!(answers, [Answer::Done, Answer::Count(2)]);
    let clear = vec![
        Operation::Clear,
        iterate(Some("by author"), CursorDirection::Next),
    ];
    let answers = transact(&library, true, clear).unwrap();
    assert_eq!(answers, [Answer::Done, Answer::Record(None)]);
    assert_eq!(library.delete().unwrap(), 1);
    assert_eq!(
        Database::open(&place.factory, "library").unwrap().version(),
        0
    );
}

#[test]
fn a_transaction_with_a_request_that_fails_leaves_nothing() {
    let place = in_memory();
    let library = make_library(&place.factory).unwrap();
    put_books(&library, &shelf()[..1]);
    let mut again = put(&library, &shelf()[0]).unwrap();
    if let Operation::Put { overwrite, .. } = &mut again {
        *overwrite = false;
    }
    let puts = vec![put(&library, &shelf()[1]).unwrap(), again];
    let error = transact(&library, true, puts).unwrap_err();
    assert!(error.to_string().contains("ConstraintError"), "{error}");
    assert_eq!(values(&library), shelf()[..1]);
}

#[test]
fn an_engine_takes_numbers_of_a_generator_for_values_with_their_keys_inside() {
    let place = in_memory();
    let upgrade = Database::open(&place.factory, "numbers").unwrap();
    let upgrade = upgrade.upgrade(3).unwrap();
    let parameters = ObjectStoreParameters::new()
        .key_path(path("id"))
        .auto_increment(true);
    upgrade.create_store("books", parameters).unwrap();
    let numbers = upgrade.commit().unwrap();
    assert!(numbers.has_key_generator("books").unwrap());
    assert_eq!(numbers.key_path("books").unwrap(), path("id"));
    let put = |key: Option<Key>| Operation::Put {
        key,
        bytes: b"id inside".to_vec(),
        index_keys: Vec::new(),
        overwrite: true,
    };
    let take = vec![Operation::GenerateKey, Operation::GenerateKey, put(None)];
    let number = |number: f64| Answer::Key(number.into());
    let answers = transact(&numbers, true, take).unwrap();
    assert_eq!(answers, [number(1.0), number(2.0), number(3.0)]);
    let answers = transact(&numbers, true, vec![put(Some(2.0.into()))]).unwrap();
    assert_eq!(answers, [number(2.0)]);
    let all = transact(&numbers, false, vec![Operation::GetAll(KeyRange::all())]).unwrap();
    assert_eq!(all, [Answer::Values(vec![b"id inside".to_vec(); 2])]);
}

/// The greater part of version 2: an index and a store more, a record in it, an index less.
fn change(upgrade: &impl Upgrade) {
    let words = IndexParameters::new().multi_entry(true);
    let title = path("title");
    let keys_of = move |bytes: &[u8]| keys_at(bytes, &title, true);
    (upgrade.create_index("books", "words", path("title"), words, keys_of)).unwrap();
    upgrade.delete_index("books", "by author").unwrap();
    let parameters = ObjectStoreParameters::default();
    upgrade.create_store("loans", parameters).unwrap();
    let loan = Operation::Put {
        key: Some(1.0.into()),
        bytes: vec![7; 5000],
        index_keys: Vec::new(),
        overwrite: false,
    };
    let (requests, replies) = requests("loans", vec![loan]);
    upgrade.process(requests).unwrap();
    // All of it has been executed.
    assert_eq!(replies.recv().unwrap().unwrap(), Answer::Key(1.0.into()));
}

fn assert_is_version_1(library: &Database) {
    assert_eq!(
        (library.version(), library.stores()),
        (1, vec!["books".into()])
    );
    let by_author = ("by author".to_owned(), path("author"), false);
    assert_eq!(library.indexes("books").unwrap(), [by_author]);
    assert_eq!(values(library), shelf());
}

#[test]
fn a_version_change_is_there_as_a_whole_when_it_is_committed() {
    let place = in_memory();
    let library = make_library(&place.factory).unwrap();
    put_books(&library, &shelf());
    let upgrade = library.upgrade(2).unwrap();
    change(&upgrade);
    upgrade
        .create_store("gone", ObjectStoreParameters::default())
        .unwrap();
    upgrade.delete_store("gone").unwrap();
    let library = upgrade.commit().unwrap();
    let stores = ["books", "loans"].map(String::from).to_vec();
    assert_eq!((library.version(), library.stores()), (2, stores));
    let words: (String, KeyPath, bool) = ("words".into(), path("title"), true);
    assert_eq!(library.indexes("books").unwrap(), [words]);
    let by_word = Operation::Iterate {
        index: Some("words".into()),
        range: "Persuasion".into(),
        direction: CursorDirection::Next,
    };
    let answers = transact(&library, false, vec![by_word]).unwrap();
    let key = Key::from("Persuasion");
    let bytes = shelf()[1].serialize();
    assert_eq!(answers, [Answer::Record(Some((key.clone(), key, bytes)))]);
}

#[test]
fn an_aborted_version_change_leaves_nothing_of_schema_records_and_version() {
    let place = in_memory();
    let library = make_library(&place.factory).unwrap();
    put_books(&library, &shelf());
    let upgrade = library.upgrade(2).unwrap();
    change(&upgrade);
    assert_is_version_1(&upgrade.abort().unwrap());
    // A database that is new is not there at all after an aborted upgrade.
    let upgrade = Database::open(&place.factory, "new")
        .unwrap()
        .upgrade(5)
        .unwrap();
    upgrade
        .create_store("s", ObjectStoreParameters::default())
        .unwrap();
    assert_eq!(upgrade.abort().unwrap().version(), 0);
}

#[test]
fn a_version_change_with_an_index_that_cannot_be_is_none() {
    let place = in_memory();
    let library = make_library(&place.factory).unwrap();
    put_books(&library, &shelf());
    let upgrade = library.upgrade(2).unwrap();
    change(&upgrade);
    let unique = IndexParameters::new().unique(true);
    // Two are by Austen.
    let keys_of = |bytes: &[u8]| keys_at(bytes, &path("author"), false);
    (upgrade.create_index("books", "author", path("author"), unique, keys_of)).unwrap();
    let error = upgrade.commit().err().unwrap();
    assert!(error.to_string().contains("ConstraintError"), "{error}");
    assert_is_version_1(&Database::open(&place.factory, "library").unwrap());
}

#[test]
fn a_crash_in_the_middle_of_a_version_change_leaves_nothing_of_it() {
    let (dir, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = on_disk(dir.path());
    let library = make_library(&place.factory).unwrap();
    put_books(&library, &shelf());
    let upgrade = library.upgrade(2).unwrap();
    change(&upgrade);
    // What a process that is killed now leaves behind.
    copy_open_folder(dir.path(), crashed.path());
    let after = on_disk(crashed.path());
    assert_is_version_1(&Database::open(&after.factory, "library").unwrap());
    after.storage.close().unwrap();
    // The one that was not killed goes on.
    assert_eq!(upgrade.commit().unwrap().version(), 2);
    place.storage.close().unwrap();
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
