//! The versions of a record: the one that pages see, and those before it that still lie in LevelDB's files.

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
use super::row::engine;
use super::stores::{Looked, refused};
use crate::record::{ValueError, ValueReader};

/// One version.
pub(super) struct Version<'a> {
    looked: Looked<'a>,
    pub(super) primary_key: RawKey<'a>,
    /// As it is stored, without its number.
    pub(super) value: Vec<u8>,
    pub(super) number: Option<i64>,
    past: Option<Past>,
}

/// A version that pages do not see.
struct Past {
    became: Became,
    objects: Vec<ExternalObject>,
}

/// What has become of it since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Became {
    Overwritten,
    Deleted,
    /// Its transaction had not ended, and is taken back.
    Undone,
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
                past: None,
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
        let rows = rows(looked, primary_key, RecordTable::Data)?;
        let at = rows.iter().position(|row| row.sequence == sequence);
        let later = at.and_then(|at| rows.get(at.checked_sub(1)?));
        let bytes = value(looked, primary_key, RecordTable::Data, sequence)?;
        let bytes = bytes.ok_or_else(|| not_found("this version is not in the files any more"))?;
        let row = DataRow::decode_exact(&bytes).map_err(failed)?;
        let became = match (later, rows.first().map(|newest| newest.kind)) {
            (None, _) => {
                let seen = Self::seen(looked, primary_key);
                if let Ok(seen) = seen
                    && seen.number == Some(row.version.get())
                    && seen.value == row.value
                {
                    return Ok(seen);
                }
                Became::Undone
            }
            (_, Some(EntryKind::Deletion)) => Became::Deleted,
            _ => Became::Overwritten,
        };
        let until = later.map_or(u64::MAX, |later| later.sequence);
        Ok(Self {
            looked,
            primary_key,
            value: row.value.to_vec(),
            number: Some(row.version.get()),
            past: Some(Past {
                became,
                objects: objects(looked, primary_key, sequence..until)?,
            }),
        })
    }

    /// Why pages do not see it, if they do not.
    pub(super) fn past(&self) -> Option<&'static str> {
        self.past.as_ref().map(|past| match past.became {
            Became::Deleted => "deleted",
            Became::Overwritten => "overwritten",
            Became::Undone => "undone",
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
        if let Some(past) = &self.past {
            reader.set_objects(past.objects.clone());
        }
        reader.read(self.primary_key, &self.value, use_tree)
    }
}

/// What a version refers to: its list is written behind it, and before the next version.
fn objects(
    looked: Looked<'_>,
    key: RawKey<'_>,
    within: Range<u64>,
) -> Result<Vec<ExternalObject>, Refusal> {
    let rows = rows(looked, key, RecordTable::ExternalObject)?;
    let mut lists = rows
        .iter()
        .rev()
        .filter(|row| row.kind == EntryKind::Value && within.contains(&row.sequence));
    let Some(list) = lists.next() else {
        return Ok(Vec::new());
    };
    let bytes = value(looked, key, RecordTable::ExternalObject, list.sequence)?;
    decode_all(&bytes.unwrap_or_default()).map_err(failed)
}

/// What LevelDB's files have of one key.
pub(super) struct Row {
    pub(super) sequence: u64,
    pub(super) kind: EntryKind,
    pub(super) file: String,
    pub(super) size: usize,
}

/// So many are listed.
const ROWS_MAX: usize = 1000;

/// All of a record's rows in one table, the newest first. SQLite keeps none.
pub(super) fn rows(
    looked: Looked<'_>,
    key: RawKey<'_>,
    table: RecordTable,
) -> Result<Vec<Row>, Refusal> {
    let mut rows = Vec::new();
    each_row(looked, key, table, |entries| {
        rows.push(Row {
            sequence: entries.sequence(),
            kind: entries.kind(),
            file: entries.file_name().to_owned(),
            size: entries.value().map_err(engine)?.len(),
        });
        Ok(rows.len() < ROWS_MAX)
    })?;
    Ok(rows)
}

/// The value that a write has given to a record's row.
fn value(
    looked: Looked<'_>,
    key: RawKey<'_>,
    table: RecordTable,
    sequence: u64,
) -> Result<Option<Vec<u8>>, Refusal> {
    let mut value = None;
    each_row(looked, key, table, |entries| {
        if entries.sequence() == sequence && entries.kind() == EntryKind::Value {
            value = Some(entries.value().map_err(engine)?.to_vec());
        }
        Ok(entries.sequence() > sequence)
    })?;
    Ok(value)
}

/// Goes through the rows of one key as long as `goes_on` says so.
fn each_row(
    looked: Looked<'_>,
    key: RawKey<'_>,
    table: RecordTable,
    mut goes_on: impl FnMut(&Entries) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    let Some(snapshot) = looked.store.snapshot() else {
        return Ok(());
    };
    let row_key = row_key(looked, key, table);
    let mut entries = snapshot.entries();
    entries.seek(&row_key);
    while entries.advance().map_err(engine)? && entries.key() == row_key && goes_on(&entries)? {}
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
