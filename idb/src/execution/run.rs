//! Runs: gets of one key, or small puts, that follow one another on the same object store or index.
//!
//! A run is one entry of the queue, and the results of its operations lie together. Each with an entry and memory of its own for its
//! result would take about a third longer for a get of 100 B, and an eighth for a put (decision 15).

use std::sync::Arc;

use larder_backing_store::PutMode;
use larder_codec::Key;
use smallvec::SmallVec;

use super::operation::Operation;
use super::report::Report;
use crate::error::{Error, ErrorName, Result, attempt};
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::operation::{self, PutIndexes, PutRequest, Source};
use crate::request::completion::{Completion, Completions, Results};
use crate::value::{StoredValue, Value};

/// What a get gives.
pub(crate) type Found = Option<StoredValue>;

/// One operation, or several of one kind.
pub(crate) struct Run<A, T> {
    /// `None` if it is that of the run before it. A reference of its own would be counted by the thread that queues and by the one that
    /// executes, and they would wait for each other's cache line.
    source: Option<Source>,
    arguments: Arguments<A>,
    completions: Arc<Completions<T>>,
}

/// The argument of each operation; most often there is one.
pub(crate) type Arguments<A> = SmallVec<[A; 1]>;

/// What runs are of: the argument stands for the operation.
pub(crate) trait RunKind: Sized {
    type Result: Send + 'static;

    /// What one holds besides its entry in the queue, in bytes, about.
    fn held_bytes(&self) -> usize;

    /// As the queue holds them.
    fn operation(run: Run<Self, Self::Result>) -> Operation;

    /// The run in an operation of the queue, if it is one of this kind.
    fn run_of(operation: &mut Operation) -> Option<&mut Run<Self, Self::Result>>;

    /// Executes each. `give` gets the results, in their order, and returns whether to go on.
    fn execute_each(
        execution: &mut Execution,
        source: &Source,
        arguments: Arguments<Self>,
        give: &mut impl FnMut(Result<Self::Result>) -> bool,
    );
}

impl<A: RunKind> Run<A, A::Result> {
    /// No more at once: looking more records up together takes no less time for each.
    const COUNT_MAX: usize = 16;

    /// One of none yet.
    pub(super) fn new(source: Option<Source>) -> Self {
        Self {
            source,
            arguments: SmallVec::new(),
            completions: Arc::default(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.arguments.len() < Self::COUNT_MAX
    }

    /// One more: the place of its result.
    pub(super) fn push(&mut self, argument: A) -> Completion<A::Result> {
        let number = self.arguments.len();
        if number == 1 {
            // Most runs of more than one are long.
            self.arguments.reserve_exact(Self::COUNT_MAX - 1);
        }
        self.arguments.push(argument);
        Completion::of(&self.completions, number)
    }

    /// Executes it. `source` is that of the run before.
    pub(super) fn execute(
        self,
        execution: &mut Execution,
        source: &mut Option<Source>,
        report: &mut Report<'_>,
    ) {
        if self.source.is_some() {
            *source = self.source;
        }
        let count = self.arguments.len();
        let mut results = Results::with_capacity(count);
        // A panic of a host's code is the error of the operation that called it. This is for any other panic, which would leave requests
        // without results.
        let done = attempt(|| {
            let source = source.as_ref().ok_or_else(no_source)?;
            A::execute_each(execution, source, self.arguments, &mut |mut result| {
                let goes_on = report.settle(results.len(), &mut result);
                results.push(Some(result));
                goes_on
            });
            Ok(())
        });
        execution.statistics.requests += results.len() as u64;
        if results.len() < count {
            let error = done.err().unwrap_or_else(Error::panicked);
            for number in results.len()..count {
                let mut result = Err(error.clone());
                report.settle(number, &mut result);
                results.push(Some(result));
            }
        }
        report.complete(execution, &self.completions, results);
    }

    /// Completes it without executing it.
    pub(super) fn abort(self, error: &Error, report: &mut Report<'_>) {
        report.fail(&self.completions, self.arguments.len(), error);
    }
}

/// A get of one key.
impl RunKind for Key {
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

    fn execute_each(
        execution: &mut Execution,
        source: &Source,
        mut keys: Arguments<Self>,
        give: &mut impl FnMut(Result<Found>) -> bool,
    ) {
        if keys.len() > 1 {
            operation::get_each(execution, source, keys.into_vec(), give);
        } else if let Some(key) = keys.pop() {
            give(attempt(|| {
                operation::get(execution, source, &KeyRange::only(key))
            }));
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

impl RunKind for SmallPut {
    type Result = Key;

    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.key.as_ref().map_or(0, RunKind::held_bytes)
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

    fn execute_each(
        execution: &mut Execution,
        source: &Source,
        puts: Arguments<Self>,
        give: &mut impl FnMut(Result<Key>) -> bool,
    ) {
        for put in puts {
            let request = PutRequest {
                indexes: PutIndexes::OfStore,
                value: Value::from_bytes(put.bytes),
                key: put.key,
                mode: put.mode,
            };
            let result = attempt(|| operation::put(execution, &source.store, request));
            if !give(result) {
                return;
            }
        }
    }
}

/// What a run fails with whose object store is not known.
fn no_source() -> Error {
    let what = "internal error: an operation in the queue has no object store";
    Error::new(ErrorName::UnknownError, what)
}
