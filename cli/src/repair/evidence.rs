//! What is known of each row of a damaged store, from its LevelDB alone.
//!
//! A row is certain if nothing that is lost can have replaced or deleted it. Where it cannot be known which rows the lost writes had (a log
//! that ends within a record, a log that is missing), every row that is not newer than the loss is in doubt as what it is at the end. But
//! the state that the store had before the first lost write may be known as a whole: then the rows are certain as of that moment.
//! Whichever of the two has more records is taken (decision 68).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, StoreOrder, StorePaths, salvage};
use larder_codec::RowKey;
use larder_codec::row_key::{RecordKey, RecordTable};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Damage, RowState, Salvage, SalvagedRows};

use super::Reason;
use super::undo_log::{UndoLog, is_undo_task};

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
    /// The sequence number up to which all writes count, and no others, if the certain part is the state of that moment.
    pub(super) as_of: Option<u64>,
    /// Up to this sequence number rows are in doubt.
    up_to: Option<u64>,
    /// A transaction had not committed at the end, or its undo tasks were not yet removed.
    may_be_unfinished: bool,
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
            as_of: None,
            up_to: None,
            may_be_unfinished: false,
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
            undo_log.row(rows.key(), state, rows.sequence());
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
        self.may_be_unfinished = undo_log.has_tasks();
        self.up_to = self.salvage.outdated_up_to();
        let damage = self.salvage.damage();
        if self.up_to.is_some_and(|up_to| up_to >= ANY_SEQUENCE) {
            self.whole = Some(self.why_unknown(&damage));
        } else if undo_log.may_be_hidden(&damage, self.up_to) {
            let what = "what an unfinished transaction has to take back may be lost";
            self.whole = Some(what.to_owned());
        }
        self.look_back(tick)
    }

    /// Takes the state before the first lost write, if it is known and has at least as many records as are certain at the end.
    fn look_back(&mut self, tick: &mut dyn FnMut()) -> Result<(), Error> {
        let (Some(_), Some(as_of)) = (self.up_to, self.salvage.known_up_to()) else {
            return Ok(());
        };
        let mut undo_log = UndoLog::default();
        let (mut before, mut at_the_end) = (0, 0);
        let mut rows = self.salvage.rows_as_of(as_of);
        while let Some(state) = rows.advance()? {
            tick();
            undo_log.row(rows.key(), state, rows.sequence());
            before += u64::from(state == RowState::Certain && is_data_row(rows.key()));
        }
        let greatest = rows.greatest_sequence();
        let is_hidden = undo_log.may_be_hidden(&self.salvage.damage(), None);
        if is_hidden || before == 0 {
            return Ok(());
        }
        let mut rows = self.salvage.rows();
        while self.whole.is_none()
            && let Some(state) = rows.advance()?
        {
            tick();
            let is_certain = self.is_certain(state, rows.sequence());
            at_the_end += u64::from(is_certain && is_data_row(rows.key()));
        }
        drop(rows);
        if before >= at_the_end {
            // The number of a write that there was.
            self.as_of = Some(as_of.min(greatest));
            self.whole = None;
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

    /// The rows of the moment that the certain part is of.
    pub(super) fn rows(&self) -> SalvagedRows<'_> {
        match self.as_of {
            Some(as_of) => self.salvage.rows_as_of(as_of),
            None => self.salvage.rows(),
        }
    }

    /// Whether one of [`rows`](Self::rows) is certain.
    pub(super) fn is_certain(&self, state: RowState, sequence: u64) -> bool {
        let is_newer = || self.up_to.is_none_or(|up_to| sequence > up_to);
        state == RowState::Certain && self.whole.is_none() && (self.as_of.is_some() || is_newer())
    }

    /// Whether every row is certain.
    pub(super) fn is_all_certain(&self) -> bool {
        self.whole.is_none() && self.up_to.is_none() && self.doubtful_rows == 0
    }

    /// Whether writes may be lost that have ended a transaction: those of a log or a table, or of any that nothing lists any more, where no
    /// state is known as a whole.
    pub(super) fn may_lack_commits(&self) -> bool {
        let has_writes = |file: &Path| {
            let is_written_to = |end| end == "log" || end == "ldb" || end == "sst";
            file.extension().is_some_and(is_written_to)
        };
        let torn = self.salvage.torn_tails().iter();
        let damage = self.salvage.damage();
        let mut damaged = damage.iter().map(|damage| &*damage.file);
        self.whole.is_some()
            || damaged.any(has_writes)
            || torn.map(|tail| Path::new(&tail.file)).any(has_writes)
    }

    /// The last write before what is lost first in the logs, if a transaction had not committed then.
    ///
    /// # Errors
    /// If the rows cannot be read on.
    pub(super) fn unfinished_before_loss(
        &self,
        tick: &mut dyn FnMut(),
    ) -> Result<Option<u64>, Error> {
        let Some(sequence) = self.salvage.read_up_to() else {
            return Ok(None);
        };
        let mut rows = self.salvage.rows_as_of(sequence);
        while let Some(state) = rows.advance()? {
            tick();
            if state != RowState::Lost && is_undo_task(rows.key()) {
                return Ok(Some(sequence));
            }
        }
        Ok(None)
    }

    /// What is lost, so that the certain part is of the moment before.
    pub(super) fn why_as_of(&self) -> String {
        self.why_unknown(&self.salvage.damage())
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
        match (&self.whole, self.as_of) {
            (Some(why), _) => (Reason::MayBeOutdated, why.clone()),
            (None, Some(_)) => {
                let what = "it was written after something that is lost, and the store is as it was before";
                let more = match self.may_be_unfinished {
                    true => "; a transaction that had not committed may have written it",
                    false => "",
                };
                (Reason::Later, format!("{what}{more}"))
            }
            (None, None) => (
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
