//! Readers see the moment at which they began.

use super::*;

#[test]
fn a_reader_sees_the_moment_it_began_whenever_it_first_looks() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    // One looks before the next commit, one after it, one after two.
    let (first, second) = (store.read(), store.read());
    let before = ids.keys(&first);
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    let third = store.read();
    ids.delete(&store, &Key::Number(1.0));
    assert_eq!(ids.keys(&first), before);
    assert_eq!(ids.keys(&second), before);
    assert_eq!(ids.keys(&third).0.len(), 2);
    assert_eq!(ids.keys(&store.read()).0, [encoded(&Key::Number(2.0))]);
    // A database that is made later is not in it, also if its number is asked for.
    let other = store.create_database(&JsString::from("other")).unwrap();
    let scope = Scope::VersionChange(other);
    let mut change = store.begin(scope, Durability::Strict).unwrap();
    change.set_version(1).unwrap();
    let parameters = ObjectStoreParameters {
        id: None,
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: true,
    };
    let made = change.create_object_store(&parameters).unwrap();
    let generated = Put {
        key: PutKey::Generated,
        value: VALUE,
        mode: PutMode::Add,
        index_keys: &[],
        external_objects: &[],
    };
    change.put(made, &generated).unwrap();
    change.commit().unwrap();
    let count = |reads: &Reads| reads.count(other, made, &KeyRange::ALL).unwrap();
    assert_eq!((count(&second), count(&store.read())), (0, 1));
}

#[test]
fn readers_that_have_not_looked_share_what_a_commit_holds_for_them() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let readers: Vec<_> = (0..200).map(|_| store.read()).collect();
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    for reader in &readers {
        assert_eq!(ids.keys(reader).0.len(), 1);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let file = place.file();
        let handles = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        let count = handles.filter(|path| *path == file).count();
        assert!((1..8).contains(&count), "{count}");
    }
}

#[test]
fn what_a_reader_keeps_in_the_log_is_put_into_the_file_when_it_is_gone() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let in_file = || {
        let apart = tempfile::tempdir().unwrap();
        let copy = apart.path().join(FILE);
        fs::copy(place.file(), &copy).unwrap();
        let connection = Connection::open(copy).unwrap();
        let sql = "SELECT count(*) FROM records";
        connection
            .query_row(sql, (), |row| row.get::<_, i64>(0))
            .unwrap()
    };
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let read = store.read();
    assert_eq!(ids.keys(&read).0.len(), 1);
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert!(in_file() < 2);
    drop(read);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!(in_file(), 2);
}
