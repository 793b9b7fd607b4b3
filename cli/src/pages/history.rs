//! The commits of a page, from its heads back.

use std::collections::{BTreeMap, HashSet};

use larder_pages::{Commit, CommitId, Error, Page, Result, Timestamp};

/// The commits that the heads of a page came of, the highest generation first, and of one generation the latest: no commit is before one that came
/// of it. A commit that cannot be read is an error, and the others follow.
///
/// A commit that is not there, since the history was pruned, ends its line. If something of the page is damaged, the commits to which no way leads
/// any more come last.
#[derive(Debug)]
pub struct History<'p> {
    page: &'p Page,
    open: BTreeMap<(u64, Timestamp, CommitId), Commit>,
    seen: HashSet<CommitId>,
    errors: Vec<Error>,
    is_damaged: bool,
    has_searched: bool,
}

impl<'p> History<'p> {
    /// Begins at the heads of a page.
    #[must_use]
    pub fn new(page: &'p Page) -> Self {
        let mut history = Self {
            page,
            open: BTreeMap::new(),
            seen: HashSet::new(),
            errors: Vec::new(),
            is_damaged: !page.unreadable_heads().is_empty(),
            has_searched: false,
        };
        for head in page.heads() {
            history.push(head);
        }
        history
    }

    fn push(&mut self, commit: Commit) {
        if self.seen.insert(commit.id()) {
            let at = (commit.generation(), commit.timestamp(), commit.id());
            self.open.insert(at, commit);
        }
    }

    fn read(&mut self, id: CommitId) -> Option<Commit> {
        match self.page.commit_by_id(id) {
            Ok(commit) => commit,
            Err(error) => {
                self.is_damaged = true;
                self.seen.insert(id);
                self.errors.push(error);
                None
            }
        }
    }

    /// Where no way leads any more, it begins at the commits that no other of them came of.
    fn search(&mut self) {
        let mut found = BTreeMap::new();
        let mut parents = HashSet::new();
        let ids = match self.page.commit_ids(b"") {
            Ok(ids) => ids,
            Err(error) => return self.errors.push(error),
        };
        for id in ids {
            let id = match id {
                Ok(id) => id,
                Err(error) => {
                    self.errors.push(error);
                    continue;
                }
            };
            if self.seen.contains(&id) {
                continue;
            }
            if let Some(commit) = self.read(id) {
                parents.extend(commit.parents().iter().copied());
                found.insert(id, commit);
            }
        }
        for (id, commit) in found {
            if !parents.contains(&id) {
                self.push(commit);
            }
        }
    }
}

impl Iterator for History<'_> {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.errors.pop() {
                return Some(Err(error));
            }
            if let Some((_, commit)) = self.open.pop_last() {
                for parent in commit.parents() {
                    if !self.seen.contains(parent)
                        && let Some(parent) = self.read(*parent)
                    {
                        self.push(parent);
                    }
                }
                return Some(Ok(commit));
            }
            let is_damaged = self.is_damaged || !self.page.damage().is_empty();
            if self.has_searched || !is_damaged {
                return None;
            }
            self.has_searched = true;
            self.search();
        }
    }
}

/// How many entries a commit changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changes {
    /// Entries that its parent does not have.
    pub added: u64,
    /// Entries with another value or priority.
    pub changed: u64,
    /// Entries that only its parent has.
    pub removed: u64,
}

/// What a commit changed of its first parent; `None` if that is not here. It takes the time of the difference. `tick` is called for each entry.
///
/// # Errors
/// `NeedsFetch` if a node is not here; `Corruption`; those of the engine.
pub fn changes(page: &Page, commit: &Commit, tick: &mut dyn FnMut()) -> Result<Option<Changes>> {
    let mut changes = Changes::default();
    let Some(parent) = commit.parents().first() else {
        return Ok(Some(changes));
    };
    let Some(parent) = page.commit_by_id(*parent)? else {
        return Ok(None);
    };
    for entry in page.tree(&parent).diff(&commit.root(), b"")? {
        let entry = entry?;
        let count = match (&entry.old, &entry.new) {
            (None, _) => &mut changes.added,
            (Some(_), None) => &mut changes.removed,
            (Some(_), Some(_)) => &mut changes.changed,
        };
        *count += 1;
        tick();
    }
    Ok(Some(changes))
}
