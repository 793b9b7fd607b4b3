//! What is not certain, as JSON Lines: records in doubt with why, and records that are lost with where that is known from
//! (docs/format/salvaged.md).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use larder_backing_store::{DatabaseMetadata, Error, ObjectStoreMetadata, Store, StoreRows};
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::{RecordKey, RecordTable};
use larder_codec::versioned::DataRow;
use larder_codec::{JsString, KeyPath, RawKey, RowKey};
use larder_leveldb::storage::{FileSystem, WritableFile};
use serde::Serialize;

use super::Reason;
use super::damaged::Damaged;
use super::evidence::Evidence;
use super::survey::{StoreId, Survey, data_row, version_of};
use crate::display::Hex;
use crate::dump::push_key;
use crate::record::ValueReader;

/// Bytes gathered before a write.
const BUFFER_BYTES: usize = 64 << 10;

/// Where lines go; a file that no line goes to is not made. Without a folder they are only counted.
pub(super) struct Lines<'a> {
    fs: &'a dyn FileSystem,
    path: Option<PathBuf>,
    file: Option<Box<dyn WritableFile>>,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(fs: &'a dyn FileSystem, folder: Option<&Path>, name: &str) -> Self {
        Self {
            fs,
            path: folder.map(|folder| folder.join(name)),
            file: None,
            buffer: Vec::new(),
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        if self.path.is_none() {
            return Ok(());
        }
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        match self.buffer.len() >= BUFFER_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let failed = |error| io_error(path, error);
        if self.file.is_none() {
            self.file = Some(self.fs.create(path).map_err(failed)?);
        }
        if let Some(file) = &mut self.file {
            file.append(&self.buffer).map_err(failed)?;
        }
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left, durably.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        if !self.buffer.is_empty() {
            self.write()?;
        }
        match (&mut self.file, &self.path) {
            (Some(file), Some(path)) => file.sync().map_err(|error| io_error(path, error)),
            _ => Ok(()),
        }
    }
}

pub(super) fn io_error(path: &Path, error: std::io::Error) -> Error {
    larder_leveldb::Error::io(path, "cannot be written", error).into()
}

/// What was found.
#[derive(Default)]
pub(super) struct Salvaged {
    pub(super) by_reason: BTreeMap<&'static str, u64>,
    pub(super) lost: u64,
}

/// A line of `records.jsonl`, but for key and value.
#[derive(Serialize)]
struct Head<'a> {
    reason: &'static str,
    why: &'a str,
    database: &'a JsString,
    store: &'a JsString,
    /// Names are made up of ids: their metadata is lost, or was deleted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    generated: bool,
}

/// The records of `all` that are not kept.
pub(super) struct Walk<'a> {
    pub(super) all: &'a Store,
    /// With what unfinished transactions have written.
    pub(super) not_undone: Option<&'a Store>,
    /// As before, at the last write before something that is lost.
    pub(super) not_undone_before: Option<&'a Store>,
    /// With rows out of damaged places.
    pub(super) with_damaged: Option<&'a Store>,
    pub(super) damaged: &'a Damaged,
    pub(super) certain: &'a Store,
    pub(super) survey: &'a Survey,
    pub(super) evidence: Option<&'a Evidence>,
}

