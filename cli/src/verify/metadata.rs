//! What the rows of metadata say beside what is there: ids and versions that were given, names, origins.

use std::collections::{BTreeMap, BTreeSet};

use larder_backing_store::{
    DATA_VERSION_MAX, DatabaseMetadata, KEY_GENERATOR_MAX, ObjectStoreMetadata,
};
use larder_codec::blob_journal::{BlobJournalEntry, JournalBlobs};
use larder_codec::idb_key::KeyPart;
use larder_codec::row_key::{DatabaseField, GlobalKey, ObjectStoreField};
use larder_codec::{
    BlobNumber, DatabaseId, JsString, RawKey, RecordVersion, RowKey, RowValue, feed,
};

use super::finding::Place;
use super::{Check, Checker, StoreId};
use crate::display::Quoted;
use crate::store_origin::shown;

/// The numbers that rows of metadata give, and those that were met.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    max_database_id: Option<i64>,
    databases: BTreeMap<DatabaseId, DatabaseNumbers>,
    stores: BTreeMap<StoreId, StoreNumbers>,
    /// Blobs that are to be removed.
    pub(super) journal: BTreeSet<BlobJournalEntry>,
    /// Blobs that records refer to, in no order.
    pub(super) blobs: Vec<(DatabaseId, BlobNumber)>,
}

#[derive(Debug, Default)]
struct DatabaseNumbers {
    max_object_store_id: Option<i64>,
    blob_numbers: Option<i64>,
    /// The greatest blob number of a record.
    greatest_blob: i64,
    /// Rows from the name of an object store to its id.
    names: Vec<(JsString, i64)>,
}

#[derive(Debug, Default)]
struct StoreNumbers {
    last_version: Option<i64>,
    max_index_id: Option<i64>,
    key_generator: Option<i64>,
    /// The greatest version of a record.
    greatest_version: i64,
    /// The greatest primary key that is a number.
    greatest_number: Option<f64>,
}

