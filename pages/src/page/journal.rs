//! Changes on their way to a commit, in memory.

use super::staged::Staged;
use super::value::{OwnedPiece, ValueReference, pieces_of};
use super::{Page, Pin};
use crate::commit::{Commit, Timestamp};
use crate::entry::Change;
use crate::error::{Error, Result};
use crate::object::{ObjectIdentifier, Priority};
use crate::rows::RowKind;
use crate::tree::Tree;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::Arc;

/// Pieces of values are written before the commit when they have so many bytes together. Fewer in tests.
const BUFFER_LEN: usize = if cfg!(test) { 100 << 10 } else { 1 << 20 };

/// Changes of entries, which a commit makes at once. Dropped, it has changed nothing.
///
/// Nothing is written before the commit, but pieces of values when they are many.
#[derive(Debug)]
pub struct Journal {
    pub(super) page: Page,
    base: Commit,
    /// The other parent of a merge.
    other: Option<Commit>,
    is_cleared: bool,
    changes: BTreeMap<Vec<u8>, Option<(ObjectIdentifier, Priority)>>,
    /// Values that are in memory, by their names.
    values: HashMap<ObjectIdentifier, Vec<OwnedPiece>>,
    /// Their length, with that of the keys.
    values_len: usize,
    /// Which keys were given them.
    keys_of_values: Vec<Vec<u8>>,
    /// What whatever syncs the page notes with the commit, by its names.
    sync_metadata: BTreeMap<Vec<u8>, Note>,
    pins: Vec<Pin>,
}

/// What is noted with a commit.
#[derive(Debug)]
struct Note {
    value: Vec<u8>,
    /// Whether the commit's name comes behind it.
    with_commit: bool,
}

impl Page {
    /// Begins changes of the latest head.
    ///
    /// # Errors
    /// `Corruption` if there is none.
    pub fn begin(&self) -> Result<Journal> {
        let heads = self.heads();
        let head = heads
            .last()
            .ok_or_else(|| Error::corruption("the page has no head"))?;
        Ok(self.begin_on(head))
    }

    /// Begins changes of a commit. If that is no head, the commit will be a head beside others.
    pub fn begin_on(&self, base: &Commit) -> Journal {
        Journal {
            pins: vec![Pin::commit(&self.0, base)],
            page: self.clone(),
            base: base.clone(),
            other: None,
            is_cleared: false,
            changes: BTreeMap::new(),
            values: HashMap::new(),
            values_len: 0,
            keys_of_values: Vec::new(),
            sync_metadata: BTreeMap::new(),
        }
    }

    /// Begins a merge of two commits, with what the first holds.
    pub fn begin_merge(&self, left: &Commit, right: &Commit) -> Journal {
        let mut journal = self.begin_on(left);
        journal.pins.push(Pin::commit(&self.0, right));
        journal.other = Some(right.clone());
        journal
    }

    /// Makes a commit of a journal: all of its changes, or nothing. If they change nothing, there is no commit, unless it is a merge: then its
    /// base comes back. What the journal notes ([`Journal::set_sync_metadata`]) is written either way, in the commit's own batch.
    ///
    /// `now` is when it is made; a merge has the later time of its parents, so that each device makes the same.
    ///
    /// # Errors
    /// `Usage` if the journal is another page's; `Unsupported` for keys that no node has room for; `NeedsFetch` if a node is not here;
    /// those of the engine, and nothing is changed then.
    pub fn commit(&self, mut journal: Journal, now: Timestamp) -> Result<Commit> {
        if !Arc::ptr_eq(&self.0, &journal.page.0) {
            return Err(Error::usage("the journal is that of another page"));
        }
        let inner = &*self.0;
        let writing = inner.writing();
        let mut staged = Staged::new(inner);
        let old_root = match journal.is_cleared {
            true => Tree::empty_root(),
            false => journal.base.root(),
        };
        let changes = std::mem::take(&mut journal.changes).into_iter();
        let changes: Vec<Change> = changes.map(|(key, value)| Change { key, value }).collect();
        // Values before the nodes that refer to them: whatever is written early, what it refers to is there.
        for (value, _) in changes.iter().filter_map(|change| change.value) {
            match journal.values.get(&value) {
                Some(pieces) => pieces.iter().try_for_each(|piece| piece.put(&mut staged))?,
                None => staged.raise(value)?,
            }
        }
        let root = inner.tree(old_root).apply(&mut staged, &changes)?;
        let is_unchanged = journal.other.is_none() && root == journal.base.root();
        if is_unchanged {
            staged = Staged::new(inner);
        }
        let parents: Vec<&Commit> = [&journal.base].into_iter().chain(&journal.other).collect();
        let commit = match is_unchanged {
            true => journal.base.clone(),
            false => Commit::on(&parents, root, now),
        };
        // After the last piece: pieces may be written before the rest of the batch, notes may not.
        for (name, Note { value, with_commit }) in &journal.sync_metadata {
            let row = inner.dialect.key(RowKind::SyncMetadata, &[name]);
            let id = commit.id().0;
            let behind: &[u8] = if *with_commit { &id } else { &[] };
            staged.batch.put(&row, &[value, behind].concat());
        }
        if is_unchanged {
            inner.write(&mut staged.batch)?;
            return Ok(commit);
        }
        inner.install_local(staged, &commit)?;
        drop(writing);
        self.0.notify_branches();
        Ok(commit)
    }
}

