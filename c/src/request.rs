//! Requests: what was asked for, and what it came to.

use std::ffi::c_void;
use std::mem::{self, MaybeUninit};
use std::sync::{Arc, Mutex, OnceLock};

use larder_idb as idb;

use crate::callback::{Blocked, Callback, Done, RequestCallback, Upgrade};
use crate::connection::Connection;
use crate::context::Context;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::guard::{self, given};
use crate::host_loop::{HostLoop, locked};
use crate::key::Key;
use crate::origins::{Databases, Origins};
use crate::outcome::Outcome;
use crate::pointers::{Bytes, ErrorOut, handle};
use crate::records::Records;
use crate::text::{Text, boxed};
use crate::value::Value;

/// A request of the host's, and its result or error once it is done. The host owns it and frees it, at any time: before
/// it is done that changes nothing but that its callback is not called any more; an unfinished request to open a
/// database is given up.
///
/// An error that reached the host, by a callback or by waiting, counts as handled, and the transaction goes on. An
/// error that has not reached the host when the transaction commits aborts it.
///
/// It keeps the transaction that it was made in from being aborted for want of handles.
pub struct Request {
    core: Arc<Core>,
    context: Arc<Context>,
    _transaction: Option<idb::Transaction>,
}

/// The part of a request that is there until it is done.
pub(crate) struct Core {
    host: Arc<HostLoop>,
    inner: Mutex<Inner>,
    /// Where the host may look at it as long as it has the request.
    error: OnceLock<Error>,
}

struct Inner {
    state: State,
    on_done: Option<Done>,
    on_upgrade: Option<Upgrade>,
    on_blocked: Option<Blocked>,
    /// It is done, and its callback is due, if there is one: a wait is over.
    is_reported: bool,
    /// The host has freed it.
    is_freed: bool,
}

enum State {
    /// The result has not been taken yet.
    Asked(Box<dyn Asked>),
    /// It will come.
    Awaited,
    Done(Outcome),
    Failed,
}

type Then = Box<dyn FnOnce(idb::Result<Outcome>) + Send>;

/// A request of `idb`'s, whatever it comes to.
trait Asked: Send {
    fn try_take(&mut self) -> Option<idb::Result<Outcome>>;
    fn on_done(self: Box<Self>, then: Then);
}

impl<T: Send + 'static> Asked for idb::Request<T>
where
    Outcome: From<T>,
{
    fn try_take(&mut self) -> Option<idb::Result<Outcome>> {
        Some(self.try_take()?.map(Outcome::from))
    }

    fn on_done(self: Box<Self>, then: Then) {
        idb::Request::on_done(*self, |result| then(result.map(Outcome::from)));
    }
}

impl Core {
    fn new(host: &Arc<HostLoop>, state: State) -> Arc<Self> {
        let inner = Inner {
            state,
            on_done: None,
            on_upgrade: None,
            on_blocked: None,
            is_reported: false,
            is_freed: false,
        };
        Arc::new(Self {
            host: Arc::clone(host),
            inner: Mutex::new(inner),
            error: OnceLock::new(),
        })
    }

    /// Stores the result, and calls back if the host has set a callback.
    pub(crate) fn complete(self: &Arc<Self>, result: idb::Result<Outcome>) {
        let is_wanted = {
            let mut inner = locked(&self.inner);
            inner.state = match result {
                Ok(outcome) => State::Done(outcome),
                Err(error) => {
                    // There is one result.
                    let _ = self.error.set(error.into());
                    State::Failed
                }
            };
            inner.on_done.is_some()
        };
        if is_wanted {
            self.push_on_done();
        }
        locked(&self.inner).is_reported = true;
        self.host.note_done();
    }

    fn push_on_done(self: &Arc<Self>) {
        let core = Arc::clone(self);
        self.host.push(move || {
            let callback = locked(&core.inner).on_done.take();
            if let Some(callback) = callback {
                callback.call();
            }
        });
    }

