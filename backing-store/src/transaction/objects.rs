//! External objects of a transaction: which it adds and which it takes away, and how they are committed.
//!
//! In two phases, as Chromium does it (`LDB/backing_store.cc`, `CommitPhaseOne` and `CommitPhaseTwo`). First numbers are
//! taken and journalled, and the files written; then the rows that refer to them are committed together with the journals.
//! So whatever a crash leaves, a file is referred to by a row or listed in a journal.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use larder_codec::blob_journal::{BlobJournal, BlobJournalEntry};
use larder_codec::compare::compare;
use larder_codec::external_object::schema_3::{self, Schema3Kind, Schema3Object};
use larder_codec::external_object::{BlobInfo, ExternalObject, decode_all, encode_all};
use larder_codec::primitive::var_int;
use larder_codec::row_key::{DatabaseField, DatabaseKey, GlobalKey, RecordKey, RecordTable};
use larder_codec::{BlobNumber, DatabaseId, JsString, KeyPrefix, ObjectStoreId, RawKey};
use larder_leveldb::Durability;
use larder_leveldb::log::growth_bytes_max;
use larder_leveldb::write_batch::BatchWriter;

use super::WriteTransaction;
use crate::backing_store::Core;
use crate::backing_store::journal::{self, Emptied};
use crate::backing_store::open::global_key;
use crate::blob::{BlobFiles, BlobHandle, BlobSource, NewExternalObject, entry};
use crate::error::{Error, ErrorKind, Result};
use crate::feed::Numbering;
use crate::files;
use crate::reads::record_row_prefix;
use crate::sync::locked;

/// What a transaction does to external objects.
#[derive(Debug, Default)]
pub(super) struct ObjectChanges {
    /// By the key of the row that will list them. The order of the bytes is that in which Chromium gives numbers.
    new: BTreeMap<Vec<u8>, Vec<NewExternalObject>>,
    /// Blobs whose rows the transaction has taken away.
    removed: BTreeSet<BlobJournalEntry>,
}

impl ObjectChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.removed.is_empty()
    }

    /// The records with these rows are gone.
    pub(super) fn forget_new(&mut self, begin: &[u8], end: &[u8], end_included: bool) {
        let is_gone = |key: &[u8]| {
            compare(begin, key) != Ordering::Greater
                && match compare(key, end) {
                    Ordering::Less => true,
                    Ordering::Equal => end_included,
                    Ordering::Greater => false,
                }
        };
        self.new.retain(|key, _| !is_gone(key));
    }

    /// The row that was to list new objects is to be another one: whether there was one.
    fn move_new(&mut self, from: &[u8], to: &[u8]) -> bool {
        let is_it = |key: &&Vec<u8>| compare(key, from) == Ordering::Equal;
        let Some(found) = self.new.keys().find(is_it).cloned() else {
            return false;
        };
        if let Some(objects) = self.new.remove(&found) {
            self.new.insert(to.to_vec(), objects);
        }
        true
    }

    /// The record with this row, whose key has no other form, is gone.
    pub(super) fn forget_new_of(&mut self, key: &[u8]) {
        self.new.remove(key);
    }

    /// A row is about to be deleted: the blobs that it lists, if it lists any, are to go.
    pub(super) fn note_removed<'a>(
        &mut self,
        key: &[u8],
        value: impl FnOnce() -> Result<&'a [u8]>,
        is_schema_3: bool,
    ) -> Result<()> {
        let Some(database_id) = database_of_objects(key) else {
            return Ok(());
        };
        let bad_row = |error| Error::row(key, "external objects", error);
        let numbers: Vec<BlobNumber> = if is_schema_3 {
            let objects = schema_3::decode_all(value()?).map_err(bad_row)?;
            objects.into_iter().map(|object| object.number).collect()
        } else {
            let objects = decode_all(value()?).map_err(bad_row)?;
            objects
                .iter()
                .filter_map(blob_of)
                .map(|blob| blob.number)
                .collect()
        };
        let entries = numbers.into_iter().map(|number| entry(database_id, number));
        self.removed.extend(entries);
        Ok(())
    }
}

