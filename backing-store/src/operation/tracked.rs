//! Changes of records in a database with a change feed (`crate::feed`): each is noted for a revision, and what the record was before goes
//! to the history.

use larder_codec::feed::{self, HistoryKey};
use larder_codec::idb_key::{ARRAYS_MAX, KeyPart};
use larder_codec::row_key::RecordTable;
use larder_codec::value::RevisionKind;
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, JsString, ObjectStoreId, RawKey, RecordVersion, range};

use crate::cursor::CursorDirection;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Change, Changes, Feed, HISTORY_VERSION};
use crate::key_range::KeyRange;
use crate::open_stores::{Buffers, OpenStore};
use crate::reads::{get_row, has_two_forms, record_row_prefix};
use crate::sync::locked;
use crate::transaction::WriteTransaction;

/// So many records of a range are looked up before they are deleted.
const PAGE_LEN: usize = 256;

/// What happens to a record whose key the feed's keys cannot have in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooDeep {
    Refused,
    LeftOut,
}

impl WriteTransaction {
    /// Marks all changes of the transaction as come from the source that the database is a copy of: a program that brings changes to that
    /// source leaves them out. Without a change feed it has no effect.
    pub fn set_from_source(&mut self, is_from_source: bool) {
        self.changes_mut().is_from_source = is_from_source;
    }

