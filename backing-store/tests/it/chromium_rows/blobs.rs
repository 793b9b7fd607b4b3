//! `build-blobs.js`, `blobs`: external objects of every kind, overwritten, deleted and aborted ones among them.
//!
//! What the records that are left list is taken from Chromium's rows, and what is in their blobs from its files; the numbers are
//! given here. So rows that list them, the next number and the names, contents and times of files are compared. Of those that are
//! gone, the page says what they were.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use larder_backing_store::blob::NewExternalObject;
use larder_codec::Key;
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::GlobalKey;
use larder_leveldb::storage::FileSystem;

use super::*;

const B: i64 = 1;
const DOCS: i64 = 2;

const KINDS: [&str; 17] = [
    "empty",
    "empty typed",
    "text",
    "bytes",
    "slice",
    "256 bytes",
    "257 bytes",
    "file",
    "file old",
    "file empty",
    "file odd name",
    "FileList",
    "FileList empty",
    "many in one",
    "same twice",
    "shared elsewhere",
    "blob beside a key path",
];

fn create_stores(transaction: &mut WriteTransaction) {
    create_store(transaction, "b", KeyPath::Null, false);
    create_store(transaction, "docs", path("id"), true);
    create_index(transaction, DOCS, "size", path("file.size"), "");
    create_index(transaction, DOCS, "type", path("file.type"), "");
    create_index(transaction, DOCS, "name", path("file.name"), "");
}

fn blob(content: &[u8]) -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: JsString::default(),
        content: Arc::new(content.to_vec()),
    }
}

/// What Chromium's record lists, to be put again.
fn objects_of(written: &Written, store: i64, key: &Key) -> Vec<NewExternalObject> {
    let key = bytes(key);
    let raw = RawKey::decode_exact(&key).unwrap();
    let objects = written
        .store
        .external_objects(written.id, store_id(store), raw);
    let new = objects.unwrap().into_iter().map(|object| {
        let (ExternalObject::Blob(blob) | ExternalObject::File { blob, .. }) = &object else {
            panic!("{object:?}");
        };
        let mut content = Vec::new();
        if blob.size_bytes > 0 {
            let mut file = written.store.open_blob(written.id, blob).unwrap();
            file.read_to_end(&mut content).unwrap();
        }
        let (mime_type, content) = (blob.mime_type.clone(), Arc::new(content));
        match object {
            ExternalObject::File {
                name,
                last_modified_micros,
                ..
            } => NewExternalObject::File {
                mime_type,
                content,
                name,
                last_modified_micros,
            },
            _ => NewExternalObject::Blob { mime_type, content },
        }
    });
    new.collect()
}

fn put_objects(
    transaction: &mut WriteTransaction,
    store: i64,
    key: Option<&Key>,
    index_keys: &PutIndexKeys,
    external_objects: &[NewExternalObject],
) -> Option<i64> {
    let key_bytes = key.map(bytes);
    let raw = key_bytes.as_ref();
    let raw = raw.map(|key| RawKey::decode_exact(key).unwrap());
    let generated = with_raw(index_keys, |index_keys| {
        let put = Put {
            key: raw.map_or(PutKey::Generated, PutKey::Given),
            value: b"not compared",
            mode: PutMode::Put,
            index_keys,
            external_objects,
        };
        transaction.put(store_id(store), &put)
    });
    generated.unwrap()
}

fn delete_key(transaction: &mut WriteTransaction, store: i64, key: &str) {
    let key = bytes(&key.into());
    let range = KeyRange::only(RawKey::decode_exact(&key).unwrap());
    transaction.delete(store_id(store), &range).unwrap();
}

