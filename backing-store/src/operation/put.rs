//! Putting records and their index keys.

use larder_codec::idb_key::KeyPart;
use larder_codec::primitive::int;
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{DatabaseId, IndexId, Key, ObjectStoreId, RawKey, RecordVersion};

use super::index::no_index;
use crate::blob::NewExternalObject;
use crate::error::{Error, ErrorKind, Result};
use crate::open_stores::{Buffers, OpenStore};
use crate::reads::{EntryLookup, KEY_GENERATOR_MAX, generator_after, get_row};
use crate::record::Record;
use crate::transaction::WriteTransaction;

/// A record to be put.
#[derive(Debug, Clone, Copy)]
pub struct Put<'a> {
    /// Its primary key.
    pub key: PutKey<'a>,
    /// The serialised value: what [`larder_codec::value`] reads. Chromium wraps values above 64 KiB; the caller does that.
    pub value: &'a [u8],
    /// What happens if there is a record with that key.
    pub mode: PutMode,
    /// Its keys in the object store's indexes; indexes that have none may be left out. The keys of one index differ.
    pub index_keys: &'a [IndexKeys<'a>],
    /// The blobs, files and handles that the value refers to, by their places here.
    pub external_objects: &'a [NewExternalObject],
}

/// Where a record's primary key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutKey<'a> {
    /// From the caller.
    Given(RawKey<'a>),
    /// From the key generator: the number that [`Reads::key_generator`](crate::Reads::key_generator) gives. A caller
    /// that needs it for index keys reads it there first.
    Generated,
}

/// What happens if there is a record with that key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    /// It is an error.
    Add,
    /// It is replaced.
    Put,
    /// It is replaced through a cursor, and the key generator stays as it is.
    CursorUpdate,
}

/// A record's keys in one index.
#[derive(Debug, Clone, Copy)]
pub struct IndexKeys<'a> {
    /// The index.
    pub index_id: IndexId,
    /// One, or for a multi-entry index any number.
    pub keys: &'a [RawKey<'a>],
}

impl WriteTransaction {
    /// Puts a record; if its key was generated, gives the number.
    ///
    /// Index rows of a record that is replaced stay, and are stale from now on.
    ///
    /// # Errors
    /// [`ErrorKind::Constraint`], before anything is written, if [`PutMode::Add`] meets a record, if a unique index has
    /// one of the keys for another record, or the key generator is used up. [`ErrorKind::Usage`] for an object store or
    /// index that is not there or not in the scope, and for a generated key in an object store without a key generator.
    /// If a row cannot be read or written.
    pub fn put(&mut self, object_store_id: ObjectStoreId, put: &Put<'_>) -> Result<Option<i64>> {
        self.with_store(object_store_id, |transaction, store| {
            transaction.put_into(store, put)
        })
    }

