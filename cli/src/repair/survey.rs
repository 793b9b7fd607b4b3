//! Which records of the certain rows make up whole ones, and what must be added to them.

use std::collections::{BTreeMap, HashMap};

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, Error, ErrorKind, KEY_GENERATOR_MAX, ObjectStoreMetadata,
    Store, StoreRows,
};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::idb_key::KeyPart;
use larder_codec::row_key::{
    IndexDataKey, ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable,
};
use larder_codec::value::{Foreign, ParsedKeyPath};
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{
    DataVersion, DatabaseId, IndexId, KeyPath, ObjectStoreId, RawKey, RecordVersion, RowKey, feed,
};
use larder_leveldb::storage::RandomFile;

use super::Reason;
use crate::copy::Blob;
use crate::feed_notes::FeedNotes;
use crate::record::ValueReader;
use crate::verify::{is_there, lacks_objects};

/// A blob with nothing but zeros is one that a disk has lost, if it has so many.
const ZEROS_MIN: u64 = 512;

/// The last schema that has no length and no time of a file.
const SCHEMA_WITHOUT_LENGTHS: i64 = 3;

/// Which object store.
pub(super) type StoreId = (DatabaseId, ObjectStoreId);

/// What was found.
#[derive(Default)]
pub(super) struct Survey {
    /// The databases whose metadata is whole.
    pub(super) databases: Vec<DatabaseMetadata>,
    /// Records of them that are not kept, by the key of their data row.
    pub(super) dropped: HashMap<Vec<u8>, (Reason, String)>,
    /// Records that are left out, as they say something of the LevelDB that was.
    pub(super) feed_notes: FeedNotes,
    /// How many are kept.
    pub(super) records: u64,
    /// Their blobs.
    pub(super) blobs: Vec<Blob>,
    pub(super) blob_bytes: u64,
    /// How many of them have a length that the store does not say.
    pub(super) unmeasured_blobs: u64,
    /// Index rows that the values have and the store lacks.
    pub(super) index_rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// The greatest versions in which they were written.
    pub(super) versions: Option<DataVersion>,
    /// The greatest of what the records have, by object store.
    pub(super) numbers: BTreeMap<StoreId, Numbers>,
    /// What is wrong with metadata.
    pub(super) problems: Vec<String>,
}

/// The greatest numbers in an object store.
#[derive(Clone, Copy, Default)]
pub(super) struct Numbers {
    pub(super) version: i64,
    /// The next number of a key generator.
    pub(super) next_key: i64,
}

/// Looks at every record of a staged store. `is_damaged`: index rows may be missing.
///
/// # Errors
/// If it cannot be read on.
pub(super) fn survey(
    store: &Store,
    is_damaged: bool,
    tick: &mut dyn FnMut(),
) -> Result<Survey, Error> {
    let mut survey = Survey::default();
    let mut problems = Vec::new();
    let databases = store.databases(&mut problems)?;
    let doubtful = stores_in_doubt(&problems);
    survey.problems = problems.iter().map(ToString::to_string).collect();
    for mut database in databases {
        if database.version.is_none() {
            continue;
        }
        database
            .object_stores
            .retain(|object_store| !doubtful.contains(&(database.id, object_store.id)));
        for object_store in &mut database.object_stores {
            // One without a key path has no rows.
            object_store
                .indexes
                .retain(|index| index.key_path != KeyPath::Null);
        }
        survey.feed_notes.add(&database);
        for object_store in &database.object_stores {
            Walk {
                store,
                survey: &mut survey,
                is_damaged,
                lookup: store.rows(),
            }
            .object_store(&database, object_store, tick)?;
        }
        survey.databases.push(database);
    }
    Ok(survey)
}

/// Object stores that lack a row without which their records may mean something else.
fn stores_in_doubt(problems: &[Error]) -> Vec<StoreId> {
    let store_of = |error: &Error| match RowKey::decode_exact(error.key()?) {
        Ok(RowKey::ObjectStoreMetadata(key)) => {
            let is_number = matches!(
                key.field,
                ObjectStoreField::LastVersion | ObjectStoreField::MaxIndexId
            );
            (!is_number).then_some((key.database_id, key.object_store_id))
        }
        _ => None,
    };
    problems.iter().filter_map(store_of).collect()
}

struct Walk<'a> {
    store: &'a Store,
    survey: &'a mut Survey,
    is_damaged: bool,
    lookup: StoreRows,
}

/// What a value has to say.
struct Said {
    /// Why the record is not kept.
    refused: Option<String>,
    versions: DataVersion,
    /// The keys that each index should have, unless the value is another engine's.
    keys: Vec<(IndexId, Vec<u8>)>,
}

