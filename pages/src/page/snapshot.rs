//! What a commit holds, to be read.

use super::value::PieceReader;
use super::{Page, Pin};
use crate::commit::Commit;
use crate::entry::Entry;
use crate::error::{ErrorKind, Result};
use crate::object::{ObjectReader, Priority};
use crate::tree::Tree;

/// What a commit holds, or those of its entries whose keys begin with a prefix. It stays so, and its commit stays, as long as it is held.
#[derive(Debug)]
pub struct Snapshot {
    page: Page,
    commit: Commit,
    prefix: Vec<u8>,
    _pin: Pin,
}

/// How much a list has at most. It has one entry at least, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// So many entries.
    pub count_max: usize,
    /// So many bytes of keys and values.
    pub bytes_max: u64,
}

impl Default for ListLimits {
    /// 1,000 entries, 64 KiB.
    fn default() -> ListLimits {
        ListLimits {
            count_max: 1000,
            bytes_max: 64 << 10,
        }
    }
}

/// A part of the entries, in the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// The key that the next part begins with, if there is one.
    pub next: Option<Vec<u8>>,
}

/// An entry with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The value; `None` if it is lazy and not on this device.
    pub value: Option<Vec<u8>>,
    /// Whether the value comes with the page.
    pub priority: Priority,
}

impl Page {
    /// What a commit holds under a prefix of keys; under the empty one, everything.
    pub fn snapshot(&self, commit: &Commit, prefix: &[u8]) -> Snapshot {
        Snapshot {
            page: self.clone(),
            commit: commit.clone(),
            prefix: prefix.to_vec(),
            _pin: Pin::commit(&self.0, commit),
        }
    }
}

impl Snapshot {
    /// The commit.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    fn tree(&self) -> Tree<'_> {
        self.page.tree(&self.commit)
    }

    /// The entry of a key; none beyond the prefix.
    ///
    /// # Errors
    /// `Corruption`; `NeedsFetch` if a node is not here; those of the engine.
    pub fn entry(&self, key: &[u8]) -> Result<Option<Entry>> {
        match key.starts_with(&self.prefix) {
            true => self.tree().get(key),
            false => Ok(None),
        }
    }

    /// The value of a key, whole.
    ///
    /// # Errors
    /// As [`entry`](Self::entry); `NeedsFetch` if the value is lazy and not here.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        self.value(&entry).map(Some)
    }

    fn value(&self, entry: &Entry) -> Result<Vec<u8>> {
        if let Some(content) = entry.value.digest.inline_content() {
            return Ok(content.to_vec());
        }
        let mut reader = ObjectReader::open(&*self.page.0, &entry.value)?;
        reader.read_range(0, u64::MAX)
    }

    /// The value of a key, to be read in parts: it is not in memory as a whole.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn open(&self, key: &[u8]) -> Result<Option<ObjectReader<PieceReader>>> {
        let entry = self.entry(key)?;
        let open = |entry: Entry| PieceReader::open(&self.page.0, &entry.value);
        entry.map(open).transpose()
    }

    /// At most `len_max` bytes of a value from `offset`, which counts from the end if it is negative.
    ///
    /// # Errors
    /// As [`get`](Self::get), of that part.
    pub fn get_part(&self, key: &[u8], offset: i64, len_max: u64) -> Result<Option<Vec<u8>>> {
        let reader = self.open(key)?;
        reader
            .map(|mut reader| reader.read_range(offset, len_max))
            .transpose()
    }

    /// The entries from a key on, or from the first, whose values are not read.
    ///
    /// # Errors
    /// As [`entry`](Self::entry).
    pub fn entries(&self, from: &[u8]) -> Result<impl Iterator<Item = Result<Entry>>> {
        let from = from.max(&self.prefix);
        let entries = self.tree().entries(from)?;
        Ok(entries.take_while(|entry| match entry {
            Ok(entry) => entry.key.starts_with(&self.prefix),
            Err(_) => true,
        }))
    }

    /// Keys from `from` on, and where the next part begins.
    ///
    /// # Errors
    /// As [`entry`](Self::entry).
    pub fn list_keys(&self, from: &[u8], limits: ListLimits) -> Result<Listed<Vec<u8>>> {
        self.list(from, limits, |entry| {
            let len = entry.key.len() as u64;
            Ok((entry.key, len))
        })
    }

    /// Entries with their values from `from` on, and where the next part begins.
    ///
    /// # Errors
    /// As [`get`](Self::get), but that a lazy value that is not here is none.
    pub fn list_entries(&self, from: &[u8], limits: ListLimits) -> Result<Listed<ListedEntry>> {
        self.list(from, limits, |entry| {
            let value = match self.value(&entry) {
                Ok(value) => Some(value),
                Err(error)
                    if error.kind() == ErrorKind::NeedsFetch
                        && entry.priority == Priority::Lazy =>
                {
                    None
                }
                Err(error) => return Err(error),
            };
            let len = entry.key.len() + value.as_ref().map_or(0, Vec::len);
            let listed = ListedEntry {
                key: entry.key,
                value,
                priority: entry.priority,
            };
            Ok((listed, len as u64))
        })
    }

    fn list<T>(
        &self,
        from: &[u8],
        limits: ListLimits,
        of: impl Fn(Entry) -> Result<(T, u64)>,
    ) -> Result<Listed<T>> {
        let mut listed = Listed {
            entries: Vec::new(),
            next: None,
        };
        let mut left = limits.bytes_max;
        for entry in self.entries(from)? {
            let entry = entry?;
            let key = entry.key.clone();
            let is_first = listed.entries.is_empty();
            if !is_first && listed.entries.len() >= limits.count_max {
                listed.next = Some(key);
                break;
            }
            let (one, len) = of(entry)?;
            if !is_first && len > left {
                listed.next = Some(key);
                break;
            }
            left = left.saturating_sub(len);
            listed.entries.push(one);
        }
        Ok(listed)
    }
}