fn fill_b(ours: &Ours, written: &Written) {
    let put_b = |transaction: &mut WriteTransaction, name: &str, objects: &[NewExternalObject]| {
        put_objects(transaction, B, Some(&name.into()), &vec![], objects);
    };
    for name in KINDS {
        let objects = objects_of(written, B, &name.into());
        ours.transact(&[B], |transaction| put_b(transaction, name, &objects));
    }
    ours.transact(&[B], |transaction| {
        for name in ["to be deleted", "to be overwritten", "to become plain"] {
            put_b(transaction, name, &[blob(name.as_bytes())]);
        }
    });
    ours.transact(&[B], |transaction| {
        delete_key(transaction, B, "to be deleted");
        put_b(transaction, "to be overwritten", &[blob(b"overwritten")]);
        put_b(transaction, "to become plain", &[]);
    });
    let mut aborted = ours.begin(&[B]);
    put_b(&mut aborted, "aborted", &[blob(b"never")]);
    aborted.rollback();
}

fn fill_docs(ours: &Ours, written: &Written) {
    let index_rows = written.index_rows(DOCS);
    ours.transact(&[DOCS], |transaction| {
        for i in 0..6_i64 {
            let objects = match i {
                // Deleted in the end: a Blob of one byte, and a File of two.
                1 | 2 => vec![blob(&vec![0; i as usize])],
                _ => objects_of(written, DOCS, &Key::Number((i + 1) as f64)),
            };
            let generated = put_objects(transaction, DOCS, None, &index_rows[&(i + 2)], &objects);
            assert_eq!(generated, Some(i + 1));
        }
    });
    ours.transact(&[DOCS], |transaction| delete(transaction, DOCS, 2.0, 3.0));
}

/// Content and time of last modification.
type BlobFile = (Vec<u8>, Option<SystemTime>);

/// All files of a database's blobs, by the path below its folder.
fn blob_files(fs: &dyn FileSystem, dir: &Path) -> BTreeMap<PathBuf, BlobFile> {
    let mut files = BTreeMap::new();
    for folder in fs.list(dir).unwrap() {
        for name in fs.list(&dir.join(&folder)).unwrap() {
            let place = Path::new(&folder).join(name);
            let path = dir.join(&place);
            let mut content = Vec::new();
            let mut piece = [0; 4096];
            let mut file = fs.open_sequential(&path).unwrap();
            loop {
                match file.read(&mut piece).unwrap() {
                    0 => break,
                    len => content.extend_from_slice(&piece[..len]),
                }
            }
            files.insert(place, (content, fs.metadata(&path).unwrap().modified));
        }
    }
    files
}

fn journals(snapshot: &Snapshot) -> [Option<Vec<u8>>; 2] {
    [GlobalKey::RecoveryBlobJournal, GlobalKey::ActiveBlobJournal].map(|kind| {
        let mut key = Vec::new();
        kind.encode(&mut key);
        snapshot.get(&key).unwrap()
    })
}

#[test]
fn external_objects_leave_the_rows_and_files_that_chromium_leaves() {
    for fixture in FIXTURES {
        let written = Written::new(fixture, "blobs");
        let ours = Ours::new(written.id);
        ours.version_change(1, create_stores);
        fill_b(&ours, &written);
        fill_docs(&ours, &written);
        let paths = StorePaths::of_leveldb("https_a.example_0.indexeddb.leveldb".as_ref());
        let found = blob_files(&ours.fs, &paths.blob_database_dir(ours.id));
        let theirs = StorePaths::of_leveldb(&written.fixture.leveldb());
        let dir = theirs.blob_database_dir(written.id);
        let expected = blob_files(&DiskFileSystem::new(), &dir);
        assert!(expected.len() >= 20, "{fixture}: {} files", expected.len());
        let names = |files: &BTreeMap<PathBuf, BlobFile>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{fixture}");
        let mut dated = 0;
        for (place, (content, modified)) in &found {
            let (their_content, their_time) = &expected[place];
            assert!(content == their_content, "{fixture}: {}", place.display());
            // Files' are set to what the page said, blobs' are those of the writing.
            if modified.is_some() {
                assert_eq!(modified, their_time, "{fixture}: {}", place.display());
                dated += 1;
            }
        }
        assert!(dated > 5, "{fixture}: {dated} dated files");
        let ours_now = journals(&ours.store.snapshot());
        assert_eq!(
            ours_now,
            journals(written.store.snapshot().unwrap()),
            "{fixture}"
        );
        ours.assert_same(&written);
    }
}