    /// Puts many records, each as [`WriteTransaction::put`] does, and returns the result of each. Those that break a
    /// constraint are left out, the others put.
    ///
    /// # Errors
    /// As [`WriteTransaction::put`], but for [`ErrorKind::Constraint`]; the records before are put.
    pub fn put_many<'a>(
        &mut self,
        object_store_id: ObjectStoreId,
        puts: impl IntoIterator<Item = Put<'a>>,
    ) -> Result<Vec<Result<Option<i64>>>> {
        self.with_store(object_store_id, |transaction, store| {
            let mut outcomes = Vec::new();
            for put in puts {
                match transaction.put_into(store, &put) {
                    Err(error) if error.kind() != ErrorKind::Constraint => return Err(error),
                    outcome => outcomes.push(outcome),
                }
            }
            Ok(outcomes)
        })
    }

    /// Puts index keys of a record that is there, with the version that it has: how a new index is filled.
    ///
    /// # Errors
    /// [`ErrorKind::Constraint`], before anything is written, if a unique index has one of the keys for another record;
    /// [`ErrorKind::Usage`] if there is no such record, object store or index; if a row cannot be read or written.
    pub fn put_index_keys(
        &mut self,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
        index_keys: &[IndexKeys<'_>],
    ) -> Result<()> {
        let database_id = self.scope().database_id();
        self.with_store(object_store_id, |transaction, store| {
            let mut record = Record::new();
            let is_there = transaction.get(database_id, store.id, primary_key, &mut record)?;
            let Some(version) = record.version().filter(|_| is_there) else {
                let what = "the record that index keys are put for is not there";
                return Err(Error::new(ErrorKind::Usage, what));
            };
            transaction.check_unique(store, primary_key, index_keys)?;
            transaction.note_put();
            transaction.put_index_rows(store, primary_key, version, index_keys)
        })
    }

    /// Takes the next number of the key generator, for a record that is put under it later, or never.
    ///
    /// # Errors
    /// [`ErrorKind::Constraint`] if the key generator is used up; [`ErrorKind::Usage`] if there is no such object store in the
    /// scope, or it has no key generator; if a row cannot be read or written.
    pub fn take_generated_number(&mut self, object_store_id: ObjectStoreId) -> Result<i64> {
        let database_id = self.scope().database_id();
        self.with_store(object_store_id, |transaction, store| {
            let number = transaction.generate(database_id, store)?;
            transaction.set_generator(store, number + 1)?;
            Ok(number)
        })
    }

    /// Sets the number that the key generator gives next, whatever keys there are. Above [`KEY_GENERATOR_MAX`] the generator is used up.
    /// This is for a store that gets the content of another one.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is no such object store in the scope, or it has no key generator; if a row cannot be
    /// written.
    pub fn set_key_generator(&mut self, object_store_id: ObjectStoreId, next: i64) -> Result<()> {
        self.with_store(object_store_id, |transaction, store| {
            if !store.auto_increment {
                let what = "the object store has no key generator";
                return Err(Error::new(ErrorKind::Usage, what));
            }
            transaction.set_generator(store, next)
        })
    }

    fn put_into(&mut self, store: &mut OpenStore, put: &Put<'_>) -> Result<Option<i64>> {
        let database_id = self.scope().database_id();
        self.check_is_not_kept_by_feed(store)?;
        self.note_put();
        let mut primary_key = std::mem::take(&mut store.buffers.primary_key);
        let done = self.put_with_key(database_id, store, put, &mut primary_key);
        store.buffers.primary_key = primary_key;
        done
    }

    fn put_with_key(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        put: &Put<'_>,
        key_bytes: &mut Vec<u8>,
    ) -> Result<Option<i64>> {
        let (primary_key, generated) = match put.key {
            PutKey::Given(key) => (key, None),
            PutKey::Generated => {
                let number = self.generate(database_id, store)?;
                key_bytes.clear();
                Key::Number(number as f64).encode(key_bytes);
                let key = RawKey::decode_exact(key_bytes)
                    .map_err(|error| Error::row(key_bytes, "generated key", error))?;
                (key, Some(number))
            }
        };
        if put.mode == PutMode::Add && self.has_record(database_id, store, primary_key)? {
            let what = "a record with this key is there already";
            return Err(Error::new(ErrorKind::Constraint, what));
        }
        self.check_unique(store, primary_key, put.index_keys)?;
        let is_new = put.mode == PutMode::Add;
        let is_new = self.track_put(database_id, store, primary_key, is_new)?;
        let version = match self.is_in_feed(store) {
            true => self.note_put_of(database_id, store, primary_key, is_new)?,
            false => self.next_version(store)?,
        };
        self.put_record(database_id, store, primary_key, version, put.value)?;
        if !put.external_objects.is_empty() {
            self.put_objects(store.id, primary_key, put.external_objects)?;
            store.has_external_objects = true;
        }
        self.put_index_rows(store, primary_key, version, put.index_keys)?;
        if store.auto_increment && put.mode != PutMode::CursorUpdate {
            self.move_generator(database_id, store, primary_key, generated.is_some())?;
        }
        Ok(generated)
    }

    /// The next number of the key generator. It is not used up by being asked for.
    fn generate(&self, database_id: DatabaseId, store: &mut OpenStore) -> Result<i64> {
        if !store.auto_increment {
            let what = "the object store has no key generator: give the record a key";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let number = self.generator(database_id, store)?;
        if (0..=KEY_GENERATOR_MAX).contains(&number) {
            return Ok(number);
        }
        let what = "the key generator is used up: give the record a key";
        Err(Error::new(ErrorKind::Constraint, what))
    }

    fn generator(&self, database_id: DatabaseId, store: &mut OpenStore) -> Result<i64> {
        if let Some(number) = store.generator {
            return Ok(number);
        }
        let number = self.key_generator(database_id, store.id)?;
        store.generator = Some(number);
        Ok(number)
    }

    /// Whether a record is there; then its data row is in the buffer for values.
    pub(super) fn has_record(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
    ) -> Result<bool> {
        let mut key = std::mem::take(&mut store.buffers.key);
        store.record_row(database_id, RecordTable::Data, primary_key, &mut key);
        let found = get_row(self.view(), &key, primary_key, &mut store.buffers.value);
        store.buffers.key = key;
        found
    }

    /// Looks for other records' live entries with the keys, in unique indexes. Stale rows in the way are removed.
    fn check_unique(
        &mut self,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
        index_keys: &[IndexKeys<'_>],
    ) -> Result<()> {
        for IndexKeys { index_id, keys } in index_keys {
            let mut indexes = store.indexes.iter_mut();
            let Some(index) = indexes.find(|index| index.id == *index_id) else {
                return Err(no_index(*index_id));
            };
            if !index.is_unique {
                continue;
            }
            let place = (self.scope().database_id(), store.id, *index_id);
            let new = || EntryLookup::new(self, place);
            let lookup = index.lookup.get_or_insert_with(new);
            for key in *keys {
                let found = lookup.find(*key, &mut |row_key| self.delete_row(row_key))?;
                if found.is_some_and(|found| found != primary_key) {
                    let what = "a unique index has the key for another record";
                    return Err(Error::new(ErrorKind::Constraint, what));
                }
            }
        }
        Ok(())
    }

    /// Counts the object store's version up, before anything else is written.
    pub(super) fn next_version(&mut self, store: &mut OpenStore) -> Result<RecordVersion> {
        let next = store.last_version.checked_add(1);
        let Some(version) = next.and_then(RecordVersion::new) else {
            let what = "the object store has no record versions left: copy its records into a new object store";
            return Err(Error::new(ErrorKind::Usage, what));
        };
        store.last_version = version.get();
        let value = &mut store.buffers.value;
        value.clear();
        int::encode(version.get(), value);
        self.put_row(&store.version_key, value)?;
        Ok(version)
    }

    fn put_record(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
        version: RecordVersion,
        serialised: &[u8],
    ) -> Result<()> {
        if store.has_external_objects {
            self.delete_external_objects(database_id, store, primary_key)?;
        }
        let Buffers { key, value, .. } = &mut store.buffers;
        key.clear();
        key.extend_from_slice(&store.data_prefix);
        primary_key.encode(key);
        value.clear();
        DataRow {
            version,
            value: serialised,
        }
        .encode(value);
        self.put_row(key, value)?;
        key.clear();
        key.extend_from_slice(&store.exists_prefix);
        primary_key.encode(key);
        value.clear();
        ExistsRow { version }.encode(value);
        self.put_row(key, value)
    }

    fn put_index_rows(
        &mut self,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
        version: RecordVersion,
        index_keys: &[IndexKeys<'_>],
    ) -> Result<()> {
        let Buffers { key, value, .. } = &mut store.buffers;
        value.clear();
        IndexRow {
            version,
            primary_key,
        }
        .encode(value);
        for IndexKeys { index_id, keys } in index_keys {
            let mut indexes = store.indexes.iter();
            let Some(index) = indexes.find(|index| index.id == *index_id) else {
                return Err(no_index(*index_id));
            };
            let make_key = |index_key: &RawKey<'_>, key: &mut Vec<u8>| {
                key.extend_from_slice(&index.prefix);
                index_key.encode(key);
                // The sequence number.
                key.push(0);
                primary_key.encode(key);
            };
            self.put_rows(*keys, key, make_key, value)?;
        }
        Ok(())
    }

    /// Moves the key generator behind a number that was given or generated.
    fn move_generator(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
        is_generated: bool,
    ) -> Result<()> {
        let Some(KeyPart::Number(number)) = primary_key.parts().next() else {
            return Ok(());
        };
        let next = generator_after(number);
        if !is_generated && next <= self.generator(database_id, store)? {
            return Ok(());
        }
        self.set_generator(store, next)
    }

    fn set_generator(&mut self, store: &mut OpenStore, next: i64) -> Result<()> {
        store.generator = Some(next);
        let value = &mut store.buffers.value;
        value.clear();
        int::encode(next, value);
        self.put_row(&store.generator_key, value)
    }
}
