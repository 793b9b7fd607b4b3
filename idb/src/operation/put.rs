//! Storing a record (7.1, "store a record into an object store").

use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{IndexKeys, Put, PutKey, PutMode};
use larder_codec::external_object::ExternalObject as Object;
use larder_codec::value::{Evaluator, Payload, WRAPPER_MIME_TYPE, wrap};
use larder_codec::{DataVersion, IndexId, Key, ObjectStoreId, RawKey};

use super::given_keys::{GivenKeys, given_keys};
use crate::error::{Error, ErrorKind, ErrorName, Result};
use crate::key_range::raw_key;
use crate::operation::Execution;
use crate::schema::{IndexCell, StoreCell};
use crate::value::{ExternalObject, Value};

/// Keys of one record, in bytes. Rows have less than twice as many: so none is refused after another was written.
const KEYS_LEN_BYTES_MAX: usize = 1 << 29;

/// What is to be stored.
#[derive(Debug)]
pub(crate) struct PutRequest {
    pub(crate) indexes: PutIndexes,
    pub(crate) value: Value,
    /// Given, or found in the value; else it is to be generated.
    pub(crate) key: Option<Key>,
    pub(crate) mode: PutMode,
}

impl PutRequest {
    /// Takes a value and a key that have been checked. In an upgrade the request has the indexes of now, since others come and go.
    ///
    /// # Errors
    /// Those of index keys that are given.
    pub(crate) fn new(
        is_upgrade: bool,
        cell: &Arc<StoreCell>,
        mut value: Value,
        key: Option<Key>,
        mode: PutMode,
    ) -> Result<Self> {
        let indexes = match value.index_keys.take() {
            Some(named) => PutIndexes::Given(given_keys(cell, named)?),
            None if is_upgrade => PutIndexes::AsAsked(cell.indexes()),
            None => PutIndexes::OfStore,
        };
        Ok(Self {
            indexes,
            value,
            key,
            mode,
        })
    }
}

/// The indexes that get entries for a record.
#[derive(Debug)]
pub(crate) enum PutIndexes {
    /// The object store's, which has them throughout the transaction.
    OfStore,
    /// In an upgrade, those that the object store had when the request was made.
    AsAsked(Arc<[Arc<IndexCell>]>),
    /// With the keys that the host has found.
    Given(GivenKeys),
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct PutMemory {
    /// The primary key's bytes, if it is no number.
    key: Vec<u8>,
    /// Made when there is an index; it is large.
    indexing: Option<Box<Indexing>>,
}

/// Memory for index keys, which is used again.
#[derive(Debug, Default)]
struct Indexing {
    evaluator: Evaluator,
    /// The value with the key that is generated for it.
    injected: Vec<u8>,
    index_keys: EncodedKeys,
    indexes: Indexes,
}

/// The indexes of the object store that was put into last, and are the same throughout the transaction.
#[derive(Debug, Default)]
struct Indexes {
    of: Option<ObjectStoreId>,
    list: Arc<[Arc<IndexCell>]>,
}

impl Indexes {
    fn of(&mut self, id: ObjectStoreId, store: &StoreCell) -> &[Arc<IndexCell>] {
        if self.of != Some(id) {
            self.list = store.indexes();
            self.of = Some(id);
        }
        &self.list
    }
}

/// Keys of several indexes, one behind the other.
#[derive(Debug, Default)]
pub(super) struct EncodedKeys {
    bytes: Vec<u8>,
    places: Vec<(IndexId, Range<usize>)>,
}

/// The keys of a store without indexes.
static NO_KEYS: EncodedKeys = EncodedKeys {
    bytes: Vec::new(),
    places: Vec::new(),
};

impl EncodedKeys {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds the keys under which an index has a record with this value. What is no key gives none.
    pub(super) fn add(
        &mut self,
        evaluator: &mut Evaluator,
        index: &IndexCell,
        payload: &Payload<'_>,
        objects: &[Object],
    ) -> Result<()> {
        let Some(path) = &index.path else {
            return Ok(());
        };
        let id = index.id()?;
        if index.multi_entry {
            let keys = evaluator.index_keys(path, true, payload, objects)?;
            keys.iter().for_each(|key| self.push(id, key));
        } else if let Some(key) = evaluator.evaluate(path, payload, objects)?.key() {
            self.push(id, &key);
        }
        Ok(())
    }

    /// Adds keys that a host has found.
    pub(super) fn add_given(&mut self, index: &IndexCell, keys: &[Key]) -> Result<()> {
        let id = index.id()?;
        keys.iter().for_each(|key| self.push(id, key));
        Ok(())
    }

