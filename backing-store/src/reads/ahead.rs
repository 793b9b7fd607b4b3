//! Records that are about to be read, several at a time.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{DatabaseId, IdbKey, IndexId, KeyPrefix, ObjectStoreId, RecordVersion};
use larder_leveldb::{LookAhead, Snapshot};
use std::ops::Range;

use super::{Reads, record_row_prefix};

/// Records that will be read one after the other, and what is known of where they lie ([`Reads::look_ahead`]). It keeps its memory.
#[derive(Debug, Default)]
pub struct RecordsAhead {
    /// Of the last look: that nobody writes where it looked.
    lookups: Option<LookAhead>,
    records: Vec<RecordAhead>,
    /// So many keys of rows were noted in `lookups`, and their bytes.
    noted: usize,
    row_keys: Vec<u8>,
    /// Memory for an index row's value, and the names of index keys, each behind the prefix of the index.
    row: Vec<u8>,
    names: Vec<u8>,
    name_ends: Vec<usize>,
}

/// Where a record may be found.
#[derive(Debug, Clone)]
struct RecordAhead {
    row: Noted,
    /// Where primary keys start in keys of its rows.
    key_start: usize,
    /// Of one that an index leads to: the exists row, and the version that it has if the record is the one.
    exists: Option<(Noted, RecordVersion)>,
}

/// The key of a row: its number in what was noted, and its bytes.
#[derive(Debug, Clone)]
struct Noted {
    number: usize,
    row_key: Range<usize>,
}

/// What is known of a record that was looked ahead for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// Its value begins there.
    Value(usize),
    /// There is none.
    Absent,
}

impl RecordsAhead {
    /// How many bytes the `n`th primary key has.
    #[must_use]
    pub fn primary_key_len(&self, n: usize) -> usize {
        let record = self.records.get(n);
        record.map_or(0, |record| record.row.row_key.len() - record.key_start)
    }

    fn clear(&mut self) {
        self.records.clear();
        self.row_keys.clear();
        self.noted = 0;
    }

    /// What looks a snapshot's rows up, with nothing noted yet.
    fn begin(&mut self, snapshot: &Snapshot) -> Option<()> {
        match &mut self.lookups {
            Some(lookups) if lookups.snapshot().is_same(snapshot) => lookups.clear(),
            others => {
                *others = Some(snapshot.look_ahead()?);
            }
        }
        Some(())
    }

    /// Notes a row of the record with this primary key.
    fn note(&mut self, prefix: &[u8], primary_key: impl Fn(&mut Vec<u8>)) -> Noted {
        let start = self.row_keys.len();
        self.row_keys.extend_from_slice(prefix);
        primary_key(&mut self.row_keys);
        let row_key = start..self.row_keys.len();
        if let Some(lookups) = &mut self.lookups {
            lookups.note(&self.row_keys[start..]);
        }
        self.noted += 1;
        let number = self.noted - 1;
        Noted { number, row_key }
    }

    /// Notes index keys: whether it is known which rows are their first, as it is if all rows lie in one memtable.
    fn note_index_keys<'a>(
        &mut self,
        prefix: &[u8],
        index_keys: impl Iterator<Item = &'a IdbKey>,
    ) -> bool {
        self.names.clear();
        self.name_ends.clear();
        let Some(lookups) = &mut self.lookups else {
            return false;
        };
        for index_key in index_keys {
            let start = self.names.len();
            self.names.extend_from_slice(prefix);
            index_key.encode(&mut self.names);
            self.name_ends.push(self.names.len());
            lookups.note_group(&self.names[start..]);
        }
        lookups.touch_only_groups()
    }

    /// Notes the rows of the records that the index keys' first rows lead to.
    fn note_first_records(&mut self, [exists, data]: &[Vec<u8>; 2]) {
        let mut row = std::mem::take(&mut self.row);
        let mut start = 0;
        for n in 0..self.name_ends.len() {
            row.clear();
            let name = start..self.name_ends[n];
            start = name.end;
            let lookups = self.lookups.as_ref();
            let is_known = lookups
                .is_some_and(|lookups| lookups.first_of_group(n, &self.names[name], &mut row));
            let row = IndexRow::decode_exact(&row).ok().filter(|_| is_known);
            let record = row.map(|row| {
                let primary_key = |out: &mut Vec<u8>| row.primary_key.encode(out);
                let exists = self.note(exists, primary_key);
                RecordAhead {
                    row: self.note(data, primary_key),
                    key_start: data.len(),
                    exists: Some((exists, row.version)),
                }
            });
            self.records.push(record.unwrap_or(RecordAhead::UNKNOWN));
        }
        self.row = row;
    }

    /// Notes the rows of the records that the index keys' first rows in any memtable lead to: more is not known.
    fn note_likely_records(&mut self, tables: &[Vec<u8>; 2]) {
        let row_key = &mut self.row;
        let Some(lookups) = &mut self.lookups else {
            return;
        };
        lookups.touch_groups(|value, lookups| {
            // Anything else is another row, which has the same hash.
            let Ok(row) = IndexRow::decode_exact(value) else {
                return;
            };
            for prefix in tables {
                row_key.clear();
                row_key.extend_from_slice(prefix);
                row.primary_key.encode(row_key);
                lookups.note(row_key);
            }
        });
    }
}

