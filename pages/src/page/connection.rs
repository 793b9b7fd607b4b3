//! A user of a page, on one branch of it.

use super::{Inner, Journal, Page, Pin, Snapshot, Watcher, locked};
use crate::commit::{Commit, Timestamp};
use crate::error::{Error, Result};
use std::sync::{Arc, Mutex};

/// The commit that a connection is at, and what is called when that moves.
pub(super) struct Branch {
    page: Arc<Inner>,
    at: Mutex<At>,
}

struct At {
    commit: Commit,
    _pin: Pin,
    /// While a transaction is open, the branch stays.
    is_held: bool,
    wakers: Vec<Arc<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Branch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Branch").field(&self.commit().id()).finish()
    }
}

impl Branch {
    pub(super) fn commit(&self) -> Commit {
        locked(&self.at).commit.clone()
    }

    pub(super) fn page(&self) -> Page {
        Page(self.page.clone())
    }

    pub(super) fn wake_by(&self, waker: Arc<dyn Fn() + Send + Sync>) {
        locked(&self.at).wakers.push(waker);
    }

    fn hold(&self, is_held: bool) {
        locked(&self.at).is_held = is_held;
    }

    fn go_to(&self, commit: Commit) {
        let pin = Pin::commit(&self.page, &commit);
        let mut at = locked(&self.at);
        at.commit = commit;
        let old = std::mem::replace(&mut at._pin, pin);
        let wakers = at.wakers.clone();
        drop(at);
        drop(old);
        wakers.iter().for_each(|waker| waker());
    }

    /// Goes on to a head that came of where it is.
    fn follow(&self) {
        let at = locked(&self.at);
        if at.is_held {
            return;
        }
        let here = at.commit.clone();
        drop(at);
        let heads = self.page.state().heads();
        if heads.iter().any(|head| head.id() == here.id()) {
            return;
        }
        let next = heads.into_iter().find(|head| self.came_of(head, &here));
        if let Some(next) = next {
            self.go_to(next);
        }
    }

    /// Whether a commit came of another: what is of a lower generation did not.
    fn came_of(&self, commit: &Commit, of: &Commit) -> bool {
        let mut open =
            std::collections::BTreeMap::from([(commit.generation(), vec![commit.clone()])]);
        while let Some((generation, commits)) = open.pop_last() {
            if generation <= of.generation() {
                return commits.iter().any(|commit| commit.id() == of.id());
            }
            for commit in commits {
                for parent in commit.parents() {
                    // A commit that cannot be read leads nowhere; the read that needs it reports it.
                    if let Ok(Some(parent)) = self.page.commit(*parent) {
                        let same = open.entry(parent.generation()).or_default();
                        if same.iter().all(|other| other.id() != parent.id()) {
                            same.push(parent);
                        }
                    }
                }
            }
        }
        false
    }
}

impl Inner {
    /// Lets the branches that are followed go on.
    pub(super) fn notify_branches(&self) {
        let mut branches = Vec::new();
        self.state().branches.retain(|branch| {
            branches.extend(branch.upgrade());
            branch.strong_count() > 0
        });
        branches.iter().for_each(|branch| branch.follow());
    }
}

/// A user of a page: sees one branch, changes it by transactions, and watches it.
///
/// ```
/// # use larder_leveldb::storage::MemoryFileSystem;
/// # use larder_pages::{Page, PageOptions, Timestamp};
/// # use std::{path::Path, sync::Arc};
/// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
/// let (mut mine, mut yours) = (page.connect()?, page.connect()?);
/// let mut watcher = yours.watch(b"fruit/");
/// mine.put(b"fruit/apple", b"red", Timestamp(1))?;
/// mine.put(b"tree/elm", b"tall", Timestamp(2))?;
/// let change = watcher.next_change(100)?.unwrap();
/// assert_eq!(change.changed[0].key, b"fruit/apple");
/// assert_eq!(watcher.next_change(100)?, None);
/// # Ok::<(), larder_pages::Error>(())
/// ```
#[derive(Debug)]
pub struct Connection {
    branch: Arc<Branch>,
    transaction: Option<Journal>,
    watchers: Vec<std::sync::Weak<super::watcher::Seen>>,
}

