//! What is known of each row of a damaged store, from its LevelDB alone.
//!
//! A row is certain if nothing that is lost can have replaced or deleted it. Where it cannot be known what is lost (no MANIFEST, a log that
//! ends within a record), every row that is not newer than the loss is in doubt.

use std::collections::HashMap;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, StoreOrder, StorePaths, salvage};
use larder_codec::RowKey;
use larder_codec::row_key::{RecordKey, RecordTable};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Damage, RowState, Salvage};

use super::Reason;
use super::undo_log::UndoLog;

/// So many rows in doubt, and so many lost keys, are kept in memory with what is known of them; of further ones only that they are.
const NOTED_MAX: usize = 1 << 20;

/// Beyond every sequence number that a row can have.
const ANY_SEQUENCE: u64 = (1 << 56) - 1;

/// What the LevelDB says.
pub(super) struct Evidence {
    pub(super) salvage: Salvage,
    pub(super) order: StoreOrder,
    /// Why no row is certain.
    pub(super) whole: Option<String>,
    /// Up to this sequence number rows are in doubt.
    up_to: Option<u64>,
    /// Records in doubt, by the key of their data row.
    noted: HashMap<Vec<u8>, Note>,
    files: Vec<String>,
    /// Keys of data rows of which something was lost, and what they had before, if anything, is in doubt.
    pub(super) lost: Vec<Vec<u8>>,
    /// Rows that are not certain.
    pub(super) doubtful_rows: u64,
}

#[derive(Clone, Copy)]
struct Note {
    state: RowState,
    file: usize,
}

impl Evidence {
    /// Walks over everything. `None` if nothing is left of a LevelDB.
    ///
    /// # Errors
    /// If there is none of `IndexedDB`, or files cannot be read.
    pub(super) fn gather(
        fs: &Arc<dyn FileSystem>,
        paths: &StorePaths,
        tick: &mut dyn FnMut(),
    ) -> Result<Option<Self>, Error> {
        let (salvage, order) = match salvage(Arc::clone(fs), paths) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotAStore => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut evidence = Self {
            salvage,
            order,
            whole: None,
            up_to: None,
            noted: HashMap::new(),
            files: Vec::new(),
            lost: Vec::new(),
            doubtful_rows: 0,
        };
        evidence.walk(tick)?;
        Ok(Some(evidence))
    }

    fn walk(&mut self, tick: &mut dyn FnMut()) -> Result<(), Error> {
        let mut undo_log = UndoLog::default();
        let (mut noted, mut lost) = (HashMap::new(), Vec::new());
        let mut files: Vec<String> = Vec::new();
        let mut doubtful_rows = 0;
        let mut rows = self.salvage.rows();
        while let Some(state) = rows.advance()? {
            tick();
            undo_log.row(rows.key(), state);
            if state == RowState::Certain {
                continue;
            }
            doubtful_rows += u64::from(state != RowState::Lost);
            let key = rows.key();
            if !is_data_row(key) {
                continue;
            }
            if state == RowState::Lost {
                if lost.len() < NOTED_MAX {
                    lost.push(key.to_vec());
                }
            } else if noted.len() < NOTED_MAX {
                let name = rows.file_name();
                let file = files.iter().position(|file| file == name);
                let file = file.unwrap_or_else(|| {
                    files.push(name.to_owned());
                    files.len() - 1
                });
                noted.insert(key.to_vec(), Note { state, file });
            }
        }
        drop(rows);
        (self.noted, self.lost, self.files) = (noted, lost, files);
        self.doubtful_rows = doubtful_rows;
        self.up_to = self.salvage.outdated_up_to();
        let damage = self.salvage.damage();
        if self.up_to.is_some_and(|up_to| up_to >= ANY_SEQUENCE) {
            self.whole = Some(self.why_unknown(&damage));
        } else if undo_log.may_be_hidden(&damage) {
            let what = "what an unfinished transaction has to take back may be lost";
            self.whole = Some(what.to_owned());
        }
        Ok(())
    }

    fn why_unknown(&self, damage: &[Damage]) -> String {
        let tail = self.salvage.torn_tails().first();
        let unknown = damage.iter().find(|damage| damage.outdated_possible);
        match (unknown, tail) {
            (Some(damage), _) => format!(
                "{}: {}: it cannot be known what was written after it",
                damage.file.display(),
                damage.what
            ),
            (None, Some(tail)) => format!(
                "{} can be read up to byte {} only: it cannot be known what was written after it",
                tail.file, tail.offset
            ),
            (None, None) => String::new(),
        }
    }

    /// Whether a row is certain.
    pub(super) fn is_certain(&self, state: RowState, sequence: u64) -> bool {
        state == RowState::Certain
            && self.whole.is_none()
            && self.up_to.is_none_or(|up_to| sequence > up_to)
    }

    /// Whether every row is certain.
    pub(super) fn is_all_certain(&self) -> bool {
        self.whole.is_none() && self.up_to.is_none() && self.doubtful_rows == 0
    }

    /// Why the record of a data row is in doubt, if it is not certain: a reason, and in words.
    pub(super) fn reason(&self, data_row: &[u8]) -> (Reason, String) {
        if let Some(note) = self.noted.get(data_row) {
            let file = self.files.get(note.file).map_or("", String::as_str);
            return match note.state {
                RowState::Beside => (
                    Reason::NotListed,
                    format!(
                        "{file} is no part of the store, and the store may have lost this record"
                    ),
                ),
                _ => (
                    Reason::MayBeOutdated,
                    format!("it is from {file}, and something newer of it may be lost"),
                ),
            };
        }
        match &self.whole {
            Some(why) => (Reason::MayBeOutdated, why.clone()),
            None => (
                Reason::MayBeOutdated,
                "something newer of it may be lost".to_owned(),
            ),
        }
    }
}

/// Whether a key is that of a record's data row.
pub(super) fn is_data_row(key: &[u8]) -> bool {
    let data = RecordTable::Data;
    matches!(RowKey::decode_exact(key), Ok(RowKey::Record(RecordKey { table, .. })) if table == data)
}
