//! Listing: what is there, what it takes, when it was used.

use super::*;

#[test]
fn origins_are_listed_with_size_and_times_whether_they_are_open_or_not() {
    for executor in [DRIVEN, THREADS] {
        let place = Place::new(executor);
        assert!(place.list().is_empty());
        place.clock.set(1000);
        place.fill(1, 100);
        place.clock.set(2000);
        let connection = open(&place.factory(2)).unwrap();
        place.clock.set(3000);
        put(&connection, 50_000).unwrap();
        place.clock.set(4000);
        // Used, and not written to.
        assert_eq!(place.factory(1).databases().wait().unwrap().len(), 1);
        place.clock.set(5000);
        let infos = place.list();
        let facts = |info: &OriginInfo| {
            let times = (info.last_used_us, info.last_modified_us);
            (info.origin.clone(), times, info.usage.blobs)
        };
        let found: Vec<_> = infos.iter().map(facts).collect();
        assert_eq!(found[0], (origin(1), (4000, 1000), 100));
        assert_eq!((&found[1].0, found[1].2), (&origin(2), 50_000));
        assert_eq!(found[1].1, (3000, 3000));
        assert!(infos[1].is_in_use && !infos[1].is_persisted);
        let total: u64 = infos.iter().map(|info| info.usage.total()).sum();
        assert_eq!(place.storage.usage().wait().unwrap().total(), total);
        // The same of another storage on the same files.
        drop(connection);
        let place = place.again(executor);
        let found: Vec<_> = place.list().iter().map(facts).collect();
        assert_eq!(found[0].1, (4000, 1000));
        assert_eq!(found[1].1.1, 3000);
        assert!(place.list().iter().all(|info| !info.is_in_use));
    }
}

#[test]
fn listing_changes_no_file_and_opens_no_store() {
    let place = Place::new(DRIVEN);
    place.fill(1, 10);
    let before = place.factory(1).estimate().wait().unwrap();
    let lock = Path::new("idb/https_o1.example_0.indexeddb.leveldb/LOCK");
    for _ in 0..3 {
        assert_eq!(place.list()[0].usage, before.usage);
        assert_eq!(place.fs.lock_holder(lock).unwrap(), None);
    }
}

#[test]
fn files_that_are_no_stores_are_not_listed_and_what_is_left_of_one_is() {
    let place = Place::new(DRIVEN);
    place.fill(1, 10);
    let make = |path: &str| {
        let path = Path::new(path);
        place.fs.create_dir(path.parent().unwrap()).unwrap();
        place.fs.create(path).unwrap().append(b"data").unwrap();
    };
    make("idb/notes/a");
    make("idb/https_gone.example_0.indexeddb.blob/file");
    let gone = Origin::from_url("https://gone.example").unwrap();
    assert_eq!(place.origins(), [gone.clone(), origin(1)]);
    assert_eq!(place.list()[0].usage.total(), 4);
    place.storage.delete_origin(&gone).wait().unwrap();
    assert_eq!(place.origins(), [origin(1)]);
    assert!(place.names().contains(&"notes".to_owned()));
}

#[test]
fn a_persistent_origin_is_listed_before_it_has_a_store_and_after_a_restart() {
    let place = Place::new(DRIVEN);
    let is_persisted = |place: &Place| place.factory(1).persisted().wait().unwrap();
    assert!(!is_persisted(&place));
    place.factory(1).set_persisted(true).wait().unwrap();
    assert!(is_persisted(&place));
    assert!(place.factory(1).databases().wait().unwrap().is_empty());
    place.fill(1, 10);
    let place = place.again(DRIVEN);
    assert!(is_persisted(&place) && place.list()[0].is_persisted);
    place.factory(1).set_persisted(false).wait().unwrap();
    assert!(!is_persisted(&place));
    let opaque = place.storage.factory(&Origin::opaque());
    assert!(opaque.set_persisted(true).wait().is_err());
}