    /// Sees to it that the result comes.
    fn listen(self: &Arc<Self>) {
        let asked = {
            let mut inner = locked(&self.inner);
            match mem::replace(&mut inner.state, State::Awaited) {
                State::Asked(asked) => asked,
                other => {
                    inner.state = other;
                    return;
                }
            }
        };
        let core = Arc::clone(self);
        asked.on_done(Box::new(move |result| core.complete(result)));
    }

    fn is_reported(&self) -> bool {
        locked(&self.inner).is_reported
    }

    /// Whether it is done, if need be after a look at what is there.
    fn look(self: &Arc<Self>) -> bool {
        let found = match &mut locked(&self.inner).state {
            State::Asked(asked) => asked.try_take(),
            State::Awaited => None,
            State::Done(_) | State::Failed => return true,
        };
        let is_done = found.is_some();
        if let Some(result) = found {
            self.complete(result);
        }
        is_done
    }

    pub(crate) fn is_freed(&self) -> bool {
        locked(&self.inner).is_freed
    }

    pub(crate) fn on_upgrade(&self) -> Option<Upgrade> {
        locked(&self.inner).on_upgrade
    }

    pub(crate) fn on_blocked(&self) -> Option<Blocked> {
        locked(&self.inner).on_blocked
    }

    pub(crate) fn set_on_upgrade(&self, callback: Option<Upgrade>) {
        locked(&self.inner).on_upgrade = callback;
    }

    pub(crate) fn set_on_blocked(&self, callback: Option<Blocked>) {
        locked(&self.inner).on_blocked = callback;
    }
}

impl Request {
    /// One of `idb`'s.
    pub(crate) fn of<T: Send + 'static>(request: idb::Request<T>, context: &Arc<Context>) -> Self
    where
        Outcome: From<T>,
    {
        Self::with_state(State::Asked(Box::new(request)), context)
    }

    /// One of a transaction's.
    pub(crate) fn within<T: Send + 'static>(
        transaction: &idb::Transaction,
        request: idb::Request<T>,
        context: &Arc<Context>,
    ) -> Self
    where
        Outcome: From<T>,
    {
        let mut made = Self::of(request, context);
        made._transaction = Some(transaction.clone());
        made
    }

    /// One that is completed otherwise.
    pub(crate) fn awaited(context: &Arc<Context>) -> Self {
        Self::with_state(State::Awaited, context)
    }

    fn with_state(state: State, context: &Arc<Context>) -> Self {
        Self {
            core: Core::new(&context.host, state),
            context: Arc::clone(context),
            _transaction: None,
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Takes the result if it is one that `pick` makes something of; gives back the others.
    fn take<T>(&self, pick: impl FnOnce(Outcome) -> std::result::Result<T, Outcome>) -> Option<T> {
        self.core.look();
        let mut inner = locked(&self.core.inner);
        let State::Done(outcome) = &mut inner.state else {
            return None;
        };
        match pick(mem::replace(outcome, Outcome::Taken)) {
            Ok(taken) => Some(taken),
            Err(other) => {
                *outcome = other;
                None
            }
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let (asked, kept);
        {
            let mut inner = locked(&self.core.inner);
            inner.is_freed = true;
            (inner.on_done, inner.on_upgrade, inner.on_blocked) = (None, None, None);
            asked = match mem::replace(&mut inner.state, State::Awaited) {
                State::Asked(asked) => Some(asked),
                other => {
                    inner.state = other;
                    None
                }
            };
            // A result that was not taken is dropped with the request, and not with the last closure that refers to it.
            kept = match &mut inner.state {
                State::Done(outcome) => Some(mem::replace(outcome, Outcome::Taken)),
                _ => None,
            };
        }
        drop((asked, kept));
    }
}

/// Calls `callback` once, on the host's loop, when the request is done; if it is, then in the next run of the loop. Another call in
/// the place of this one replaces the callback, null takes it back. Requests of one transaction are called back in their order.
///
/// # Safety
/// `request` is null, or a request that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_request_on_done(
    request: *mut Request,
    callback: RequestCallback,
    user_data: *mut c_void,
) {
    // SAFETY: as promised.
    let Some(this) = (unsafe { handle(request) }) else {
        return;
    };
    guard::or_else((), || {
        let is_done = {
            let mut inner = locked(&this.core.inner);
            inner.on_done = Callback::new(callback, user_data, request);
            inner.on_done.is_some() && matches!(inner.state, State::Done(_) | State::Failed)
        };
        if is_done {
            this.core.push_on_done();
        } else if callback.is_some() {
            this.core.listen();
        }
    });
}

/// Waits until the request is done: whether it succeeded; if not, `error` has what `larder_request_error` has.
///
/// Outside of callbacks this runs the host's loop meanwhile, as `larder_storage_run` does: callbacks are called, of other requests
/// too, and they may free this one. In a callback none is called, nor on another thread than the one that has run the loop last, which is
/// allowed only if the storage has threads. Without threads, what cannot be done meanwhile fails at once with
/// `LARDER_EXCEPTION_INVALID_STATE`, and is still under way: a request whose transaction waits for one that is not committed, or one
/// that needs a callback while another one is running. With threads such a wait has no end.
///
/// # Safety
/// `request` is null, or a request that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_request_wait(request: *const Request, error: ErrorOut) -> bool {
    // SAFETY: as promised. What is needed is copied: a callback may free the request.
    let known =
        unsafe { handle(request) }.map(|this| (Arc::clone(&this.core), Arc::clone(&this.context)));
    guard::succeeds(error, || {
        let (core, context) = known.ok_or_else(|| Error::of_type("the request is null"))?;
        core.listen();
        context.wait(|| core.is_reported())?;
        match core.error.get() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    })
}

