//! How a store is closed: with its last user, when it has been idle for its time, or by force.

use std::sync::Arc;

use super::open_store::{Kept, OpenStore};
use super::{Origin, State, Stored, Waiting};
use crate::error::{Error, Result, attempt};
use crate::executor::{Callback, Job, Turn};
use crate::request::completion::Completion;
use crate::sync::locked;

impl Origin {
    /// Closes all connections by force, and the store with its last user.
    pub(super) fn retire(self: &Arc<Self>, store: &Arc<OpenStore>, why: &Error) {
        if !store.retire() {
            return;
        }
        {
            let mut state = locked(&self.state);
            if matches!(state.store, Stored::InUse(_)) {
                state.store = Stored::Going;
            }
        }
        self.force_close(why);
    }

    /// The last user of the store is gone. The store becomes idle; or it is closed, if it is to go.
    pub(super) fn put_down(self: &Arc<Self>, kept: Kept) {
        let since_us = self.shared.idle.now_us();
        let (waiting, added) = {
            let mut state = locked(&self.state);
            let is_to_go =
                state.is_closing || !state.closing.is_empty() || !state.deleting.is_empty();
            if is_to_go || !matches!(state.store, Stored::InUse(_)) {
                state.store = Stored::Going;
                drop(state);
                let closed = kept.close();
                self.keep_failure(&closed);
                return self.gone(closed);
            }
            let added = self.shared.idle.add(self, since_us, false);
            state.store = Stored::Idle(kept, added.number);
            (std::mem::take(&mut state.waiting), added)
        };
        self.shared.idle.announce(&added);
        self.go_on(waiting, Vec::new(), Ok(()));
    }

    /// Closes the store, if it is idle still and has this number: whether it was. A store whose blobs are held stays idle.
    pub(super) fn close_idle(self: &Arc<Self>, number: u64) -> bool {
        let since_us = self.shared.idle.now_us();
        let kept = {
            let mut state = locked(&self.state);
            match std::mem::replace(&mut state.store, Stored::Going) {
                Stored::Idle(kept, own) if own == number && kept.is_in_use() => {
                    let added = self.shared.idle.add(self, since_us, true);
                    state.store = Stored::Idle(kept, added.number);
                    drop(state);
                    self.shared.idle.announce(&added);
                    return false;
                }
                Stored::Idle(kept, own) if own == number => kept,
                other => {
                    state.store = other;
                    return false;
                }
            }
        };
        let closed = kept.close();
        if let Err(error) = &closed {
            locked(&self.state).failed.get_or_insert(error.clone());
        }
        self.gone(closed);
        true
    }

    /// While the storage ends, an error of closing is kept for the call that closes the rest.
    fn keep_failure(&self, closed: &Result<()>) {
        let mut state = locked(&self.state);
        if let Err(error) = closed
            && state.is_closing
            && state.closing.is_empty()
        {
            state.failed.get_or_insert(error.clone());
        }
    }

    /// Takes the store, if it is idle: the caller closes it.
    pub(super) fn take_idle(&self, state: &mut State) -> Option<Kept> {
        match std::mem::replace(&mut state.store, Stored::Going) {
            Stored::Idle(kept, number) => {
                self.shared.idle.remove(number);
                Some(kept)
            }
            other => {
                state.store = other;
                None
            }
        }
    }

    /// Calls `go_on` when the store of before has gone, or can be used.
    pub(crate) fn await_store(&self, go_on: Waiting) {
        {
            let mut state = locked(&self.state);
            if self.is_going(&state) {
                state.waiting.push(go_on);
                return;
            }
        }
        go_on();
    }

    /// Whether the store of before has still to go. An announced deletion counts: it ends only after its announcement is taken back,
    /// so that a request which is added here, with the lock, is not missed by [`deletion_ended`](Self::deletion_ended).
    fn is_going(&self, state: &State) -> bool {
        let is_deleted = || self.shared.deletions.take(self) && !state.is_closing;
        match &state.store {
            Stored::Going => true,
            Stored::InUse(store) => store.strong_count() == 0 || is_deleted(),
            Stored::Closed | Stored::Idle(..) => is_deleted(),
        }
    }

    /// Whether a deletion that was announced takes this store: what is asked for now comes after it.
    pub(crate) fn awaits_deletion(&self) -> bool {
        self.shared.deletions.take(self) && !self.is_closing()
    }

