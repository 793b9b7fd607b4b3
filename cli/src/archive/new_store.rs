//! A store that is made from an archive.

use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    Background, BackingStore, DATA_VERSION_MAX, Durability, ErrorKind, IndexKeys, IndexMetadata,
    NEW_STORE_VERSION, NewStore, ObjectStoreMetadata, Put, PutKey, PutMode, RaiseDataVersion,
    RowSequence, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, Scope, StorePaths, SystemClock,
    WriteOptions, WriteTransaction,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::primitive::int;
use larder_codec::row_key::GlobalKey;
use larder_codec::value::{WRAPPER_MIME_TYPE, wrap};
use larder_codec::{DatabaseId, IndexId, JsString, Key, Origin, RawKey};
use larder_leveldb::storage::FileSystem;

use super::external::{Contents, Objects};
use super::import::shown;
use super::json::{Json, Wrong};
use super::line::{Database, StoreHead};
use super::spool::Spool;
use super::value;
use crate::index_keys::{IndexKeyFinder, KeysOfIndex, RawKeysOfIndexes};

/// A transaction is committed after so many blobs, since it keeps a list of them.
const BLOBS_PER_COMMIT: u64 = 1000;

/// The store, until it gets its name.
pub(super) struct StoreWriter {
    /// The object store that is being written. Dropped before the store.
    writing: Option<Writing>,
    backing: Option<BackingStore>,
    new: NewStore,
    databases: Vec<(JsString, DatabaseId, Vec<NewObjectStore>)>,
    contents: Contents,
}

struct NewObjectStore {
    metadata: ObjectStoreMetadata,
    next_key: Option<i64>,
}

/// What is being written to.
struct Writing {
    transaction: WriteTransaction,
    database: usize,
    object_store: usize,
    finder: IndexKeyFinder,
    blobs: u64,
    index: Option<IndexId>,
}

type Done = Result<Option<String>, Wrong>;

/// A record that another form than an archive has.
pub(super) struct NewRecord {
    /// None if it lies in the value.
    pub(super) key: Option<Key>,
    /// As an archive has it.
    pub(super) value: Json,
    /// Blobs and files as an archive has them: `blob` is a place in `contents`.
    pub(super) external: Vec<Json>,
    pub(super) contents: Vec<Vec<u8>>,
}

impl NewRecord {
    /// What can be seen of it without a store.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        value::write(&self.value, NEW_STORE_VERSION).map(drop)
    }
}

/// The bytes of a record.
enum Content {
    /// A value, of which the keys in indexes are worked out.
    Value(Vec<u8>),
    /// What the row had.
    Stored(Vec<u8>),
}

/// A record on its way into the store.
struct Record<'r> {
    key: RawKey<'r>,
    content: Content,
    objects: &'r mut Vec<NewExternalObject>,
    as_stored: &'r [ExternalObject],
    mode: PutMode,
}

impl Writing {
    fn put(
        &mut self,
        metadata: &ObjectStoreMetadata,
        record: Record<'_>,
    ) -> Result<Result<(), larder_backing_store::Error>, Wrong> {
        let mut keys: Vec<KeysOfIndex> = Vec::new();
        let stored = match record.content {
            Content::Stored(stored) => stored,
            Content::Value(payload) => {
                if !metadata.indexes.is_empty() {
                    keys = self
                        .finder
                        .find(metadata, record.key, &payload, record.as_stored)?;
                }
                let index = u32::try_from(record.objects.len()).unwrap_or(u32::MAX);
                let wrapped = wrap(payload, index, self.transaction.data_version());
                if let Some(blob) = wrapped.blob {
                    record.objects.push(NewExternalObject::Blob {
                        mime_type: JsString::from(WRAPPER_MIME_TYPE),
                        content: Arc::new(blob),
                    });
                }
                wrapped.inline
            }
        };
        let raw = RawKeysOfIndexes::new(&keys);
        let put = Put {
            key: PutKey::Given(record.key),
            value: &stored,
            mode: record.mode,
            index_keys: &raw.to_put(),
            external_objects: record.objects,
        };
        Ok(self.transaction.put(metadata.id, &put).map(drop))
    }
}

fn in_words(error: impl std::fmt::Display) -> Wrong {
    error.to_string()
}