impl Walk<'_> {
    fn object_store(
        &mut self,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
        tick: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let id = (database.id, object_store.id);
        let mut reader = ValueReader::new(self.store, database.id, object_store);
        let paths: Vec<_> = object_store
            .indexes
            .iter()
            .filter(|index| !has_generated_part(object_store, &index.key_path))
            .filter_map(|index| {
                let path = ParsedKeyPath::new(&index.key_path)?;
                Some((index.id, path, index.multi_entry))
            })
            .collect();
        let is_history = feed::is_history(&object_store.name);
        let next = CursorDirection::Next;
        let mut rows = self.store.records(database.id, object_store.id, next);
        loop {
            match rows.next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    // Its row cannot be decoded: it is salvaged as bytes.
                    if let Some(key) = error.key() {
                        let why = error.without_row().to_string();
                        let entry = (Reason::Undecodable, why);
                        self.survey.dropped.insert(key.to_vec(), entry);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            }
            tick();
            let primary_key = rows.primary_key()?;
            if self.survey.feed_notes.has(id, primary_key) {
                continue;
            }
            let Some(version) = rows.version() else {
                continue;
            };
            let row = data_row(id, primary_key);
            if !is_history && !self.exists(id, primary_key, version)? {
                let why = "the row that says that it exists is lost or of another version";
                let entry = (Reason::Incomplete, why.to_owned());
                self.survey.dropped.insert(row, entry);
                continue;
            }
            let value = rows.value()?;
            let said = reader.read(primary_key, value, |tree, objects| Said {
                refused: lacks_objects(tree, objects)
                    .then(|| "the rows of its blobs or files are lost".to_owned()),
                versions: tree.versions().into(),
                keys: match Foreign::of_tree(tree) {
                    Some(_) => Vec::new(),
                    None => index_keys(&paths, |path, multi| tree.index_keys(path, multi, objects)),
                },
            });
            match said {
                Err(error) => {
                    // It may lie in a blob, of which the row has only the number.
                    let objects = self.store.external_objects(id.0, id.1, primary_key);
                    let objects = objects.unwrap_or_default();
                    let lost = objects
                        .iter()
                        .find_map(|object| self.lost_blob(id.0, object));
                    let entry = match lost {
                        Some(why) => (Reason::BlobLost, why),
                        None => (Reason::Undecodable, error.to_string()),
                    };
                    self.survey.dropped.insert(row, entry);
                }
                Ok(said) => self.value(id, row, primary_key, version, &said)?,
            }
        }
        Ok(())
    }

    /// Whether the row that says that the record exists is there, with its version.
    fn exists(
        &mut self,
        id: StoreId,
        key: RawKey<'_>,
        version: RecordVersion,
    ) -> Result<bool, Error> {
        let mut row = Vec::new();
        RecordKey {
            database_id: id.0,
            object_store_id: id.1,
            table: RecordTable::Exists,
            key,
        }
        .encode(&mut row);
        if !self.lookup.find(&row)? {
            return Ok(false);
        }
        let exists = ExistsRow::decode_exact(self.lookup.value()?);
        Ok(exists.is_ok_and(|row| row.version == version))
    }

    fn value(
        &mut self,
        id: StoreId,
        row: Vec<u8>,
        primary_key: RawKey<'_>,
        version: RecordVersion,
        said: &Said,
    ) -> Result<(), Error> {
        // With the blob that has the value itself.
        let objects = match self.store.external_objects(id.0, id.1, primary_key) {
            Ok(objects) => objects,
            Err(error) => {
                let entry = (Reason::BlobLost, error.without_row().to_string());
                self.survey.dropped.insert(row, entry);
                return Ok(());
            }
        };
        let lost = objects
            .iter()
            .find_map(|object| self.lost_blob(id.0, object));
        if let Some(why) = said.refused.clone().or(lost) {
            self.survey.dropped.insert(row, (Reason::BlobLost, why));
            return Ok(());
        }
        self.survey.records += 1;
        let greatest = self.survey.versions.get_or_insert(said.versions);
        greatest.v8 = greatest.v8.max(said.versions.v8);
        greatest.blink = greatest.blink.max(said.versions.blink);
        let numbers = self.survey.numbers.entry(id).or_default();
        numbers.version = numbers.version.max(version.get());
        if let Some(KeyPart::Number(number)) = primary_key.parts().next() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                reason = "within 2^53"
            )]
            if number >= 1.0 && number < KEY_GENERATOR_MAX as f64 {
                numbers.next_key = numbers.next_key.max(number.floor() as i64 + 1);
            }
        }
        for object in &objects {
            if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object {
                let size_bytes = u64::try_from(blob.size_bytes).unwrap_or(0);
                self.survey.blob_bytes += size_bytes;
                let is_file = matches!(object, ExternalObject::File { .. });
                self.survey.unmeasured_blobs += u64::from(is_file && self.lacks_lengths());
                self.survey.blobs.push(Blob {
                    database: id.0,
                    number: blob.number,
                    size_bytes,
                });
            }
        }
        if self.is_damaged {
            self.add_index_rows(id, primary_key, version, &said.keys)?;
        }
        Ok(())
    }

    fn add_index_rows(
        &mut self,
        id: StoreId,
        primary_key: RawKey<'_>,
        version: RecordVersion,
        keys: &[(IndexId, Vec<u8>)],
    ) -> Result<(), Error> {
        for (index, bytes) in keys {
            let Ok(key) = RawKey::decode_exact(bytes) else {
                continue;
            };
            let mut row = Vec::new();
            IndexDataKey::new(id.0, id.1, *index, key, primary_key).encode(&mut row);
            if !is_there(&mut self.lookup, &row, Some(version))? {
                let mut value = Vec::new();
                IndexRow {
                    version,
                    primary_key,
                }
                .encode(&mut value);
                self.survey.index_rows.push((row, value));
            }
        }
        Ok(())
    }

    /// Whether lengths and times of files are those of the disk: the store does not say them.
    fn lacks_lengths(&self) -> bool {
        let schema = self.store.schema_version();
        schema.is_none_or(|schema| schema <= SCHEMA_WITHOUT_LENGTHS)
    }

    /// Why a blob's file is not what it was, as far as that can be known: there is no sum of its content.
    fn lost_blob(&self, database: DatabaseId, object: &ExternalObject) -> Option<String> {
        let (ExternalObject::Blob(blob) | ExternalObject::File { blob, .. }) = object else {
            return None;
        };
        let path = self.store.paths().blob_file(database, blob.number);
        // A file that is not there is read as an empty one of no time.
        let is_unknown = matches!(
            object,
            ExternalObject::File { last_modified_micros: 0, .. } if self.lacks_lengths()
        );
        let problem = match is_unknown && self.store.fs().metadata(&path).is_err() {
            true => "there is no such file, and the store does not say that it is empty".to_owned(),
            false => self.blob_problem(&path, blob)?,
        };
        let below = path.strip_prefix(&self.store.paths().blob).unwrap_or(&path);
        Some(format!("blob file {}: {problem}", below.display()))
    }

    fn blob_problem(&self, path: &std::path::Path, blob: &BlobInfo) -> Option<String> {
        let file = match self.store.fs().open_random(path) {
            Ok(file) => file,
            // An empty one mostly has no file.
            Err(_) if blob.size_bytes == 0 => return None,
            Err(error) => return Some(error.to_string()),
        };
        let len = match file.len() {
            Ok(len) => len,
            Err(error) => return Some(error.to_string()),
        };
        // Schema 3 does not always say the size.
        let wanted = u64::try_from(blob.size_bytes).ok();
        if wanted.is_some_and(|wanted| wanted != len) {
            let wanted = wanted.unwrap_or(0);
            return Some(format!("it has {len} bytes, not {wanted}"));
        }
        (len >= ZEROS_MIN && is_zeros(&*file).unwrap_or(false))
            .then(|| "it has nothing but zeros".to_owned())
    }
}

