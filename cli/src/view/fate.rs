//! What has become of each row in LevelDB's files: whether pages see it, and why not.

use larder_backing_store::{Store, StoreRows};
use larder_leveldb::{Entries, EntryKind};
use larder_view::Refusal;

use super::stores::{engine, refused};

/// What has become of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Pages see it.
    Live,
    /// A newer row of its key is seen.
    Overwritten,
    /// Its key was deleted.
    Deleted,
    /// It is the note that its key was deleted.
    Deletion,
    /// Its transaction had not ended, and is taken back.
    Undone,
    /// Damage has taken it.
    Lost,
}

impl Fate {
    /// As the page has it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Overwritten => "overwritten",
            Self::Deleted => "deleted",
            Self::Deletion => "deletion",
            Self::Undone => "undone",
            Self::Lost => "lost",
        }
    }
}

/// Finds what has become of one row after the other, as they lie: by key, the newest first.
pub(super) struct Fates {
    /// What pages see, where that need not be the newest row of a key: transactions are taken back, or their deletions done.
    seen: Option<StoreRows>,
    /// What became of a row that is newer than what pages see.
    unseen: Fate,
    key: Vec<u8>,
    /// What pages see of this key; not looked for where that is its newest row.
    value: Option<Vec<u8>>,
    /// What became of the rows of this key that follow; none before the one that counts.
    older: Option<Fate>,
}

impl Fates {
    pub(super) fn of(store: &Store) -> Self {
        let recovery = store.recovery();
        let is_newest_seen = recovery.undone.is_empty() && recovery.finished.is_empty();
        Self {
            seen: (!is_newest_seen).then(|| store.rows()),
            unseen: match recovery.undone.is_empty() {
                true => Fate::Deleted,
                false => Fate::Undone,
            },
            key: Vec::new(),
            value: None,
            older: None,
        }
    }

    /// What became of the row that is next.
    pub(super) fn next(&mut self, row: &Entries) -> Result<Fate, Refusal> {
        if row.key() != self.key {
            self.begin(row.key())?;
        }
        let fate = match (row.kind(), self.older) {
            (EntryKind::Lost, _) => return Ok(Fate::Lost),
            (EntryKind::Deletion, Some(_)) => return Ok(Fate::Deletion),
            (EntryKind::Value, Some(older)) => return Ok(older),
            (EntryKind::Value, None) if self.is_seen(row)? => Fate::Live,
            (EntryKind::Deletion, None) if self.value.is_none() => Fate::Deletion,
            (EntryKind::Value | EntryKind::Deletion, None) => return Ok(self.unseen),
        };
        self.older = Some(match fate {
            Fate::Deletion => Fate::Deleted,
            _ => Fate::Overwritten,
        });
        Ok(fate)
    }

    fn begin(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.key.clear();
        self.key.extend_from_slice(key);
        (self.value, self.older) = (None, None);
        if let Some(seen) = &mut self.seen
            && seen.find(key).map_err(refused)?
            && seen.key() == key
        {
            self.value = Some(seen.value().map_err(refused)?.to_vec());
        }
        Ok(())
    }

    fn is_seen(&self, row: &Entries) -> Result<bool, Refusal> {
        Ok(match &self.seen {
            None => true,
            Some(_) => self.value.as_deref() == Some(row.value().map_err(engine)?),
        })
    }
}