    /// Turns the change feed on, whose object stores have been created before. Each record that is there becomes a revision, in
    /// the order of the object stores' numbers and of the records' versions.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change or the object stores are not there; [`ErrorKind::Unsupported`] if the store does
    /// not lie in LevelDB; if a row cannot be read or written.
    pub fn begin_feed(&mut self) -> Result<()> {
        let database_id = self.version_change()?;
        self.check_may_have_feed()?;
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
            if !feed::is_reserved(&object_store.name) {
                let (id, name) = (object_store.id, &object_store.name);
                self.note_all_of(database_id, id, name, TooDeep::Refused)?;
            }
        }
        Ok(())
    }

    /// Notes all records of an object store as creations, in the order of their versions.
    pub(super) fn note_all_of(
        &mut self,
        database_id: DatabaseId,
        id: ObjectStoreId,
        name: &JsString,
        too_deep: TooDeep,
    ) -> Result<()> {
        let prefix = record_row_prefix(database_id, id, RecordTable::Exists);
        let view = self.view().clone();
        let mut iter = view.iter();
        iter.seek(&prefix)?;
        let (mut keys, mut found) = (Vec::new(), Vec::new());
        while iter.valid() && iter.key().starts_with(&prefix) {
            let bad_row = |error| Error::row(iter.key(), "exists row", error);
            let key = iter.key().strip_prefix(&*prefix).unwrap_or_default();
            match check_depth(RawKey::decode_exact(key).map_err(bad_row)?) {
                Err(error) if too_deep == TooDeep::Refused => return Err(error),
                Err(_) => {
                    iter.next()?;
                    continue;
                }
                Ok(()) => {}
            }
            let row = ExistsRow::decode_exact(iter.value()?).map_err(bad_row)?;
            let start = keys.len();
            keys.extend_from_slice(key);
            found.push((row.version, start..keys.len()));
            iter.next()?;
        }
        found.sort_unstable_by_key(|(version, key)| (*version, key.start));
        for (version, key) in found {
            let key = keys.get(key).unwrap_or_default();
            self.changes_mut().note(&Change {
                object_store_id: id,
                object_store_name: name,
                key: RawKey::decode_exact(key)
                    .map_err(|error| Error::row(key, "exists row", error))?,
                kind: RevisionKind::Creation,
                version,
                before: None,
            });
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
        let before = match is_new {
            true => None,
            false => self.find_old(database_id, store, key)?,
        };
        let version = self.next_version(store)?;
        let mut kind = RevisionKind::Creation;
        if let Some(before) = before {
            kind = RevisionKind::Modification;
            self.track_deleted(database_id, store, Some(before.get()));
            self.keep_old(database_id, store, key, (before, version))?;
        }
        self.note_change(store, key, kind, (before, version));
        Ok(version)
    }

    /// Before a record is deleted: whether it is there. A removal has a version of its own.
    fn note_removal_of(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
    ) -> Result<bool> {
        let Some(before) = self.find_old(database_id, store, key)? else {
            return Ok(false);
        };
        let version = self.next_version(store)?;
        self.keep_old(database_id, store, key, (before, version))?;
        self.note_change(store, key, RevisionKind::Removal, (Some(before), version));
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
            let place = (database_id, store.id);
            let next = CursorDirection::Next;
            let mut records = self.keys_in_table(RecordTable::Exists, place, range, next);
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
        (before, version): (Option<RecordVersion>, RecordVersion),
    ) {
        self.changes_mut().note(&Change {
            object_store_id: store.id,
            object_store_name: &store.name,
            key,
            kind,
            version,
            before,
        });
    }

    /// The version of a record, if that is there; then its data row is in the buffer for old ones.
    fn find_old(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
    ) -> Result<Option<RecordVersion>> {
        if !self.get_old(database_id, store, key)? {
            return Ok(None);
        }
        let old = &store.buffers.old;
        let row = DataRow::decode_exact(old).map_err(|error| {
            let what = "record with an undecodable version";
            Error::row(key.as_bytes(), what, error)
        })?;
        Ok(Some(row.version))
    }

    /// Whether a record is there; then its data row is in the buffer for old ones.
    fn get_old(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
    ) -> Result<bool> {
        let OpenStore {
            old_rows, buffers, ..
        } = store;
        let Buffers { key, old, .. } = buffers;
        key.clear();
        key.extend_from_slice(&store.data_prefix);
        primary_key.encode(key);
        if has_two_forms(primary_key) {
            return get_row(self.view(), key, primary_key, old);
        }
        let end = || range::table_high(database_id, store.id, RecordTable::Data);
        locked(self.pending()).get_ascending(old_rows, (key, end), old)
    }

    /// Puts what a record was, which is in the buffer for old ones, into the history, with its external objects, which are the history's
    /// from now on.
    fn keep_old(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
        (since, until): (RecordVersion, RecordVersion),
    ) -> Result<()> {
        let Some(feed) = self.feed().cloned() else {
            return Ok(());
        };
        let history_key = HistoryKey {
            object_store_id: store.id,
            key,
            since,
            until,
        };
        let Buffers {
            key: row_key, old, ..
        } = &mut store.buffers;
        // The history's version takes one byte, and the record's at least one.
        let old_len = DataRow::decode_exact(old).map_or(0, |row| row.value.len());
        let start = (old.len() - old_len).saturating_sub(1);
        if let Some(version) = old.get_mut(start) {
            *version = HISTORY_VERSION.get() as u8;
        }
        let row = old.get(start..).unwrap_or_default();
        self.put_history(&feed, &history_key, row, row_key)?;
        if store.has_external_objects {
            let mut to = feed.history_objects.clone();
            history_key.encode(&mut to);
            self.move_objects(database_id, store, key, to)?;
        }
        Ok(())
    }

    /// Puts a record into the history; the buffer's content does not matter. It gets no exists row: an object store without indexes is
    /// read by its data rows alone.
    pub(super) fn put_history(
        &mut self,
        feed: &Feed,
        history_key: &HistoryKey<'_>,
        row: &[u8],
        row_key: &mut Vec<u8>,
    ) -> Result<()> {
        row_key.clear();
        row_key.extend_from_slice(&feed.history_data);
        history_key.encode(row_key);
        self.put_row(row_key, row)
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
pub(super) fn check_depth(key: RawKey<'_>) -> Result<()> {
    let is_array = |part: &KeyPart<'_>| matches!(part, KeyPart::Array { .. });
    if !key.parts().next().as_ref().is_some_and(is_array) {
        return Ok(());
    }
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