    /// An announced deletion that took this store has ended: the requests that came after it go on.
    pub(crate) fn deletion_ended(&self) {
        let waiting = {
            let mut state = locked(&self.state);
            match self.is_going(&state) {
                true => return,
                false => std::mem::take(&mut state.waiting),
            }
        };
        self.go_on(waiting, Vec::new(), Ok(()));
    }

    /// The store has been closed.
    pub(super) fn gone(&self, closed: Result<()>) {
        self.note_closed();
        let mut deleted = Vec::new();
        let mut result = Ok(());
        let (waiting, closing) = loop {
            let mut state = locked(&self.state);
            if state.deleting.is_empty() {
                state.store = Stored::Closed;
                let closing = std::mem::take(&mut state.closing);
                break (std::mem::take(&mut state.waiting), closing);
            }
            deleted.append(&mut state.deleting);
            // It is not opened as long as it is going.
            drop(state);
            result = attempt(|| self.delete_files());
        };
        self.go_on(Vec::new(), deleted, result);
        self.go_on(waiting, closing, closed);
    }

    /// In a task of its own, since the caller may hold locks.
    fn go_on(&self, waiting: Vec<Waiting>, closing: Vec<Completion<()>>, closed: Result<()>) {
        if waiting.is_empty() && closing.is_empty() {
            return;
        }
        self.ready().push(Arc::new(Job::of(move |turn: &mut Turn| {
            for go_on in waiting {
                go_on();
            }
            for completion in closing {
                if let Some(callback) = completion.complete(closed.clone()) {
                    turn.call(callback);
                }
            }
        })));
    }

    /// Closes all connections by force, and then the store. It is opened again when it is needed again.
    pub(crate) fn close(self: &Arc<Self>, completion: Completion<()>) -> Option<Callback> {
        let (used, idle) = {
            let mut state = locked(&self.state);
            let used = match &state.store {
                Stored::Closed => {
                    let failed = state.failed.take();
                    drop(state);
                    return completion.complete(failed.map_or(Ok(()), Err));
                }
                Stored::InUse(store) => store.upgrade(),
                Stored::Idle(..) | Stored::Going => None,
            };
            state.closing.push(completion);
            (used, self.take_idle(&mut state))
        };
        self.close_by_force(used, idle);
        None
    }

    /// Closes the store that was found, in use or idle.
    pub(super) fn close_by_force(
        self: &Arc<Self>,
        used: Option<Arc<OpenStore>>,
        idle: Option<Kept>,
    ) {
        if let Some(store) = used {
            self.retire(&store, &Error::forced());
        }
        if let Some(kept) = idle {
            self.gone(kept.close());
        }
    }

    /// Closes connections as soon as their transactions have ended, and then the store. There will be no others
    /// ([`refuse_new`](Self::refuse_new) came before).
    pub(crate) fn finish(self: &Arc<Self>, completion: Completion<()>) -> Option<Callback> {
        let idle = {
            let mut state = locked(&self.state);
            if matches!(state.store, Stored::Closed) {
                let failed = state.failed.take();
                drop(state);
                return completion.complete(failed.map_or(Ok(()), Err));
            }
            state.closing.push(completion);
            self.take_idle(&mut state)
        };
        if let Some(users) = self.users.upgrade() {
            users.close_all();
        }
        if let Some(kept) = idle {
            self.gone(kept.close());
        }
        None
    }

    /// Closes the store, if it is idle.
    ///
    /// # Errors
    /// As closing it, now or when it was idle. A store that is still used is closed with its last user.
    pub(crate) fn close_store(&self) -> Result<()> {
        let (idle, failed) = {
            let mut state = locked(&self.state);
            (self.take_idle(&mut state), state.failed.take())
        };
        let closed = idle.map(|kept| {
            let closed = kept.close();
            self.gone(Ok(()));
            closed
        });
        failed.map_or(closed.unwrap_or(Ok(())), Err)
    }

    /// Whether there is nothing of it to be remembered, but for its databases' handles.
    pub(crate) fn is_closed(&self) -> bool {
        let state = locked(&self.state);
        let has_nothing = matches!(state.store, Stored::Closed) && state.failed.is_none();
        has_nothing && !self.has_own_quota()
    }
}