impl Page {
    /// Connects a user, at the latest head.
    ///
    /// # Errors
    /// `Corruption` if there is none.
    pub fn connect(&self) -> Result<Connection> {
        let heads = self.heads();
        let head = heads
            .last()
            .ok_or_else(|| Error::corruption("the page has no head"))?;
        let branch = Arc::new(Branch {
            page: self.0.clone(),
            at: Mutex::new(At {
                commit: head.clone(),
                _pin: Pin::commit(&self.0, head),
                is_held: false,
                wakers: Vec::new(),
            }),
        });
        self.0.state().branches.push(Arc::downgrade(&branch));
        Ok(Connection {
            branch,
            transaction: None,
            watchers: Vec::new(),
        })
    }
}

impl Connection {
    /// The commit that the connection is at.
    pub fn commit(&self) -> Commit {
        self.branch.commit()
    }

    /// What that holds under a prefix.
    pub fn snapshot(&self, prefix: &[u8]) -> Snapshot {
        self.branch.page().snapshot(&self.commit(), prefix)
    }

    /// Watches the keys with a prefix, from where the connection is.
    pub fn watch(&mut self, prefix: &[u8]) -> Watcher {
        let watcher = Watcher::new(&self.branch, prefix);
        self.watchers.push(watcher.seen());
        watcher
    }

    /// Begins a transaction: until it ends, the connection and its watchers see nothing of what others do.
    ///
    /// # Errors
    /// `Usage` if one is open, or if a watcher of this connection has not taken all changes: what the transaction decides on would be
    /// older than what the user is still to see.
    pub fn begin(&mut self) -> Result<()> {
        if self.transaction.is_some() {
            return Err(Error::usage("a transaction of this connection is open"));
        }
        let here = self.commit();
        self.watchers.retain(|seen| seen.strong_count() > 0);
        let is_behind = |seen: &std::sync::Weak<super::watcher::Seen>| {
            seen.upgrade().is_some_and(|seen| seen.is_behind(&here))
        };
        if self.watchers.iter().any(is_behind) {
            return Err(Error::usage(
                "a watcher of this connection has changes to take first",
            ));
        }
        self.branch.hold(true);
        self.transaction = Some(self.branch.page().begin_on(&here));
        Ok(())
    }

    /// The open transaction's changes.
    ///
    /// # Errors
    /// `Usage` if none is open.
    pub fn transaction(&mut self) -> Result<&mut Journal> {
        let none = || Error::usage("no transaction of this connection is open");
        self.transaction.as_mut().ok_or_else(none)
    }

    /// Ends the transaction: all of its changes are one commit.
    ///
    /// # Errors
    /// As [`Page::commit`]; the transaction is over then, and has changed nothing.
    pub fn commit_transaction(&mut self, now: Timestamp) -> Result<Commit> {
        let journal = self.transaction.take();
        let none = || Error::usage("no transaction of this connection is open");
        let done = journal
            .ok_or_else(none)
            .and_then(|journal| self.branch.page().commit(journal, now));
        if let Ok(commit) = &done
            && *commit != self.commit()
        {
            self.branch.go_to(commit.clone());
        }
        self.branch.hold(false);
        self.branch.follow();
        done
    }

    /// Ends the transaction without its changes.
    pub fn roll_back(&mut self) {
        self.transaction = None;
        self.branch.hold(false);
        self.branch.follow();
    }

    fn once(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&mut Journal) -> Result<()>,
    ) -> Result<()> {
        if let Some(journal) = &mut self.transaction {
            return change(journal);
        }
        let page = self.branch.page();
        let mut journal = page.begin_on(&self.commit());
        change(&mut journal)?;
        self.branch.hold(true);
        let done = page.commit(journal, now);
        if let Ok(commit) = &done {
            self.branch.go_to(commit.clone());
        }
        self.branch.hold(false);
        done.map(drop)
    }

    /// Gives a key a value: in the open transaction, or as a commit of its own.
    ///
    /// # Errors
    /// As [`Journal::put`] and [`Page::commit`].
    pub fn put(&mut self, key: &[u8], value: &[u8], now: Timestamp) -> Result<()> {
        self.once(now, |journal| journal.put(key, value))
    }

    /// Takes an entry away: in the open transaction, or as a commit of its own.
    ///
    /// # Errors
    /// As [`Journal::delete`] and [`Page::commit`].
    pub fn delete(&mut self, key: &[u8], now: Timestamp) -> Result<()> {
        self.once(now, |journal| journal.delete(key))
    }

    /// Takes all entries away: in the open transaction, or as a commit of its own.
    ///
    /// # Errors
    /// As [`Page::commit`].
    pub fn clear(&mut self, now: Timestamp) -> Result<()> {
        self.once(now, |journal| {
            journal.clear();
            Ok(())
        })
    }
}
