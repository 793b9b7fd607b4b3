//! One record's rows beside each other, and its value.

use std::cmp::Ordering;

use larder_backing_store::{Error, ObjectStoreMetadata, Store, StoreRows};
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::{RecordKey, RecordTable};
use larder_codec::value::{Foreign, HostObject, Object, ParsedKeyPath, Tree};
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, Key, RawKey, RowKey, compare, feed};

use super::indexes::ExpectedKeys;
use super::metadata::Numbers;
use super::{Check, Checker, StoreId};
use crate::record::{ValueError, ValueReader, is_missing_file};

/// Decodes the values of one object store.
pub(super) struct Values<'a> {
    reader: ValueReader<'a>,
    path: Option<ParsedKeyPath>,
    pub(super) expected: Vec<ExpectedKeys>,
    /// Some values have their index keys from elsewhere, or could not be read: sums say nothing then.
    pub(super) unknown: u64,
}

/// What a value says that other rows say, too.
struct Said {
    /// The primary key that is in it does not have to be there, or is the right one.
    has_key: bool,
    /// External objects that it refers to and that its record does not have.
    missing_objects: bool,
    /// Its index keys are not in it.
    is_foreign: bool,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        store: &'a Store,
        database: DatabaseId,
        metadata: &'a ObjectStoreMetadata,
    ) -> Self {
        // A generated key is not in the value; a reader puts it there.
        let path = match metadata.auto_increment {
            true => None,
            false => ParsedKeyPath::new(&metadata.key_path),
        };
        Self {
            reader: ValueReader::new(store, database, metadata),
            path,
            expected: metadata
                .indexes
                .iter()
                .map(|index| ExpectedKeys::new(metadata, index))
                .collect(),
            unknown: 0,
        }
    }

    /// The keys under which an index should have this value; `None` if that cannot be known from it.
    pub(super) fn index_keys(
        &mut self,
        primary_key: RawKey<'_>,
        value: &[u8],
        index: usize,
    ) -> Result<Option<Vec<Key>>, ValueError> {
        let expected = self.expected.get(index);
        self.reader.read(primary_key, value, |tree, objects| {
            let is_foreign = Foreign::of_tree(tree).is_some();
            let keys = expected.map(|expected| expected.keys(tree, objects));
            keys.filter(|_| !is_foreign)
        })
    }
}

