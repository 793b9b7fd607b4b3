//! What hosts and pages see of a quota, case by case.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use larder_idb::{BlobSource, ConnectionEvent, KeyRange, QuotaCallback};
use larder_leveldb::storage::FaultFileSystem;

use super::*;

#[test]
fn a_refused_transaction_has_changed_no_file_and_everything_else_goes_on() {
    for executor in [DRIVEN, THREADS] {
        let files = Files::new();
        let storage = Storage::new(files.options(executor)).unwrap();
        let factory = factory(&storage);
        let (connection, other) = (open(&factory).unwrap(), open(&factory).unwrap());
        put(&connection, 1, 1000).unwrap();
        let before = files.all();
        factory.set_quota_bytes(files.bytes() + 500);
        let error = refused(put(&connection, 2, 1000));
        let over = error.quota().unwrap();
        assert_eq!(over.usage_bytes, files.bytes());
        assert_eq!(over.limit_bytes, files.bytes() + 500);
        assert!((1000..1500).contains(&over.needed_bytes), "{over}");
        assert!(files.all() == before, "something was written");
        for connection in [&connection, &other] {
            let told = connection.events().try_next();
            assert!(!matches!(told, Some(ConnectionEvent::Close)), "{told:?}");
            assert_eq!(read(connection, 1), Some(text(1, 1000)));
            assert_eq!(read(connection, 2), None);
        }
        put(&other, 3, 10).unwrap();
        assert_eq!(read(&connection, 3), Some(text(3, 10)));
        storage.close().unwrap();
    }
}

#[test]
fn a_refused_blob_has_left_no_file_and_no_number() {
    let files = Files::new();
    let storage = Storage::new(files.options(DRIVEN)).unwrap();
    let factory = factory(&storage);
    let connection = open(&factory).unwrap();
    put(&connection, 1, 10).unwrap();
    let before = files.all();
    let put_blob = || {
        let transaction = begin(&connection);
        let store = transaction.object_store("a")?;
        store.put(blob(1, 70_000), Some(number(2)))?.detach();
        transaction.commit()?.wait()
    };
    factory.set_quota_bytes(files.bytes() + 70_000);
    let error = refused(put_blob());
    let needed = error.quota().unwrap().needed_bytes;
    assert!(files.all() == before, "something was written");
    factory.set_quota_bytes(files.bytes() + needed - 1);
    refused(put_blob());
    factory.set_quota_bytes(files.bytes() + needed);
    put_blob().unwrap();
    let estimate = factory.estimate().wait().unwrap();
    assert_eq!(estimate.usage.blobs, 70_000);
    assert_eq!(estimate.usage.total(), files.bytes());
    assert!(files.bytes() <= estimate.quota_bytes);
}

#[test]
fn the_host_is_asked_with_the_numbers_and_may_give_more() {
    let files = Files::new();
    let asked = Arc::new(AtomicU64::new(0));
    let mut options = files.options(THREADS);
    options.quota_bytes = 100_000;
    let count = Arc::clone(&asked);
    options.on_over_quota = Some(QuotaCallback::new(move |origin, over| {
        assert_eq!(origin.to_string(), "https://a.example");
        assert!(over.usage_bytes + over.needed_bytes > over.limit_bytes);
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => Some(over.limit_bytes + 100_000),
            1 => panic!("a host's defect is no answer"),
            _ => None,
        }
    }));
    let storage = Storage::new(options).unwrap();
    let factory = factory(&storage);
    let connection = open(&factory).unwrap();
    put(&connection, 1, 90_000).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let quota = factory.estimate().wait().unwrap().quota_bytes;
    assert_eq!(quota, 200_000);
    for _ in 0..2 {
        refused(put(&connection, 2, 200_000));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    put(&connection, 3, 100).unwrap();
}