/// Whose external objects the row lists, if it does.
fn database_of_objects(key: &[u8]) -> Option<DatabaseId> {
    let (prefix, _) = KeyPrefix::decode(key).ok()?;
    let is_objects = prefix.index == RecordTable::ExternalObject.index_number();
    (is_objects && prefix.object_store != 0).then(|| prefix.database_id().ok())?
}

fn blob_of(object: &ExternalObject) -> Option<&BlobInfo> {
    match object {
        ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => Some(blob),
        ExternalObject::FileSystemAccessHandle { .. } => None,
    }
}

/// External objects that have their numbers.
#[derive(Debug, Default)]
struct Numbered {
    /// Row by row: key and value.
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    files: Vec<NewFile>,
    entries: BTreeSet<BlobJournalEntry>,
    /// Whether a file is written for an empty `File`.
    empty_files: bool,
    /// Numbers of handles of the file system, which have some beside LevelDB alone.
    handles: Option<Vec<BlobNumber>>,
}

#[derive(Debug)]
struct NewFile {
    number: BlobNumber,
    content: Arc<dyn BlobSource>,
    last_modified_micros: Option<i64>,
}

impl WriteTransaction {
    /// The external objects that a record has been put with in this transaction; `None` if it has not, or with none.
    #[must_use]
    pub fn new_external_objects(
        &self,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
    ) -> Option<&[NewExternalObject]> {
        let key = self.objects_key(object_store_id, primary_key);
        if let Some(objects) = self.objects.new.get(&key) {
            return Some(objects);
        }
        // 0 and -0 are one key.
        let mut all = self.objects.new.iter();
        all.find(|(other, _)| compare(other, &key) == Ordering::Equal)
            .map(|(_, objects)| &**objects)
    }

    /// Whether any record of the object store has been put with external objects in this transaction: their rows are written
    /// only when it is committed.
    pub(crate) fn has_new_objects(&self, object_store_id: ObjectStoreId) -> bool {
        let database_id = self.scope.database_id();
        let prefix = record_row_prefix(database_id, object_store_id, RecordTable::ExternalObject);
        self.objects.new.keys().any(|key| key.starts_with(&prefix))
    }

    /// Keeps a blob's file until the handle is dropped, whatever becomes of the record.
    #[must_use]
    pub fn hold_blob(&self, number: BlobNumber) -> BlobHandle {
        let database_id = self.scope.database_id();
        self.core.held_blobs.hold(database_id, number)
    }