fn index_keys(
    paths: &[(IndexId, ParsedKeyPath, bool)],
    keys: impl Fn(&ParsedKeyPath, bool) -> Vec<larder_codec::Key>,
) -> Vec<(IndexId, Vec<u8>)> {
    let mut all = Vec::new();
    for (index, path, multi_entry) in paths {
        for key in keys(path, *multi_entry) {
            let mut bytes = Vec::new();
            key.encode(&mut bytes);
            all.push((*index, bytes));
        }
    }
    all
}

/// Whether a part of an index's keys is the generated primary key, which old Chromiums do not see.
fn has_generated_part(store: &ObjectStoreMetadata, key_path: &KeyPath) -> bool {
    match (&store.key_path, key_path) {
        (KeyPath::String(own), KeyPath::Array(parts)) => {
            store.auto_increment && parts.contains(own)
        }
        _ => false,
    }
}

fn is_zeros(file: &dyn RandomFile) -> std::io::Result<bool> {
    let mut piece = vec![0; 64 << 10];
    let mut at = 0;
    loop {
        let len = file.read_at(at, &mut piece)?;
        let read = piece.get(..len).unwrap_or_default();
        match read.iter().all(|byte| *byte == 0) {
            true if len == 0 => return Ok(true),
            true => at += len as u64,
            false => return Ok(false),
        }
    }
}

/// The key of a record's data row.
pub(super) fn data_row(id: StoreId, key: RawKey<'_>) -> Vec<u8> {
    let mut row = Vec::new();
    RecordKey {
        database_id: id.0,
        object_store_id: id.1,
        table: RecordTable::Data,
        key,
    }
    .encode(&mut row);
    row
}

/// The version of a record by its data row, if there is one.
///
/// # Errors
/// If the store cannot be read on.
pub(super) fn version_of(
    lookup: &mut StoreRows,
    data_row: &[u8],
) -> Result<Option<RecordVersion>, Error> {
    if !lookup.find(data_row)? {
        return Ok(None);
    }
    let row = DataRow::decode_exact(lookup.value()?);
    Ok(row.ok().map(|row| row.version))
}

/// The key of a number of an object store.
pub(super) fn number_row(id: StoreId, field: ObjectStoreField) -> Vec<u8> {
    let mut row = Vec::new();
    ObjectStoreMetadataKey {
        database_id: id.0,
        object_store_id: id.1,
        field,
    }
    .encode(&mut row);
    row
}
