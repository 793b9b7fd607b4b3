//! Records, entries of indexes, object stores and what else the tables say.

use super::*;

#[test]
fn records_entries_and_metadata_are_there_when_the_store_is_opened_again() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    for n in 0..300 {
        ids.put(&store, &Key::Number(f64::from(n)), VALUE, &[]);
    }
    ids.put(&store, &Key::Number(7.0), b"\xff\x15\xff\x0fT", &[]);
    ids.delete(&store, &Key::Number(8.0));
    let before = ids.keys(&store.read());
    assert_eq!((before.0.len(), before.1.len()), (299, 299));
    store.close().unwrap();
    assert_eq!(place.names(), ["0", "LOCK"]);
    let store = place.open().unwrap();
    let databases = store.databases().unwrap();
    assert_eq!(databases.len(), 1);
    assert_eq!(databases[0].version, Some(1));
    assert_eq!(databases[0].object_stores[0].indexes[0].id, ids.index);
    let read = store.read();
    assert_eq!(ids.keys(&read), before);
    assert_eq!(
        ids.value(&read, &Key::Number(7.0)).unwrap(),
        b"\xff\x15\xff\x0fT"
    );
    assert_eq!(ids.value(&read, &Key::Number(8.0)), None);
}

#[test]
fn keys_and_paths_that_chromiums_tables_cannot_say_come_back() {
    let place = Place::new();
    let path = KeyPath::Array(vec!["a".into()]);
    let (store, ids) = place.made(path.clone());
    let negative = Key::array(vec![Key::Number(-0.0)]).unwrap();
    ids.put(&store, &negative, VALUE, &[]);
    let exact = (vec![encoded(&negative)], vec![encoded(&negative)]);
    assert_eq!(ids.keys(&store.read()), exact);
    store.close().unwrap();
    let store = place.open().unwrap();
    assert_eq!(ids.keys(&store.read()), exact);
    let databases = store.databases().unwrap();
    assert_eq!(databases[0].object_stores[0].key_path, path);
    assert_eq!(databases[0].object_stores[0].indexes[0].key_path, path);
    // 0 in its place: the note goes with the record.
    let positive = Key::array(vec![Key::Number(0.0)]).unwrap();
    ids.put(&store, &positive, VALUE, &[]);
    let exact = (vec![encoded(&positive)], vec![encoded(&positive)]);
    assert_eq!(ids.keys(&store.read()), exact);
    assert_eq!(place.ask("SELECT count(*) FROM larder_negative_zeros"), 0);
}

#[test]
fn object_stores_and_indexes_are_renamed_and_deleted_with_all_they_have() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Array(vec!["a".into()]));
    let key = Key::array(vec![Key::Number(1.0)]).unwrap();
    ids.put(&store, &key, VALUE, &[blob(b"content".to_vec())]);
    let change = |version, work: &dyn Fn(&mut larder_backing_store::WriteTransaction)| {
        let scope = Scope::VersionChange(ids.database);
        let mut change = store.begin(scope, Durability::Strict).unwrap();
        change.set_version(version).unwrap();
        work(&mut change);
        change.commit().unwrap();
    };
    change(2, &|change| {
        change.rename_object_store(ids.store, &"t".into()).unwrap();
        change
            .rename_index(ids.store, ids.index, &"j".into())
            .unwrap();
    });
    assert_eq!(place.ask("SELECT version FROM indexed_db_metadata"), 2);
    assert_eq!(
        place.ask("SELECT count(*) FROM object_stores WHERE name = x'7400'"),
        1
    );
    assert_eq!(
        place.ask("SELECT count(*) FROM indexes WHERE name = x'6a00'"),
        1
    );
    let noted = "SELECT count(*) FROM larder_array_paths WHERE name IN (x'7400', x'6a00')";
    assert_eq!(place.ask(noted), 2);
    change(3, &|change| {
        change.delete_index(ids.store, ids.index).unwrap();
    });
    assert_eq!(place.ask("SELECT count(*) FROM index_references"), 0);
    assert_eq!(place.ask("SELECT count(*) FROM indexes"), 0);
    assert_eq!(place.ask("SELECT count(*) FROM records"), 1);
    change(4, &|change| {
        change.delete_object_store(ids.store).unwrap();
    });
    while store.maintain().unwrap() == Maintenance::Step {}
    for table in ["records", "object_stores", "blobs", "blob_references"] {
        assert_eq!(
            place.ask(&format!("SELECT count(*) FROM {table}")),
            0,
            "{table}"
        );
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'larder_array_paths'";
    assert_eq!(place.ask(tables), 0);
}

