//! Contents of blobs, read by ranges as requests.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use larder_fixtures::random::Random;
use larder_idb::{
    BlobSource, ErrorKind, ErrorName, ExternalObject, NewExternalObject, StoredValue,
};

use super::*;

fn blob(content: impl BlobSource + 'static) -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(content),
    }
}

fn put_objects(transaction: &Transaction, objects: Vec<NewExternalObject>) {
    let value = Value::serialize("with objects").unwrap();
    let store = transaction.object_store("a").unwrap();
    let put = store.put(value.and_objects(objects), Some(Key::Number(1.0)));
    drop(put.unwrap());
}

fn read_back(connection: &Connection) -> StoredValue {
    let transaction = begin(connection, &["a"], TransactionMode::ReadOnly);
    get(&transaction, "a", 1.0).wait().unwrap().unwrap()
}

/// A record with these objects, committed, as it is read.
fn stored(connection: &Connection, objects: Vec<NewExternalObject>) -> StoredValue {
    let transaction = begin(connection, &["a"], TransactionMode::ReadWrite);
    put_objects(&transaction, objects);
    commit(&transaction).unwrap();
    read_back(connection)
}

fn whole(storage: &Storage, object: &ExternalObject) -> Result<Vec<u8>> {
    storage.read_blob(object, 0..u64::MAX).wait()
}

/// The first file below a folder.
fn file_in(fs: &MemoryFileSystem, folder: &Path) -> Option<PathBuf> {
    fs.list(folder).unwrap().into_iter().find_map(|name| {
        let path = folder.join(name);
        match fs.metadata(&path).unwrap().is_dir {
            true => file_in(fs, &path),
            false => Some(path),
        }
    })
}

#[test]
fn any_range_of_a_blob_is_what_it_has_there() {
    for executor in EXECUTORS {
        let seed = 7;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..10_000_u32).map(|n| ((n * n) >> 5) as u8).collect();
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let value = stored(&connection, vec![blob(bytes.clone()), blob(Vec::new())]);
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put_objects(&transaction, vec![blob(bytes.clone())]);
        let new = get(&transaction, "a", 1.0).wait().unwrap().unwrap();
        for object in [&value.objects()[0], &new.objects()[0]] {
            assert_eq!(whole(&storage, object).unwrap(), bytes, "{executor:?}");
            let requests: Vec<_> = (0..50)
                .map(|_| {
                    let [start, end] = [random.index(12_000), random.index(12_000)];
                    let request = storage.read_blob(object, start as u64..end as u64);
                    (start.min(bytes.len()), end.min(bytes.len()), request)
                })
                .collect();
            for (start, end, request) in requests {
                let expected = bytes.get(start..end).unwrap_or_default();
                assert_eq!(request.wait().unwrap(), expected, "{start}..{end}");
            }
        }
        assert!(whole(&storage, &value.objects()[1]).unwrap().is_empty());
    }
}

#[test]
fn a_blob_can_be_read_as_long_as_it_is_held_or_asked_for() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let value = stored(&connection, vec![blob(b"content".to_vec())]);
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let store = transaction.object_store("a").unwrap();
        store.delete(Key::Number(1.0)).unwrap().detach();
        commit(&transaction).unwrap();
        connection.close();
        drop((store, transaction, connection));
        storage.run_until_idle();
        let object = value.objects()[0].clone();
        drop(value);
        assert_eq!(whole(&storage, &object).unwrap(), b"content");
        let request = storage.read_blob(&object, 3..7);
        drop(object);
        assert_eq!(request.wait().unwrap(), b"tent", "{executor:?}");
    }
}

#[test]
fn a_host_that_drives_reads_in_its_steps_alone() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let value = stored(&connection, vec![blob(b"content".to_vec())]);
    storage.run_until_idle();
    let mut requests = [0..3, 3..7].map(|range| storage.read_blob(&value.objects()[0], range));
    assert!(
        requests
            .iter_mut()
            .all(|request| request.try_take().is_none())
    );
    assert!(storage.run_one());
    assert_eq!(requests[0].try_take().unwrap().unwrap(), b"con");
    assert!(requests[1].try_take().is_none(), "a step reads one range");
    assert!(storage.run_one());
    assert_eq!(requests[1].try_take().unwrap().unwrap(), b"tent");
}

/// A source that gives its content when the test lets it.
#[derive(Debug)]
struct Slow(Mutex<mpsc::Receiver<()>>);

impl BlobSource for Slow {
    fn size_bytes(&self) -> u64 {
        4
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.0.lock().unwrap().recv().unwrap();
        Ok(Box::new(&b"slow"[..]))
    }
}

#[test]
fn only_threads_that_wait_for_the_request_wait_for_a_slow_disk() {
    for executor in [EXECUTORS[0], EXECUTORS[1]] {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let (disk, slow) = mpsc::channel();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put_objects(&transaction, vec![blob(Slow(Mutex::new(slow)))]);
        let value = get(&transaction, "a", 1.0).wait().unwrap().unwrap();
        let (told, result) = mpsc::channel();
        let request = storage.read_blob(&value.objects()[0], 1..3);
        request.on_done(move |read| told.send(read).unwrap());
        assert!(result.try_recv().is_err());
        disk.send(()).unwrap();
        assert_eq!(result.recv().unwrap().unwrap(), b"lo");
        transaction.abort(None).unwrap();
    }
}

/// A source that cannot be read.
#[derive(Debug)]
struct Broken;

impl BlobSource for Broken {
    fn size_bytes(&self) -> u64 {
        4
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn what_cannot_be_read_is_not_readable_and_says_why() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let storage = storage_on(fs.clone(), executor);
        let connection = open(&storage).wait().unwrap();
        let check = |object: &ExternalObject, kind: ErrorKind, what: &str| {
            let error = whole(&storage, object).unwrap_err();
            assert_eq!(error.name(), ErrorName::NotReadableError, "{error}");
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(what), "{error}");
            let error = object.open().err().unwrap();
            assert_eq!(error.kind(), kind, "{error}");
        };
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let token = vec![1];
        let handle = NewExternalObject::FileSystemAccessHandle { token };
        put_objects(&transaction, vec![blob(Broken), handle]);
        let value = get(&transaction, "a", 1.0).wait().unwrap().unwrap();
        check(&value.objects()[0], ErrorKind::Io, "the disk is gone");
        check(&value.objects()[1], ErrorKind::Usage, "no content");
        transaction.abort(None).unwrap();

        let value = stored(&connection, vec![blob(b"content".to_vec())]);
        let folder = Path::new("idb/https_a.example_0.indexeddb.blob");
        let file = file_in(&fs, folder).unwrap();
        fs.append(&file).unwrap().append(b"!").unwrap();
        check(&value.objects()[0], ErrorKind::Corruption, "8 bytes");
        fs.remove(&file).unwrap();
        let name = file.display().to_string();
        check(&value.objects()[0], ErrorKind::Corruption, &name);
    }
}