/// Whether it is done, with a result or an error. Asking brings nothing on.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_is_done(request: Option<&Request>) -> bool {
    guard::or_else(false, || request.is_some_and(|this| this.core.look()))
}

/// The error that it failed with, lent by the request; null if it has not failed.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_error(request: Option<&Request>) -> Option<&Error> {
    let this = request?;
    guard::or_else((), || {
        this.core.look();
    });
    this.core.error.get()
}

/// The key that was stored, or found: the host owns it. Null if there is none: nothing was found, it is not done or has failed, it
/// comes to something else, or the key was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_key(request: Option<&Request>) -> Option<Box<Key>> {
    let pick = |outcome| match outcome {
        Outcome::Key(Some(key)) => Ok(key),
        other => Err(other),
    };
    guard::or_else(None, || request?.take(pick).map(Key::boxed))
}

/// The value that was found: the host owns it. Null as of `larder_request_take_key`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_value(request: Option<&Request>) -> Option<Box<Value>> {
    let pick = |outcome| match outcome {
        Outcome::Value(Some(value)) => Ok(value),
        other => Err(other),
    };
    guard::or_else(None, || request?.take(pick).map(Value::stored))
}

/// The records that were found, maybe none: the host owns them. Null if there is no such result, or it was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_records(request: Option<&Request>) -> Option<Box<Records>> {
    let pick = |outcome| match outcome {
        Outcome::Records(records) => Ok(records),
        other => Err(other),
    };
    guard::or_else(None, || request?.take(pick).map(Records::boxed))
}

/// The cursor at the entry that was reached: the host owns it. Null as of `larder_request_take_key`, so also at the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_cursor(request: Option<&Request>) -> Option<Box<Cursor>> {
    let pick = |outcome| match outcome {
        Outcome::Cursor(Some(cursor)) => Ok(cursor),
        other => Err(other),
    };
    guard::or_else(None, || {
        let this = request?;
        let cursor = this.take(pick)?;
        Some(Cursor::boxed(cursor, &this.context))
    })
}

