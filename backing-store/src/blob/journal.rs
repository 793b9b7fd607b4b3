//! The two journals, and how entries move between them.

use std::collections::BTreeSet;

use larder_codec::blob_journal::{BlobJournal, BlobJournalEntry, JournalBlobs};
use larder_codec::row_key::GlobalKey;
use larder_codec::{BlobNumber, DatabaseId};

use crate::error::{Error, Result};
use crate::view::View;

/// A journal's row as it should be from now on: key and value.
pub(crate) type JournalRow = (Vec<u8>, Vec<u8>);

/// Both journals, as sets: Chromium writes them sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Journals {
    /// Files that nothing refers to.
    pub(crate) recovery: BTreeSet<BlobJournalEntry>,
    /// Files that no row refers to, but someone who may still read them.
    pub(crate) active: BTreeSet<BlobJournalEntry>,
}

/// One blob, as a journal's entry.
pub(crate) const fn entry(database_id: DatabaseId, number: BlobNumber) -> BlobJournalEntry {
    BlobJournalEntry {
        database_id,
        blobs: JournalBlobs::One(number),
    }
}

impl Journals {
    /// As they are in a store.
    pub(crate) fn read(view: &View) -> Result<Self> {
        Ok(Self {
            recovery: read(view, &GlobalKey::RecoveryBlobJournal)?,
            active: read(view, &GlobalKey::ActiveBlobJournal)?,
        })
    }

    /// The row of the recovery journal.
    pub(crate) fn recovery_row(&self) -> JournalRow {
        row(&GlobalKey::RecoveryBlobJournal, &self.recovery)
    }

    /// The row of the active journal.
    pub(crate) fn active_row(&self) -> JournalRow {
        row(&GlobalKey::ActiveBlobJournal, &self.active)
    }

    /// Nothing holds these any more: they may be removed.
    pub(crate) fn release(&mut self, released: &BTreeSet<BlobJournalEntry>) {
        for entry in released {
            if self.active.remove(entry) {
                self.recovery.insert(*entry);
            }
        }
    }
}

fn key(key: &GlobalKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn read(view: &View, which: &GlobalKey) -> Result<BTreeSet<BlobJournalEntry>> {
    let key = key(which);
    let Some(value) = view.get(&key)? else {
        return Ok(BTreeSet::new());
    };
    let journal = BlobJournal::decode_exact(&value);
    let journal = journal.map_err(|error| Error::row(&key, "blob journal", error))?;
    Ok(journal.entries.into_iter().collect())
}

fn row(which: &GlobalKey, entries: &BTreeSet<BlobJournalEntry>) -> JournalRow {
    let journal = BlobJournal {
        entries: entries.iter().copied().collect(),
    };
    let mut value = Vec::new();
    journal.encode(&mut value);
    (key(which), value)
}
