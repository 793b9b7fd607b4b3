//! Changes of records in a database with a change feed (`crate::feed`): each is noted for a revision, and what the record was before goes
//! to the history.

use larder_codec::feed::{self, HistoryKey};
use larder_codec::idb_key::{ARRAYS_MAX, KeyPart};
use larder_codec::row_key::RecordTable;
use larder_codec::value::RevisionKind;
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, ObjectStoreId, RawKey, RecordVersion};

use crate::cursor::CursorDirection;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Change, Changes, Feed, HISTORY_VERSION};
use crate::key_range::KeyRange;
use crate::open_stores::OpenStore;
use crate::reads::{has_two_forms, record_row_prefix};
use crate::transaction::WriteTransaction;

/// So many records of a range are looked up before they are deleted.
const PAGE_LEN: usize = 256;

impl WriteTransaction {
    /// Marks all changes of the transaction as come from the source that the database is a copy of: a program that brings changes to that
    /// source leaves them out. Without a change feed it has no effect.
    pub fn set_from_source(&mut self, is_from_source: bool) {
        self.changes_mut().is_from_source = is_from_source;
    }

    /// Turns the change feed on, whose object stores have been created before. Each record that is there becomes a revision, in
    /// the order of the object stores' numbers and of the keys.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change or the object stores are not there; if a row cannot be read or written.
    pub fn begin_feed(&mut self) -> Result<()> {
        let database_id = self.version_change()?;
        let Some(feed) = Feed::read(self.view(), database_id)? else {
            let what = "the database has no object stores for a change feed: create them first";
            return Err(Error::new(ErrorKind::Usage, what));
        };
        self.set_feed(Some(feed));
        let mut problems = Vec::new();
        let object_stores = self.object_stores(database_id, &mut problems)?;
        if let Some(problem) = problems.into_iter().next() {
            return Err(problem);
        }
        for object_store in object_stores {
            if feed::is_reserved(&object_store.name) {
                continue;
            }
            let id = object_store.id;
            let prefix = record_row_prefix(database_id, id, RecordTable::Exists);
            let view = self.view().clone();
            let mut iter = view.iter();
            iter.seek(&prefix)?;
            while iter.valid() && iter.key().starts_with(&prefix) {
                let bad_row = |error| Error::row(iter.key(), "exists row", error);
                let key = iter.key().strip_prefix(&*prefix).unwrap_or_default();
                let change = Change {
                    object_store_id: id,
                    object_store_name: &object_store.name,
                    key: RawKey::decode_exact(key).map_err(bad_row)?,
                    kind: RevisionKind::Creation,
                    version: ExistsRow::decode_exact(iter.value()?)
                        .map_err(|error| Error::row(&prefix, "exists row", error))?
                        .version,
                };
                check_depth(change.key)?;
                self.changes_mut().note(&change);
                iter.next()?;
            }
        }
        Ok(())
    }

    /// Turns the change feed off: from now on nothing is noted, nor is what has been so far. Its object stores are the caller's to delete.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change.
    pub fn end_feed(&mut self) -> Result<()> {
        self.version_change()?;
        self.set_feed(None);
        *self.changes_mut() = Changes::default();
        Ok(())
    }

