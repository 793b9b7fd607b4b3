//! Values go into a store in the store's versions, and these rise only where the host allows it.

use std::path::Path;

use larder_backing_store::{OpenOptions, Store, StorePaths};
use larder_codec::value::{ArrayBuffer, BufferKind, Builder, Decoder, Object, Payload};
use larder_idb::{
    DataVersion, DiskFileSystem, FileSystem, MemoryFileSystem, NEW_STORE_VERSION, RaiseDataVersion,
};

use super::*;

/// Blink's and V8's headers.
fn header(version: DataVersion) -> Vec<u8> {
    let [v8, blink] = [version.v8, version.blink].map(|part| u8::try_from(part).unwrap());
    match blink {
        21 => [&[0xff, 21, 0xfe][..], &[0; 12], &[0xff, v8]].concat(),
        _ => vec![0xff, blink, 0xff, v8],
    }
}

fn versions(fs: &Arc<dyn FileSystem>, leveldb: &Path) -> (Option<i64>, Option<DataVersion>) {
    let paths = StorePaths::of_leveldb(leveldb);
    let store = Store::open_read_only(Arc::clone(fs), paths, OpenOptions::default()).unwrap();
    (store.schema_version(), store.data_version())
}

fn opened(options: StorageOptions, origin: &Origin) -> (Storage, Connection) {
    let storage = Storage::new(options).unwrap();
    let request = storage.factory(origin).open("ours", Some(1)).unwrap();
    let request = request.with_upgrade(|upgrade| {
        let name = "s";
        upgrade
            .transaction
            .create_object_store(name, Default::default())?;
        Ok(())
    });
    let connection = request.wait().unwrap();
    (storage, connection)
}

/// Puts a value under 1: what is stored then.
fn stored(connection: &Connection, value: Value) -> Result<Vec<u8>> {
    let transaction = begin(connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    s.put(value, Some(1.0.into()))?.wait()?;
    let found = s.get(1.0)?.wait()?;
    transaction.commit()?.wait()?;
    Ok(found.unwrap().bytes().to_vec())
}

fn resizable() -> Value {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    builder.leaf(&Object::ArrayBuffer(ArrayBuffer {
        bytes: b"ab",
        kind: BufferKind::Resizable(8),
    }));
    let needs = builder.end();
    Value::from_written(bytes, needs)
}

#[test]
fn every_golden_store_keeps_its_versions_and_values_are_written_in_them() {
    let mut seen = std::collections::BTreeSet::new();
    for fixture in larder_fixtures::all() {
        let copy = fixture.copy();
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let before = versions(&fs, &copy.leveldb());
        let data = before.1.unwrap();
        // Lesser ones are the store's, too: V8's 16 differs in what only it can say.
        let header = header(DataVersion {
            v8: data.v8.min(15),
            ..data
        });
        let origin = Origin::from_url(&fixture.origin).unwrap();
        let mut options =
            StorageOptions::new(Arc::clone(&fs), copy.dir(), Arc::new(FixedClock::default()));
        options.executor = DRIVEN;
        let (storage, connection) = opened(options, &origin);
        for (value, body) in [
            (
                Value::serialize(&("text", 1.5)).unwrap(),
                &b"A\x02\"\x04text"[..],
            ),
            // Wide strings, which stand at even places.
            (Value::serialize("\u{20ac}").unwrap(), b"c\x02\xac\x20"),
            // As a host has serialised it itself.
            (
                Value::from_bytes([&header[..], b"I\x02"].concat()),
                b"I\x02",
            ),
        ] {
            let bytes = stored(&connection, value).unwrap();
            assert!(bytes.starts_with(&header), "{}: {bytes:x?}", fixture.name);
            // Behind padding.
            let start = bytes[header.len()..].iter().position(|byte| *byte != 0);
            let rest = &bytes[header.len() + start.unwrap()..];
            assert!(rest.starts_with(body), "{}: {bytes:x?}", fixture.name);
            assert!(
                body[0] != b'c'
                    || bytes.windows(2).position(|at| at == b"\xac\x20").unwrap() % 2 == 0
            );
        }
        drop(connection);
        storage.close().unwrap();
        assert_eq!(versions(&fs, &copy.leveldb()), before, "{}", fixture.name);
        seen.insert((data.v8, data.blink));
    }
    assert!(seen.len() >= 4, "{seen:?}");
}

#[test]
fn what_a_store_has_no_form_for_is_refused_and_raises_it_only_if_that_is_allowed() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let origin = Origin::from_url("https://a.example").unwrap();
    let leveldb = Path::new("idb").join(origin.leveldb_folder_name());
    let options = |raise| {
        let mut options =
            StorageOptions::new(Arc::clone(&fs), "idb", Arc::new(FixedClock::default()));
        options.executor = DRIVEN;
        options.raise_data_version = raise;
        options
    };
    let text = || Value::serialize("text").unwrap();
    let (storage, connection) = opened(options(RaiseDataVersion::default()), &origin);
    let head = header(NEW_STORE_VERSION);
    assert!(stored(&connection, text()).unwrap().starts_with(&head));
    drop(connection);
    storage.close().unwrap();

    for raise in [RaiseDataVersion::WhileNew, RaiseDataVersion::Never] {
        let (storage, connection) = opened(options(raise), &origin);
        let own = Value::from_bytes(resizable().bytes().to_vec());
        for value in [resizable(), own] {
            let error = stored(&connection, value).unwrap_err();
            assert_eq!(error.name(), ErrorName::DataCloneError);
            let what = "a resizable ArrayBuffer needs version 16";
            assert!(error.message().contains(what), "{error}");
        }
        // What has a form is said anew, a view's flags left out.
        let view = [
            &header(DataVersion { v8: 15, blink: 21 })[..],
            b"B\x02abVB\0\x02\0",
        ]
        .concat();
        let found = stored(&connection, Value::from_bytes(view)).unwrap();
        assert_eq!(found, [&head[..], b"B\x02abVB\0\x02"].concat());
        drop(connection);
        storage.close().unwrap();
        assert_eq!(
            versions(&fs, &leveldb),
            (Some(5), Some(NEW_STORE_VERSION)),
            "{raise:?}"
        );
    }

    let (storage, connection) = opened(options(RaiseDataVersion::WhenNeeded), &origin);
    stored(&connection, text()).unwrap();
    let raised = DataVersion { v8: 16, blink: 21 };
    let found = stored(&connection, resizable()).unwrap();
    assert_eq!(found, [&header(raised)[..], b"~\x02\x08ab"].concat());
    assert!(
        stored(&connection, text())
            .unwrap()
            .starts_with(&header(DataVersion { v8: 15, blink: 21 }))
    );
    drop(connection);
    storage.close().unwrap();
    assert_eq!(versions(&fs, &leveldb), (Some(5), Some(raised)));
}

