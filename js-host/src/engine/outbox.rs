//! [`Outbox`]: the engine's answers, in the order in which they came, until the event loop takes them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use larder_codec::JsString;
use larder_idb::{
    Connection, ConnectionEvent, Cursor, DatabaseInfo, DeleteEvent, Key, OpenEvent, Records,
    Request, Result, StoredValue,
};

/// What a request comes to.
#[derive(Debug)]
pub(super) enum Outcome {
    Nothing,
    Key(Key),
    MaybeKey(Option<Key>),
    Value(Option<StoredValue>),
    Count(u64),
    Records(Records, Wanted),
    Cursor(Option<Cursor>),
    /// A cursor that has a number has moved.
    Moved(u32, Option<Cursor>),
    Databases(Vec<DatabaseInfo>),
}

/// What of records is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Values,
    PrimaryKeys,
    Whole,
}

/// An answer, or something that has happened, and the number of the request that it is for.
#[derive(Debug)]
pub(super) enum Answer {
    Complete(u32, Result<Outcome>),
    Open(u32, OpenEvent),
    Delete(u32, DeleteEvent),
    Connection(Watcher, ConnectionEvent),
}

/// Under which number the binding hears what happens to a connection: it says so when it has the connection, but what happens
/// to it may come earlier, and must not be lost.
pub(super) type Watcher = Arc<OnceLock<u32>>;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<Answer>,
    /// How many are to come for certain.
    expected: usize,
    /// By database: requests to open and delete it.
    opening: HashMap<JsString, Opening>,
    /// By request to open: who hears of the connection that is on its way to script.
    watchers: HashMap<u32, Watcher>,
}

#[derive(Debug, Default)]
struct Opening {
    waiting: usize,
    /// Whether the first of them waits for script to close a connection, which may be never.
    is_blocked: bool,
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the result of a request in when it is there.
    pub(super) fn expect<T: Send + 'static>(
        self: &Arc<Self>,
        number: u32,
        request: Request<T>,
        outcome: impl FnOnce(T) -> Outcome + Send + 'static,
    ) {
        self.state().expected += 1;
        let outbox = Arc::clone(self);
        request.on_done(move |result| {
            outbox.put(Answer::Complete(number, result.map(outcome)), 1);
        });
    }

    /// A database is being opened or deleted.
    pub(super) fn expect_opening(&self, name: &JsString) {
        let mut state = self.state();
        state.opening.entry(name.clone()).or_default().waiting += 1;
    }

    /// Something has happened to a request to open or delete a database.
    pub(super) fn put_opening(&self, name: &JsString, answer: Answer) {
        let is_done = matches!(
            answer,
            Answer::Open(_, OpenEvent::Done(_)) | Answer::Delete(_, DeleteEvent::Done(_))
        );
        // All at once: who looks in between would find nothing to wait for.
        let mut state = self.state();
        if let Some(opening) = state.opening.get_mut(name) {
            opening.is_blocked = false;
            opening.waiting -= usize::from(is_done && opening.waiting > 0);
            if opening.waiting == 0 {
                state.opening.remove(name);
            }
        }
        state.put(answer, 0);
        drop(state);
        self.arrived.notify_one();
    }

    /// From now on, what happens to the connection that a request to open has got comes here.
    pub(super) fn listen(self: &Arc<Self>, request: u32, connection: &Connection) {
        let watcher = Watcher::default();
        self.state().watchers.insert(request, Arc::clone(&watcher));
        let outbox = Arc::clone(self);
        connection.events().on_event(move |event| {
            outbox.put(Answer::Connection(Arc::clone(&watcher), event), 0);
        });
    }

    /// Who is to hear of the connection of a request to open.
    pub(super) fn take_watcher(&self, request: u32) -> Option<Watcher> {
        self.state().watchers.remove(&request)
    }

    /// Whether a request waits for script to close connections to this database.
    pub(super) fn is_blocked(&self, name: &JsString) -> bool {
        let state = self.state();
        state
            .opening
            .get(name)
            .is_some_and(|opening| opening.is_blocked)
    }

    /// A request is blocked, and script has a connection that it has not closed.
    pub(super) fn block(&self, name: &JsString) {
        if let Some(opening) = self.state().opening.get_mut(name) {
            opening.is_blocked = true;
        }
    }

    /// Script has closed the last connection to this database.
    pub(super) fn unblock(&self, name: &JsString) {
        if let Some(opening) = self.state().opening.get_mut(name) {
            opening.is_blocked = false;
        }
    }

    /// Puts an answer in; so many of the expected ones have come with it.
    pub(super) fn put(&self, answer: Answer, came: usize) {
        self.state().put(answer, came);
        self.arrived.notify_one();
    }

    pub(super) fn take(&self) -> Option<Answer> {
        self.state().answers.pop_front()
    }

    /// Whether any is there or will come.
    pub(super) fn expects_any(&self) -> bool {
        let state = self.state();
        let opening = state.opening.values().any(|opening| !opening.is_blocked);
        state.expected > 0 || opening || !state.answers.is_empty()
    }

    /// Waits until there is one, or for so long.
    pub(super) fn wait(&self, limit: Option<Duration>) {
        let state = self.state();
        if !state.answers.is_empty() {
            return;
        }
        match limit {
            Some(limit) => drop(self.arrived.wait_timeout(state, limit)),
            None => drop(self.arrived.wait(state)),
        }
    }

    pub(super) fn clear(&self) {
        let answers = std::mem::take(&mut self.state().answers);
        drop(answers);
    }
}

impl State {
    fn put(&mut self, answer: Answer, came: usize) {
        self.expected = self.expected.saturating_sub(came);
        self.answers.push_back(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use larder_idb::{Error, ErrorName};

    use super::*;

    fn failed() -> OpenEvent {
        OpenEvent::Done(Err(Error::new(ErrorName::AbortError, "a test")))
    }

    #[test]
    fn whoever_looks_finds_the_opening_or_its_end() {
        let name = JsString::from("x".to_owned());
        for _ in 0..300 {
            let outbox = Outbox::default();
            outbox.expect_opening(&name);
            thread::scope(|scope| {
                scope.spawn(|| outbox.put_opening(&name, Answer::Open(1, failed())));
                while outbox.take().is_none() {
                    assert!(outbox.expects_any());
                }
            });
            assert!(!outbox.expects_any());
        }
    }
}
