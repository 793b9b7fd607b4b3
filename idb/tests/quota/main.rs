//! Usage and quota, to the byte: what is counted is what a walk over the files adds up, a commit is refused beyond the limit and not
//! before, and one that is refused has written nothing (decision 25).
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod cases;
mod random;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_idb::{
    Connection, Error, ErrorName, Executor, Factory, FileSystem, FixedClock, Key, MemoryFileSystem,
    NewExternalObject, ObjectStoreParameters, Origin, Result, Storage, StorageOptions, Transaction,
    TransactionMode, TransactionOptions, Value,
};

const DRIVEN: Executor = Executor::Driven { seed: None };
const THREADS: Executor = Executor::Threads(NonZeroUsize::MIN.saturating_add(1));

/// Files in memory, with what looks at them from outside.
#[derive(Clone)]
struct Files(Arc<MemoryFileSystem>);

impl Files {
    fn new() -> Self {
        Self(Arc::new(MemoryFileSystem::new()))
    }

    fn options(&self, executor: Executor) -> StorageOptions {
        let clock = Arc::new(FixedClock::default());
        let mut options = StorageOptions::new(Arc::clone(&self.0) as _, "idb", clock);
        options.executor = executor;
        options
    }

    /// Every file with what is in it.
    fn all(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        self.below(Path::new("idb"), &mut all);
        all
    }

    fn below(&self, dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for name in self.0.list(dir).unwrap_or_default() {
            let path = dir.join(name);
            if self.0.metadata(&path).unwrap().is_dir {
                self.below(&path, all);
                continue;
            }
            let mut bytes = Vec::new();
            let mut file = self.0.open_sequential(&path).unwrap();
            let mut piece = vec![0; 1 << 16];
            loop {
                match file.read(&mut piece).unwrap() {
                    0 => break,
                    n => bytes.extend_from_slice(&piece[..n]),
                }
            }
            all.insert(path, bytes);
        }
    }

    fn bytes(&self) -> u64 {
        self.all().values().map(|bytes| bytes.len() as u64).sum()
    }
}

fn factory(storage: &Storage) -> Factory {
    storage.factory(&Origin::from_url("https://a.example").unwrap())
}

/// A connection to database "db" with object store "a".
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

fn usage(factory: &Factory) -> u64 {
    factory.estimate().wait().unwrap().usage.total()
}

fn begin(connection: &Connection) -> Transaction {
    let options = TransactionOptions::default();
    connection
        .transaction(["a"], TransactionMode::ReadWrite, options)
        .unwrap()
}

fn number(key: u32) -> Key {
    Key::Number(f64::from(key))
}

/// So many bytes that cannot be packed.
fn noise(seed: u32, len_bytes: usize) -> Vec<u8> {
    let mut state = u64::from(seed) << 32 | 0x9e37_79b9;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b' ' + (state % 94) as u8
    };
    (0..len_bytes).map(|_| next()).collect()
}

fn text(seed: u32, len_bytes: usize) -> String {
    String::from_utf8(noise(seed, len_bytes)).unwrap()
}

fn blob(seed: u32, len_bytes: usize) -> Value {
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(noise(seed, len_bytes)),
    };
    Value::serialize("with a blob")
        .unwrap()
        .and_objects(vec![blob])
}

/// Puts one text.
fn put(connection: &Connection, key: u32, len_bytes: usize) -> Result<()> {
    let transaction = begin(connection);
    let value = Value::serialize(&text(key, len_bytes)).unwrap();
    let store = transaction.object_store("a")?;
    store.put(value, Some(number(key)))?.detach();
    transaction.commit()?.wait()
}

fn read(connection: &Connection, key: u32) -> Option<String> {
    let options = TransactionOptions::default();
    let transaction = connection.transaction(["a"], TransactionMode::ReadOnly, options);
    let store = transaction.unwrap().object_store("a").unwrap();
    let got = store.get(number(key)).unwrap().wait();
    got.unwrap().map(|value| value.deserialize().unwrap())
}

fn refused(result: Result<()>) -> Error {
    let Err(error) = result else {
        panic!("the quota has no room for it");
    };
    assert_eq!(error.name(), ErrorName::QuotaExceededError, "{error}");
    error
}
