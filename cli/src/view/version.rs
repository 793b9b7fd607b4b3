//! The versions of a record: the one that pages see, and others that lie in LevelDB's files.

use std::ops::Range;

use larder_backing_store::Record;
use larder_codec::RawKey;
use larder_codec::external_object::{ExternalObject, decode_all};
use larder_codec::row_key::{RecordKey, RecordTable};
use larder_codec::value::Tree;
use larder_codec::versioned::DataRow;
use larder_leveldb::{Entries, EntryKind};
use larder_view::Refusal;

use super::asked::OneRecord;
use super::failed;
use super::fate::{Fate, Fates};
use super::stores::{Looked, engine, refused};
use crate::record::{ValueError, ValueReader};

/// One version.
pub(super) struct Version<'a> {
    looked: Looked<'a>,
    pub(super) primary_key: RawKey<'a>,
    /// As it is stored, without its number.
    pub(super) value: Vec<u8>,
    pub(super) number: Option<i64>,
    pub(super) fate: Fate,
    /// What it refers to, where that is not what the store has for its record.
    objects: Option<Vec<ExternalObject>>,
}

impl<'a> Version<'a> {
    /// The version that is asked for.
    pub(super) fn of(looked: Looked<'a>, one: &'a OneRecord) -> Result<Self, Refusal> {
        let primary_key = one.primary_key.key()?;
        match one.sequence {
            None => Self::seen(looked, primary_key),
            Some(sequence) => Self::written(looked, primary_key, sequence),
        }
    }

    fn seen(looked: Looked<'a>, primary_key: RawKey<'a>) -> Result<Self, Refusal> {
        let mut record = Record::new();
        let (database, object_store) = (looked.database.id, looked.object_store.id);
        let is_there = looked
            .store
            .get(database, object_store, primary_key, &mut record);
        match is_there.map_err(refused)? {
            true => Ok(Self {
                looked,
                primary_key,
                value: record.value().to_vec(),
                number: record.version().map(|version| version.get()),
                fate: Fate::Live,
                objects: None,
            }),
            false => Err(not_found("there is no record with this key")),
        }
    }

    /// The version that a write of this number wrote.
    fn written(
        looked: Looked<'a>,
        primary_key: RawKey<'a>,
        sequence: u64,
    ) -> Result<Self, Refusal> {
        let (mut until, mut found) = (u64::MAX, None);
        each_row(looked, primary_key, RecordTable::Data, |fate, row| {
            match row.sequence() == sequence && row.kind() == EntryKind::Value {
                true => found = Some((fate, row.value().map_err(engine)?.to_vec())),
                false => until = row.sequence(),
            }
            Ok(row.sequence() > sequence)
        })?;
        let gone = || not_found("this version is not in the files any more");
        let (fate, bytes) = found.ok_or_else(gone)?;
        let row = DataRow::decode_exact(&bytes).map_err(failed)?;
        let objects = match fate {
            Fate::Live => None,
            _ => Some(objects(looked, primary_key, sequence..until)?),
        };
        Ok(Self {
            looked,
            primary_key,
            value: row.value.to_vec(),
            number: Some(row.version.get()),
            fate,
            objects,
        })
    }

    /// Decodes it and calls `use_tree` with it and what it refers to.
    pub(super) fn read<R>(
        &self,
        use_tree: impl FnOnce(&Tree<'_>, &[ExternalObject]) -> R,
    ) -> Result<R, ValueError> {
        let Looked {
            store,
            database,
            object_store,
            ..
        } = self.looked;
        let mut reader = ValueReader::new(store, database.id, object_store);
        if let Some(objects) = &self.objects {
            reader.set_objects(objects.clone());
        }
        reader.read(self.primary_key, &self.value, use_tree)
    }
}

/// What a version refers to: its list is written with it or behind it, and before the next version.
fn objects(
    looked: Looked<'_>,
    key: RawKey<'_>,
    within: Range<u64>,
) -> Result<Vec<ExternalObject>, Refusal> {
    let mut list = Vec::new();
    each_row(looked, key, RecordTable::ExternalObject, |_, row| {
        if within.contains(&row.sequence()) && row.kind() == EntryKind::Value {
            list = row.value().map_err(engine)?.to_vec();
        }
        Ok(row.sequence() > within.start)
    })?;
    decode_all(&list).map_err(failed)
}

/// Goes through all of a record's rows in one table, the newest first, as long as `goes_on` says so. SQLite keeps none.
pub(super) fn each_row(
    looked: Looked<'_>,
    key: RawKey<'_>,
    table: RecordTable,
    mut goes_on: impl FnMut(Fate, &Entries) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    let Some(snapshot) = looked.store.snapshot() else {
        return Ok(());
    };
    let row_key = row_key(looked, key, table);
    let mut fates = Fates::of(looked.store);
    let mut entries = snapshot.entries();
    entries.seek(&row_key);
    while entries.advance().map_err(engine)?
        && entries.key() == row_key
        && goes_on(fates.next(&entries)?, &entries)?
    {}
    Ok(())
}

/// The key of a record's row.
pub(super) fn row_key(looked: Looked<'_>, key: RawKey<'_>, table: RecordTable) -> Vec<u8> {
    let mut row_key = Vec::new();
    RecordKey {
        database_id: looked.database.id,
        object_store_id: looked.object_store.id,
        table,
        key,
    }
    .encode(&mut row_key);
    row_key
}

fn not_found(what: &str) -> Refusal {
    Refusal::NotFound(what.to_owned())
}
