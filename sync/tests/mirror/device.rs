//! A device: a database in files in memory, driven step by step, a page and a mirror.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use larder_idb::{
    Connection, Executor, FileSystem, FixedClock, GetAllOptions, Key, KeyRange, MemoryFileSystem,
    NewExternalObject, Origin, Storage, StorageOptions, Transaction, TransactionDurability,
    TransactionMode, TransactionOptions, Upgrade, Value,
};
use larder_pages::{Page, Timestamp};
use larder_sync::{
    Applied, Mirror, MirrorOptions, MirrorResult, MirroredValue, Taken, page_options,
};
use serde_json::Value as Json;

pub(crate) struct Device {
    pub(crate) storage: Storage,
    pub(crate) connection: Connection,
    pub(crate) page: Page,
    pub(crate) options: MirrorOptions,
}

/// Does what there is to do until a future is ready.
pub(crate) fn wait<T>(storage: &Storage, future: impl Future<Output = T>) -> T {
    larder_fixtures::driven::wait(|| storage.run_one(), future)
}

pub(crate) fn open_page(fs: Arc<dyn FileSystem>) -> larder_pages::Result<Page> {
    Page::open(fs, Path::new("page"), page_options())
}

pub(crate) fn page() -> Page {
    open_page(Arc::new(MemoryFileSystem::new())).unwrap()
}

pub(crate) fn open_storage(fs: Arc<dyn FileSystem>) -> larder_idb::Result<Storage> {
    let mut options = StorageOptions::new(fs, "/store", Arc::new(FixedClock::default()));
    options.executor = Executor::Driven { seed: None };
    options.transaction_memory_bytes = 3000;
    Storage::new(options)
}

pub(crate) fn origin() -> Origin {
    Origin::from_url("https://a.example").unwrap()
}

pub(crate) type Upgrading = fn(&Upgrade) -> larder_idb::Result<()>;

pub(crate) fn connect(
    storage: &Storage,
    version: u64,
    upgrade: Upgrading,
) -> larder_idb::Result<Connection> {
    let opening = storage.factory(&origin()).open("db", Some(version))?;
    opening.with_upgrade(upgrade).wait()
}

impl Device {
    pub(crate) fn new(options: MirrorOptions, upgrade: Upgrading) -> Self {
        Self::of_version(options, 1, upgrade)
    }

    pub(crate) fn of_version(options: MirrorOptions, version: u64, upgrade: Upgrading) -> Self {
        let storage = open_storage(Arc::new(MemoryFileSystem::new())).unwrap();
        Self {
            connection: connect(&storage, version, upgrade).unwrap(),
            storage,
            page: page(),
            options,
        }
    }

    pub(crate) fn reopened(self, version: u64, upgrade: Upgrading) -> Self {
        self.connection.close();
        let connection = connect(&self.storage, version, upgrade).unwrap();
        Self { connection, ..self }
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        wait(&self.storage, future)
    }

    pub(crate) fn mirror(&self) -> Mirror {
        self.try_mirror().unwrap()
    }

    pub(crate) fn try_mirror(&self) -> MirrorResult<Mirror> {
        self.wait(Mirror::new(
            &self.connection,
            &self.page,
            self.options.clone(),
        ))
    }

    pub(crate) fn take(&self, now: i64) -> Taken {
        self.wait(self.mirror().take(Timestamp(now))).unwrap()
    }

    pub(crate) fn apply(&self, now: i64) -> Applied {
        self.wait(self.mirror().apply(Timestamp(now))).unwrap()
    }

    pub(crate) fn begin(&self) -> Transaction {
        let names = self.connection.object_store_names();
        let options = TransactionOptions::new().durability(TransactionDurability::Strict);
        (self.connection)
            .transaction(names, TransactionMode::ReadWrite, options)
            .unwrap()
    }

    pub(crate) fn commit(&self, transaction: Transaction) {
        transaction.commit().unwrap().wait().unwrap();
    }

    /// Puts one record in a transaction of its own.
    pub(crate) fn put(&self, store: &str, key: impl Into<Key>, value: &Json) {
        let transaction = self.begin();
        let object_store = transaction.object_store(store).unwrap();
        let is_inline = *object_store.key_path() != larder_idb::KeyPath::Null;
        let key = (!is_inline).then(|| key.into());
        let value = Value::serialize(value).unwrap();
        object_store.put(value, key).unwrap().wait().unwrap();
        self.commit(transaction);
    }

