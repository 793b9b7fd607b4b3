//! Records that can be made out where the LevelDB does not have its checksums: they are listed, and never in the repaired store.

use std::collections::HashMap;

use larder_backing_store::Error;
use larder_codec::RowKey;

use super::evidence::Evidence;

/// So many bytes of damaged rows are kept in memory; further ones are only counted.
const BYTES_MAX: usize = 256 << 20;

/// Rows out of damaged places, the newest of each key.
#[derive(Default)]
pub(super) struct Damaged {
    rows: HashMap<Vec<u8>, Row>,
    files: Vec<String>,
    len_bytes: usize,
    /// Rows for which there was no room.
    left_out: u64,
}

/// A row out of a damaged place.
pub(super) struct Row {
    pub(super) sequence: u64,
    /// None if it was deleted.
    pub(super) value: Option<Vec<u8>>,
    file: usize,
}

impl Damaged {
    /// Reads the damaged places.
    ///
    /// # Errors
    /// If a file cannot be read for a reason that passes.
    pub(super) fn gather(evidence: Option<&Evidence>) -> Result<Self, Error> {
        let mut damaged = Self::default();
        if let Some(evidence) = evidence {
            let accepts = |key: &[u8]| is_row(key);
            evidence.salvage.damaged_entries(&accepts, &mut |entry| {
                if is_wanted(entry.key) {
                    damaged.add(entry.key, entry.sequence, entry.value, entry.file);
                }
            })?;
        }
        Ok(damaged)
    }

    fn add(&mut self, key: &[u8], sequence: u64, value: Option<&[u8]>, file: &str) {
        let before = self.rows.get(key);
        if before.is_some_and(|before| before.sequence > sequence) {
            return;
        }
        // Of two alike, the store's own file comes first, and one beside it later.
        let is_same = |before: &Row| before.sequence == sequence && self.file(before) != file;
        if before.is_some_and(is_same) {
            return;
        }
        let len_bytes = key.len() + value.map_or(0, <[u8]>::len);
        let replaced = before.map_or(0, |before| {
            key.len() + before.value.as_ref().map_or(0, Vec::len)
        });
        let rest = self.len_bytes.saturating_sub(replaced);
        if rest.saturating_add(len_bytes) > BYTES_MAX {
            self.left_out += 1;
            return;
        }
        self.len_bytes = rest;
        self.len_bytes += len_bytes;
        let place = self.files.iter().position(|name| name == file);
        let file = place.unwrap_or_else(|| {
            self.files.push(file.to_owned());
            self.files.len() - 1
        });
        let value = value.map(<[u8]>::to_vec);
        let row = Row {
            sequence,
            value,
            file,
        };
        self.rows.insert(key.to_vec(), row);
    }

    /// What there was no room for, if there was anything.
    pub(super) fn left_out(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} rows of damaged places were not looked at: there are more than {} MiB of them",
                self.left_out,
                BYTES_MAX >> 20
            )
        })
    }

    /// Lets go of all but the rows of records.
    pub(super) fn keep_records(&mut self) {
        self.rows.retain(|key, _| is_of_record(key));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Row> {
        self.rows.get(key)
    }

    /// All rows, in no order.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&[u8], &Row)> {
        self.rows.iter().map(|(key, row)| (&**key, row))
    }

    /// The file that a row was read from.
    pub(super) fn file(&self, row: &Row) -> &str {
        self.files.get(row.file).map_or("", String::as_str)
    }
}

/// Whether bytes are the key of a row, as far as they say.
fn is_row(key: &[u8]) -> bool {
    RowKey::decode_exact(key).is_ok_and(|key| !matches!(key, RowKey::Unknown(_)))
}

/// Rows of records and of what they belong to.
fn is_wanted(key: &[u8]) -> bool {
    let key = RowKey::decode_exact(key);
    !matches!(key, Ok(RowKey::Scopes(_) | RowKey::IndexData(_)))
}

/// Whether a row is about one record, its value, its blobs or that it exists.
pub(super) fn is_of_record(key: &[u8]) -> bool {
    matches!(RowKey::decode_exact(key), Ok(RowKey::Record(_)))
}
