//! Change feeds beside programs that write without them (`operation/others.rs`): a database's is compared with its records when the store
//! is used for the first time since it was opened (`transaction/catch_up.rs`), unless nothing can have changed.
//!
//! That is known from the sequence number of the engine, which every write counts up: when the store is closed, each feed gets a record
//! that has the number after this very write. As long as the store still has that number, nothing was written since.

use std::collections::BTreeMap;

use larder_codec::feed::{self, SEQUENCE_KEY};
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, Key};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability};

use super::core::Core;
use crate::error::Result;
use crate::feed::{Feed, HISTORY_VERSION};
use crate::metadata::read_database_names;
use crate::reads::record_row_prefix;
use crate::sync::locked;
use crate::view::View;

/// Which feeds have been compared since the store was opened.
#[derive(Debug)]
pub(crate) struct Compared {
    /// The engine's sequence number then.
    pub(crate) sequence: u64,
    pub(crate) databases: BTreeMap<DatabaseId, FeedState>,
}

/// What a database's feed is since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedState {
    /// There is none, or was none.
    None,
    /// It has all that has changed.
    Right,
    /// Damage has kept it from being compared.
    Unknown,
}

impl Compared {
    /// None, as the store has just been opened.
    pub(super) fn since(db: &Db) -> Self {
        Self {
            sequence: db.snapshot().sequence(),
            databases: BTreeMap::new(),
        }
    }
}

/// Numbers that a double has exactly.
const SEQUENCE_MAX: u64 = 1 << 53;

/// The rows of a feed's record of the sequence number: of the value, and that it is there.
fn rows_of_sequence(database_id: DatabaseId, feed: &Feed) -> [Vec<u8>; 2] {
    [RecordTable::Data, RecordTable::Exists].map(|table| {
        let mut key = record_row_prefix(database_id, feed.consumers, table);
        key.extend_from_slice(&Key::encode_number(SEQUENCE_KEY));
        key
    })
}

/// The number that a feed was right at.
pub(crate) fn noted(view: &View, database_id: DatabaseId, feed: &Feed) -> Result<Option<u64>> {
    let [data, _] = rows_of_sequence(database_id, feed);
    let Some(row) = view.get(&data)? else {
        return Ok(None);
    };
    let row = DataRow::decode_exact(&row).ok();
    let numbers = row.and_then(|row| feed::read_numbers::<1>(row.value).ok());
    Ok(numbers.map(|[sequence]| sequence))
}

impl Core {
    /// Before the store is closed, and nothing else is written: notes in each feed that is right the sequence number after that. One that was
    /// not used stays right if it was when the store was opened. What cannot be noted is compared the next time.
    pub(super) fn note_sequence(&self) {
        let _ = self.try_note_sequence();
    }

    fn try_note_sequence(&self) -> Result<()> {
        if self.row_store.is_some() {
            return Ok(());
        }
        let compared = locked(&self.compared);
        let sequence = self.db.snapshot().sequence();
        let is_any_right = compared
            .databases
            .values()
            .any(|state| *state == FeedState::Right);
        if sequence == compared.sequence && !is_any_right {
            return Ok(());
        }
        let view = self.committed();
        let mut rows = Vec::new();
        for name in read_database_names(&view, &mut Vec::new())? {
            let Ok(Some(feed)) = Feed::read(&view, name.id) else {
                continue;
            };
            let noted = noted(&view, name.id, &feed)?;
            let is_right = match compared.databases.get(&name.id) {
                // One that was turned on since has noted what there was.
                Some(state) => *state != FeedState::Unknown,
                None => noted == Some(compared.sequence),
            };
            if is_right && noted != Some(sequence) {
                rows.push(rows_of_sequence(name.id, &feed));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.settle()?;
        let sequence = self.db.snapshot().sequence() + 2 * rows.len() as u64;
        if sequence > SEQUENCE_MAX {
            return Ok(());
        }
        let (mut value, mut data, mut exists) = (Vec::new(), Vec::new(), Vec::new());
        let needs = feed::build_numbers(&[sequence], &mut value);
        if !needs.restate(self.versions.data(), &mut value) {
            return Ok(());
        }
        // As the history's: no index needs another.
        let version = HISTORY_VERSION;
        DataRow {
            version,
            value: &value,
        }
        .encode(&mut data);
        ExistsRow { version }.encode(&mut exists);
        let mut batch = BatchWriter::new();
        for [of_value, of_existence] in &rows {
            batch.put(of_value, &data);
            batch.put(of_existence, &exists);
        }
        Ok(self.db.write(&mut batch, Durability::Relaxed)?)
    }
}