    /// Puts a value with a handle into the object store "notes", which no mirror takes.
    pub(crate) fn put_handle(&self, key: impl Into<Key>) {
        let transaction = self.begin();
        let token = b"t".to_vec();
        let handle = NewExternalObject::FileSystemAccessHandle { token };
        let value = Value::serialize("with a handle").unwrap();
        let store = transaction.object_store("notes").unwrap();
        let put = store.put(value.and_objects(vec![handle]), Some(key.into()));
        put.unwrap().wait().unwrap();
        self.commit(transaction);
    }

    pub(crate) fn delete(&self, store: &str, key: impl Into<Key>) {
        let transaction = self.begin();
        let object_store = transaction.object_store(store).unwrap();
        object_store.delete(key.into()).unwrap().wait().unwrap();
        self.commit(transaction);
    }

    /// All records of all object stores, each as text: value, and blobs.
    pub(crate) fn content(&self) -> BTreeMap<(String, String), String> {
        let mut content = BTreeMap::new();
        for name in self.connection.object_store_names() {
            let (mode, options) = (TransactionMode::ReadOnly, TransactionOptions::new());
            let transaction = self.connection.transaction(&name, mode, options).unwrap();
            let store = transaction.object_store(&name).unwrap();
            let all = store.get_all(KeyRange::all(), GetAllOptions::new());
            for record in &self.wait(all.unwrap()).unwrap() {
                let key = format!("{:?}", record.primary_key());
                let objects: Vec<_> = record.objects().iter().map(|o| o.to_new()).collect();
                let text = shown(record.value(), &objects);
                content.insert((name.to_string_lossy(), key), text);
            }
        }
        content
    }

    /// The record of a key, as JSON.
    pub(crate) fn get(&self, store: &str, key: impl Into<Key>) -> Option<Json> {
        let (mode, options) = (TransactionMode::ReadOnly, TransactionOptions::new());
        let transaction = self.connection.transaction(store, mode, options).unwrap();
        let found = transaction.object_store(store).unwrap().get(key.into());
        let found = self.wait(found.unwrap()).unwrap();
        found.map(|found| found.deserialize().unwrap())
    }
}

/// Both ways, without merging.
pub(crate) fn meet(one: &Device, other: &Device) {
    one.page.pull_from(&other.page, false).unwrap();
    other.page.pull_from(&one.page, false).unwrap();
}

/// All devices take, meet and apply until none has anything new.
pub(crate) fn quiet(devices: &[&Device], now: &mut i64) {
    for round in 0.. {
        assert!(round < 12, "the devices do not come to rest");
        for device in devices {
            *now += 1;
            device.apply(*now);
        }
        for one in devices {
            for other in devices {
                one.page.pull_from(&other.page, false).unwrap();
            }
        }
        let heads: Vec<_> = devices.iter().map(|device| device.page.heads()).collect();
        let before = heads
            .iter()
            .all(|head| *head == heads[0] && head.len() == 1);
        if before {
            for device in devices {
                *now += 1;
                device.apply(*now);
            }
            if devices.iter().all(|device| device.page.heads() == heads[0]) {
                return;
            }
        }
    }
}

/// A value as text, with the contents of its blobs.
pub(crate) fn shown(bytes: &[u8], objects: &[NewExternalObject]) -> String {
    use larder_idb::codec::value::{Decoder, Payload};
    let tree = Payload::read(bytes).and_then(|payload| {
        let tree = Decoder::new().decode(&payload)?;
        Ok(serde_json::to_string(&tree).unwrap())
    });
    let mut text = tree.unwrap_or_else(|_| bytes.escape_ascii().to_string());
    for object in objects {
        let mut content = Vec::new();
        if let Some(source) = object.content() {
            source.open().unwrap().read_to_end(&mut content).unwrap();
        }
        text.push_str(&format!(
            " + {object_kind}{}",
            content.escape_ascii(),
            object_kind = kind(object)
        ));
    }
    text
}

fn kind(object: &NewExternalObject) -> String {
    match object {
        NewExternalObject::Blob { mime_type, .. } => {
            format!("blob {} ", mime_type.to_string_lossy())
        }
        NewExternalObject::File {
            mime_type,
            name,
            last_modified_micros,
            ..
        } => format!(
            "file {} {} {last_modified_micros} ",
            mime_type.to_string_lossy(),
            name.to_string_lossy()
        ),
        NewExternalObject::FileSystemAccessHandle { token } => {
            format!("handle {}", token.escape_ascii())
        }
    }
}

/// A value of a conflict as text.
pub(crate) fn shown_mirrored(value: &MirroredValue) -> String {
    shown(value.bytes(), &value.objects())
}

/// The value of a conflict as JSON.
pub(crate) fn json(value: Option<&MirroredValue>) -> Option<Json> {
    value.map(|value| serde_json::to_value(value.tree().unwrap()).unwrap())
}
