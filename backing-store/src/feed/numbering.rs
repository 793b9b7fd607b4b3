//! Revisions get their numbers: while the batch of their commit is written, and no other commit of the database gives any.

use std::sync::{Arc, MutexGuard};

use larder_codec::primitive::int;
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{DataVersion, Key, RawKey, RecordVersion};

use super::Feed;
use super::changes::{Changes, Prepared};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::locked;

/// A transaction's revisions, ready to be numbered.
#[derive(Debug)]
pub(crate) struct Numbering {
    feed: Arc<Feed>,
    prepared: Prepared,
}

/// Bytes of a row beyond its value or its index key, at most: its key with the prefix, numbers, versions.
const ROW_LEN_MAX: usize = 80;

/// The turn to give numbers, with the rows written. When it is dropped without [`taken`](Self::taken), none was given.
pub(crate) struct NumberingTurn<'a> {
    last: MutexGuard<'a, i64>,
    /// The last number that it has given.
    number: i64,
}

impl Numbering {
    /// Makes all that can be made before the numbers are known; `None` if nothing has changed.
    pub(crate) fn new(
        feed: &Arc<Feed>,
        changes: &Changes,
        version: DataVersion,
        committed_at_ms: f64,
    ) -> Result<Option<Self>> {
        if changes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            prepared: changes.prepare(version, committed_at_ms)?,
            feed: Arc::clone(feed),
        }))
    }

    /// So many bytes its rows have in a batch at most.
    pub(crate) fn len_bytes_max(&self) -> usize {
        let each = self.prepared.records().map(|record| {
            let ends = record.ends().map(|end| end.len() + ROW_LEN_MAX);
            record.value.len() + 2 * ROW_LEN_MAX + ends.sum::<usize>()
        });
        each.sum::<usize>() + ROW_LEN_MAX
    }

    /// Waits for the turn, and writes the rows: revisions as records, with their entries in the index, and the number of the last.
    pub(crate) fn write(&self, mut put: impl FnMut(&[u8], &[u8])) -> Result<NumberingTurn<'_>> {
        let feed = &*self.feed;
        let (mut key, mut row) = (Vec::new(), Vec::new());
        let last = locked(&feed.last);
        let behind = self.prepared.behind.map(u64::cast_signed);
        let mut number = behind.unwrap_or(*last);
        for record in self.prepared.records() {
            number += record.count as i64;
            let version = version_of(number)?;
            let primary_key = Key::encode_number(number as f64);
            begin(&mut key, &feed.revision_data, &primary_key);
            row.clear();
            let value = record.value;
            DataRow { version, value }.encode(&mut row);
            put(&key, &row);
            begin(&mut key, &feed.revision_exists, &primary_key);
            row.clear();
            ExistsRow { version }.encode(&mut row);
            put(&key, &row);
            row.clear();
            let raw = RawKey::decode_exact(&primary_key)
                .map_err(|error| Error::row(&key, "number of a revision", error))?;
            IndexRow {
                version,
                primary_key: raw,
            }
            .encode(&mut row);
            for end in record.ends() {
                feed.by_version_row(end, &primary_key, &mut key);
                put(&key, &row);
            }
        }
        row.clear();
        int::encode(version_of(number)?.get(), &mut row);
        put(&feed.version_key, &row);
        Ok(NumberingTurn { last, number })
    }
}

impl NumberingTurn<'_> {
    /// The rows are in the store.
    pub(crate) fn taken(mut self) {
        *self.last = self.number;
    }
}

fn begin(key: &mut Vec<u8>, prefix: &[u8], rest: &[u8]) {
    key.clear();
    key.extend_from_slice(prefix);
    key.extend_from_slice(rest);
}

/// A revision's record has the version that Chromium would give it: the first record of an object store has 2.
fn version_of(number: i64) -> Result<RecordVersion> {
    let version = number.checked_add(1).filter(|version| *version < 1 << 53);
    version.and_then(RecordVersion::new).ok_or_else(|| {
        let what = "the feed has no revision numbers left: turn it off and on again";
        Error::new(ErrorKind::Usage, what)
    })
}
