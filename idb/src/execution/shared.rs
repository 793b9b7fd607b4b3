//! What a transaction's lock guards: its queue, its phase, and what waits for it.

use std::collections::{BTreeMap, VecDeque};

use larder_backing_store::ReadTransaction;

use super::operation::Operation;
use super::queue::Queue;
use crate::error::Error;
use crate::executor::Callback;
use crate::operation::Execution;
use crate::operation::Source;
use crate::request::completion::Completion;
use crate::schema::SchemaSnapshot;
use crate::sync::Thread;

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Requests can be made.
    Active,
    /// It is to be committed when everything queued has been executed.
    Committing,
    /// It is to be rolled back.
    Aborted,
    /// It is being committed or rolled back.
    Ending,
    Finished,
}

/// How a transaction is when it is made, and what of that is not used up yet.
#[derive(Default)]
pub(crate) struct InitialState {
    /// No transaction before it is in its way.
    pub(crate) is_started: bool,
    /// What it reads, if it only reads, from when it is started until it is executed.
    pub(crate) snapshot: Option<ReadTransaction>,
    /// The schema before a version change, until that has ended.
    pub(crate) schema_before: Option<SchemaSnapshot>,
}

pub(super) struct Shared {
    pub(super) queue: Queue,
    /// Taken by the thread that executes.
    token: Option<Token>,
    pub(super) phase: Phase,
    /// Why it was aborted, if there is a reason.
    pub(super) error: Option<Error>,
    pub(super) initial: InitialState,
    /// Whether it is in the queue of tasks.
    pub(super) is_scheduled: bool,
    pub(super) demand: Demand,
    /// Failures that the host has not seen yet.
    pub(super) failures: BTreeMap<u64, Error>,
    /// The requests for its end.
    pub(super) ends: Vec<Completion<()>>,
    pub(super) deliveries: Deliveries,
}

/// What is wanted of a transaction.
#[derive(Default)]
pub(super) struct Demand {
    /// Results up to the operation of this number.
    pub(super) number: u64,
    /// Its end, by other transactions or by its connection, though perhaps no result.
    pub(super) is_end_awaited: bool,
    /// These threads want to execute it themselves.
    pub(super) waiting_threads: Vec<Thread>,
}

/// Callbacks that are due, which are called one after the other.
#[derive(Default)]
pub(super) struct Deliveries {
    pub(super) callbacks: VecDeque<Callback>,
    /// Whether a thread is calling one.
    pub(super) is_calling: bool,
}

impl Deliveries {
    pub(super) fn is_due(&self) -> bool {
        !self.is_calling && !self.callbacks.is_empty()
    }
}

/// The right to execute the transaction, and what executing works with. There is one.
#[derive(Default)]
pub(super) struct Token {
    pub(super) execution: Option<Box<Execution>>,
    pub(super) batch: VecDeque<Operation>,
    /// The source of the last get or small put that was executed.
    pub(super) source: Option<Source>,
}

impl Shared {
    /// Field by field: what is made with defaults first is copied once more, for each transaction.
    pub(super) fn new(initial: InitialState, is_end_awaited: bool) -> Self {
        Self {
            queue: Queue::default(),
            token: Some(Token::default()),
            phase: Phase::Active,
            error: None,
            initial,
            is_scheduled: false,
            demand: Demand {
                number: 0,
                is_end_awaited,
                waiting_threads: Vec::new(),
            },
            failures: BTreeMap::new(),
            ends: Vec::new(),
            deliveries: Deliveries::default(),
        }
    }

    /// Whether there is something to execute.
    fn can_run(&self) -> bool {
        let is_started = self.initial.is_started;
        match self.phase {
            Phase::Active => is_started && self.has_operations(),
            Phase::Committing => is_started,
            Phase::Aborted => true,
            Phase::Ending | Phase::Finished => false,
        }
    }

    /// Whether a thread executes it.
    pub(super) const fn is_running(&self) -> bool {
        self.token.is_none()
    }

    /// Takes the token if it is free and there is something to execute, and with it what is queued.
    pub(super) fn claim(&mut self) -> Option<Token> {
        if !self.can_run() {
            return None;
        }
        let mut token = self.token.take()?;
        if token.batch.is_empty() {
            self.queue.move_to(&mut token.batch);
        }
        Some(token)
    }

    /// The token is free again. These threads are to be woken, which wait for it.
    pub(super) fn release(&mut self, token: Token) -> Vec<Thread> {
        self.token = Some(token);
        std::mem::take(&mut self.demand.waiting_threads)
    }

    fn has_operations(&self) -> bool {
        let token = self.token.as_ref();
        !self.queue.is_empty() || token.is_some_and(|token| !token.batch.is_empty())
    }

    /// Whether the task is to be put into the queue of tasks, which the caller does then.
    pub(super) fn schedule(&mut self, is_wanted: bool) -> bool {
        let can_execute = is_wanted && !self.is_running() && self.can_run();
        let is_due = (can_execute || self.deliveries.is_due()) && !self.is_scheduled;
        self.is_scheduled |= is_due;
        is_due
    }

    /// Schedules it if the queue holds too much.
    pub(super) fn schedule_if_full(&mut self) -> bool {
        self.queue.is_full() && self.schedule(true)
    }
}