#[test]
fn what_chromium_made_is_written_to_whatever_its_indexes_are_numbered() {
    // Index ids from 1, which LevelDB has for other things.
    let fixture = larder_fixtures::get("s156-odd").open();
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let dir = fixture.sqlite();
    let store =
        larder_sqlite_store::open_for_writing(Arc::clone(&fs), &dir, Place::options()).unwrap();
    let (mut puts, mut expected) = (0, Vec::new());
    for database in store.databases().unwrap() {
        for object_store in &database.object_stores {
            let ids: Vec<_> = object_store.indexes.iter().map(|index| index.id).collect();
            let scope = Scope::Stores(database.id, [object_store.id].into());
            let mut transaction = store.begin(scope, Durability::Strict).unwrap();
            let key = encoded(&Key::array(vec![Key::String("ours".into())]).unwrap());
            let key = RawKey::decode_exact(&key).unwrap();
            let keys = [key];
            let index_keys: Vec<_> = ids
                .iter()
                .map(|id| IndexKeys {
                    index_id: *id,
                    keys: &keys,
                })
                .collect();
            let put = Put {
                key: PutKey::Given(key),
                value: VALUE,
                mode: PutMode::Put,
                index_keys: &index_keys,
                external_objects: &[],
            };
            if object_store.key_path == KeyPath::Null {
                transaction.put(object_store.id, &put).unwrap();
                transaction.commit().unwrap();
                puts += 1;
                expected.push((database.name.clone(), object_store.id, ids));
            }
        }
    }
    store.close().unwrap();
    assert!(
        puts > 2 && expected.iter().any(|(.., ids)| !ids.is_empty()),
        "{expected:?}"
    );
    let read = larder_sqlite_store::open(&fs, &dir, &std::env::temp_dir()).unwrap();
    assert!(read.recovery().problems.is_empty());
    for (name, object_store, indexes) in expected {
        let databases = read.databases(&mut Vec::new()).unwrap();
        let database = databases
            .iter()
            .find(|database| database.name == name)
            .unwrap()
            .id;
        for index in indexes {
            let key = encoded(&Key::array(vec![Key::String("ours".into())]).unwrap());
            let range = only(&key);
            let count = read
                .count_by_index(database, object_store, index, &range)
                .unwrap();
            assert_eq!(count, 1, "{name:?} {object_store:?} {index:?}");
        }
    }
}

#[test]
fn what_passes_the_quota_is_refused() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    store.close().unwrap();
    let mut options = Place::options();
    options.quota = Some(Arc::new(Quota::new(200_000, None)));
    let fs = Arc::new(DiskFileSystem::new());
    let store = larder_sqlite_store::open_for_writing(fs, &place.dir(), options).unwrap();
    let used = store.usage().unwrap().total();
    assert!((40_000..200_000).contains(&used), "{used}");
    ids.put(&store, &Key::Number(1.0), &[0; 1000], &[]);
    let scope = Scope::Stores(ids.database, [ids.store].into());
    let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
    let key = encoded(&Key::Number(2.0));
    let put = Put {
        key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
        value: &[0; 200_000],
        mode: PutMode::Put,
        index_keys: &[],
        external_objects: &[],
    };
    transaction.put(ids.store, &put).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(error.quota().is_some(), "{error}");
    assert_eq!(ids.keys(&store.read()).0.len(), 1);
    // What is deleted makes room.
    let mut random = larder_fixtures::random::Random::new(1);
    let value: Vec<u8> = (0..20_000).map(|_| random.below(256) as u8).collect();
    for _ in 0..20 {
        ids.put(&store, &Key::Number(3.0), &value, &[]);
        ids.delete(&store, &Key::Number(3.0));
    }
}

#[test]
fn compacting_gives_room_back() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    // What cannot be packed.
    let mut random = larder_fixtures::random::Random::new(1);
    let value: Vec<u8> = (0..100_000).map(|_| random.below(256) as u8).collect();
    for n in 0..20 {
        ids.put(&store, &Key::Number(f64::from(n)), &value, &[]);
    }
    for n in 0..20 {
        ids.delete(&store, &Key::Number(f64::from(n)));
    }
    let before = store.usage().unwrap().total();
    store.compact(&mut || {}).unwrap();
    let after = store.usage().unwrap().total();
    assert!(before > 2_000_000 && after < 200_000, "{before}, {after}");
}

#[test]
fn a_file_of_which_a_third_is_free_is_made_shorter_when_it_is_closed() {
    let mut random = larder_fixtures::random::Random::new(1);
    let value: Vec<u8> = (0..100_000).map(|_| random.below(256) as u8).collect();
    for (deleted, is_made_shorter) in [(3, false), (15, true)] {
        let place = Place::new();
        let (store, ids) = place.made(KeyPath::Null);
        for n in 0..20 {
            ids.put(&store, &Key::Number(f64::from(n)), &value, &[]);
        }
        for n in 0..deleted {
            ids.delete(&store, &Key::Number(f64::from(n)));
        }
        store.close().unwrap();
        let len = place.file().metadata().unwrap().len();
        assert_eq!(len < 1_000_000, is_made_shorter, "{deleted}: {len}");
        assert_eq!(
            place.ask("SELECT count(*) FROM records"),
            20 - i64::from(deleted)
        );
    }
}