impl StoreWriter {
    pub(super) fn begin(
        fs: Arc<dyn FileSystem>,
        paths: StorePaths,
        origin: Origin,
        head: &StoreHead,
        folder: Option<(Arc<dyn FileSystem>, PathBuf)>,
    ) -> Result<Self, Wrong> {
        let schema = head.schema.unwrap_or(SCHEMA_VERSION_MAX);
        if !(SCHEMA_VERSION_MIN..=SCHEMA_VERSION_MAX).contains(&schema) {
            return Err(format!(
                "stores of schema {schema} cannot be written, only {SCHEMA_VERSION_MIN} to {SCHEMA_VERSION_MAX}"
            ));
        }
        let version = head.version.unwrap_or(NEW_STORE_VERSION);
        if !DATA_VERSION_MAX.is_at_least(version) {
            return Err(format!(
                "values of V8's version {} and Blink's {} cannot be written",
                version.v8, version.blink
            ));
        }
        let new = NewStore::begin(Arc::clone(&fs), paths).map_err(in_words)?;
        // The store is of the same age as the one that was exported.
        let mut rows = vec![
            (
                GlobalKey::SchemaVersion,
                encoded(|out| int::encode(schema, out)),
            ),
            (GlobalKey::DataVersion, encoded(|out| version.encode(out))),
        ]
        .into_iter();
        let write = |key: &mut Vec<u8>, value: &mut Vec<u8>| match rows.next() {
            Some((row, content)) => {
                row.encode(key);
                value.extend(content);
                Ok::<_, larder_backing_store::Error>(true)
            }
            None => Ok(false),
        };
        new.write_rows(RowSequence::Sorted, write)
            .map_err(in_words)?;
        let mut options = WriteOptions::new(origin, Arc::new(SystemClock));
        options.raise_data_version = RaiseDataVersion::WhenNeeded;
        options.reserve_bytes = 0;
        // No thread that an error would leave behind.
        options.background = Background::Caller;
        let temporary = new.paths().clone();
        let spool = temporary.leveldb.with_file_name("spool");
        let backing = BackingStore::open(Arc::clone(&fs), temporary, options).map_err(in_words)?;
        Ok(Self {
            writing: None,
            backing: Some(backing),
            new,
            databases: Vec::new(),
            contents: Contents::new(Spool::new(fs, spool), folder),
        })
    }

    fn backing(&self) -> Result<&BackingStore, Wrong> {
        let backing = self.backing.as_ref();
        backing.ok_or_else(|| "the store is closed already".to_owned())
    }

    pub(super) fn database(&mut self, database: Database) -> Done {
        if self
            .databases
            .iter()
            .any(|(name, ..)| *name == database.name)
        {
            return Err("the store has a database of this name already".to_owned());
        }
        self.end_records()?;
        let backing = self.backing()?;
        let id = backing.create_database(&database.name).map_err(in_words)?;
        let scope = Scope::VersionChange(id);
        let mut transaction = backing.begin(scope, Durability::Strict).map_err(in_words)?;
        transaction
            .set_version(database.version)
            .map_err(in_words)?;
        let mut stores = Vec::new();
        for store in database.object_stores {
            let store_id = transaction
                .create_object_store(&store.parameters)
                .map_err(in_words)?;
            let mut indexes = Vec::new();
            for index in store.indexes {
                let index_id = transaction
                    .create_index(store_id, &index)
                    .map_err(in_words)?;
                indexes.push(IndexMetadata {
                    id: index_id,
                    name: index.name,
                    key_path: index.key_path,
                    unique: index.unique,
                    multi_entry: index.multi_entry,
                });
            }
            if let Some(next) = store.next_key {
                transaction
                    .set_key_generator(store_id, next)
                    .map_err(in_words)?;
            }
            stores.push(NewObjectStore {
                metadata: ObjectStoreMetadata {
                    id: store_id,
                    name: store.parameters.name,
                    key_path: store.parameters.key_path,
                    auto_increment: store.parameters.auto_increment,
                    indexes,
                },
                next_key: store.next_key,
            });
        }
        transaction.commit().map_err(in_words)?;
        self.databases.push((database.name, id, stores));
        Ok(None)
    }

    pub(super) fn records(&mut self, database: &JsString, object_store: &JsString) -> Done {
        self.end_records()?;
        let missing = || {
            format!(
                "there is no line with the schema of {} before",
                shown(database, object_store)
            )
        };
        let found = self
            .databases
            .iter()
            .position(|(name, ..)| name == database);
        let database_at = found.ok_or_else(missing)?;
        let (_, id, stores) = self.databases.get(database_at).ok_or_else(missing)?;
        let at = stores
            .iter()
            .position(|store| store.metadata.name == *object_store);
        let (at, store) = at
            .and_then(|at| Some((at, stores.get(at)?)))
            .ok_or_else(missing)?;
        let metadata = &store.metadata;
        let transaction = self
            .backing()?
            .begin(Scope::VersionChange(*id), Durability::Strict);
        self.writing = Some(Writing {
            transaction: transaction.map_err(in_words)?,
            database: database_at,
            object_store: at,
            finder: IndexKeyFinder::new(metadata),
            blobs: 0,
            index: None,
        });
        Ok(None)
    }