impl Walk<'_> {
    /// Writes a line for each record that is in doubt, and for each that is known to be lost.
    ///
    /// # Errors
    /// If a store cannot be read on; `Io`.
    pub(super) fn write(
        &self,
        fs: &dyn FileSystem,
        folder: Option<&Path>,
        tick: &mut dyn FnMut(),
    ) -> Result<Salvaged, Error> {
        let mut found = Salvaged::default();
        let mut records = Lines::new(fs, folder, "records.jsonl");
        let mut lost = Lines::new(fs, folder, "lost.jsonl");
        let databases = self.all.databases(&mut Vec::new())?;
        let mut kept = self.certain.rows();
        let mut there = self.all.rows();
        let mut rows = self.all.rows();
        let mut said: BTreeSet<Vec<u8>> = BTreeSet::new();
        while rows.next()? {
            tick();
            let key = rows.key().to_vec();
            let Ok(RowKey::Record(record)) = RowKey::decode_exact(&key) else {
                continue;
            };
            let id = (record.database_id, record.object_store_id);
            match record.table {
                RecordTable::Data => {
                    let version = version_of(&mut kept, &key)?;
                    let is_known = self.is_known(id);
                    let is_later = version.is_some()
                        && self
                            .evidence
                            .is_some_and(|evidence| evidence.as_of.is_some())
                        && kept.value()? != rows.value()?;
                    if version.is_some() && !is_later && self.is_kept(id, &key) {
                        continue;
                    }
                    let (reason, why) = match version.is_some() && !(is_later && is_known) {
                        true => self.reason_not_kept(id, &key),
                        false => self.reason_not_certain(id, &key),
                    };
                    *found.by_reason.entry(reason.name()).or_default() += 1;
                    if folder.is_some() {
                        let value = rows.value()?;
                        let (place, meta) = Place::of(&databases, id);
                        let head = place.head(reason, &why);
                        records.line(&line(self.all, &head, meta, &record, value))?;
                    }
                }
                RecordTable::Exists => {
                    let data = data_row(id, record.key);
                    if version_of(&mut there, &data)?.is_none() && !self.is_damaged(&data) {
                        found.lost += 1;
                        let why = "only the row that says that it exists is left";
                        lost.line(&lost_line(&databases, id, record.key, why))?;
                        said.insert(data);
                    }
                }
                RecordTable::ExternalObject => {}
            }
        }
        for key in self.evidence.iter().flat_map(|evidence| &evidence.lost) {
            let is_new = !said.contains(key)
                && !self.is_damaged(key)
                && version_of(&mut there, key)?.is_none();
            if let (true, Ok(RowKey::Record(record))) = (is_new, RowKey::decode_exact(key)) {
                found.lost += 1;
                let id = (record.database_id, record.object_store_id);
                let why =
                    "its key can be made out in a damaged log; it may have been deleted there";
                lost.line(&lost_line(&databases, id, record.key, why))?;
            }
        }
        self.not_kept(&mut found, (&mut records, folder.is_some()), tick)?;
        let count = self.not_committed((&mut records, folder.is_some()), tick)?;
        if count > 0 {
            let reason = Reason::NotCommitted.name();
            found.by_reason.insert(reason, count);
        }
        if let Some(store) = self.with_damaged {
            let count = self.out_of_damage(store, (&mut records, folder.is_some()), tick)?;
            if count > 0 {
                found.by_reason.insert(Reason::Damaged.name(), count);
            }
        }
        records.finish()?;
        lost.finish()?;
        Ok(found)
    }

    /// Whether a value of the record can be made out in a damaged place.
    fn is_damaged(&self, data_row: &[u8]) -> bool {
        let row = self.damaged.get(data_row);
        row.is_some_and(|row| row.value.is_some())
    }

    /// Writes a line for each record as a damaged place has it, unless it is whole elsewhere, and the same: how many.
    fn out_of_damage(
        &self,
        store: &Store,
        to: (&mut Lines<'_>, bool),
        tick: &mut dyn FnMut(),
    ) -> Result<u64, Error> {
        let mut others = vec![self.all.rows()];
        let more = [self.not_undone, self.not_undone_before];
        others.extend(more.into_iter().flatten().map(|store| store.rows()));
        list(store, to, tick, |_, key, value| {
            let row = self.damaged.get(key);
            let Some(row) = row.filter(|row| row.value.as_deref() == Some(value)) else {
                return Ok(None);
            };
            for other in &mut others {
                if has_row(other, key, value)? {
                    return Ok(None);
                }
            }
            let why = format!(
                "it is from a place in {} that does not have its checksum: key and value may be wrong",
                self.damaged.file(row)
            );
            Ok(Some((Reason::Damaged, why)))
        })
    }

    /// Writes a line for each record that is certain as of an earlier moment, is not kept, and is not there at the end, or otherwise.
    fn not_kept(
        &self,
        found: &mut Salvaged,
        to: (&mut Lines<'_>, bool),
        tick: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let mut at_the_end = self.all.rows();
        list(self.certain, to, tick, |id, key, value| {
            if self.is_kept(id, key) || has_row(&mut at_the_end, key, value)? {
                return Ok(None);
            }
            let (reason, why) = self.reason_not_kept(id, key);
            *found.by_reason.entry(reason.name()).or_default() += 1;
            Ok(Some((reason, why)))
        })?;
        Ok(())
    }

    /// Writes a line for each record as a transaction has left it whose commit may be lost: how many.
    fn not_committed(
        &self,
        (records, is_written): (&mut Lines<'_>, bool),
        tick: &mut dyn FnMut(),
    ) -> Result<u64, Error> {
        let what = "a transaction has written it whose commit is not there, and may be lost; the store is as it was before";
        let mut others = vec![self.all.rows(), self.certain.rows()];
        let mut count = 0;
        for store in [self.not_undone, self.not_undone_before]
            .into_iter()
            .flatten()
        {
            count += list(store, (&mut *records, is_written), tick, |_, key, value| {
                for other in &mut others {
                    if has_row(other, key, value)? {
                        return Ok(None);
                    }
                }
                Ok(Some((Reason::NotCommitted, what.to_owned())))
            })?;
            others.push(store.rows());
        }
        Ok(count)
    }

    fn is_kept(&self, id: StoreId, data_row: &[u8]) -> bool {
        !self.survey.dropped.contains_key(data_row) && self.is_known(id)
    }

    fn is_known(&self, (database, store): StoreId) -> bool {
        let mut databases = self.survey.databases.iter();
        let own = databases.find(|own| own.id == database);
        own.is_some_and(|own| own.object_stores.iter().any(|own| own.id == store))
    }

    /// Why a record is not kept whose row is certain.
    fn reason_not_kept(&self, id: StoreId, key: &[u8]) -> (Reason, String) {
        if let Some((reason, why)) = self.survey.dropped.get(key) {
            return (*reason, why.clone());
        }
        let what = match self.survey.databases.iter().any(|own| own.id == id.0) {
            false => "no database has its id: it was deleted, or its metadata is lost",
            true => "no object store has its id: it was deleted, or its metadata is lost",
        };
        (Reason::NoMetadata, what.to_owned())
    }

    /// Why a row is not certain, or not of the moment that is.
    fn reason_not_certain(&self, id: StoreId, key: &[u8]) -> (Reason, String) {
        match self.evidence {
            Some(evidence) => evidence.reason(key),
            None => self.reason_not_kept(id, key),
        }
    }
}

/// Lists the records of a store of which `why` says why they are listed, by object store and data row's key and value: how many. Their lines
/// are written if they are to be.
fn list(
    store: &Store,
    (records, is_written): (&mut Lines<'_>, bool),
    tick: &mut dyn FnMut(),
    mut why: impl FnMut(StoreId, &[u8], &[u8]) -> Result<Option<(Reason, String)>, Error>,
) -> Result<u64, Error> {
    let databases = store.databases(&mut Vec::new())?;
    let mut rows = store.rows();
    let mut count = 0;
    while rows.next()? {
        tick();
        let key = rows.key().to_vec();
        let record = match RowKey::decode_exact(&key) {
            Ok(RowKey::Record(record)) if record.table == RecordTable::Data => record,
            _ => continue,
        };
        let id = (record.database_id, record.object_store_id);
        let value = rows.value()?;
        let Some((reason, why)) = why(id, &key, value)? else {
            continue;
        };
        count += 1;
        if is_written {
            let (place, meta) = Place::of(&databases, id);
            let head = place.head(reason, &why);
            records.line(&line(store, &head, meta, &record, value))?;
        }
    }
    Ok(count)
}

/// Whether there is a row of this key with this value.
fn has_row(rows: &mut StoreRows, key: &[u8], value: &[u8]) -> Result<bool, Error> {
    Ok(rows.find(key)? && rows.value()? == value)
}

/// A line of `records.jsonl`.
fn line(
    store: &Store,
    head: &Head<'_>,
    metadata: Option<&ObjectStoreMetadata>,
    record: &RecordKey<'_>,
    row_value: &[u8],
) -> Vec<u8> {
    let mut line = json(head);
    line.pop();
    line.extend_from_slice(b",\"key\":");
    push_key(&mut line, record.key);
    let unnamed = ObjectStoreMetadata {
        id: record.object_store_id,
        name: JsString::default(),
        key_path: KeyPath::Null,
        auto_increment: false,
        indexes: Vec::new(),
    };
    let problem = match DataRow::decode_exact(row_value) {
        Err(error) => error.to_string(),
        Ok(row) => {
            let mut reader =
                ValueReader::new(store, record.database_id, metadata.unwrap_or(&unnamed));
            let mut text = Vec::new();
            let read = reader.read(record.key, row.value, |tree, objects| {
                text.extend_from_slice(b",\"value\":");
                let written = serde_json::to_writer(&mut text, tree);
                push_blobs(&mut text, objects);
                written.map_err(|error| error.to_string())
            });
            match read {
                Ok(Ok(())) => {
                    line.extend_from_slice(&text);
                    line.push(b'}');
                    return line;
                }
                Ok(Err(error)) => error,
                Err(error) => error.to_string(),
            }
        }
    };
    line.extend_from_slice(b",\"error\":");
    line.extend_from_slice(&json(&problem));
    // Writing into a vector cannot fail.
    let _ = write!(line, ",\"raw\":\"{}\"}}", Hex(row_value));
    line
}

/// The numbers of blobs, by which their files are named.
fn push_blobs(line: &mut Vec<u8>, objects: &[ExternalObject]) {
    let numbers: Vec<Option<i64>> = objects
        .iter()
        .map(|object| match object {
            ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => {
                Some(blob.number.get())
            }
            ExternalObject::FileSystemAccessHandle { .. } => None,
        })
        .collect();
    if !numbers.is_empty() {
        line.extend_from_slice(b",\"blobs\":");
        line.extend_from_slice(&json(&numbers));
    }
}

/// Names of a record's place.
struct Place {
    database: JsString,
    store: JsString,
    generated: bool,
}

impl Place {
    fn of(databases: &[DatabaseMetadata], id: StoreId) -> (Self, Option<&ObjectStoreMetadata>) {
        let database = databases.iter().find(|database| database.id == id.0);
        let mut stores = database.iter().flat_map(|database| &database.object_stores);
        let store = stores.find(|store| store.id == id.1);
        let place = Self {
            database: database.map_or_else(
                || JsString::from(&*format!("database-{}", id.0)),
                |database| database.name.clone(),
            ),
            store: store.map_or_else(
                || JsString::from(&*format!("object-store-{}", id.1)),
                |store| store.name.clone(),
            ),
            generated: store.is_none(),
        };
        (place, store)
    }

    fn head<'a>(&'a self, reason: Reason, why: &'a str) -> Head<'a> {
        Head {
            reason: reason.name(),
            why,
            database: &self.database,
            store: &self.store,
            generated: self.generated,
        }
    }
}

fn lost_line(databases: &[DatabaseMetadata], id: StoreId, key: RawKey<'_>, why: &str) -> Vec<u8> {
    let (place, _) = Place::of(databases, id);
    let mut line = json(&place.head(Reason::Lost, why));
    line.pop();
    line.extend_from_slice(b",\"key\":");
    push_key(&mut line, key);
    line.push(b'}');
    line
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Into memory, and of types that have a form: it cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}
