//! How an operation of the queue is executed: a run of gets or of small puts here, any other by its own work.

use std::collections::VecDeque;

use larder_codec::Key;

use super::operation::Operation;
use super::queue::{Arguments, Found, Run, RunArgument, SmallPut};
use super::report::Report;
use crate::error::{Error, ErrorName, Result, attempt};
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::operation::{self, PutIndexes, PutRequest, Source};
use crate::request::completion::Results;
use crate::value::Value;

impl Operation {
    /// Executes it. `source` is that of the last run.
    pub(super) fn execute(
        self,
        execution: &mut Execution,
        source: &mut Option<Source>,
        report: &mut Report<'_>,
    ) {
        match self {
            Self::Gets(run) => run.execute(execution, source, report),
            Self::Puts(run) => run.execute(execution, source, report),
            Self::Other(work, _) => work(Ok(execution), report),
        }
    }

    /// Completes it without executing it.
    pub(super) fn abort(self, error: &Error, report: &mut Report<'_>) {
        match self {
            Self::Gets(run) => run.abort(error, report),
            Self::Puts(run) => run.abort(error, report),
            Self::Other(work, _) => work(Err(error.clone()), report),
        }
    }
}

/// What executing does with the arguments of a run.
pub(crate) trait RunKind: RunArgument {
    /// Executes each. `give` gets the results, in their order, and returns whether to go on.
    fn execute_each(
        execution: &mut Execution,
        source: &Source,
        arguments: Arguments<Self>,
        give: &mut impl FnMut(Result<Self::Result>) -> bool,
    );
}

impl Run<Key, Found> {
    /// Comes before it is executed, behind so many operations: reads what this run gets and, if that takes less time, what those behind it
    /// get. `source` is that of the run before.
    pub(super) fn read_ahead(
        &self,
        execution: &mut Execution,
        source: Option<&Source>,
        executed: u64,
        behind: &VecDeque<Operation>,
    ) {
        let Some(source) = self.source.as_ref().or(source) else {
            return;
        };
        let runs = behind.iter().map_while(|operation| match operation {
            Operation::Gets(run) if run.source.is_none() => Some(run),
            _ => None,
        });
        let runs = std::iter::once(self).chain(runs);
        let runs = runs.map(|run| &*run.arguments);
        let of_this = (self.arguments.len(), executed);
        operation::read_ahead(execution, source, of_this, runs);
    }
}

impl<A: RunKind> Run<A, A::Result> {
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

impl RunKind for Key {
    fn execute_each(
        execution: &mut Execution,
        source: &Source,
        mut keys: Arguments<Self>,
        give: &mut impl FnMut(Result<Found>) -> bool,
    ) {
        if keys.len() > 1 || operation::has_read_ahead(execution) {
            operation::get_each(execution, source, keys.into_vec(), give);
        } else if let Some(key) = keys.pop() {
            give(attempt(|| {
                operation::get(execution, source, &KeyRange::only(key))
            }));
        }
    }
}

impl RunKind for SmallPut {
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