    /// Notes the external objects of a record that is put. Those it had are gone already.
    pub(crate) fn put_objects(
        &mut self,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
        objects: &[NewExternalObject],
    ) -> Result<()> {
        if self.core.versions.lacks_file_info()
            && objects.iter().any(|object| object.content().is_none())
        {
            let what = "a store of schema version 3 has no form for handles of the file system (`raise_schema` gives it one)";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let key = self.objects_key(object_store_id, primary_key);
        self.objects.new.insert(key, objects.to_vec());
        Ok(())
    }

    /// Gives the new external objects of a row to another; whether there were any.
    pub(crate) fn move_new_objects(&mut self, from: &[u8], to: &[u8]) -> bool {
        self.objects.move_new(from, to)
    }

    fn objects_key(&self, object_store_id: ObjectStoreId, key: RawKey<'_>) -> Vec<u8> {
        let mut row_key = Vec::new();
        RecordKey {
            database_id: self.scope.database_id(),
            object_store_id,
            table: RecordTable::ExternalObject,
            key,
        }
        .encode(&mut row_key);
        row_key
    }

    /// Commits in both phases. At each moment between them a crash leaves every file either referred to by a row or listed in a
    /// journal, so that opening finds all that it has to remove.
    pub(super) fn commit_objects(&mut self, numbering: Option<&Numbering>) -> Result<()> {
        self.settle()?;
        let core = Arc::clone(&self.core);
        let feed_len = numbering.map_or(0, Numbering::len_bytes_max);
        let needed = self.growth_bytes_max(feed_len)?;
        let taken = self.is_under_quota().then(|| core.take_room(needed));
        let _taken = taken.transpose()?;
        let mut numbered = self.number_objects()?;
        if let Err(error) = self.write_objects(&mut numbered) {
            core.held_blobs.note_gone(&numbered.entries);
            // What cannot be removed now stays in the journal.
            let _ = core.remove_released_blobs();
            return Err(error);
        }
        let removed = std::mem::take(&mut self.objects.removed);
        // Each journal is one row with all entries, of all transactions: reading it, changing it and writing it is one turn. Two
        // commits at once would each write a journal without the other's entries, and the files of those would never go.
        let turn = core.direct();
        if !removed.is_empty() {
            // Files must not go before the rows that refer to them, whatever a power cut leaves.
            self.durability = Durability::Strict;
        }
        let rows = self.journals_after(&numbered.entries, &removed);
        let written = rows.and_then(|rows| self.write_commit(&rows, true, numbering));
        if let Err(error) = written {
            drop(turn);
            // If it is open whether the rows that refer to the new files are there, the files stay until opening shows.
            if error.kind() != ErrorKind::Uncertain {
                core.held_blobs.note_gone(&numbered.entries);
                let _ = core.remove_released_blobs();
            }
            return Err(error);
        }
        if !removed.is_empty() {
            core.held_blobs.note_gone(&removed);
        }
        // The transaction is committed, whatever happens to the files: they stay in a journal.
        let _ = core.remove_released_blobs_in(&turn, Emptied::Kept);
        Ok(())
    }

    /// So many bytes the files grow at most: the blobs, and three records of the log, which list them, commit them and take them out of
    /// the journals.
    fn growth_bytes_max(&self, feed_len: usize) -> Result<u64> {
        let entries = |objects: &Vec<NewExternalObject>| objects.len();
        let new: usize = self.objects.new.values().map(entries).sum();
        let mut journals = (new + self.objects.removed.len()) * JOURNAL_ENTRY_LEN_MAX;
        for kind in [GlobalKey::RecoveryBlobJournal, GlobalKey::ActiveBlobJournal] {
            journals += self.journal(&kind)?.len() * JOURNAL_ENTRY_LEN_MAX + ROW_LEN;
        }
        let mut rows = feed_len + locked(&self.pending).staging.batch_len_bytes();
        let mut blobs = 0u64;
        for (key, objects) in &self.objects.new {
            rows += key.len() + ROW_LEN;
            for object in objects {
                rows += object_row_len_max(object);
                let content = object.content();
                let size_bytes = content.map_or(0, |content| content.size_bytes());
                blobs = blobs.saturating_add(size_bytes);
            }
        }
        let records = [ROW_LEN + journals, rows + journals, journals];
        let log: u64 = records.into_iter().map(growth_bytes_max).sum();
        Ok(blobs.saturating_add(log))
    }

    /// Gives numbers, and lists them in the recovery journal: one synced batch.
    fn number_objects(&mut self) -> Result<Numbered> {
        let mut numbered = Numbered {
            // Their size is the file's.
            empty_files: self.core.versions.lacks_file_info(),
            handles: self.core.row_store.as_ref().map(|_| Vec::new()),
            ..Numbered::default()
        };
        if self.objects.new.is_empty() {
            return Ok(numbered);
        }
        let core = Arc::clone(&self.core);
        let _turn = core.direct();
        let mut numbers = BlobNumbers::new(Arc::clone(&core), self.scope.database_id())?;
        for (key, objects) in std::mem::take(&mut self.objects.new) {
            let mut listed = Vec::with_capacity(objects.len());
            for object in objects {
                listed.push(numbered.number(object, &mut numbers)?);
            }
            let mut value = Vec::new();
            match core.versions.lacks_file_info() {
                true => encode_all_schema_3(listed, &mut value),
                false => encode_all(&listed, &mut value),
            }
            numbered.rows.push((key, value));
        }
        let handles = numbered.handles.take().unwrap_or_default();
        if !handles.is_empty() {
            self.seldom.get_or_insert_default().handle_numbers = handles;
        } else if numbered.entries.is_empty() {
            return Ok(numbered);
        }
        let mut batch = BatchWriter::new();
        let mut value = Vec::new();
        var_int::encode(numbers.next, &mut value);
        batch.put(&numbers.key, &value);
        // The journal has the numbers, synced, before the first file is made: a file that a crash leaves is in it. The generator's
        // next number is in the batch too, so that no later blob gets the number of a file that is still to be removed.
        let recovery = GlobalKey::RecoveryBlobJournal;
        let mut entries = self.journal(&recovery)?;
        entries.extend(&numbered.entries);
        let (key, value) = journal_row(&recovery, &entries);
        batch.put(&key, &value);
        core.db.write(&mut batch, Durability::Strict)?;
        Ok(numbered)
    }

    /// Writes the files, and stages the rows.
    fn write_objects(&mut self, numbered: &mut Numbered) -> Result<()> {
        let database_id = self.scope.database_id();
        let core = &self.core;
        let mut files = BlobFiles::new(&*core.fs, &core.paths, &core.durable_dirs);
        for file in numbered.files.drain(..) {
            let place = (database_id, file.number);
            files.write(place, &*file.content, file.last_modified_micros)?;
        }
        // The files are durable before the rows that refer to them: a commit that survives a power cut has its blobs.
        files.sync()?;
        for (key, value) in &numbered.rows {
            self.put_row(key, value)?;
        }
        Ok(())
    }

    /// Both journals as they are when the transaction is committed. Chromium writes both, empty ones, too.
    fn journals_after(
        &self,
        new: &BTreeSet<BlobJournalEntry>,
        removed: &BTreeSet<BlobJournalEntry>,
    ) -> Result<[(Vec<u8>, Vec<u8>); 2]> {
        // A reader may end, or begin, before the rows are gone. Which journal has the entry does no harm then: both are looked
        // through when it is released.
        let held = self.core.held_blobs.held_now(removed);
        let mut recovery = self.journal(&GlobalKey::RecoveryBlobJournal)?;
        let mut active = self.journal(&GlobalKey::ActiveBlobJournal)?;
        recovery.retain(|entry| !new.contains(entry));
        recovery.extend(removed.difference(&held));
        active.extend(&held);
        Ok([
            journal_row(&GlobalKey::RecoveryBlobJournal, &recovery),
            journal_row(&GlobalKey::ActiveBlobJournal, &active),
        ])
    }

    fn journal(&self, kind: &GlobalKey) -> Result<BTreeSet<BlobJournalEntry>> {
        let journal = journal::read(&self.core.snapshot(), kind)?;
        Ok(journal.entries.into_iter().collect())
    }
}

/// The longest that one entry of a journal is, in bytes: two varints.
const JOURNAL_ENTRY_LEN_MAX: usize = 20;

/// A row of the whole store or a database in a batch, without what is counted for itself.
const ROW_LEN: usize = 64;

fn object_row_len_max(object: &NewExternalObject) -> usize {
    let texts = |mime_type: &JsString, name: usize| 2 * (mime_type.units().len() + name);
    let own = match object {
        NewExternalObject::Blob { mime_type, .. } => texts(mime_type, 0),
        NewExternalObject::File {
            mime_type, name, ..
        } => texts(mime_type, name.units().len()),
        NewExternalObject::FileSystemAccessHandle { token } => token.len(),
    };
    own + ROW_LEN
}

/// External objects in the form of schema 3: without handles, and without sizes and times of files, which are those of
/// the files on disk.
fn encode_all_schema_3(objects: Vec<ExternalObject>, out: &mut Vec<u8>) {
    for object in objects {
        let (blob, name) = match object {
            ExternalObject::Blob(blob) => (blob, None),
            ExternalObject::File { blob, name, .. } => (blob, Some(name)),
            // Refused when it was put.
            ExternalObject::FileSystemAccessHandle { .. } => continue,
        };
        let BlobInfo {
            number,
            mime_type,
            size_bytes,
        } = blob;
        let kind = match name {
            Some(name) => Schema3Kind::File { name },
            None => Schema3Kind::Blob { size_bytes },
        };
        Schema3Object {
            number,
            mime_type,
            kind,
        }
        .encode(out);
    }
}

fn journal_row(kind: &GlobalKey, entries: &BTreeSet<BlobJournalEntry>) -> (Vec<u8>, Vec<u8>) {
    let mut value = Vec::new();
    let entries = entries.iter().copied().collect();
    BlobJournal { entries }.encode(&mut value);
    (global_key(kind), value)
}

/// Hands out numbers that no file has.
struct BlobNumbers {
    core: Arc<Core>,
    database_id: DatabaseId,
    /// The key of the row with the next number.
    key: Vec<u8>,
    next: i64,
}

impl BlobNumbers {
    fn new(core: Arc<Core>, database_id: DatabaseId) -> Result<Self> {
        let mut key = Vec::new();
        let field = DatabaseField::BlobNumberGenerator;
        DatabaseKey { database_id, field }.encode(&mut key);
        let next = match core.snapshot().get(&key)? {
            None => BlobNumber::MIN.get(),
            Some(row) => var_int::decode_exact(&row)
                .map_err(|error| Error::row(&key, "next blob number", error))?,
        };
        if BlobNumber::new(next).is_none() {
            let what = format!("{next} is no blob number");
            return Err(Error::inconsistent(&key, what));
        }
        Ok(Self {
            core,
            database_id,
            key,
            next,
        })
    }

