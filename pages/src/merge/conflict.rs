//! A conflict, as a host sees it.

use super::base::Overlay;
use crate::commit::Commit;
use crate::error::{Error, Result};
use crate::object::{ObjectIdentifier, Priority};
use crate::page::{Journal, Page, ValueReference};
use crate::tree::{ThreeWayDiff, Tree};

/// What decides on conflicts.
pub trait ConflictResolver {
    /// Decides on the entries of a conflict: whether it has. If not, both heads stay.
    ///
    /// What it decides should depend on the conflict alone, or devices differ for another round.
    ///
    /// # Errors
    /// Its own, and those of the conflict's methods: both heads stay.
    fn resolve(&mut self, conflict: &mut Conflict<'_>) -> Result<bool>;
}

impl<F: FnMut(&mut Conflict<'_>) -> Result<bool>> ConflictResolver for F {
    fn resolve(&mut self, conflict: &mut Conflict<'_>) -> Result<bool> {
        self(conflict)
    }
}

/// What an entry becomes.
#[derive(Debug)]
pub enum MergedValue<'a> {
    /// What it is on the right: the value there, or nothing.
    Right,
    /// A new value.
    New(&'a [u8], Priority),
    /// A new value that is in the page.
    Reference(&'a ValueReference, Priority),
    /// Nothing.
    Delete,
}

/// Some of the entries that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictPart {
    /// The entries, in the order of their keys.
    pub entries: Vec<ThreeWayDiff>,
    /// The key that the next part begins with, if there is one.
    pub next: Option<Vec<u8>>,
}

/// Two heads that are to become one. What is not decided on stays as it is on the left: in the later head.
#[derive(Debug)]
pub struct Conflict<'a> {
    pub(super) page: &'a Page,
    pub(super) overlay: &'a Overlay<'a>,
    pub(super) base: ObjectIdentifier,
    pub(super) left: &'a Commit,
    pub(super) right: &'a Commit,
    pub(super) journal: Journal,
}

impl Conflict<'_> {
    /// The later head.
    pub fn left(&self) -> &Commit {
        self.left
    }

    /// The earlier head.
    pub fn right(&self) -> &Commit {
        self.right
    }

    /// The tree that both came of.
    pub fn base(&self) -> Tree<'_> {
        self.overlay.tree(self.base)
    }

    /// A value of an entry, whole.
    ///
    /// # Errors
    /// `NeedsFetch` if it is not here; `Corruption`; those of the engine.
    pub fn value(&self, entry: &crate::Entry) -> Result<Vec<u8>> {
        let mut reader = crate::object::ObjectReader::open(self.overlay, &entry.value)?;
        reader.read_range(0, u64::MAX)
    }

    fn part(
        &self,
        from: &[u8],
        count_max: usize,
        is_wanted: impl Fn(&ThreeWayDiff) -> bool,
    ) -> Result<ConflictPart> {
        let (left, right) = (self.left.root(), self.right.root());
        let mut part = ConflictPart {
            entries: Vec::new(),
            next: None,
        };
        for diff in self.base().three_way(&left, &right, from)? {
            let diff = diff?;
            if !is_wanted(&diff) {
                continue;
            }
            if part.entries.len() >= count_max.max(1) {
                part.next = Some(diff.key);
                break;
            }
            part.entries.push(diff);
        }
        Ok(part)
    }

    /// Entries that a side has changed, from a key on.
    ///
    /// # Errors
    /// As reading a page.
    pub fn full_diff(&self, from: &[u8], count_max: usize) -> Result<ConflictPart> {
        self.part(from, count_max, |_| true)
    }

    /// Entries that both sides have changed, and not alike, from a key on.
    ///
    /// # Errors
    /// As reading a page.
    pub fn conflicting_diff(&self, from: &[u8], count_max: usize) -> Result<ConflictPart> {
        self.part(from, count_max, ThreeWayDiff::is_conflict)
    }

    /// Decides on an entry.
    ///
    /// # Errors
    /// As [`Journal::put`], and as reading a page.
    pub fn merge(&mut self, key: &[u8], value: MergedValue<'_>) -> Result<()> {
        match value {
            MergedValue::Right => {
                let entry = self.page.tree(self.right).get(key)?;
                let value = entry.map(|entry| (entry.value, entry.priority));
                self.journal.put_entry(key, value);
                Ok(())
            }
            MergedValue::New(value, priority) => {
                self.journal.put_with_priority(key, value, priority)
            }
            MergedValue::Reference(value, priority) => self.journal.put_value(key, value, priority),
            MergedValue::Delete => self.journal.delete(key),
        }
    }

    /// Takes an entry as it is on the right, as [`MergedValue::Right`] does, without looking it up again: `diff` is one that this conflict has given
    /// ([`full_diff`](Self::full_diff), [`conflicting_diff`](Self::conflicting_diff)).
    ///
    /// ```
    /// # use larder_leveldb::storage::MemoryFileSystem;
    /// # use larder_pages::{Conflict, Error, MergePolicy, Page, PageOptions, Timestamp};
    /// # use std::{path::Path, sync::Arc};
    /// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
    /// # for (name, now) in [("Ada", 1), ("Ada L.", 2)] {
    /// #     let mut journal = page.begin_on(&page.commit_by_id(larder_pages::CommitId::FIRST)?.unwrap());
    /// #     journal.put(b"name", name.as_bytes())?;
    /// #     page.commit(journal, Timestamp(now))?;
    /// # }
    /// // The earlier head's entries stay.
    /// let mut first_one_wins = |conflict: &mut Conflict<'_>| -> Result<bool, Error> {
    ///     let mut from = Some(Vec::new());
    ///     while let Some(start) = from {
    ///         let part = conflict.full_diff(&start, 100)?;
    ///         part.entries.iter().for_each(|diff| conflict.take_right(diff));
    ///         from = part.next;
    ///     }
    ///     Ok(true)
    /// };
    /// page.merge(&mut MergePolicy::Custom(&mut first_one_wins))?;
    /// let head = &page.heads()[0];
    /// assert_eq!(page.snapshot(head, b"").get(b"name")?.as_deref(), Some(&b"Ada"[..]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take_right(&mut self, diff: &ThreeWayDiff) {
        let right = diff.right.as_ref();
        let value = right.map(|entry| (entry.value, entry.priority));
        self.journal.put_entry(&diff.key, value);
    }

    /// Takes what only the right side has changed.
    ///
    /// # Errors
    /// As reading a page.
    pub fn merge_non_conflicting(&mut self) -> Result<()> {
        let (left, right) = (self.left.root(), self.right.root());
        for diff in self.overlay.tree(self.base).three_way(&left, &right, b"")? {
            let diff = diff?;
            if diff.left == diff.base {
                self.take_right(&diff);
            }
        }
        Ok(())
    }

    pub(super) fn into_journal(self) -> Result<Journal> {
        match self.journal.base().id() == self.left.id() {
            true => Ok(self.journal),
            false => Err(Error::usage("the journal of a conflict was replaced")),
        }
    }
}
