//! The life of a blob without a crash.

use std::io::{self, Read};
use std::time::{Duration, UNIX_EPOCH};

use larder_backing_store::blob::BlobSource;
use larder_backing_store::{ErrorKind, IndexParameters};
use larder_codec::BlobNumber;
use larder_codec::external_object::BlobInfo;
use larder_codec::row_key::GlobalKey;

use super::*;

fn journals(store: &BackingStore) -> [Option<Vec<u8>>; 2] {
    [GlobalKey::RecoveryBlobJournal, GlobalKey::ActiveBlobJournal].map(|kind| {
        let mut key = Vec::new();
        kind.encode(&mut key);
        store.snapshot().get(&key).unwrap()
    })
}

#[test]
fn blobs_files_and_handles_come_back_from_files_named_and_dated_as_chromiums() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    let handle = NewExternalObject::FileSystemAccessHandle { token: vec![7; 5] };
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    put(&mut transaction, 2, &[blob(b"two"), handle, blob(b"")]).unwrap();
    put(&mut transaction, 1, &[file(b"one"), blob(&[9; 700_000])]).unwrap();
    let pending = transaction.new_external_objects(STORE, raw(&key(1)));
    assert_eq!(pending.unwrap().len(), 2);
    transaction.commit().unwrap();
    let expected = Contents::from([
        (1, vec![b"one".to_vec(), vec![9; 700_000]]),
        (2, vec![b"two".to_vec(), vec![7; 5], vec![]]),
    ]);
    let read = store.read();
    assert!(contents(&read, id) == expected);
    // In the order of the keys' bytes, in which 2 comes before 1. The empty blob is number 3, and no file.
    let at = |n: u8| Path::new(BLOB).join(format!("1/00/{n}"));
    let lens = [2, 4, 5].map(|n| fs.metadata(&at(n)).unwrap().len_bytes);
    assert_eq!((lens, file_count(&fs)), ([3, 3, 700_000], 3));
    let time = UNIX_EPOCH + Duration::from_secs(MODIFIED_SECONDS);
    assert_eq!(fs.metadata(&at(4)).unwrap().modified, Some(time));
    // Chromium leaves empty journals behind.
    assert_eq!(journals(&store), [Some(vec![]), Some(vec![])]);
    drop(read);
    store.close().unwrap();
    let store = open(Arc::new(fs.clone())).unwrap();
    assert!(contents(&store.read(), id) == expected);
    // Numbers are never given twice.
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    put(&mut transaction, 3, &[blob(b"three")]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(fs.metadata(&at(6)).unwrap().len_bytes, 5);
}

#[test]
fn files_go_with_their_records_and_no_others() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    let change = |change: &dyn Fn(&mut WriteTransaction)| {
        let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
        change(&mut transaction);
        transaction.commit().unwrap();
        (contents(&store.read(), id), file_count(&fs))
    };
    let one = |n: u8| (n, vec![vec![n]]);
    let (_, files) = change(&|transaction| {
        for n in 1..=8 {
            put(transaction, n, &[blob(&[n])]).unwrap();
        }
    });
    assert_eq!(files, 8);
    // Overwritten without, overwritten with another, deleted, a range.
    let (found, files) = change(&|transaction| {
        put(transaction, 1, &[]).unwrap();
        put(transaction, 2, &[blob(b"new")]).unwrap();
        delete(transaction, 3).unwrap();
        let (low, high) = (key(5), key(6));
        let range = KeyRange {
            lower: std::ops::Bound::Included(raw(&low)),
            upper: std::ops::Bound::Included(raw(&high)),
        };
        transaction.delete(STORE, &range).unwrap();
    });
    let expected = [
        (1, vec![]),
        (2, vec![b"new".to_vec()]),
        one(4),
        one(7),
        one(8),
    ];
    assert_eq!((found, files), (Contents::from(expected), 4));
    // Put and gone in one transaction: never a file.
    let (_, files) = change(&|transaction| {
        put(transaction, 9, &[blob(b"a")]).unwrap();
        put(transaction, 10, &[blob(b"b")]).unwrap();
        delete(transaction, 9).unwrap();
        put(transaction, 10, &[]).unwrap();
    });
    assert_eq!(files, 4);
    let (found, files) = change(&|transaction| {
        transaction.clear(STORE).unwrap();
        put(transaction, 4, &[blob(b"anew")]).unwrap();
    });
    assert_eq!(
        (found, files),
        (Contents::from([(4, vec![b"anew".to_vec()])]), 1)
    );
    assert!(store.delete_database(&database()).unwrap());
    assert_eq!(file_count(&fs), 0);
}

#[test]
fn a_record_that_is_put_again_after_its_object_store_changed_loses_the_blobs_it_was_put_with() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    let scope = Scope::VersionChange(id);
    let mut change = store.begin(scope, Durability::Relaxed).unwrap();
    for n in 1..=3 {
        put(&mut change, n, &[blob(&[n])]).unwrap();
    }
    // Whatever is known of the object store is read anew now. The blobs' rows come with the commit.
    let index = IndexParameters {
        id: None,
        name: "i".into(),
        key_path: KeyPath::Null,
        unique: false,
        multi_entry: false,
    };
    change.create_index(STORE, &index).unwrap();
    put(&mut change, 1, &[]).unwrap();
    delete(&mut change, 2).unwrap();
    put(&mut change, 2, &[]).unwrap();
    change.commit().unwrap();
    let expected = Contents::from([(1, vec![]), (2, vec![]), (3, vec![vec![3]])]);
    assert_eq!(
        (contents(&store.read(), id), file_count(&fs)),
        (expected, 1)
    );
}