    /// Refuses what only commits write.
    pub(super) fn check_is_not_kept_by_feed(&self, store: &OpenStore) -> Result<()> {
        if self.feed().is_some_and(|feed| feed.keeps(store.id)) {
            let what = "the records of this object store are the change feed's, and are written by commits alone";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        Ok(())
    }

    /// Whether changes of an object store are noted.
    pub(super) fn is_in_feed(&self, store: &OpenStore) -> bool {
        self.feed().is_some() && !store.is_reserved
    }

    /// Before a record is put: takes the version that it will have.
    pub(super) fn note_put_of(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
        is_new: bool,
    ) -> Result<RecordVersion> {
        check_depth(key)?;
        let old = match is_new {
            true => None,
            false => self.old_row(database_id, store, key)?,
        };
        let version = self.next_version(store)?;
        let kind = match old {
            None => RevisionKind::Creation,
            Some(row) => {
                self.keep_old(database_id, store, key, &row, version)?;
                RevisionKind::Modification
            }
        };
        self.note_change(store, key, kind, version);
        Ok(version)
    }

    /// Before a record is deleted: whether it is there. A removal has a version of its own.
    fn note_removal_of(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
    ) -> Result<bool> {
        let Some(row) = self.old_row(database_id, store, key)? else {
            return Ok(false);
        };
        let version = self.next_version(store)?;
        self.keep_old(database_id, store, key, &row, version)?;
        self.note_change(store, key, RevisionKind::Removal, version);
        Ok(true)
    }

    /// Deletes the records in a range, each with a revision, and returns how many there were.
    pub(super) fn delete_tracked(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        range: &KeyRange<'_>,
    ) -> Result<u64> {
        self.note_put();
        let mut count = 0;
        loop {
            let mut keys = Vec::new();
            let mut records = self.keys_in(database_id, store.id, range, CursorDirection::Next);
            while keys.len() < PAGE_LEN && records.next()? {
                keys.push(records.primary_key()?.as_bytes().to_vec());
            }
            drop(records);
            if keys.is_empty() {
                return Ok(count);
            }
            for key in keys {
                let raw = RawKey::decode_exact(&key)
                    .map_err(|error| Error::row(&key, "key of a record", error))?;
                if !self.note_removal_of(database_id, store, raw)? {
                    let what = "a record that a cursor has found is not there";
                    return Err(Error::inconsistent(&key, what));
                }
                match has_two_forms(raw) {
                    false => {
                        self.delete_one(database_id, store, raw)?;
                    }
                    true => {
                        self.delete_in(database_id, store, &KeyRange::only(raw))?;
                    }
                }
                count += 1;
            }
        }
    }

    /// Deletes what there is of an object store, with revisions if it has any, before it is deleted itself.
    pub(super) fn note_store_cleared(
        &mut self,
        database_id: DatabaseId,
        id: ObjectStoreId,
    ) -> Result<()> {
        self.with_store(id, |transaction, store| {
            if transaction.is_in_feed(store) {
                transaction.delete_tracked(database_id, store, &KeyRange::ALL)?;
            }
            Ok(())
        })
    }

    fn note_change(
        &mut self,
        store: &OpenStore,
        key: RawKey<'_>,
        kind: RevisionKind,
        version: RecordVersion,
    ) {
        self.changes_mut().note(&Change {
            object_store_id: store.id,
            object_store_name: &store.name,
            key,
            kind,
            version,
        });
    }

    /// The data row of a record, if that is there.
    fn old_row(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let is_there = self.has_record(database_id, store, key)?;
        Ok(is_there.then(|| std::mem::take(&mut store.buffers.value)))
    }

    /// Puts what a record was into the history, with its external objects, which are the history's from now on.
    fn keep_old(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
        row: &[u8],
        until: RecordVersion,
    ) -> Result<()> {
        let Some(feed) = self.feed().cloned() else {
            return Ok(());
        };
        let bad_row =
            |error| Error::row(key.as_bytes(), "record with an undecodable version", error);
        let old = DataRow::decode_exact(row).map_err(bad_row)?;
        let mut history_key = Vec::new();
        HistoryKey {
            object_store_id: store.id,
            key,
            since: old.version,
            until,
        }
        .encode(&mut history_key);
        let mut value = Vec::with_capacity(old.value.len() + 1);
        let version = HISTORY_VERSION;
        DataRow {
            version,
            value: old.value,
        }
        .encode(&mut value);
        self.put_row(&[&*feed.history_data, &history_key].concat(), &value)?;
        value.clear();
        ExistsRow { version }.encode(&mut value);
        self.put_row(&[&*feed.history_exists, &history_key].concat(), &value)?;
        if store.has_external_objects {
            let objects_key = [&*feed.history_objects, &history_key].concat();
            self.move_objects(database_id, store, key, objects_key)?;
        }
        Ok(())
    }

    fn move_objects(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
        to: Vec<u8>,
    ) -> Result<()> {
        let mut from = Vec::new();
        store.record_row(database_id, RecordTable::ExternalObject, key, &mut from);
        if self.move_new_objects(&from, &to) {
            return Ok(());
        }
        let mut iter = self.view().iter_near(&from, &from);
        iter.seek(&from)?;
        let is_it = iter.valid() && larder_codec::compare(iter.key(), &from).is_eq();
        if !is_it {
            return Ok(());
        }
        let (from, objects) = (iter.key().to_vec(), iter.value()?.to_vec());
        drop(iter);
        self.put_row(&to, &objects)?;
        self.delete_row(&from)
    }
}

/// Refuses a key that the feed's keys cannot have in them.
fn check_depth(key: RawKey<'_>) -> Result<()> {
    let is_array = |part: &KeyPart<'_>| matches!(part, KeyPart::Array { .. });
    // Nothing is deeper than the arrays that are in it.
    if key.parts().filter(is_array).count() < ARRAYS_MAX - 1
        || key.to_key().height() < ARRAYS_MAX - 1
    {
        return Ok(());
    }
    let what = format!(
        "a key of {} arrays, one inside the other, is too deep for the change feed: at most {}",
        ARRAYS_MAX,
        ARRAYS_MAX - 2
    );
    Err(Error::new(ErrorKind::Usage, what))
}
