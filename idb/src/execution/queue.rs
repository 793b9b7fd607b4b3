//! The operations of a transaction that have yet to be executed, in the order of their requests.

use std::collections::VecDeque;

use super::operation::{Length, Operation, Work};
use super::run::{Run, RunKind, SmallPut};
use crate::operation::{Source, SourceIdentity};
use crate::request::completion::Completion;

/// What a queue holds before a thread is woken to execute it though no result is wanted yet: so many bytes, about.
const HELD_MAX: usize = 16 << 20;

/// What an operation that may be long counts as, so that a thread is woken when 32 of them wait.
const LONG_LEN: usize = HELD_MAX / 32;

/// What a short one holds at least: its entry, and the place for its result.
const SHORT_LEN: usize = 256;

/// The queue.
#[derive(Default)]
pub(super) struct Queue {
    operations: VecDeque<Operation>,
    /// How much they hold, in bytes, about.
    held_bytes: usize,
    /// The source of the last get or small put. The queue holds that source, or the token does once it has been executed.
    last_source: Option<SourceIdentity>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether it is to be executed though no result is wanted yet.
    pub(super) const fn is_full(&self) -> bool {
        self.held_bytes >= HELD_MAX
    }

    /// Adds an operation of its own.
    pub(super) fn push(&mut self, work: Work, length: Length) {
        self.held_bytes += match length {
            Length::Short => SHORT_LEN + SmallPut::LEN_MAX,
            Length::Long => LONG_LEN,
        };
        self.operations.push_back(Operation::Other(work, length));
    }

    /// Adds a get or a small put. It joins the run at the queue's end if it may join one, and if that run is of its kind and on its
    /// object store or index. Returns the place of its result.
    pub(super) fn push_to_run<A: RunKind>(
        &mut self,
        source: &Source,
        argument: A,
        may_join: bool,
    ) -> Completion<A::Result> {
        self.held_bytes += SHORT_LEN + argument.held_bytes();
        let identity = source.identity();
        let is_another = self.last_source.replace(identity) != Some(identity);
        let last = self
            .operations
            .back_mut()
            .filter(|_| may_join && !is_another);
        if let Some(run) = last.and_then(A::run_of)
            && run.has_room()
        {
            return run.push(argument);
        }
        let mut run = Run::new(is_another.then(|| source.clone()));
        let completion = run.push(argument);
        self.operations.push_back(A::operation(run));
        completion
    }

    /// Moves all of them behind a batch.
    pub(super) fn move_to(&mut self, batch: &mut VecDeque<Operation>) {
        match batch.is_empty() {
            true => std::mem::swap(&mut self.operations, batch),
            false => batch.append(&mut self.operations),
        }
        self.held_bytes = 0;
    }
}
