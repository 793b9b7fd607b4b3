//! The operations of a transaction that have yet to be executed, in the order of their requests.
//!
//! Gets of one key that follow one another on the same object store or index are one entry, a *run*, and their results lie together; so
//! are small puts. Each with an entry and memory of its own for its result would take about a third longer for a get of 100 B, and an
//! eighth for a put (decision 15). How a run is executed is in `run.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use larder_backing_store::PutMode;
use larder_codec::Key;
use smallvec::SmallVec;

use super::operation::{Length, Operation, Work};
use crate::operation::{Source, SourceIdentity};
use crate::request::completion::{Completion, Completions};
use crate::value::StoredValue;

/// What a queue holds before a thread is woken to execute it though no result is wanted yet: so many bytes, about.
const HELD_MAX: usize = 16 << 20;

/// What small puts hold before the thread that queues them executes them, in bytes, about: few enough for the processor's cache. A host
/// that went on queueing would fill memory that is new to the process, which takes longer than the put (decision 8).
const PUTS_MAX: usize = if cfg!(all(test, shuttle)) {
    600
} else {
    1 << 20
};

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
    /// How much of that small puts hold.
    held_by_puts: usize,
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

    /// Whether the thread that queues is to execute it.
    pub(super) const fn is_full_of_puts(&self) -> bool {
        self.held_by_puts >= PUTS_MAX
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
    pub(super) fn push_to_run<A: RunArgument>(
        &mut self,
        source: &Source,
        argument: A,
        may_join: bool,
    ) -> Completion<A::Result> {
        let held_bytes = SHORT_LEN + argument.held_bytes();
        self.held_bytes += held_bytes;
        if A::IS_PUT {
            self.held_by_puts += held_bytes;
        }
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
        self.held_by_puts = 0;
    }
}

/// One operation, or several of one kind.
pub(crate) struct Run<A, T> {
    /// `None` if it is that of the run before it. A reference of its own would be counted by the thread that queues and by the one that
    /// executes, and they would wait for each other's cache line.
    pub(super) source: Option<Source>,
    pub(super) arguments: Arguments<A>,
    pub(super) completions: Arc<Completions<T>>,
}

/// The argument of each operation; most often there is one.
pub(crate) type Arguments<A> = SmallVec<[A; 1]>;

impl<A, T: Send + 'static> Run<A, T> {
    /// No more at once: looking more records up together takes no less time for each.
    const COUNT_MAX: usize = 16;

    /// One of none yet.
    fn new(source: Option<Source>) -> Self {
        Self {
            source,
            arguments: SmallVec::new(),
            completions: Arc::default(),
        }
    }

    fn has_room(&self) -> bool {
        self.arguments.len() < Self::COUNT_MAX
    }

    /// One more: the place of its result.
    fn push(&mut self, argument: A) -> Completion<T> {
        let number = self.arguments.len();
        if number == 1 {
            // Most runs of more than one are long.
            self.arguments.reserve_exact(Self::COUNT_MAX - 1);
        }
        self.arguments.push(argument);
        Completion::of(&self.completions, number)
    }
}

/// What runs are of: the argument stands for the operation.
pub(crate) trait RunArgument: Sized {
    type Result: Send + 'static;

    /// Whether it is a put.
    const IS_PUT: bool = false;

    /// What one holds besides its entry in the queue, in bytes, about.
    fn held_bytes(&self) -> usize;

    /// As the queue holds them.
    fn operation(run: Run<Self, Self::Result>) -> Operation;

    /// The run in an operation of the queue, if it is one of this kind.
    fn run_of(operation: &mut Operation) -> Option<&mut Run<Self, Self::Result>>;
}

/// What a get gives.
pub(crate) type Found = Option<StoredValue>;

/// A get of one key.
impl RunArgument for Key {
    type Result = Found;

    fn held_bytes(&self) -> usize {
        match self {
            Self::Number(_) | Self::Date(_) => 0,
            Self::String(string) => 2 * string.len_units(),
            Self::Binary(bytes) => bytes.len(),
            // A guess: most have few and short keys.
            Self::Array(_) => SmallPut::LEN_MAX,
        }
    }

    fn operation(run: Run<Self, Found>) -> Operation {
        Operation::Gets(run)
    }

    fn run_of(operation: &mut Operation) -> Option<&mut Run<Self, Found>> {
        match operation {
            Operation::Gets(run) => Some(run),
            _ => None,
        }
    }
}

/// A put of a small value without external objects, in a transaction whose indexes stay as they are.
pub(crate) struct SmallPut {
    pub(crate) bytes: Vec<u8>,
    pub(crate) key: Option<Key>,
    pub(crate) mode: PutMode,
}

impl SmallPut {
    /// Values up to this are put in no time, in bytes.
    pub(crate) const LEN_MAX: usize = 4096;
}

impl RunArgument for SmallPut {
    type Result = Key;
    const IS_PUT: bool = true;

    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.key.as_ref().map_or(0, RunArgument::held_bytes)
    }

    fn operation(run: Run<Self, Key>) -> Operation {
        Operation::Puts(run)
    }

    fn run_of(operation: &mut Operation) -> Option<&mut Run<Self, Key>> {
        match operation {
            Operation::Puts(run) => Some(run),
            _ => None,
        }
    }
}