    pub(super) fn blob(&mut self, number: u64, bytes: &[u8]) -> Done {
        self.contents.blob(number, bytes).map(|()| None)
    }

    pub(super) fn record(&mut self, json: &Json) -> Done {
        self.contents.end_blob();
        let objects = match json.get("external") {
            Some(list) => self.contents.objects(list.items()?)?,
            None => Some(Objects::default()),
        };
        self.contents.forget();
        let Some(Objects {
            new: mut objects,
            as_stored,
        }) = objects
        else {
            return Ok(Some(
                "the archive does not have a blob of this record, so it is left out".to_owned(),
            ));
        };
        let (databases, writing) = (&self.databases, self.writing.as_mut());
        let writing = writing.ok_or("a line \"records\" comes before this")?;
        let store = databases
            .get(writing.database)
            .and_then(|(.., stores)| stores.get(writing.object_store));
        let metadata = &store.ok_or("there is no such object store")?.metadata;
        let mut key_bytes = Vec::new();
        json.need("key")?.key()?.encode(&mut key_bytes);
        let key =
            RawKey::decode_exact(&key_bytes).map_err(|error| format!("this is no key: {error}"))?;
        let content = match (json.get("stored"), json.get("wire")) {
            (Some(stored), _) => Content::Stored(stored.base64()?),
            (None, Some(wire)) => Content::Value(wire.base64()?),
            (None, None) => {
                let version = writing.transaction.data_version();
                let written = value::write(json.need("value")?, version)?;
                writing
                    .transaction
                    .require_data_version(written.needs)
                    .map_err(in_words)?;
                Content::Value(written.bytes)
            }
        };
        let record = Record {
            key,
            content,
            objects: &mut objects,
            as_stored: &as_stored,
            mode: PutMode::Put,
        };
        writing.put(metadata, record)?.map_err(in_words)?;
        self.after_put(objects.len())?;
        Ok(None)
    }

    /// A record of another form, in an object store that had none of its key. What cannot be put is left out.
    pub(super) fn new_record(&mut self, record: NewRecord) -> Done {
        for (number, bytes) in (0..).zip(&record.contents) {
            if !bytes.is_empty() {
                self.contents.blob(number, bytes)?;
            }
        }
        self.contents.end_blob();
        let objects = self.contents.objects(&record.external)?;
        self.contents.forget();
        let Objects {
            new: mut objects,
            as_stored,
        } = objects.unwrap_or_default();
        let (databases, writing) = (&self.databases, self.writing.as_mut());
        let writing = writing.ok_or("records come before their object store")?;
        let store = databases
            .get(writing.database)
            .and_then(|(.., stores)| stores.get(writing.object_store));
        let metadata = &store.ok_or("there is no such object store")?.metadata;
        let written = match value::write(&record.value, writing.transaction.data_version()) {
            Ok(written) => written,
            Err(what) => return Ok(Some(what)),
        };
        let key = match record.key {
            Some(key) => Some(key),
            None => writing
                .finder
                .primary_key(metadata, &written.bytes, &as_stored)?,
        };
        let Some(key) = key else {
            return Ok(Some("it has no key at the key path".to_owned()));
        };
        let mut key_bytes = Vec::new();
        key.encode(&mut key_bytes);
        let key =
            RawKey::decode_exact(&key_bytes).map_err(|error| format!("this is no key: {error}"))?;
        writing
            .transaction
            .require_data_version(written.needs)
            .map_err(in_words)?;
        let record = Record {
            key,
            content: Content::Value(written.bytes),
            objects: &mut objects,
            as_stored: &as_stored,
            mode: PutMode::Add,
        };
        match writing.put(metadata, record)? {
            Err(error) if error.kind() == ErrorKind::Constraint => {
                return Ok(Some(in_words(error)));
            }
            done => done.map_err(in_words)?,
        }
        self.after_put(objects.len())?;
        Ok(None)
    }