#[test]
fn an_entry_whose_record_is_gone_is_an_error_or_a_key_and_never_another_record() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    for n in 0..3 {
        ids.put(&store, &Key::Number(f64::from(n)), VALUE, &[]);
    }
    store.close().unwrap();
    let connection = Connection::open(place.file()).unwrap();
    let trigger = "SELECT sql FROM sqlite_schema WHERE name = 'on_record_deleted'";
    let trigger: String = connection.query_row(trigger, (), |row| row.get(0)).unwrap();
    connection
        .execute_batch("DROP TRIGGER on_record_deleted; DELETE FROM records WHERE row_id = 2")
        .unwrap();
    connection.execute_batch(&trigger).unwrap();
    drop(connection);
    let store = place.open().unwrap();
    let read = store.read();
    let (mut found, mut refused) = (Vec::new(), 0);
    let next = CursorDirection::Next;
    let mut entries = read.index_entries(ids.database, ids.store, ids.index, next);
    while let Ok(true) = entries.next().inspect_err(|_| refused += 1) {
        found.push(entries.primary_key().unwrap().as_bytes().to_vec());
    }
    assert!(found.len() + refused >= 2, "{found:?}, {refused}");
    for (n, is_there) in [(0, true), (1, false), (2, true)] {
        let key = encoded(&Key::Number(f64::from(n)));
        let mut record = Record::default();
        let got = read.get_by_index(ids.database, ids.store, ids.index, &only(&key), &mut record);
        match got {
            Ok(true) => assert!(is_there, "{n}"),
            Ok(false) => assert!(!is_there, "{n}"),
            Err(error) => assert_eq!((error.kind(), is_there), (ErrorKind::Corruption, false)),
        }
    }
}

/// Records come along with the entries of a walk: those with the key that the entry says, wherever its row's id leads.
#[test]
fn a_walk_over_entries_has_the_records_of_their_keys() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let value = |n: u8| [VALUE, &[n; 3000]].concat();
    for n in 0..40 {
        ids.put(&store, &Key::Number(f64::from(n)), &value(n), &[]);
    }
    store.close().unwrap();
    let connection = Connection::open(place.file()).unwrap();
    let change = "SELECT sql FROM sqlite_schema WHERE name = 'on_record_deleted'";
    let trigger: String = connection.query_row(change, (), |row| row.get(0)).unwrap();
    // Two ids are another record's, and one record is gone.
    let number = |n: u32| format!("(SELECT row_id FROM records ORDER BY key LIMIT 1 OFFSET {n})");
    let (third, fifth, seventh) = (number(3), number(5), number(7));
    connection
        .execute_batch(&format!(
            "DROP TRIGGER on_record_deleted;
             CREATE TEMP TABLE ids AS SELECT {third} AS a, {fifth} AS b, {seventh} AS c;
             UPDATE index_references SET record_row_id = -1 WHERE record_row_id = (SELECT a FROM ids);
             UPDATE index_references SET record_row_id = (SELECT a FROM ids)
                 WHERE record_row_id = (SELECT b FROM ids);
             UPDATE index_references SET record_row_id = (SELECT b FROM ids) WHERE record_row_id = -1;
             DELETE FROM records WHERE row_id = (SELECT c FROM ids);"
        ))
        .unwrap();
    connection.execute_batch(&trigger).unwrap();
    drop(connection);
    let store = place.open().unwrap();
    let read = store.read();
    for (direction, count) in [
        (CursorDirection::Next, 40),
        (CursorDirection::Prev, 40),
        (CursorDirection::Next, 5),
        (CursorDirection::Prev, 1),
    ] {
        let mut entries = read.index_entries(ids.database, ids.store, ids.index, direction);
        let (mut found, mut refused) = (Vec::new(), 0);
        while let Ok(is_there) = entries.next_of(count).inspect_err(|error| {
            assert_eq!(error.kind(), ErrorKind::Corruption);
            refused += 1;
        }) {
            if !is_there {
                break;
            }
            let key = entries.primary_key().unwrap().to_key();
            let Key::Number(n) = key else {
                panic!("{key:?}")
            };
            assert_eq!(entries.value(), value(n as u8), "{direction:?}, {count}");
            found.push(n as u8);
        }
        if !direction.is_forward() {
            found.reverse();
        }
        let expected: Vec<u8> = (0..40).filter(|n| *n != 7).collect();
        assert_eq!(found, expected, "{direction:?}, {count}, {refused}");
    }
}

#[test]
fn databases_are_made_at_one_time_while_others_write_blobs() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let store = &store;
    std::thread::scope(|scope| {
        for n in 0..4 {
            scope.spawn(move || {
                for m in 0..10 {
                    let name = JsString::from(&*format!("{n} {m}"));
                    let database = store.create_database(&name).unwrap();
                    let scope = Scope::VersionChange(database);
                    let mut change = store.begin(scope, Durability::Relaxed).unwrap();
                    change.set_version(1).unwrap();
                    change.commit().unwrap();
                }
            });
        }
        for n in 0..20 {
            let number = blob(format!("blob {n}").into_bytes());
            ids.put(store, &Key::Number(f64::from(n)), VALUE, &[number]);
        }
    });
    assert_eq!(store.databases().unwrap().len(), 41);
    let objects = ids.objects(&store.read(), &Key::Number(19.0));
    assert_eq!(
        content(&store.read(), ids.database, &objects[0]),
        b"blob 19"
    );
}
