//! Buckets, and sessions in memory: each has stores of its own, beside those of origins.

use larder_idb::{BucketId, ConnectionEvent, ErrorKind};

use super::*;

fn bucket(n: u64) -> BucketId {
    BucketId::new(n).unwrap()
}

fn names(factory: &Factory) -> Vec<String> {
    let databases = factory.databases().wait().unwrap();
    let names = databases.into_iter();
    names.map(|info| info.name.to_string_lossy()).collect()
}

#[test]
fn a_bucket_has_a_store_of_its_own_in_chromiums_layout() {
    for executor in [DRIVEN, THREADS] {
        let place = Place::new(executor);
        let in_bucket = place.storage.bucket(&origin(1), bucket(7));
        let connection = open(&in_bucket).unwrap();
        put(&connection, 1000).unwrap();
        assert_eq!(names(&in_bucket), ["db"]);
        assert!(names(&place.factory(1)).is_empty());
        assert!(names(&place.storage.bucket(&origin(1), bucket(8))).is_empty());
        let current = Path::new("WebStorage/7/IndexedDB/indexeddb.leveldb/CURRENT");
        assert!(place.fs.metadata(current).is_ok());
        let blobs = Path::new("WebStorage/7/IndexedDB/indexeddb.blob");
        assert!(place.fs.metadata(blobs).is_ok());
        // Another origin has another bucket: it must not see this one's.
        let error = open(&place.storage.bucket(&origin(2), bucket(7))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        // Of one storage both handles are of one store.
        let again = place.storage.bucket(&origin(1), bucket(7));
        assert_eq!(names(&again), ["db"]);
        assert_eq!(
            place.list()[0].usage,
            in_bucket.estimate().wait().unwrap().usage
        );
    }
}

#[test]
fn buckets_are_listed_with_their_origin_and_deleted_alone_or_with_it() {
    let place = Place::new(DRIVEN);
    place.fill(1, 10);
    for (n, id) in [(1, 3), (1, 20), (2, 4)] {
        let connection = open(&place.storage.bucket(&origin(n), bucket(id))).unwrap();
        put(&connection, 10).unwrap();
    }
    let place = place.again(DRIVEN);
    let found = |place: &Place| -> Vec<_> {
        let infos = place.list().into_iter();
        infos.map(|info| (info.origin, info.bucket)).collect()
    };
    let of = |n, id| (origin(n), Some(bucket(id)));
    assert_eq!(
        found(&place),
        [(origin(1), None), of(1, 3), of(2, 4), of(1, 20)]
    );
    let others = Path::new("WebStorage/3/CacheStorage");
    place.fs.create_dir(others).unwrap();
    place
        .storage
        .delete_bucket(&origin(1), bucket(3))
        .wait()
        .unwrap();
    assert!(place.fs.metadata(others).is_ok(), "is none of the store's");
    assert_eq!(found(&place), [(origin(1), None), of(2, 4), of(1, 20)]);
    place.storage.delete_origin(&origin(1)).wait().unwrap();
    assert_eq!(found(&place), [of(2, 4)]);
    assert!(place.fs.metadata(Path::new("WebStorage/20")).is_err());
    assert!(place.fs.metadata(Path::new("WebStorage/4")).is_ok());
}

#[test]
fn numbers_of_buckets_are_those_that_chromium_can_give() {
    assert_eq!(BucketId::new(0), None);
    assert_eq!(BucketId::new(1 << 63), None);
    assert_eq!(bucket(7).to_string(), "7");
    let place = Place::new(DRIVEN);
    for name in [
        "WebStorage",
        "WebStorage/07",
        "WebStorage/QuotaManager",
        "WebStorage/-1",
    ] {
        place.fs.create_dir(Path::new(name)).unwrap();
    }
    assert!(place.list().is_empty());
}

#[test]
fn a_session_in_memory_sees_nothing_of_the_disk_and_leaves_nothing_there() {
    for executor in [DRIVEN, THREADS] {
        let place = Place::new(executor);
        place.fill(1, 10);
        let before = place.names();
        let sessions = [(); 2].map(|()| place.storage.private_session());
        let connections: Vec<Connection> = sessions
            .iter()
            .map(|session| {
                let factory = session.factory(&origin(1));
                assert!(names(&factory).is_empty());
                let connection = open(&factory).unwrap();
                put(&connection, 70_000).unwrap();
                connection
            })
            .collect();
        assert_eq!(place.names(), before);
        assert_eq!(place.origins(), [origin(1)]);
        let [first, second] = sessions;
        let factory = first.factory(&origin(1));
        assert_eq!(factory.estimate().wait().unwrap().usage.blobs, 70_000);
        let clone = first.clone();
        drop(first);
        assert!(!connections[0].is_close_pending());
        drop(clone);
        // What is asked for later comes after the end of the session.
        assert!(names(&factory).is_empty());
        let mut told = false;
        while let Some(event) = connections[0].events().try_next() {
            told |= matches!(event, ConnectionEvent::Close);
        }
        assert!(told && connections[0].is_close_pending());
        assert_eq!(names(&second.factory(&origin(1))), ["db"]);
        assert_eq!(names(&place.factory(1)), ["db"]);
    }
}

#[test]
fn a_request_made_after_the_end_of_a_session_finds_nothing_of_it() {
    for executor in [DRIVEN, THREADS] {
        let place = Place::new(executor);
        // With threads a request could overtake the deletion once in a while.
        for _ in 0..100 {
            let session = place.storage.private_session();
            let factory = session.factory(&origin(1));
            put(&open(&factory).unwrap(), 10).unwrap();
            drop(session);
            assert!(names(&factory).is_empty());
        }
    }
}

#[test]
fn a_session_that_outlives_its_storage_leaves_nothing_in_memory() {
    for executor in [DRIVEN, THREADS] {
        let place = Place::new(executor);
        let session = place.storage.private_session();
        put(&open(&session.factory(&origin(1))).unwrap(), 10).unwrap();
        let clock = Arc::downgrade(&place.clock);
        let Place {
            storage,
            clock: own,
            ..
        } = place;
        drop(own);
        storage.close().unwrap();
        drop(session);
        assert!(clock.upgrade().is_none());
    }
}
