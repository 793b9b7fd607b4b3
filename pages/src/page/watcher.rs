//! What has changed under a prefix since it was looked at last.

use super::connection::Branch;
use super::{Page, Pin, locked};
use crate::commit::{Commit, Timestamp};
use crate::entry::Entry;
use crate::error::Result;
use std::sync::{Arc, Mutex, Weak};

/// Which part of the changes of a step something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageChangeState {
    /// All of them.
    Completed,
    /// The first of several parts.
    PartialStarted,
    /// One in the middle.
    PartialContinued,
    /// The last.
    PartialCompleted,
}

/// Changes, sorted by keys. All changes of a commit come together, in parts if they are many; those of several commits may come as
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageChange {
    /// When the commit was made that they lead to.
    pub timestamp: Timestamp,
    /// Entries that are new, or have another value.
    pub changed: Vec<Entry>,
    /// Keys that are gone.
    pub deleted: Vec<Vec<u8>>,
    /// Which part it is.
    pub state: PageChangeState,
}

/// How far a watcher has come.
#[derive(Debug)]
pub(super) struct Seen(Mutex<At>);

#[derive(Debug)]
struct At {
    commit: Commit,
    _pin: Pin,
    /// On the way to a commit: from which key on changes have not been taken.
    on_the_way: Option<(Commit, Pin, Vec<u8>)>,
}

impl Seen {
    pub(super) fn is_behind(&self, commit: &Commit) -> bool {
        let at = locked(&self.0);
        at.on_the_way.is_some() || at.commit.root() != commit.root()
    }
}

/// Watches the branch of a connection, which it outlives: then nothing changes any more.
#[derive(Debug)]
pub struct Watcher {
    branch: Arc<Branch>,
    prefix: Vec<u8>,
    seen: Arc<Seen>,
}

impl Watcher {
    pub(super) fn new(branch: &Arc<Branch>, prefix: &[u8]) -> Watcher {
        let commit = branch.commit();
        let pin = Pin::commit(&branch.page().0, &commit);
        let at = At {
            commit,
            _pin: pin,
            on_the_way: None,
        };
        Watcher {
            branch: branch.clone(),
            prefix: prefix.to_vec(),
            seen: Arc::new(Seen(Mutex::new(at))),
        }
    }

    pub(super) fn seen(&self) -> Weak<Seen> {
        Arc::downgrade(&self.seen)
    }

    /// Calls `waker` whenever the branch has moved, on the thread that moved it: then [`next_change`](Self::next_change) may have something. It
    /// must not call back into the page.
    pub fn on_change(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.branch.wake_by(Arc::new(waker));
    }

    /// The next changes, at most `count_max` keys of them; `None` if there are none. The call says that those before have been dealt with.
    ///
    /// # Errors
    /// `Corruption`; `NeedsFetch` if a node is not here; those of the engine. The changes come with the next call then.
    pub fn next_change(&mut self, count_max: usize) -> Result<Option<PageChange>> {
        let page = self.branch.page();
        let mut at = locked(&self.seen.0);
        let (target, pin, from, is_first) = match at.on_the_way.take() {
            Some((target, pin, from)) => (target, pin, from, false),
            None => {
                let target = self.branch.commit();
                if target.id() == at.commit.id() {
                    return Ok(None);
                }
                let pin = Pin::commit(&page.0, &target);
                (target, pin, self.prefix.clone(), true)
            }
        };
        let (mut change, next) = match self.take(&page, &at.commit, &target, &from, count_max) {
            Ok(taken) => taken,
            Err(error) => {
                if !is_first {
                    at.on_the_way = Some((target, pin, from));
                }
                return Err(error);
            }
        };
        change.state = match (is_first, &next) {
            (true, None) => PageChangeState::Completed,
            (true, Some(_)) => PageChangeState::PartialStarted,
            (false, Some(_)) => PageChangeState::PartialContinued,
            (false, None) => PageChangeState::PartialCompleted,
        };
        match next {
            Some(next) => at.on_the_way = Some((target, pin, next)),
            None => {
                at.commit = target;
                at._pin = pin;
            }
        }
        let is_empty = change.changed.is_empty() && change.deleted.is_empty();
        Ok((!is_empty).then_some(change))
    }

    fn take(
        &self,
        page: &Page,
        old: &Commit,
        new: &Commit,
        from: &[u8],
        count_max: usize,
    ) -> Result<(PageChange, Option<Vec<u8>>)> {
        let mut change = PageChange {
            timestamp: new.timestamp(),
            changed: Vec::new(),
            deleted: Vec::new(),
            state: PageChangeState::Completed,
        };
        for diff in page.tree(old).diff(&new.root(), from)? {
            let diff = diff?;
            if !diff.key.starts_with(&self.prefix) {
                break;
            }
            if change.changed.len() + change.deleted.len() >= count_max.max(1) {
                return Ok((change, Some(diff.key)));
            }
            match diff.new {
                Some(entry) => change.changed.push(entry),
                None => change.deleted.push(diff.key),
            }
        }
        Ok((change, None))
    }
}