#[test]
fn what_was_read_goes_back_whatever_its_versions_are() {
    let origin = Origin::from_url("https://a.example").unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut options = StorageOptions::new(Arc::clone(&fs), "idb", Arc::new(FixedClock::default()));
    options.executor = DRIVEN;
    options.raise_data_version = RaiseDataVersion::Never;
    let (_storage, connection) = opened(options, &origin);
    // Of resizable buffers the table says that they need V8 16.
    let theirs = [&header(NEW_STORE_VERSION)[..], b"A\x01~\x02\x08ab$\0\x01"];
    let read = stored(&connection, Value::from_bytes(theirs.concat())).unwrap();
    let payload = Payload::read(&read).unwrap();
    let tree = Decoder::new().decode(&payload).unwrap();
    let again = stored(&connection, Value::from_tree(&tree)).unwrap();
    assert_eq!(again, read);
    let error = stored(&connection, resizable()).unwrap_err();
    assert_eq!(error.name(), ErrorName::DataCloneError);
}

#[test]
fn a_new_store_has_the_oldest_versions_that_hold_what_is_written() {
    let origin = Origin::from_url("https://a.example").unwrap();
    let own = |v8| Value::from_bytes([&header(DataVersion { v8, blink: 21 })[..], b"T"].concat());
    for (value, expected) in [
        (Value::serialize(&[1, 2]).unwrap(), NEW_STORE_VERSION),
        (resizable(), DataVersion { v8: 16, blink: 21 }),
        (own(15), DataVersion { v8: 15, blink: 21 }),
        (own(16), DataVersion { v8: 16, blink: 21 }),
    ] {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let mut options =
            StorageOptions::new(Arc::clone(&fs), "idb", Arc::new(FixedClock::default()));
        options.executor = DRIVEN;
        let (storage, connection) = opened(options, &origin);
        let found = stored(&connection, value).unwrap();
        assert!(found.starts_with(&header(expected)), "{found:x?}");
        drop(connection);
        storage.close().unwrap();
        let leveldb = Path::new("idb").join(origin.leveldb_folder_name());
        assert_eq!(versions(&fs, &leveldb).1, Some(expected));
    }
}
