//! Gets of one key and small puts: operations that take no longer than handing over to somebody else does. They lie in the queue
//! itself: what is to be done costs neither a lock nor a count of references to the object store, and only the place for the result
//! is shared with the request.

use std::sync::Arc;

use larder_backing_store::PutMode;
use larder_codec::IdbKey;

use super::core::TransactionCore;
use super::execution::Execution;
use super::group::Group;
use super::operation::run;
use super::queued::Queued;
use super::{Mode, Transaction};
use crate::error::{Error, ErrorName, Result, attempt};
use crate::executor::Callback;
use crate::key_range::KeyRange;
use crate::operation::{self, PutIndexes, PutRequest, Source};
use crate::request::slot::LoneSlot;
use crate::schema::StoreCell;
use crate::value::{StoredValue, Value};

/// What a short operation does on an object store or index.
pub(crate) trait ShortKind: Sized {
    type Argument;
    type Output: Send + 'static;

    /// What one holds besides its entry in the queue, in bytes, about.
    fn len(argument: &Self::Argument) -> usize;

    /// Executes one.
    fn run(
        execution: &mut Execution,
        source: &Source,
        argument: Self::Argument,
    ) -> Result<Self::Output>;

    /// Executes several on the same. Each one's result is told to `tell`, in their order; which says whether to go on.
    fn run_each(
        execution: &mut Execution,
        source: &Source,
        arguments: Vec<Self::Argument>,
        tell: &mut impl FnMut(Result<Self::Output>) -> bool,
    );

    /// As the queue holds them.
    fn queued(short: Short<Self>) -> Queued;

    /// The same if what is queued is of this kind.
    fn of(queued: &mut Queued) -> Option<&mut Short<Self>>;
}

/// One, or several that follow one another.
pub(crate) enum Short<K: ShortKind> {
    Alone(Alone<K>),
    Group(Group<K>),
}

/// One alone.
pub(crate) struct Alone<K: ShortKind> {
    /// `None` if it is that of the one before it.
    pub(super) source: Option<Source>,
    pub(super) argument: K::Argument,
    pub(super) slot: Arc<LoneSlot<K::Output>>,
}

impl<K: ShortKind> Alone<K> {
    fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
    ) -> Option<Callback> {
        let Self {
            source,
            argument,
            mut slot,
        } = self;
        let source = source.or_else(|| execution.short_source.take());
        let work = |execution: &mut Execution| match &source {
            Some(source) => K::run(execution, source, argument),
            None => Err(lost()),
        };
        let fill = |result| {
            if Arc::strong_count(&slot) == 1
                && let Some(slot) = Arc::get_mut(&mut slot)
            {
                // Most puts: the request has been let go, though perhaps for a callback.
                return slot.fill_alone(result);
            }
            slot.fill(result)
        };
        let callback = run(work, execution, transaction, number, fill);
        execution.short_source = source;
        callback
    }
}

impl<K: ShortKind> Short<K> {
    /// As [`Queued::run`].
    pub(super) fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
        callbacks: &mut Vec<Callback>,
    ) {
        match self {
            Self::Alone(alone) => callbacks.extend(alone.run(execution, transaction, number)),
            Self::Group(group) => group.run(execution, transaction, number, callbacks),
        }
    }

    /// As [`Queued::abort`].
    pub(super) fn abort(&self, error: &Error, callbacks: &mut Vec<Callback>) {
        match self {
            Self::Alone(alone) => callbacks.extend(alone.slot.complete(Err(error.clone()))),
            Self::Group(group) => group.abort(error, callbacks),
        }
    }
}

/// What a key holds, in bytes. Of arrays a guess: most have few and short keys.
fn key_len(key: &IdbKey) -> usize {
    match key {
        IdbKey::Number(_) | IdbKey::Date(_) => 0,
        IdbKey::String(string) => 2 * string.len_units(),
        IdbKey::Binary(bytes) => bytes.len(),
        IdbKey::Array(_) => SmallPut::LEN_MAX,
    }
}

/// What a short operation fails with that nobody told what it is on.
pub(super) fn lost() -> Error {
    let what = "an operation's object store was lost";
    Error::new(ErrorName::UnknownError, what)
}

/// Gets of one key.
pub(crate) enum Get {}

impl ShortKind for Get {
    type Argument = IdbKey;
    type Output = Option<StoredValue>;

    fn len(key: &IdbKey) -> usize {
        key_len(key)
    }

    fn run(execution: &mut Execution, source: &Source, key: IdbKey) -> Result<Self::Output> {
        operation::get(execution, source, &KeyRange::only(key))
    }

    fn run_each(
        execution: &mut Execution,
        source: &Source,
        keys: Vec<IdbKey>,
        tell: &mut impl FnMut(Result<Self::Output>) -> bool,
    ) {
        operation::get_each(execution, source, keys, tell);
    }

    fn queued(short: Short<Self>) -> Queued {
        Queued::Get(short)
    }

    fn of(queued: &mut Queued) -> Option<&mut Short<Self>> {
        match queued {
            Queued::Get(short) => Some(short),
            _ => None,
        }
    }
}

/// Puts of small values without external objects, in a transaction whose indexes stay as they are.
pub(crate) enum Put {}

/// What such a put stores.
pub(crate) struct SmallPut {
    bytes: Vec<u8>,
    key: Option<IdbKey>,
    mode: PutMode,
}

impl SmallPut {
    /// Values up to this are put in no time, in bytes.
    pub(crate) const LEN_MAX: usize = 4096;

    /// Whether a put of this value is one.
    pub(crate) fn suits(transaction: &Transaction, store: &StoreCell, value: &Value) -> bool {
        transaction.mode() != Mode::VersionChange
            && value.objects.is_empty()
            && value.raise_to.is_none()
            && match &value.index_keys {
                None => true,
                Some(keys) => keys.is_empty() && !store.is_indexed(),
            }
            && value.bytes.len() <= Self::LEN_MAX
    }

    /// Of a value that [suits](Self::suits).
    pub(crate) fn new(value: Value, key: Option<IdbKey>, mode: PutMode) -> Self {
        let bytes = value.bytes;
        Self { bytes, key, mode }
    }
}

impl ShortKind for Put {
    type Argument = SmallPut;
    type Output = IdbKey;

    fn len(put: &SmallPut) -> usize {
        put.bytes.len() + put.key.as_ref().map_or(0, key_len)
    }

    fn run(execution: &mut Execution, source: &Source, put: SmallPut) -> Result<IdbKey> {
        let SmallPut { bytes, key, mode } = put;
        let request = PutRequest {
            indexes: PutIndexes::OfStore,
            value: Value::from_bytes(bytes),
            key,
            mode,
        };
        operation::put(execution, &source.store, request)
    }

    fn run_each(
        execution: &mut Execution,
        source: &Source,
        puts: Vec<SmallPut>,
        tell: &mut impl FnMut(Result<IdbKey>) -> bool,
    ) {
        for put in puts {
            let result = attempt(|| Self::run(execution, source, put));
            if !tell(result) {
                return;
            }
        }
    }

    fn queued(short: Short<Self>) -> Queued {
        Queued::Put(short)
    }

    fn of(queued: &mut Queued) -> Option<&mut Short<Self>> {
        match queued {
            Queued::Put(short) => Some(short),
            _ => None,
        }
    }
}