    /// Commits, if the transaction has many blobs.
    fn after_put(&mut self, blobs: usize) -> Result<(), Wrong> {
        let Some(writing) = &mut self.writing else {
            return Ok(());
        };
        writing.blobs += blobs as u64;
        if writing.blobs >= BLOBS_PER_COMMIT {
            self.commit(true)
        } else if blobs == 0 && writing.blobs == 0 {
            // Pieces of blobs that no record has.
            self.contents.clear()
        } else {
            Ok(())
        }
    }

    /// The index's entries come, and not those that follow from the values.
    pub(super) fn entries(&mut self, index: &JsString) -> Done {
        let writing = self
            .writing
            .as_mut()
            .ok_or("a line \"records\" comes before this")?;
        let stores = self
            .databases
            .get_mut(writing.database)
            .map(|(.., stores)| stores);
        let store = stores.and_then(|stores| stores.get_mut(writing.object_store));
        let metadata = &mut store.ok_or("there is no such object store")?.metadata;
        let id = metadata.id;
        let found = metadata.indexes.iter_mut().find(|own| own.name == *index);
        let found = found.ok_or_else(|| {
            format!(
                "there is no index {} in the schema",
                crate::display::Quoted(index)
            )
        })?;
        let transaction = &mut writing.transaction;
        transaction.delete_index(id, found.id).map_err(in_words)?;
        let parameters = larder_backing_store::IndexParameters {
            id: None,
            name: found.name.clone(),
            key_path: found.key_path.clone(),
            unique: found.unique,
            multi_entry: found.multi_entry,
        };
        found.id = transaction
            .create_index(id, &parameters)
            .map_err(in_words)?;
        writing.index = Some(found.id);
        Ok(None)
    }

    pub(super) fn entry(&mut self, key: &Json, primary_key: &Json) -> Done {
        let writing = self
            .writing
            .as_mut()
            .ok_or("a line \"records\" comes before this")?;
        let index_id = writing
            .index
            .ok_or("a line \"entries\" comes before this")?;
        let store = self
            .databases
            .get(writing.database)
            .and_then(|(.., stores)| stores.get(writing.object_store));
        let id = store.ok_or("there is no such object store")?.metadata.id;
        let (mut key_bytes, mut primary_bytes) = (Vec::new(), Vec::new());
        key.key()?.encode(&mut key_bytes);
        primary_key.key()?.encode(&mut primary_bytes);
        let raw =
            |bytes| RawKey::decode_exact(bytes).map_err(|error| format!("this is no key: {error}"));
        let keys = [raw(&key_bytes)?];
        let index_keys = [IndexKeys {
            index_id,
            keys: &keys,
        }];
        writing
            .transaction
            .put_index_keys(id, raw(&primary_bytes)?, &index_keys)
            .map_err(in_words)?;
        Ok(None)
    }

    /// Commits what was put; whether more of the object store comes.
    fn commit(&mut self, goes_on: bool) -> Result<(), Wrong> {
        let Some(writing) = self.writing.take() else {
            return Ok(());
        };
        self.contents.flush()?;
        writing.transaction.commit().map_err(in_words)?;
        self.contents.clear()?;
        if goes_on {
            let id = self.databases.get(writing.database).map(|(_, id, _)| *id);
            let id = id.ok_or("there is no such database")?;
            let transaction = self
                .backing()?
                .begin(Scope::VersionChange(id), Durability::Strict);
            let transaction = transaction.map_err(in_words)?;
            self.writing = Some(Writing {
                transaction,
                blobs: 0,
                ..writing
            });
        }
        Ok(())
    }

    fn end_records(&mut self) -> Result<(), Wrong> {
        self.contents.forget();
        if let Some(writing) = &mut self.writing {
            let store = self
                .databases
                .get(writing.database)
                .and_then(|(.., stores)| stores.get(writing.object_store));
            // The keys of the records have moved it.
            if let Some(NewObjectStore {
                metadata,
                next_key: Some(next),
            }) = store
            {
                writing
                    .transaction
                    .set_key_generator(metadata.id, *next)
                    .map_err(in_words)?;
            }
        }
        self.commit(false)
    }

    /// All lines of the store have come.
    pub(super) fn close(&mut self) -> Result<(), Wrong> {
        self.end_records()?;
        self.contents.clear()?;
        match self.backing.take() {
            Some(backing) => backing.close().map_err(in_words),
            None => Ok(()),
        }
    }

    /// Gives the store its name.
    pub(super) fn finish(self) -> Result<(), Wrong> {
        self.new.finish().map_err(in_words)
    }
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    bytes
}