/// The connection that a request to open has come to: the host owns it. Null if there is none, or it was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_connection(
    request: Option<&Request>,
) -> Option<Box<Connection>> {
    let pick = |outcome| match outcome {
        Outcome::Connection(connection, listeners) => Ok((connection, listeners)),
        other => Err(other),
    };
    guard::or_else(None, || {
        let this = request?;
        let (connection, listeners) = this.take(pick)?;
        Some(Connection::boxed(connection, listeners, &this.context))
    })
}

/// The list that `larder_factory_databases` has come to: the host owns it. Null if there is none, or it was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_databases(
    request: Option<&Request>,
) -> Option<Box<Databases>> {
    let pick = |outcome| match outcome {
        Outcome::Databases(databases) => Ok(databases),
        other => Err(other),
    };
    guard::or_else(None, || request?.take(pick).map(Databases::boxed))
}

/// The list of origins that were asked for or deleted: the host owns it. Null if there is none, or it was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_origins(request: Option<&Request>) -> Option<Box<Origins>> {
    let pick = |outcome| match outcome {
        Outcome::Origins(origins) => Ok(Origins::listed(origins)),
        Outcome::Deleted(origins) => Ok(Origins::deleted(origins)),
        other => Err(other),
    };
    guard::or_else(None, || request?.take(pick))
}

/// Writes the number that it has come to: a count, bytes, or the version that a deleted database had. False if there is none, or it was
/// taken before; then nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_number(
    request: Option<&Request>,
    number: Option<&mut MaybeUninit<u64>>,
) -> bool {
    let pick = |outcome| match outcome {
        Outcome::Number(number) => Ok(number),
        Outcome::Flag(flag) => Ok(flag.into()),
        other => Err(other),
    };
    guard::or_else(false, || {
        let taken = request.and_then(|this| this.take(pick));
        if let (Some(taken), Some(number)) = (taken, number) {
            number.write(taken);
        }
        taken.is_some()
    })
}

/// Writes what `larder_factory_estimate` has come to: the bytes of the origin's files, and how many they may be (`UINT64_MAX`: no
/// limit). False if there is nothing, or it was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_estimate(
    request: Option<&Request>,
    usage_bytes: Option<&mut MaybeUninit<u64>>,
    quota_bytes: Option<&mut MaybeUninit<u64>>,
) -> bool {
    let pick = |outcome| match outcome {
        Outcome::Estimate(estimate) => Ok(estimate),
        other => Err(other),
    };
    guard::or_else(false, || {
        let Some(estimate) = request.and_then(|this| this.take(pick)) else {
            return false;
        };
        if let Some(usage_bytes) = usage_bytes {
            usage_bytes.write(estimate.usage.total());
        }
        if let Some(quota_bytes) = quota_bytes {
            quota_bytes.write(estimate.quota_bytes);
        }
        true
    })
}

/// The text that `larder_factory_repair` has come to: the host owns it. Null if there is none, or it was taken before.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_take_text(request: Option<&Request>) -> Option<Box<Text>> {
    let pick = |outcome| match outcome {
        Outcome::Text(text) => Ok(text),
        other => Err(other),
    };
    guard::or_else(None, || {
        request?.take(pick).map(|text| boxed((&*text).into()))
    })
}

/// The bytes that `larder_storage_read_blob` has come to, there as long as the request. Without a first byte if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_bytes(request: Option<&Request>) -> Bytes {
    guard::or_else(Bytes::none(), || {
        let Some(this) = request else {
            return Bytes::none();
        };
        this.core.look();
        // Nothing takes or changes them before the request is freed.
        match &locked(&this.core.inner).state {
            State::Done(Outcome::Bytes(bytes)) if !bytes.is_empty() => Bytes::lent(bytes),
            _ => Bytes::none(),
        }
    })
}

/// Frees a request, done or not. Its callbacks are not called any more. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_free(request: Option<Box<Request>>) {
    guard::or_else((), || drop(request));
}

/// A request that must be there.
///
/// # Errors
/// `TypeError` if it is null.
pub(crate) fn given_request(request: Option<&Request>) -> Result<&Request> {
    given(request, "the request")
}