impl Numbers {
    /// Takes a row of metadata.
    pub(super) fn take(&mut self, row: &RowKey<'_>, value: &RowValue<'_>) {
        match (row, value) {
            (RowKey::Global(GlobalKey::MaxDatabaseId), RowValue::Int(id)) => {
                self.max_database_id = Some(*id);
            }
            (RowKey::Global(_), RowValue::BlobJournal(journal)) => {
                self.journal.extend(&journal.entries);
            }
            (RowKey::Database(key), RowValue::Int(id)) => {
                let numbers = self.databases.entry(key.database_id).or_default();
                match &key.field {
                    DatabaseField::MaxObjectStoreId => numbers.max_object_store_id = Some(*id),
                    DatabaseField::ObjectStoreName(name) => numbers.names.push((name.clone(), *id)),
                    _ => {}
                }
            }
            (RowKey::Database(key), RowValue::VarInt(number))
                if key.field == DatabaseField::BlobNumberGenerator =>
            {
                let numbers = self.databases.entry(key.database_id).or_default();
                numbers.blob_numbers = Some(*number);
            }
            (RowKey::ObjectStoreMetadata(key), RowValue::Int(number)) => {
                let id = (key.database_id, key.object_store_id);
                let numbers = self.stores.entry(id).or_default();
                match key.field {
                    ObjectStoreField::LastVersion => numbers.last_version = Some(*number),
                    ObjectStoreField::MaxIndexId => numbers.max_index_id = Some(*number),
                    ObjectStoreField::KeyGenerator => numbers.key_generator = Some(*number),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Takes a record.
    pub(super) fn record(&mut self, id: StoreId, version: RecordVersion, key: RawKey<'_>) {
        let numbers = self.stores.entry(id).or_default();
        numbers.greatest_version = numbers.greatest_version.max(version.get());
        if let Some(KeyPart::Number(number)) = key.parts().next() {
            let greatest = numbers.greatest_number.unwrap_or(number);
            numbers.greatest_number = Some(greatest.max(number));
        }
    }

    /// Takes a blob that a record refers to.
    pub(super) fn blob(&mut self, database: DatabaseId, number: BlobNumber) {
        let numbers = self.databases.entry(database).or_default();
        numbers.greatest_blob = numbers.greatest_blob.max(number.get());
        self.blobs.push((database, number));
    }

    /// The version that an object store has given last.
    pub(super) fn last_version(&self, id: StoreId) -> Option<i64> {
        self.stores.get(&id)?.last_version
    }

    /// Whether a journal has this blob.
    pub(super) fn is_in_journal(&self, database_id: DatabaseId, number: BlobNumber) -> bool {
        let has = |blobs| {
            let entry = BlobJournalEntry { database_id, blobs };
            self.journal.contains(&entry)
        };
        has(JournalBlobs::All) || has(JournalBlobs::One(number))
    }
}

impl Checker<'_> {
    /// Compares the metadata with what was met.
    pub(super) fn metadata(&mut self, numbers: &Numbers) {
        self.versions();
        for database in self.databases {
            self.verdict.counts.databases += 1;
            let max = numbers.max_database_id.unwrap_or(0);
            if database.id.get() > max {
                let what = format!("its id {} is above the greatest given, {max}", database.id);
                self.about_database(database, &what);
            }
            self.origin(database);
            let none = DatabaseNumbers::default();
            let own = numbers.databases.get(&database.id).unwrap_or(&none);
            self.database_numbers(database, own);
            for store in &database.object_stores {
                self.verdict.counts.object_stores += 1;
                let none = StoreNumbers::default();
                let own = numbers.stores.get(&(database.id, store.id));
                self.store_numbers(database, store, own.unwrap_or(&none));
            }
        }
    }

    fn versions(&mut self) {
        let store = self.store;
        // Recovery reports a schema that is not known; an empty store has none.
        if let Some(version) = store.data_version()
            && (version.v8 > DATA_VERSION_MAX.v8 || version.blink > DATA_VERSION_MAX.blink)
        {
            let what = format!(
                "values are of V8's version {} and Blink's {}, which are newer than what is known here",
                version.v8, version.blink
            );
            self.note(Check::Version, Place::store(), what);
        }
        if store.data_version().is_none() && !self.databases.is_empty() {
            let what = "there is no row with the versions of the values";
            self.fault(Check::Version, Place::store(), what);
        }
        if store.schema_version().is_none() && !self.databases.is_empty() {
            let what = "there is no row with the version of the schema";
            self.fault(Check::Version, Place::store(), what);
        }
    }

    /// Chromium shows no database of another origin than the folder's.
    fn origin(&mut self, database: &DatabaseMetadata) {
        let paths = self.store.paths();
        let Some(identifier) = paths.identifier() else {
            return;
        };
        let owner = database.origin.to_string_lossy();
        if owner.strip_suffix("@1") != Some(identifier) {
            let owner = owner.strip_suffix("@1").unwrap_or(&owner);
            let what = format!(
                "it is a database of {}, and the folder is that of {}: Chromium does not show it; larder copy --origin gives all \
                 databases the folder's origin",
                shown(owner),
                shown(identifier)
            );
            let place = self.place_of(database);
            self.fault(Check::Origin, place, what);
        }
    }

    fn database_numbers(&mut self, database: &DatabaseMetadata, numbers: &DatabaseNumbers) {
        let greatest = database.object_stores.iter().map(|store| store.id.get());
        let greatest = greatest.max().unwrap_or(0);
        let max = numbers.max_object_store_id.unwrap_or(0);
        if greatest > max {
            let what = format!("object store {greatest} is above the greatest id given, {max}");
            self.about_database(database, &what);
        }
        if let Some(next) = numbers.blob_numbers
            && numbers.greatest_blob >= next
        {
            let used = numbers.greatest_blob;
            let what =
                format!("blob {used} is in use, and the next new blob would get number {next}");
            self.about_database(database, &what);
        }
        for store in &database.object_stores {
            let mut names = numbers.names.iter();
            let row = names.find(|(_, id)| *id == store.id.get());
            let what = match row {
                Some((name, _)) if *name == store.name => continue,
                Some((name, _)) => format!(
                    "the list of names has {} for object store {}",
                    Quoted(name),
                    Quoted(&store.name)
                ),
                None => format!(
                    "the list of names lacks object store {}",
                    Quoted(&store.name)
                ),
            };
            self.about_names(database, &what);
        }
        for (name, id) in &numbers.names {
            let is_there = |store: &ObjectStoreMetadata| store.id.get() == *id;
            if !database.object_stores.iter().any(is_there) {
                let what = format!(
                    "the list of names has {} for object store {id}, which is not there",
                    Quoted(name)
                );
                self.about_names(database, &what);
            }
        }
    }

    /// Chromium writes that list and never reads it. Some Chromiums leave a name out when an object store is deleted and another of its
    /// name made by one version change (75, 119, 143: `fixtures/`).
    fn about_names(&mut self, database: &DatabaseMetadata, what: &str) {
        let what = format!("{what}; no browser reads that list");
        let place = self.place_of(database);
        self.note(Check::Metadata, place, what);
    }

    fn store_numbers(
        &mut self,
        database: &DatabaseMetadata,
        store: &ObjectStoreMetadata,
        numbers: &StoreNumbers,
    ) {
        let mut faults = Vec::new();
        // A change feed gives versions of its own to what it keeps (`docs/format/feed.md`).
        let own = match feed::is_reserved(&store.name) {
            true => feed::LOST_VERSION,
            false => 0,
        };
        if let Some(last) = numbers.last_version
            && numbers.greatest_version > last.max(own)
        {
            let greatest = numbers.greatest_version;
            faults.push(format!(
                "a record has version {greatest}, and the last that was given is {last}"
            ));
        }
        let greatest = store.indexes.iter().map(|index| index.id.get()).max();
        if let (Some(greatest), Some(max)) = (greatest, numbers.max_index_id)
            && greatest > max
        {
            faults.push(format!(
                "index {greatest} is above the greatest id given, {max}"
            ));
        }
        if let (true, Some(next), Some(greatest)) = (
            store.auto_increment,
            numbers.key_generator,
            numbers.greatest_number,
        ) && next <= KEY_GENERATOR_MAX
        {
            #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
            let next = next as f64;
            if next <= greatest {
                faults.push(format!(
                    "the key generator would give {next}, and there is a record with the key {greatest}"
                ));
            }
        }
        for what in faults {
            let mut place = self.place_of(database);
            place.add_object_store(&store.name);
            self.fault(Check::Metadata, place, what);
        }
    }

    fn about_database(&mut self, database: &DatabaseMetadata, what: &str) {
        let place = self.place_of(database);
        self.fault(Check::Metadata, place, what);
    }

    fn place_of(&self, database: &DatabaseMetadata) -> Place {
        Place::of_database(&database.name)
    }
}