#[test]
fn what_only_deletes_is_never_refused_and_gives_its_room_to_what_is_put_next() {
    let files = Files::new();
    let storage = Storage::new(files.options(DRIVEN)).unwrap();
    let factory = factory(&storage);
    let connection = open(&factory).unwrap();
    for key in 0..20 {
        put(&connection, key, 10_000).unwrap();
    }
    factory.set_quota_bytes(files.bytes());
    refused(put(&connection, 20, 10_000));
    let delete = |range: Option<KeyRange>| {
        let transaction = begin(&connection);
        let store = transaction.object_store("a")?;
        match range {
            Some(range) => _ = store.delete(range)?,
            None => _ = store.clear()?,
        }
        transaction.commit()?.wait()
    };
    delete(Some(number(0).into())).unwrap();
    put(&connection, 20, 5_000).unwrap();
    delete(None).unwrap();
    put(&connection, 21, 100_000).unwrap();
    assert_eq!(read(&connection, 21), Some(text(21, 100_000)));
    assert_eq!(usage(&factory), files.bytes());
    // A database can be deleted, and gives its room back, too.
    refused(put(&connection, 22, 200_000));
    connection.close();
    factory.delete_database("db").done().wait().unwrap();
    let connection = open(&factory).unwrap();
    put(&connection, 1, 100_000).unwrap();
}

#[test]
fn what_is_replaced_gives_its_room_back() {
    let files = Files::new();
    let storage = Storage::new(files.options(DRIVEN)).unwrap();
    let factory = factory(&storage);
    let connection = open(&factory).unwrap();
    put(&connection, 1, 100_000).unwrap();
    factory.set_quota_bytes(files.bytes() + 300_000);
    for _ in 0..50 {
        put(&connection, 1, 100_000).unwrap();
    }
}

#[test]
fn a_transaction_that_does_not_fit_into_memory_is_refused_and_taken_back() {
    let files = Files::new();
    let mut options = files.options(THREADS);
    options.transaction_memory_bytes = 64 << 10;
    let storage = Storage::new(options).unwrap();
    let factory = factory(&storage);
    let connection = open(&factory).unwrap();
    put(&connection, 1, 10).unwrap();
    factory.set_quota_bytes(files.bytes() + 2_000_000);
    let large = || {
        let transaction = begin(&connection);
        let store = transaction.object_store("a")?;
        for key in 0..500 {
            let value = Value::serialize(&text(key, 10_000)).unwrap();
            store.put(value, Some(number(key)))?.wait()?;
        }
        transaction.commit()?.wait()
    };
    for _ in 0..3 {
        refused(large());
    }
    assert_eq!(read(&connection, 1), Some(text(1, 10)));
    assert_eq!(read(&connection, 2), None);
    // What was written of it is no room lost.
    put(&connection, 2, 1_500_000).unwrap();
    assert!(usage(&factory) <= factory.estimate().wait().unwrap().quota_bytes);
}

#[test]
fn transactions_that_commit_at_once_never_pass_the_limit_together() {
    let files = Files::new();
    let storage = Storage::new(files.options(THREADS)).unwrap();
    let factory = factory(&storage);
    let first = open(&factory).unwrap();
    put(&first, 0, 10).unwrap();
    let limit = files.bytes() + 400_000;
    factory.set_quota_bytes(limit);
    let committed: u32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let name = format!("db{n}");
                let factory = &factory;
                scope.spawn(move || {
                    let request = factory.open(&name, None).unwrap();
                    let request = request.with_upgrade(|upgrade| {
                        let parameters = ObjectStoreParameters::default();
                        let made = &upgrade.transaction;
                        made.create_object_store("a", parameters).map(drop)
                    });
                    let connection = request.wait().unwrap();
                    let put = |key| put(&connection, key, 10_000).is_ok();
                    (0..20).map(|key| u32::from(put(key))).sum::<u32>()
                })
            })
            .collect();
        let counts = threads.into_iter().map(|thread| thread.join().unwrap());
        counts.sum()
    });
    println!("{committed} of 80 transactions fitted");
    let used = usage(&factory);
    assert!(used <= limit, "{used} of {limit}");
    // Of 10,200 bytes each; the databases have a thousand or two.
    assert!((36..40).contains(&committed), "{committed}");
    drop(first);
    storage.close().unwrap();
    assert!(files.bytes() <= limit, "{} of {limit}", files.bytes());
}

/// A blob that says when its content is asked for, and waits until it may be read.
#[derive(Debug)]
struct Gate {
    len_bytes: u64,
    is_asked_for: AtomicBool,
    is_open: AtomicBool,
}

impl Gate {
    fn new(len_bytes: u64, is_open: bool) -> Arc<Self> {
        Arc::new(Self {
            len_bytes,
            is_asked_for: AtomicBool::new(false),
            is_open: AtomicBool::new(is_open),
        })
    }
}