impl Checker<'_> {
    /// Decodes a record's value and adds up the index keys that are in it.
    pub(super) fn value(
        &mut self,
        row_key: &[u8],
        primary_key: RawKey<'_>,
        data: DataRow<'_>,
        values: &mut Values<'_>,
    ) {
        self.verdict.counts.values += 1;
        let (path, expected) = (&values.path, &mut values.expected);
        let read = values
            .reader
            .read(primary_key, data.value, |tree, objects| {
                let is_foreign = Foreign::of_tree(tree).is_some();
                if !is_foreign {
                    for index in expected.iter_mut() {
                        index.take(tree, objects, primary_key, data.version);
                    }
                }
                Said {
                    has_key: is_foreign || has_key(tree, objects, path.as_ref(), primary_key),
                    missing_objects: lacks_objects(tree, objects),
                    is_foreign,
                }
            });
        match read {
            Ok(said) => {
                values.unknown += u64::from(said.is_foreign);
                if !said.has_key {
                    let what = "the value has another key at the key path than the record has";
                    self.row(Check::KeyPath, row_key, what);
                }
                if said.missing_objects {
                    let what =
                        "the value refers to a blob, file or handle that the record does not have";
                    self.row(Check::Value, row_key, what);
                }
            }
            Err(error) => {
                values.unknown += 1;
                self.unreadable(row_key, &error);
            }
        }
    }

    /// A value, or a blob of it, that cannot be read. A missing file is no damage while a program has the store open, which may have
    /// deleted the record since.
    fn unreadable(&mut self, row_key: &[u8], error: &ValueError) {
        if self.store.lock_holder().is_some() && is_missing_file(error) {
            let place = super::Place::of_row(self.names.place(row_key));
            let what = format!("{error}: deleted since, by the program that has the store open");
            self.note(Check::Value, place, what);
        } else {
            self.row(Check::Value, row_key, error);
        }
    }

    /// Names the records whose exists row is missing or of another version, and the exists rows without a record.
    pub(super) fn compare_exists(&mut self, (database, store): StoreId) -> Result<(), Error> {
        let mut data = Table::open(self.store, (database, store), RecordTable::Data)?;
        let mut exists = Table::open(self.store, (database, store), RecordTable::Exists)?;
        let order = self.store.order().of_rows();
        let metadata = self.object_store(database, store);
        // The history of a change feed does without (`docs/format/feed.md`).
        let is_history = metadata.is_some_and(|metadata| feed::is_history(&metadata.name));
        loop {
            let next = match (&data.at, &exists.at) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(data), Some(exists)) => order.compare_user_keys(&data.key, &exists.key),
            };
            match (next, &data.at, &exists.at) {
                (Ordering::Equal, Some(record), Some(other)) => {
                    if record.version.is_some()
                        && other.version.is_some()
                        && record.version != other.version
                    {
                        let what = "its exists row has another version: no index finds the record";
                        self.row(Check::Record, &record.row, what);
                    }
                    data.step()?;
                    exists.step()?;
                }
                (Ordering::Less, Some(record), _) => {
                    if !is_history {
                        let what = "it has no exists row: no index finds the record";
                        self.row(Check::Record, &record.row, what);
                    }
                    data.step()?;
                }
                (_, _, Some(other)) => {
                    let what = "it has an exists row and no value";
                    self.row(Check::Record, &other.row, what);
                    exists.step()?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// The external objects of a record: whose they are, and which blobs.
    pub(super) fn external_objects(
        &mut self,
        row_key: &[u8],
        row: &RecordKey<'_>,
        lookup: &mut StoreRows,
        numbers: &mut Numbers,
    ) -> Result<(), Error> {
        let mut record = Vec::new();
        RecordKey {
            table: RecordTable::Data,
            ..*row
        }
        .encode(&mut record);
        if !lookup.find(&record)? {
            let what = "there are external objects of a record that is not there";
            self.row(Check::Record, row_key, what);
        }
        let objects = self
            .store
            .external_objects(row.database_id, row.object_store_id, row.key);
        match objects {
            Ok(objects) => {
                for object in &objects {
                    if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object {
                        numbers.blob(row.database_id, blob.number);
                        self.blob(row_key, row.database_id, blob);
                    }
                }
            }
            Err(error) => self.row(Check::Row, row_key, error.without_row()),
        }
        Ok(())
    }
}

fn has_key(
    tree: &Tree<'_>,
    objects: &[ExternalObject],
    path: Option<&ParsedKeyPath>,
    primary_key: RawKey<'_>,
) -> bool {
    let Some(path) = path else {
        return true;
    };
    let Some(found) = tree.evaluate(path, objects).key() else {
        return false;
    };
    let mut bytes = Vec::new();
    found.encode(&mut bytes);
    compare::compare_user_keys(&bytes, primary_key.as_bytes()).is_eq()
}

/// Whether a value refers to external objects that its record does not have.
pub(crate) fn lacks_objects(tree: &Tree<'_>, objects: &[ExternalObject]) -> bool {
    let lacks = |index: u32| usize::try_from(index).is_ok_and(|index| index >= objects.len());
    tree.objects().any(|object| match object {
        Object::Host(host) => match &**host {
            HostObject::Blob(index) | HostObject::File(index) => lacks(*index),
            HostObject::FileList(files) => files.iter().any(|index| lacks(*index)),
            _ => false,
        },
        _ => false,
    })
}

/// The data rows or the exists rows of an object store, one after the other.
struct Table {
    rows: StoreRows,
    id: StoreId,
    table: RecordTable,
    at: Option<TableRow>,
}

struct TableRow {
    row: Vec<u8>,
    key: Vec<u8>,
    /// `None` if the row cannot be decoded.
    version: Option<i64>,
}

impl Table {
    fn open(store: &Store, id: StoreId, table: RecordTable) -> Result<Self, Error> {
        let mut rows = store.rows();
        rows.seek(&larder_codec::range::table_low(id.0, id.1, table))?;
        let mut table = Self {
            rows,
            id,
            table,
            at: None,
        };
        table.step()?;
        Ok(table)
    }

    fn step(&mut self) -> Result<(), Error> {
        self.at = None;
        if !self.rows.next()? {
            return Ok(());
        }
        let row = self.rows.key();
        let Ok(RowKey::Record(key)) = RowKey::decode_exact(row) else {
            return Ok(());
        };
        if (key.database_id, key.object_store_id) != self.id || key.table != self.table {
            return Ok(());
        }
        let version = self.rows.value().ok().and_then(|value| match self.table {
            RecordTable::Data => DataRow::decode_exact(value).ok().map(|row| row.version),
            _ => ExistsRow::decode_exact(value).ok().map(|row| row.version),
        });
        self.at = Some(TableRow {
            row: row.to_vec(),
            key: key.key.as_bytes().to_vec(),
            version: version.map(larder_codec::RecordVersion::get),
        });
        Ok(())
    }
}
