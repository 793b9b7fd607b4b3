//! The origins of a storage: listed with what they take and when they were used, deleted while they are in use, by time and for room
//! (decision 26).
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod deleting;
mod listing;
mod places;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use larder_idb::{
    Clock, Connection, Executor, Factory, FileSystem, Key, MemoryFileSystem, NewExternalObject,
    ObjectStoreParameters, Origin, OriginInfo, Result, Storage, StorageOptions, TransactionMode,
    TransactionOptions, Value,
};

const DRIVEN: Executor = Executor::Driven { seed: None };
const THREADS: Executor = Executor::Threads(NonZeroUsize::MIN.saturating_add(1));

/// A clock that the test sets.
#[derive(Debug, Default)]
struct Hands(AtomicI64);

impl Hands {
    fn set(&self, now_us: i64) {
        self.0.store(now_us, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A storage in memory, of which everything can be looked at.
struct Place {
    fs: Arc<MemoryFileSystem>,
    clock: Arc<Hands>,
    storage: Storage,
}

impl Place {
    fn new(executor: Executor) -> Self {
        Self::on(Arc::default(), Arc::default(), executor)
    }

    fn on(fs: Arc<MemoryFileSystem>, clock: Arc<Hands>, executor: Executor) -> Self {
        let mut options = StorageOptions::new(Arc::clone(&fs) as _, "idb", Arc::clone(&clock) as _);
        options.executor = executor;
        let storage = Storage::new(options).unwrap();
        Self { fs, clock, storage }
    }

    fn again(self, executor: Executor) -> Self {
        let Self { fs, clock, storage } = self;
        storage.close().unwrap();
        Self::on(fs, clock, executor)
    }

    fn factory(&self, n: u32) -> Factory {
        self.storage.factory(&origin(n))
    }

    /// An origin with a record of so many bytes, closed again.
    fn fill(&self, n: u32, len_bytes: usize) {
        let connection = open(&self.factory(n)).unwrap();
        put(&connection, len_bytes).unwrap();
        connection.close();
        self.factory(n).close().wait().unwrap();
    }

    fn list(&self) -> Vec<OriginInfo> {
        self.storage.origins().wait().unwrap()
    }

    fn origins(&self) -> Vec<Origin> {
        self.list().into_iter().map(|info| info.origin).collect()
    }

    /// The names in the folder of the storage.
    fn names(&self) -> Vec<String> {
        let names = self.fs.list(Path::new("idb")).unwrap_or_default();
        let mut names: Vec<_> = names
            .into_iter()
            .map(|name| name.into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn origin(n: u32) -> Origin {
    Origin::from_url(&format!("https://o{n}.example")).unwrap()
}

fn open(factory: &Factory) -> Result<Connection> {
    let request = factory.open("db", None)?;
    let request = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        let transaction = &upgrade.transaction;
        transaction.create_object_store("a", parameters)?;
        Ok(())
    });
    request.wait()
}

/// Puts a record with a blob of so many bytes.
fn put(connection: &Connection, len_bytes: usize) -> Result<()> {
    let options = TransactionOptions::default();
    let transaction = connection.transaction(["a"], TransactionMode::ReadWrite, options)?;
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(vec![7; len_bytes]),
    };
    let value = Value::serialize("with a blob")?.and_objects(vec![blob]);
    let store = transaction.object_store("a")?;
    store.put(value, Some(Key::Number(1.0)))?.detach();
    transaction.commit()?.wait()
}