    fn take(&mut self) -> Result<BlobNumber> {
        loop {
            let number = BlobNumber::new(self.next);
            let (Some(number), Some(next)) = (number, self.next.checked_add(1)) else {
                let what =
                    "the database has no blob numbers left: copy its records into a new database";
                return Err(Error::new(ErrorKind::Usage, what));
            };
            self.next = next;
            // Remains of an old bug of Chromium's.
            let path = self.core.paths.blob_file(self.database_id, number);
            if !files::exists(&*self.core.fs, &path)? {
                return Ok(number);
            }
        }
    }
}

impl Numbered {
    fn number(
        &mut self,
        object: NewExternalObject,
        numbers: &mut BlobNumbers,
    ) -> Result<ExternalObject> {
        Ok(match object {
            NewExternalObject::Blob { mime_type, content } => {
                ExternalObject::Blob(self.blob(mime_type, content, None, numbers)?)
            }
            NewExternalObject::File {
                mime_type,
                content,
                name,
                last_modified_micros,
            } => ExternalObject::File {
                blob: self.blob(mime_type, content, Some(last_modified_micros), numbers)?,
                name,
                last_modified_micros,
            },
            NewExternalObject::FileSystemAccessHandle { token } => {
                if let Some(handles) = &mut self.handles {
                    handles.push(numbers.take()?);
                }
                ExternalObject::FileSystemAccessHandle { token }
            }
        })
    }

    /// An empty blob has a number and no file, unless it is a `File` of schema 3.
    fn blob(
        &mut self,
        mime_type: JsString,
        content: Arc<dyn BlobSource>,
        last_modified_micros: Option<i64>,
        numbers: &mut BlobNumbers,
    ) -> Result<BlobInfo> {
        let number = numbers.take()?;
        let Ok(size_bytes) = i64::try_from(content.size_bytes()) else {
            let what = "a blob has at most 2^63-1 bytes";
            return Err(Error::new(ErrorKind::Usage, what));
        };
        self.entries.insert(entry(numbers.database_id, number));
        if size_bytes > 0 || (self.empty_files && last_modified_micros.is_some()) {
            self.files.push(NewFile {
                number,
                content,
                last_modified_micros,
            });
        }
        Ok(BlobInfo {
            number,
            mime_type,
            size_bytes,
        })
    }
}