impl RecordAhead {
    /// One that has to be looked for.
    const UNKNOWN: Self = Self {
        row: Noted {
            number: usize::MAX,
            row_key: 0..0,
        },
        key_start: 0,
        exists: None,
    };
}

impl Reads {
    /// As many keys as [`look_ahead`](Self::look_ahead) looks at.
    pub const AHEAD_MAX: usize = LookAhead::KEYS_MAX;

    /// Brings the records with these primary keys nearer, as far as they are committed and lie in memory: reading them one after
    /// the other does not wait for memory each time then. Of a view that nobody writes to it is kept in `ahead` where they lie,
    /// for [`append_ahead`](Self::append_ahead). They are read the same without. Gives how many seem to be there.
    pub fn look_ahead<'a>(
        &self,
        ahead: &mut RecordsAhead,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_keys: impl IntoIterator<Item = &'a IdbKey>,
    ) -> usize {
        ahead.clear();
        let look = |snapshot: &Snapshot| {
            ahead.begin(snapshot)?;
            let prefix = record_row_prefix(database_id, object_store_id, RecordTable::Data);
            for primary_key in primary_keys.into_iter().take(Self::AHEAD_MAX) {
                let row = ahead.note(&prefix, |out| primary_key.encode(out));
                ahead.records.push(RecordAhead {
                    row,
                    key_start: prefix.len(),
                    exists: None,
                });
            }
            Some(ahead.lookups.as_mut()?.touch())
        };
        self.view.with_snapshot(look).flatten().unwrap_or_default()
    }

    /// Appends to `out` the row of the record with the `n`th primary key, from 0, that [`look_ahead`](Self::look_ahead) looked at
    /// last. Of the row the record's value is the end: where it begins in `out`. `None` if it is not known, or longer than
    /// `len_max`, and the record is to be read as any other; then `out` is as it was.
    pub fn append_ahead(
        &self,
        ahead: &RecordsAhead,
        n: usize,
        len_max: usize,
        out: &mut Vec<u8>,
    ) -> Option<Ahead> {
        let lookups = ahead.lookups.as_ref()?;
        let snapshot = self.view.committed_snapshot()?;
        if !lookups.snapshot().is_same(snapshot) || self.surroundings.lost_writes {
            return None;
        }
        let record = ahead.records.get(n)?;
        let row_key = |noted: &Noted| ahead.row_keys.get(noted.row_key.clone());
        let start = out.len();
        if let Some((exists, version)) = &record.exists {
            let is_there = lookups.append_to(exists.number, row_key(exists)?, 8, out)?;
            let row = ExistsRow::decode_exact(&out[start..]);
            out.truncate(start);
            if !is_there || row.ok()?.version != *version {
                return None;
            }
        }
        let row = &record.row;
        if !lookups.append_to(row.number, row_key(row)?, len_max, out)? {
            return Some(Ahead::Absent);
        }
        match DataRow::decode_exact(&out[start..]) {
            Ok(row) => {
                let value_start = out.len() - row.value.len();
                Some(Ahead::Value(value_start))
            }
            // Who reads it finds out what is wrong.
            Err(_) => {
                out.truncate(start);
                None
            }
        }
    }

    /// As many index keys as [`look_ahead_in_index`](Self::look_ahead_in_index) looks at: to each belong two rows of a record.
    pub const AHEAD_IN_INDEX_MAX: usize = LookAhead::KEYS_MAX / 2;

    /// As [`look_ahead`](Self::look_ahead), for the first record that an index has under each of these keys. It is known where they
    /// lie if all rows are in one memtable. Gives how many rows of such records seem to be there, the index's own not counted.
    pub fn look_ahead_in_index<'a>(
        &self,
        ahead: &mut RecordsAhead,
        (database_id, object_store_id, index_id): (DatabaseId, ObjectStoreId, IndexId),
        index_keys: impl IntoIterator<Item = &'a IdbKey>,
    ) -> usize {
        ahead.clear();
        let look = |snapshot: &Snapshot| {
            ahead.begin(snapshot)?;
            let mut prefix = Vec::new();
            KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut prefix);
            let index_keys = index_keys.into_iter().take(Self::AHEAD_IN_INDEX_MAX);
            let are_known = ahead.note_index_keys(&prefix, index_keys);
            let tables = [RecordTable::Exists, RecordTable::Data]
                .map(|table| record_row_prefix(database_id, object_store_id, table));
            match are_known {
                true => ahead.note_first_records(&tables),
                false => ahead.note_likely_records(&tables),
            }
            Some(ahead.lookups.as_mut()?.touch())
        };
        self.view.with_snapshot(look).flatten().unwrap_or_default()
    }
}