/// Cannot be read to its end.
#[derive(Debug)]
struct Broken;

impl BlobSource for Broken {
    fn size_bytes(&self) -> u64 {
        10
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(b"short".chain(Failing)))
    }
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the wire was cut"))
    }
}

#[test]
fn a_blob_that_cannot_be_read_rolls_its_transaction_back() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    put(&mut transaction, 1, &[blob(b"kept")]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    let broken = NewExternalObject::Blob {
        mime_type: JsString::default(),
        content: Arc::new(Broken),
    };
    delete(&mut transaction, 1).unwrap();
    put(&mut transaction, 2, &[blob(b"whole"), broken]).unwrap();
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("the wire was cut"), "{error}");
    let expected = Contents::from([(1, vec![b"kept".to_vec()])]);
    assert_eq!(
        (contents(&store.read(), id), file_count(&fs)),
        (expected, 1)
    );
    // A rolled-back one has touched nothing.
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    put(&mut transaction, 3, &[blob(b"never")]).unwrap();
    delete(&mut transaction, 1).unwrap();
    transaction.rollback();
    assert_eq!(file_count(&fs), 1);
    assert_eq!(journals(&store), [Some(vec![]), Some(vec![])]);
}

#[test]
fn readers_and_handles_keep_files_until_they_end() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    for n in 1..=3 {
        put(&mut transaction, n, &[blob(&[n])]).unwrap();
    }
    transaction.commit().unwrap();
    let reader = store.read();
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    delete(&mut transaction, 1).unwrap();
    transaction.commit().unwrap();
    let expected = Contents::from([1, 2, 3].map(|n| (n, vec![vec![n]])));
    assert!(contents(&reader, id) == expected, "as it was");
    assert_eq!(journals(&store), [Some(vec![]), Some(vec![1, 4])]);
    let held = BlobInfo {
        number: BlobNumber::new(3).unwrap(),
        mime_type: JsString::default(),
        size_bytes: 1,
    };
    let handle = reader.hold_blob(id, held.number);
    drop(reader);
    let mut transaction = begin(&store, id, Durability::Relaxed).unwrap();
    assert_eq!(
        file_count(&fs),
        2,
        "whoever begins to write removes what was let go"
    );
    delete(&mut transaction, 3).unwrap();
    transaction.commit().unwrap();
    assert_eq!(file_count(&fs), 2, "held by the handle");
    assert_eq!(
        store
            .read()
            .open_blob(id, &held)
            .unwrap()
            .read(&mut [0])
            .unwrap(),
        1
    );
    // Whatever happens to the database.
    assert!(store.delete_database(&database()).unwrap());
    assert_eq!(file_count(&fs), 2);
    assert!(store.is_in_use());
    drop(handle);
    assert!(!store.is_in_use());
    store.close().unwrap();
    assert_eq!(file_count(&fs), 0);
}

#[test]
fn what_was_held_when_the_process_died_is_removed_before_the_first_write() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    let mut transaction = begin(&store, id, Durability::Strict).unwrap();
    put(&mut transaction, 1, &[blob(b"x")]).unwrap();
    transaction.commit().unwrap();
    let reader = store.read();
    let mut transaction = begin(&store, id, Durability::Strict).unwrap();
    delete(&mut transaction, 1).unwrap();
    transaction.commit().unwrap();
    let after = fs.crash_image(larder_leveldb::storage::CrashImage::LoseUnsynced);
    drop(reader);
    assert_eq!(file_count(&after), 1);
    let store = open(Arc::new(after.clone())).unwrap();
    assert_eq!(file_count(&after), 1);
    store.settle().unwrap();
    assert_eq!(
        (file_count(&after), journals(&store)),
        (0, [Some(vec![]), None])
    );
}

/// The filter of a table has one form of the key, a read may have the other.
#[test]
fn both_zeros_have_the_same_blobs_wherever_their_rows_lie() {
    let fs = Arc::new(MemoryFileSystem::new());
    let store = open(fs.clone()).unwrap();
    let id = set_up(&store).unwrap();
    let forms = [0.0, -0.0].map(|zero| {
        let mut bytes = Vec::new();
        Key::Number(zero).encode(&mut bytes);
        bytes
    });
    let put = |store: &BackingStore, key: &[u8], objects: &[NewExternalObject]| {
        let mut transaction = begin(store, id, Durability::Relaxed).unwrap();
        let put = Put {
            key: PutKey::Given(raw(key)),
            value: &[0],
            mode: PutMode::Put,
            index_keys: &[],
            external_objects: objects,
        };
        transaction.put(STORE, &put).unwrap();
        transaction.commit().unwrap();
    };
    let objects = |store: &BackingStore, key: &[u8]| {
        let objects = store.read().external_objects(id, STORE, raw(key));
        objects.unwrap().len()
    };
    // What was in the log becomes a table, with a filter of its own.
    let reopened = |store: BackingStore| {
        store.close().unwrap();
        open(fs.clone()).unwrap()
    };
    put(&store, &forms[0], &[blob(b"plus")]);
    let store = reopened(store);
    assert_eq!(forms.clone().map(|key| objects(&store, &key)), [1, 1]);
    put(&store, &forms[1], &[]);
    let store = reopened(store);
    assert_eq!(forms.map(|key| objects(&store, &key)), [0, 0]);
    store.close().unwrap();
}