    fn push(&mut self, id: IndexId, key: &Key) {
        let start = self.bytes.len();
        key.encode(&mut self.bytes);
        self.places.push((id, start..self.bytes.len()));
    }

    /// Hands them to `work`, index by index.
    pub(super) fn with<T>(&self, work: impl FnOnce(&[IndexKeys<'_>]) -> Result<T>) -> Result<T> {
        match &*self.places {
            [] => work(&[]),
            [(index_id, _)] => {
                let keys = &[RawKey::decode_exact(&self.bytes)?];
                let index_id = *index_id;
                work(&[IndexKeys { index_id, keys }])
            }
            _ => self.with_many(work),
        }
    }

    fn with_many<T>(&self, work: impl FnOnce(&[IndexKeys<'_>]) -> Result<T>) -> Result<T> {
        let mut keys = Vec::with_capacity(self.places.len());
        for (_, range) in &self.places {
            let bytes = self.bytes.get(range.clone()).unwrap_or_default();
            keys.push(RawKey::decode_exact(bytes)?);
        }
        let mut rest = &*keys;
        let mut lists = Vec::new();
        for places in self.places.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((keys, behind)) = rest.split_at_checked(places.len()) else {
                break;
            };
            rest = behind;
            lists.extend(places.first().map(|(index_id, _)| IndexKeys {
                index_id: *index_id,
                keys,
            }));
        }
        work(&lists)
    }
}

/// Stores a record and returns its key.
pub(crate) fn put(
    execution: &mut Execution,
    store: &StoreCell,
    request: PutRequest,
) -> Result<Key> {
    execution.note_write();
    let Execution {
        backing,
        database_id,
        put: PutMemory { key, indexing },
        known,
        statistics,
        ..
    } = execution;
    let store_id = store.id()?;
    let number;
    let key_bytes = match &request.key {
        None => &[][..],
        Some(Key::Number(key)) => {
            number = Key::encode_number(*key);
            &number
        }
        Some(other) => {
            key.clear();
            other.encode(key);
            key
        }
    };
    let is_indexed = match &request.indexes {
        PutIndexes::OfStore => store.is_indexed(),
        PutIndexes::AsAsked(indexes) => !indexes.is_empty(),
        PutIndexes::Given(GivenKeys(keys)) => !keys.is_empty(),
    };
    let generator = || match known.of(backing, *database_id, store_id)?.generator {
        Some(next) => Ok(next),
        None => Ok(backing.reads().key_generator(*database_id, store_id)?),
    };
    let index_keys = match is_indexed {
        true => {
            let indexing = indexing.get_or_insert_default();
            evaluate_indexes(store, &request, store_id, indexing, generator)?;
            &indexing.index_keys
        }
        false => &NO_KEYS,
    };
    if index_keys.bytes.len() + 2 * key_bytes.len() > KEYS_LEN_BYTES_MAX {
        let what = "the record's keys are too long";
        return Err(Error::new(ErrorName::UnknownError, what));
    }
    let PutRequest {
        value, key, mode, ..
    } = request;
    let len_bytes = value.bytes.len();
    let raise_to = value.raise_to;
    let put_key = match key {
        Some(_) => PutKey::Given(raw_key(key_bytes)?),
        None => PutKey::Generated,
    };
    let writer = backing.writer()?;
    if let Some(needed) = raise_to {
        writer.require_data_version(needed)?;
    }
    let (bytes, objects) = wrapped(value, writer.data_version());
    let generated = index_keys.with(|index_keys| {
        let put = Put {
            key: put_key,
            value: &bytes,
            mode,
            index_keys,
            external_objects: &objects,
        };
        Ok(writer.put(store_id, &put)?)
    })?;
    statistics.records_written += 1;
    statistics.key_bytes_written += match generated {
        Some(_) if key_bytes.is_empty() => Key::NUMBER_LEN_BYTES,
        _ => key_bytes.len(),
    } as u64;
    statistics.value_bytes_written += len_bytes as u64;
    statistics.index_keys_written += index_keys.len() as u64;
    if store.auto_increment || !objects.is_empty() {
        let known = known.of(backing, *database_id, store_id)?;
        known.has_objects |= !objects.is_empty();
        // A number that was given may have moved the generator.
        known.generator = generated.map(|number| number + 1);
    }
    match (key, generated) {
        (Some(key), _) => Ok(key),
        (None, Some(number)) => Ok(Key::Number(number as f64)),
        (None, None) => Err(Error::corruption("a record was put without a key")),
    }
}

/// Takes a number from the key generator.
pub(crate) fn generate_key(execution: &mut Execution, store: &StoreCell) -> Result<Key> {
    let store_id = store.id()?;
    let number = execution.writer()?.take_generated_number(store_id)?;
    execution.known(store_id)?.generator = Some(number + 1);
    Ok(Key::Number(number as f64))
}

/// The number that the key generator gives next.
pub(crate) fn key_generator(execution: &mut Execution, store: &StoreCell) -> Result<i64> {
    let store_id = store.id()?;
    if let Some(next) = execution.known(store_id)?.generator {
        return Ok(next);
    }
    let reads = execution.backing.reads();
    Ok(reads.key_generator(execution.database_id, store_id)?)
}

/// Sets the number that the key generator gives next.
pub(crate) fn set_key_generator(
    execution: &mut Execution,
    store: &StoreCell,
    next: i64,
) -> Result<()> {
    let store_id = store.id()?;
    execution.writer()?.set_key_generator(store_id, next)?;
    execution.known(store_id)?.generator = Some(next);
    Ok(())
}

/// Stores records up to the first that cannot be stored; the error says which that was.
pub(crate) fn put_many(
    execution: &mut Execution,
    store: &StoreCell,
    requests: Vec<PutRequest>,
) -> Result<Vec<Key>> {
    let mut keys = Vec::with_capacity(requests.len());
    for (at, request) in requests.into_iter().enumerate() {
        execution.check_cancelled()?;
        let key = put(execution, store, request).map_err(|error| of_record(&error, at))?;
        keys.push(key);
    }
    Ok(keys)
}

/// Adds to an error which of several records it is of.
pub(crate) fn of_record(error: &Error, at: usize) -> Error {
    error.with_message(format!("record {at}: {}", error.message()))
}

/// Finds the index keys. A key that is going to be generated, which `generator` gives, counts as part of the value where keys are
/// in-line.
fn evaluate_indexes(
    store: &StoreCell,
    request: &PutRequest,
    store_id: ObjectStoreId,
    memory: &mut Indexing,
    generator: impl FnOnce() -> Result<i64>,
) -> Result<()> {
    let value = &request.value;
    let Indexing {
        evaluator,
        injected,
        index_keys,
        indexes,
    } = memory;
    index_keys.clear();
    let indexes = match &request.indexes {
        PutIndexes::OfStore => indexes.of(store_id, store),
        PutIndexes::AsAsked(indexes) => indexes,
        PutIndexes::Given(GivenKeys(given)) => {
            for (index, keys) in given {
                index_keys.add_given(index, keys)?;
            }
            return Ok(());
        }
    };
    let mut payload = Payload::read(&value.bytes)?;
    let is_generated = request.key.is_none();
    if let Some(path) = store.path.as_ref().filter(|_| is_generated) {
        injected.clear();
        let next = Key::Number(generator()? as f64);
        if evaluator.inject(path, &next, &payload, injected)? {
            payload = Payload::read(injected)?;
        }
    }
    let objects = objects_for_paths(&value.objects);
    for index in indexes {
        let added = index_keys.add(evaluator, index, &payload, &objects);
        added.map_err(|error| match error.kind() {
            // Nothing on disk is damaged: these are the bytes that the host has given.
            ErrorKind::Corruption => Error::not_a_value(error.message()),
            _ => error,
        })?;
    }
    Ok(())
}

/// External objects as key paths see them: sizes, types, names.
pub(crate) fn objects_for_paths(objects: &[NewExternalObject]) -> Vec<Object> {
    let infos = objects.iter().map(ExternalObject::new);
    infos.map(|object| object.info().clone()).collect()
}

/// The bytes for the record's row, and its external objects: blobs and files, the value itself if it is too large for
/// the row, handles, as Chromium lists them.
fn wrapped(value: Value, version: DataVersion) -> (Vec<u8>, Vec<NewExternalObject>) {
    let Value {
        bytes, mut objects, ..
    } = value;
    let blobs = objects.partition_point(|object| object.content().is_some());
    let wrapped = wrap(bytes, u32::try_from(blobs).unwrap_or(u32::MAX), version);
    if let Some(content) = wrapped.blob {
        let wrapper = NewExternalObject::Blob {
            mime_type: WRAPPER_MIME_TYPE.into(),
            content: Arc::new(content),
        };
        objects.insert(blobs, wrapper);
    }
    (wrapped.inline, objects)
}