impl Journal {
    /// The commit that the changes are of.
    pub fn base(&self) -> &Commit {
        &self.base
    }

    /// Gives a key a value that comes with the page to other devices.
    ///
    /// # Errors
    /// `Usage` if the key is too long; those of the engine.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with_priority(key, value, Priority::Eager)
    }

    /// Gives a key a value.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_with_priority(
        &mut self,
        key: &[u8],
        value: &[u8],
        priority: Priority,
    ) -> Result<()> {
        self.check(key)?;
        let (id, buffer) = pieces_of(value)?;
        self.changes.insert(key.to_vec(), Some((id, priority)));
        if buffer.pieces.is_empty() {
            return Ok(());
        }
        self.keys_of_values.push(key.to_vec());
        self.values_len += key.len();
        if let Entry::Vacant(vacant) = self.values.entry(id) {
            self.values_len += buffer.len_bytes;
            vacant.insert(buffer.pieces);
        }
        match self.values_len >= BUFFER_LEN {
            true => self.write_values(),
            false => Ok(()),
        }
    }

    /// Writes the values that are in memory and that an entry has by now, at once. The others are needed no more.
    fn write_values(&mut self) -> Result<()> {
        self.values_len = 0;
        let mut values = std::mem::take(&mut self.values);
        let mut pieces = Vec::new();
        for key in std::mem::take(&mut self.keys_of_values) {
            let Some((value, _)) = self.changes.get(&key).copied().flatten() else {
                continue;
            };
            if let Some(of_value) = values.remove(&value) {
                self.pins.push(Pin::piece(&self.page.0, value));
                pieces.extend(of_value);
            }
        }
        self.page.0.write_transient(&pieces)
    }

    /// Gives a key a value of any length.
    ///
    /// # Errors
    /// As [`put`](Self::put); `Usage` if the stream fails.
    pub fn put_stream(&mut self, key: &[u8], stream: impl Read, priority: Priority) -> Result<()> {
        self.check(key)?;
        let value = self.page.create_value(stream)?;
        self.put_value(key, &value, priority)
    }

    /// Gives a key a value that is in the page.
    ///
    /// # Errors
    /// `Usage` if the key is too long, or the value in another page.
    pub fn put_value(
        &mut self,
        key: &[u8],
        value: &ValueReference,
        priority: Priority,
    ) -> Result<()> {
        self.check(key)?;
        if !Arc::ptr_eq(&value.page, &self.page.0) {
            return Err(Error::usage("the value is in another page"));
        }
        self.pins.push(Pin::piece(&self.page.0, value.identifier));
        self.changes
            .insert(key.to_vec(), Some((value.identifier, priority)));
        Ok(())
    }

    /// Gives a key what an entry of this page has.
    pub(crate) fn put_entry(&mut self, key: &[u8], value: Option<(ObjectIdentifier, Priority)>) {
        self.changes.insert(key.to_vec(), value);
    }

    /// Takes the entry of a key away, if there is one.
    ///
    /// # Errors
    /// `Usage` if the key is too long.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.check(key)?;
        self.changes.insert(key.to_vec(), None);
        Ok(())
    }

    /// Notes something under a name with the commit: both are in one batch, so after a crash both are there or neither. It is what
    /// [`Page::sync_metadata`] reads; each device has its own.
    ///
    /// ```
    /// # use larder_leveldb::storage::MemoryFileSystem;
    /// # use larder_pages::{Page, PageOptions, Timestamp};
    /// # use std::{path::Path, sync::Arc};
    /// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
    /// let mut journal = page.begin()?;
    /// journal.put(b"apple", b"red")?;
    /// journal.set_sync_metadata(b"position", b"42");
    /// page.commit(journal, Timestamp(1))?;
    /// assert_eq!(page.sync_metadata(b"position")?.as_deref(), Some(&b"42"[..]));
    /// # Ok::<(), larder_pages::Error>(())
    /// ```
    pub fn set_sync_metadata(&mut self, name: &[u8], value: &[u8]) {
        let value = value.to_vec();
        let with_commit = false;
        self.sync_metadata
            .insert(name.to_vec(), Note { value, with_commit });
    }

    /// Notes something as [`set_sync_metadata`](Self::set_sync_metadata) does, and behind it the 32 bytes of the commit's name, which is not
    /// known before: of the base, if there is no commit.
    pub fn set_sync_metadata_and_commit(&mut self, name: &[u8], value: &[u8]) {
        let value = value.to_vec();
        let with_commit = true;
        self.sync_metadata
            .insert(name.to_vec(), Note { value, with_commit });
    }

    /// Takes all entries away, those of this journal too.
    pub fn clear(&mut self) {
        self.is_cleared = true;
        self.changes.clear();
    }

    fn check(&self, key: &[u8]) -> Result<()> {
        let len_max = self.page.0.options.key_len_max.min(super::KEY_LEN_MAX);
        match key.len() <= len_max {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "a key of {} bytes: at most {len_max} are allowed",
                key.len()
            ))),
        }
    }
}