impl BlobSource for Gate {
    fn size_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn open(&self) -> std::io::Result<Box<dyn std::io::Read + Send + '_>> {
        self.is_asked_for.store(true, Ordering::SeqCst);
        while !self.is_open.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        Ok(Box::new(std::io::repeat(7).take(self.len_bytes)))
    }
}

#[test]
fn what_another_commit_is_just_writing_counts() {
    let files = Files::new();
    let storage = Storage::new(files.options(THREADS)).unwrap();
    let factory = factory(&storage);
    let connection = open(&factory).unwrap();
    let request = factory.open("other", None).unwrap();
    let request = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        let made = &upgrade.transaction;
        made.create_object_store("a", parameters).map(drop)
    });
    let other = request.wait().unwrap();
    factory.set_quota_bytes(files.bytes() + 150_000);
    let commit = |connection: &Connection, content: &Arc<Gate>| {
        let transaction = begin(connection);
        let blob = NewExternalObject::Blob {
            mime_type: "text/plain".into(),
            content: Arc::clone(content) as _,
        };
        let value = Value::serialize("a").unwrap().and_objects(vec![blob]);
        let store = transaction.object_store("a").unwrap();
        store.put(value, Some(number(1))).unwrap().detach();
        transaction.commit().unwrap()
    };
    let (first, second) = (Gate::new(100_000, false), Gate::new(100_000, true));
    let (committed, refused_later) = (commit(&connection, &first), commit(&other, &second));
    thread::scope(|scope| {
        let committed = scope.spawn(|| committed.wait());
        while !first.is_asked_for.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let refused_later = scope.spawn(|| refused_later.wait());
        // It waits for the first, as far as can be seen.
        for _ in 0..20_000 {
            thread::yield_now();
        }
        first.is_open.store(true, Ordering::SeqCst);
        committed.join().unwrap().unwrap();
        refused(refused_later.join().unwrap());
    });
    assert!(!second.is_asked_for.load(Ordering::SeqCst));
    // Both transactions have ended, and all of it is counted.
    assert!(usage(&factory) <= factory.estimate().wait().unwrap().quota_bytes);
}

#[test]
fn a_store_that_is_not_open_is_measured_without_opening_it() {
    let files = Files::new();
    let storage = Storage::new(files.options(DRIVEN)).unwrap();
    assert_eq!(usage(&factory(&storage)), 0);
    assert!(files.all().is_empty());
    let connection = open(&factory(&storage)).unwrap();
    put(&connection, 1, 1000).unwrap();
    factory(&storage).close().wait().unwrap();
    let before = files.all();
    assert_eq!(usage(&factory(&storage)), files.bytes());
    assert!(files.all() == before && files.bytes() > 1000);
}

#[test]
fn a_commit_far_from_the_limit_asks_for_no_file() {
    let operations = |quota_bytes| {
        let files = Files::new();
        let counted = Arc::new(FaultFileSystem::new(Arc::clone(&files.0) as _));
        let mut options = files.options(DRIVEN);
        options.fs = Arc::clone(&counted) as _;
        options.quota_bytes = quota_bytes;
        let storage = Storage::new(options).unwrap();
        let connection = open(&factory(&storage)).unwrap();
        put(&connection, 0, 1000).unwrap();
        let before = counted.operations();
        for key in 1..100 {
            put(&connection, key, 1000).unwrap();
        }
        counted.operations() - before
    };
    assert_eq!(operations(u64::MAX), operations(1 << 20));
}

#[test]
fn a_quota_is_of_one_origin_and_is_kept_while_no_handle_has_it() {
    let files = Files::new();
    let storage = Storage::new(files.options(DRIVEN)).unwrap();
    let origin = |n: u32| Origin::from_url(&format!("https://o{n}.example")).unwrap();
    storage.factory(&origin(0)).set_quota_bytes(7);
    for n in 1..300 {
        let estimate = storage.factory(&origin(n)).estimate().wait().unwrap();
        assert_eq!(estimate.quota_bytes, u64::MAX);
    }
    let estimate = storage.factory(&origin(0)).estimate().wait().unwrap();
    assert_eq!(estimate.quota_bytes, 7);
    let error = open(&storage.factory(&origin(0))).unwrap_err();
    assert_eq!(error.quota().unwrap().limit_bytes, 7, "{error}");
}
