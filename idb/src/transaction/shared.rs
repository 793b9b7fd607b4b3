//! What a transaction's lock guards: its queue, where it stands, and who wants what of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use larder_backing_store::ReadTransaction;

use super::core::Begins;
use super::execution::Execution;
use super::group::Group;
use super::queued::Queued;
use super::short::{Alone, Short, ShortKind};
use crate::error::Error;
use crate::executor::Callback;
use crate::operation::{Source, SourceIdentity};
use crate::request::place::Place;
use crate::request::slot::{LoneSlot, Slot};
use crate::schema::SchemaSnapshot;
use crate::sync::Thread;

/// What a queue holds before somebody is woken to execute it though nobody wants its results yet: so many bytes, about.
const UNURGED_MAX: usize = 16 << 20;

/// What an operation counts for that may be long: nobody waits for more than 32.
pub(super) const LONG_LEN: usize = UNURGED_MAX / 32;

/// What a short one holds at least: its entry, and the place for its result.
pub(super) const SHORT_LEN: usize = 256;

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

pub(super) struct Shared {
    pub(super) queue: VecDeque<Queued>,
    /// How much they hold, in bytes, about.
    pub(super) queued_len: usize,
    /// What the last of the short operations on object stores and indexes is on. It, or who has executed it, holds that.
    short_source: Option<SourceIdentity>,
    /// What who executes works with. Gone while somebody does.
    pub(super) runner: Option<Runner>,
    pub(super) phase: Phase,
    /// Why it was aborted, if there is a reason.
    pub(super) error: Option<Error>,
    /// Whether its turn has come: no transaction before it is in its way.
    pub(super) is_started: bool,
    /// What it reads, if it only reads, from when it was started until somebody executes it.
    pub(super) snapshot: Option<ReadTransaction>,
    /// Whether it is in the queue of tasks.
    pub(super) is_scheduled: bool,
    /// Results are wanted up to the operation of this number.
    pub(super) wanted: u64,
    /// Others wait for its end, though perhaps nobody for its results.
    pub(super) is_awaited: bool,
    /// Threads that want to execute it themselves.
    pub(super) heirs: Vec<Thread>,
    /// Failures that nobody has seen yet.
    pub(super) failures: BTreeMap<u64, Error>,
    /// The end, for the first who wants to be told of it.
    pub(super) end: Option<Slot<()>>,
    /// The same for all others.
    pub(super) ends: Vec<Arc<LoneSlot<()>>>,
    /// Callbacks that are due.
    pub(super) deliveries: VecDeque<Callback>,
    pub(super) is_delivering: bool,
    /// Of a version change.
    pub(super) schema_before: Option<SchemaSnapshot>,
}

/// What who executes it works with.
#[derive(Default)]
pub(super) struct Runner {
    pub(super) execution: Option<Box<Execution>>,
    pub(super) batch: VecDeque<Queued>,
}

impl Shared {
    /// Field by field: what is made with defaults first is copied once more, for each transaction.
    pub(super) fn new(begins: Begins, is_awaited: bool) -> Self {
        Self {
            queue: VecDeque::new(),
            queued_len: 0,
            short_source: None,
            runner: Some(Runner::default()),
            phase: Phase::Active,
            error: None,
            is_started: begins.is_started,
            snapshot: begins.snapshot,
            is_scheduled: false,
            wanted: 0,
            is_awaited,
            heirs: Vec::new(),
            failures: BTreeMap::new(),
            end: None,
            ends: Vec::new(),
            deliveries: VecDeque::new(),
            is_delivering: false,
            schema_before: begins.schema_before,
        }
    }

    /// Whether there is something to execute.
    pub(super) fn can_run(&self) -> bool {
        match self.phase {
            Phase::Active => self.is_started && self.has_operations(),
            Phase::Committing => self.is_started,
            Phase::Aborted => true,
            Phase::Ending | Phase::Finished => false,
        }
    }

    /// Whether somebody executes it.
    pub(super) const fn is_running(&self) -> bool {
        self.runner.is_none()
    }

    /// Takes the token if nobody has it and there is something to execute, and with it what is queued.
    pub(super) fn claim(&mut self) -> Option<Runner> {
        if !self.can_run() {
            return None;
        }
        let mut runner = self.runner.take()?;
        if runner.batch.is_empty() {
            self.hand_over(&mut runner.batch);
        }
        Some(runner)
    }

    /// Puts what is queued behind a batch, to be executed.
    pub(super) fn hand_over(&mut self, batch: &mut VecDeque<Queued>) {
        match batch.is_empty() {
            true => std::mem::swap(&mut self.queue, batch),
            false => batch.append(&mut self.queue),
        }
        self.queued_len = 0;
    }

    /// An operation was queued that holds so many bytes. Whether the task is to be put into the queue because of how much that is
    /// now.
    pub(super) fn add_len(&mut self, len: usize) -> bool {
        self.queued_len += len;
        self.queued_len >= UNURGED_MAX && self.schedule(true)
    }

    /// Queues a short operation; with those of its kind before it that are on the same source, if it may join them.
    pub(super) fn queue_short<K: ShortKind>(
        &mut self,
        source: &Source,
        argument: K::Argument,
        may_join: bool,
    ) -> Place<K::Output> {
        let is_of_same = may_join && self.short_source == Some(source.identity());
        let last = self.queue.back_mut().filter(|_| is_of_same);
        match last.and_then(K::of) {
            Some(Short::Group(group)) if group.has_room() => group.push(argument),
            Some(_) => {
                let mut group = Group::new();
                let place = group.push(argument);
                self.queue.push_back(K::queued(Short::Group(group)));
                place
            }
            None => {
                let slot = Arc::new(LoneSlot::default());
                let outlet = Arc::clone(&slot);
                let alone = Alone {
                    source: self.note_source(source),
                    argument,
                    slot,
                };
                self.queue.push_back(K::queued(Short::Alone(alone)));
                Place::Alone(outlet)
            }
        }
    }

    /// The source of a short operation that is queued now, unless it is that of the one before.
    fn note_source(&mut self, source: &Source) -> Option<Source> {
        let identity = source.identity();
        let is_another = self.short_source.replace(identity) != Some(identity);
        is_another.then(|| source.clone())
    }

    /// Whether there are callbacks to be called.
    pub(super) fn has_deliveries(&self) -> bool {
        !self.deliveries.is_empty()
    }

    fn has_operations(&self) -> bool {
        let runner = self.runner.as_ref();
        !self.queue.is_empty() || runner.is_some_and(|runner| !runner.batch.is_empty())
    }

    /// Whether the task is to be put into the queue, which the caller does then.
    pub(super) fn schedule(&mut self, is_wanted: bool) -> bool {
        let is_due = is_wanted && !self.is_running() && self.can_run();
        let is_due = is_due || (!self.is_delivering && !self.deliveries.is_empty());
        let is_due = is_due && !self.is_scheduled;
        self.is_scheduled |= is_due;
        is_due
    }
}
