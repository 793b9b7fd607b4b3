//! [`Outbox`]: the engine's answers, in the order in which they came, until the event loop takes them; and whether a thread beside
//! the scripts' is at work on more.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

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
    /// Bytes that are used, and may be.
    Estimate(u64, u64),
    Flag(bool),
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

#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    /// An answer has come, or the thread has come to the end of its work.
    changed: Condvar,
    /// There is work for the thread, or it is to end.
    wanted: Condvar,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    /// By request to open: who hears of the connection that is on its way to script.
    watchers: HashMap<u32, Watcher>,
    /// Whether the thread has the engine.
    is_at_work: bool,
    is_ending: bool,
    /// What a step has thrown.
    thrown: Option<Box<dyn Any + Send>>,
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
        let outbox = Arc::clone(self);
        request.on_done(move |result| {
            outbox.put(Answer::Complete(number, result.map(outcome)));
        });
    }

    /// From now on, what happens to the connection that a request to open has got comes here.
    pub(super) fn listen(self: &Arc<Self>, request: u32, connection: &Connection) {
        let watcher = Watcher::default();
        self.state().watchers.insert(request, Arc::clone(&watcher));
        let outbox = Arc::clone(self);
        connection.events().on_event(move |event| {
            outbox.put(Answer::Connection(Arc::clone(&watcher), event));
        });
    }

    /// Who is to hear of the connection of a request to open.
    pub(super) fn take_watcher(&self, request: u32) -> Option<Watcher> {
        self.state().watchers.remove(&request)
    }

    pub(super) fn put(&self, answer: Answer) {
        self.state().answers.push_back(answer);
        self.changed.notify_one();
    }

    pub(super) fn take(&self) -> Option<Answer> {
        self.state().answers.pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.state().answers.len()
    }

    /// Waits until there is an answer, or none can come, or for so long. False at once if there is none and none can come.
    pub(super) fn wait(&self, limit: Option<Duration>) -> bool {
        let state = self.state();
        if !state.answers.is_empty() {
            return true;
        }
        if !state.is_at_work {
            return false;
        }
        match limit {
            Some(limit) => drop(self.changed.wait_timeout(state, limit)),
            None => drop(self.changed.wait(state)),
        }
        true
    }

    pub(super) fn clear(&self) {
        let answers = std::mem::take(&mut self.state().answers);
        drop(answers);
    }
}

/// The thread's turns.
impl Outbox {
    /// The thread has the engine, until it has done all that can be done now.
    pub(super) fn begin_work(&self) {
        self.state().is_at_work = true;
        self.wanted.notify_one();
    }

    /// Waits until the thread has done all that can be done now. What a step has thrown comes out here.
    pub(super) fn await_rest(&self) {
        let mut state = self.state();
        while state.is_at_work {
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        let thrown = state.thrown.take();
        drop(state);
        if let Some(thrown) = thrown {
            resume_unwind(thrown);
        }
    }

    /// The thread waits for work: whether there is some, or else it is to end.
    pub(super) fn await_work(&self) -> bool {
        let mut state = self.state();
        while !state.is_at_work && !state.is_ending {
            state = (self.wanted.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_ending
    }

    /// The thread has done its work, or a step has thrown something.
    pub(super) fn end_work(&self, thrown: Option<Box<dyn Any + Send>>) {
        let mut state = self.state();
        state.is_at_work = false;
        state.thrown = thrown;
        drop(state);
        self.changed.notify_one();
    }

    /// The thread is to end.
    pub(super) fn end(&self) {
        self.state().is_ending = true;
        self.wanted.notify_one();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.state().is_ending
    }
}
