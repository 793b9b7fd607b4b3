//! [`Steps`]: what runs the engine's steps, the scripts' thread between tasks or a thread beside it.
//!
//! Either way the engine has the calls of one task of one realm at a time: all steps that they lead to are done before
//! a call of another task reaches it. So the order of its answers depends on the scripts alone. The thread beside them
//! works while script runs that does not call the engine; a call waits for it.
//!
//! A task that runs on and on with other realms waiting gives the engine up ([`PATIENCE`]): a script that never ends
//! stops no other.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use larder_idb::{Error, ErrorName, Result, Storage};

use super::tasks::Tasks;
use crate::pauses::Pauses;
use crate::realms::{Group, Realm, Stopped};

/// How long a task may keep the engine while others wait.
const PATIENCE: Duration = Duration::from_millis(100);

/// The steps that one realm's calls lead to.
pub(super) struct Steps {
    realm: Realm,
    storage: Storage,
    tasks: Tasks,
    /// Whether a thread beside the scripts' does them.
    has_thread: bool,
    /// The thread of the first realm, which ends it.
    thread: RefCell<Option<JoinHandle<()>>>,
    /// Whether this realm has the engine.
    is_holding: Cell<bool>,
    /// Since when it has been seen that others wait for it.
    awaited_since: Cell<Option<Instant>>,
}

impl Steps {
    /// Those of a realm's calls. The thread that does them, if one does, is started elsewhere.
    pub(super) const fn new(
        realm: Realm,
        storage: Storage,
        tasks: Tasks,
        has_thread: bool,
    ) -> Self {
        Self {
            realm,
            storage,
            tasks,
            has_thread,
            thread: RefCell::new(None),
            is_holding: Cell::new(false),
            awaited_since: Cell::new(None),
        }
    }

    /// Starts the thread that does the steps of all realms.
    ///
    /// # Errors
    /// `UnknownError` if it cannot be started.
    pub(super) fn start_thread(&self, pauses: Pauses) -> Result<()> {
        let (storage, tasks) = (self.storage.clone(), self.tasks.clone());
        let group = Arc::clone(self.realm.group());
        let serve = move || serve(&storage, &tasks, &group, &pauses);
        let started = Builder::new().name("larder-engine".into()).spawn(serve);
        let thread = started.map_err(|error| {
            let what = format!("cannot start a thread: {error}");
            Error::new(ErrorName::UnknownError, what)
        })?;
        self.thread.replace(Some(thread));
        Ok(())
    }

    pub(super) const fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Whether a thread beside the scripts' does them.
    pub(super) const fn has_thread(&self) -> bool {
        self.has_thread
    }

    /// Before a call: no step is done until the task is over.
    ///
    /// # Errors
    /// If the realm is to stop.
    pub(super) fn rest(&self) -> std::result::Result<(), Stopped> {
        if !self.is_holding.get() {
            self.realm.take_turn(false)?;
            self.hold();
        }
        Ok(())
    }

    fn hold(&self) {
        self.is_holding.set(true);
        self.awaited_since.set(None);
    }

    /// After a task: what it has asked for is done.
    pub(super) fn go_on(&self) {
        let is_holding = self.is_holding.replace(false);
        if self.has_thread {
            if is_holding {
                self.realm.hand_to_thread();
            }
        } else if is_holding || self.realm.try_turn() {
            // A step may come up from another thread between the last `run_one` and `leave_turn`, which then answers false.
            loop {
                while self.storage.run_one() || self.tasks.run_one() {}
                if self.realm.leave_turn() {
                    break;
                }
            }
        }
    }

    /// In the midst of a task: gives the engine up if others have waited too long.
    pub(super) fn give_way(&self) {
        if !self.is_holding.get() || !self.realm.is_waited_for() {
            return;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a root reads the clock: others wait"
        )]
        let now = Instant::now();
        match self.awaited_since.get() {
            None => self.awaited_since.set(Some(now)),
            Some(since) if now.duration_since(since) > PATIENCE => self.go_on(),
            Some(_) => {}
        }
    }

    /// Before the thread waits for something that may never come.
    pub(super) fn before_long_wait(&self) {
        // Reading standard input for instance: the other realms would wait for the engine as long as the person types nothing.
        if self.is_holding.get() && !self.realm.is_alone() {
            self.go_on();
        }
    }

    /// The engine for a realm that is about to end; false if the run is over.
    pub(super) fn take_last_turn(&self) -> bool {
        if !self.is_holding.get() && self.realm.take_turn(true).is_ok() {
            self.hold();
        }
        self.is_holding.get()
    }

    /// Lets the others have the engine, without the steps of this realm's calls.
    pub(super) fn drop_turn(&self) {
        if self.is_holding.replace(false) {
            while !self.realm.leave_turn() {}
        }
    }

    /// Ends the thread, after the step that it is at.
    pub(super) fn end_thread(&self) {
        // A panic was caught, and is kept for the next turn.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// What the thread does.
fn serve(storage: &Storage, tasks: &Tasks, group: &Group, pauses: &Pauses) {
    while group.await_work() {
        // A panic must not end the thread with the engine in its hands: every realm would wait for a turn that is never passed on.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            pauses.pause();
            while !group.is_ending() && (storage.run_one() || tasks.run_one()) {
                pauses.pause();
            }
        }));
        group.end_work(worked.err());
    }
}
