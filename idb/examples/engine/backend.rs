//! What a browser engine asks of the place where its databases are kept. It has values serialised by its own JavaScript engine,
//! evaluates key paths itself, and must get back the bytes that it gave.
//!
//! Keys and ranges are those of `larder-idb` here; an engine converts its own.

#![cfg_attr(
    not(test),
    expect(dead_code, reason = "main uses a part of it, the tests use all")
)]

use std::sync::mpsc::{Receiver, Sender};

use larder_idb::{
    CursorDirection, Error, IndexParameters, Key, KeyPath, KeyRange, ObjectStoreParameters,
};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Keys of each index of an object store, by the index's name.
pub(crate) type IndexKeys = Vec<(String, Vec<Key>)>;

/// One of a page's requests.
pub(crate) enum Operation {
    Put {
        /// `None` if it is to be generated.
        key: Option<Key>,
        bytes: Vec<u8>,
        index_keys: IndexKeys,
        /// Whether it may take another record's place: `put`, not `add`.
        overwrite: bool,
    },
    Get(KeyRange),
    GetAll(KeyRange),
    Keys(KeyRange),
    Count(KeyRange),
    Remove(KeyRange),
    Clear,
    /// The first record of a range in a direction: where a page's cursor goes next. With an index, as that has them.
    Iterate {
        index: Option<String>,
        range: KeyRange,
        direction: CursorDirection,
    },
    /// Takes a number from the key generator, for a value that has its key inside.
    GenerateKey,
}

/// What an operation comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Done,
    Key(Key),
    Keys(Vec<Key>),
    Count(u64),
    Value(Option<Vec<u8>>),
    Values(Vec<Vec<u8>>),
    /// Key, primary key, value.
    Record(Option<(Key, Key, Vec<u8>)>),
}

/// An operation on an object store, and where its answer goes.
pub(crate) struct Request {
    pub(crate) store: String,
    pub(crate) operation: Operation,
    pub(crate) reply: Sender<Result<Answer>>,
}

/// One database. What is asked of it is done by threads of the storage's; answers come over channels.
pub(crate) trait Backend: Sized {
    type Upgrade: Upgrade<Backend = Self>;

    /// The database's version, 0 if it is not there yet.
    fn version(&self) -> u64;
    fn stores(&self) -> Vec<String>;
    /// Where the engine is to look for keys in values.
    fn key_path(&self, store: &str) -> Result<KeyPath>;
    fn has_key_generator(&self, store: &str) -> Result<bool>;
    /// The indexes of an object store, with their key paths and whether they are `multi_entry`.
    fn indexes(&self, store: &str) -> Result<Vec<(String, KeyPath, bool)>>;

    /// A transaction: all requests in their order, or, if one fails, none. The receiver gets how it ended.
    fn process(&self, writes: bool, requests: Vec<Request>) -> Result<Receiver<Result<()>>>;

    /// Begins a version change. Nothing of it is there until it is committed: neither schema nor records nor version.
    fn upgrade(self, version: u64) -> Result<Self::Upgrade>;

    /// Deletes the database: the version that it had.
    fn delete(self) -> Result<u64>;
}

/// A version change under way.
pub(crate) trait Upgrade: Sized {
    type Backend;

    fn create_store(&self, name: &str, parameters: ObjectStoreParameters) -> Result<()>;
    fn delete_store(&self, name: &str) -> Result<()>;
    /// Creates an index. `keys_of` says which keys the values have that are there already.
    fn create_index(
        &self,
        store: &str,
        name: &str,
        key_path: KeyPath,
        options: IndexParameters,
        keys_of: impl FnMut(&[u8]) -> Vec<Key> + Send + 'static,
    ) -> Result<()>;
    fn delete_index(&self, store: &str, name: &str) -> Result<()>;
    fn process(&self, requests: Vec<Request>) -> Result<()>;

    /// Ends it: all of it is there.
    fn commit(self) -> Result<Self::Backend>;
    /// Ends it: nothing of it is there.
    fn abort(self) -> Result<Self::Backend>;
}
