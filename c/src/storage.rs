//! The storage: where everything begins, and what the host's loop runs.

use std::mem::MaybeUninit;
use std::sync::Arc;

use larder_idb as idb;

use crate::context::Context;
use crate::error::{Error, Exception, Result};
use crate::factory::Factory;
use crate::guard::{self, given};
use crate::host_loop::HostLoop;
use crate::options::Options;
use crate::pointers::{ErrorOut, Str, handle};
use crate::request::Request;

/// The databases of all origins. The host owns it.
pub struct Storage {
    context: Arc<Context>,
}

impl Storage {
    pub(crate) const fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // A host that needs the result of closing closes it before.
        let _ = self.context.storage.clone().close();
        self.context.host.end();
    }
}

pub(crate) fn given_storage(storage: Option<&Storage>) -> Result<&Storage> {
    given(storage, "the storage")
}

/// # Errors
/// `SecurityError` for what is no origin that can have a store.
pub(crate) fn to_origin(text: Str) -> Result<idb::Origin> {
    let origin = idb::Origin::from_url(&text.to_utf8()?);
    origin.map_err(|error| Error::usage(Exception::Security, &error.to_string()))
}

/// Sets a storage up: the host owns it. No store is opened before it is needed. Null: `LARDER_EXCEPTION_UNKNOWN` if a thread cannot be
/// started.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_new(
    options: Option<&Options>,
    error: ErrorOut,
) -> Option<Box<Storage>> {
    guard::made(error, || {
        let options = given(options, "the options")?;
        let host = HostLoop::new(options.wake);
        let context = Context {
            storage: idb::Storage::new(options.to_idb(&host))?,
            host,
            is_driven: options.is_driven(),
        };
        let context = Arc::new(context);
        Ok(Storage { context })
    })
}

/// What the host's loop does when the waker was called: calls the callbacks that are due and, if the storage has no threads, does what there
/// is to do. At most `steps_max` calls and steps if that is not 0: whether there is more. This and `larder_request_wait` are the only
/// functions that call callbacks, one at a time, always on the thread that has called them. Called in a callback, or while another
/// thread is at it, it does nothing, and the waker is called if something is left when that is over. It is called, too, when there is
/// something again.
///
/// # Safety
/// `storage` is null, or a storage that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_storage_run(storage: *const Storage, steps_max: usize) -> bool {
    // SAFETY: as promised. What is needed is copied: a callback may free the storage.
    let context = unsafe { handle(storage) }.map(|this| Arc::clone(&this.context));
    guard::or_else(false, || {
        context.is_some_and(|context| context.run(steps_max))
    })
}

/// Writes in how many milliseconds there is something to do for `larder_storage_run` that the waker does not say: a store that
/// nothing uses is closed then. False if there is no such time, as when the storage has threads: then nothing is written. For a loop that
/// sleeps; one that passes over it keeps idle stores open longer.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_next_due(
    storage: Option<&Storage>,
    milliseconds: Option<&mut MaybeUninit<u64>>,
) -> bool {
    guard::or_else(false, || {
        let Some(due) = storage.and_then(|this| this.context.storage.next_due()) else {
            return false;
        };
        if let Some(milliseconds) = milliseconds {
            // Not too early, or the loop would find nothing.
            let whole = due.as_micros().div_ceil(1000);
            milliseconds.write(u64::try_from(whole).unwrap_or(u64::MAX));
        }
        true
    })
}

/// The databases of an origin, such as `https://example.com`: the host owns the factory. Null: `LARDER_EXCEPTION_SECURITY` for what is no
/// origin, or an opaque one.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_factory(
    storage: Option<&Storage>,
    origin: Str,
    error: ErrorOut,
) -> Option<Box<Factory>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        let factory = context.storage.factory(&to_origin(origin)?);
        Ok(Factory::new(factory, context))
    })
}

/// Requests the origins and buckets that store something (`larder_request_take_origins`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_origins(
    storage: Option<&Storage>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        Ok(Request::of(context.storage.origins(), context))
    })
}

/// Requests the bytes of the files of all origins (`larder_request_take_number`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_usage(
    storage: Option<&Storage>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        Ok(Request::of(context.storage.usage(), context))
    })
}

/// Deletes all that an origin stores, in all its buckets. Its connections are closed by force, and their close
/// callbacks are called. The request fails with `LARDER_EXCEPTION_UNKNOWN` if another process has the store open, or
/// files cannot be removed.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_delete_origin(
    storage: Option<&Storage>,
    origin: Str,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        let request = context.storage.delete_origin(&to_origin(origin)?);
        Ok(Request::of(request, context))
    })
}

/// Deletes the origins in which something was committed at this time or later: microseconds since 1601-01-01 UTC
/// (`larder_request_take_origins`, which says of each whether it is gone).
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_delete_modified_since(
    storage: Option<&Storage>,
    time_micros: i64,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        let request = context.storage.delete_modified_since(time_micros);
        Ok(Request::of(request, context))
    })
}

/// Deletes origins, the least recently used first, until all together have at most `kept_bytes`; none that is in use or persisted
/// (`larder_request_take_origins`, which says of each whether it is gone). A host with an order of its own lists and deletes.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_evict(
    storage: Option<&Storage>,
    kept_bytes: u64,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        let oldest_first =
            |infos: &mut Vec<idb::OriginInfo>| infos.sort_by_key(|info| info.last_used_us);
        let request = context.storage.evict(kept_bytes, oldest_first);
        Ok(Request::of(request, context))
    })
}

/// Lets what runs come to its end, and begins nothing new: connections take no transactions, and are closed when those they have have
/// ended, which the host sees to; requests to open fail. The request is done when the stores are closed. `larder_storage_close` ends at any
/// time what is left.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_finish(
    storage: Option<&Storage>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = &given_storage(storage)?.context;
        Ok(Request::of(context.storage.finish(), context))
    })
}

/// Closes it: transactions are aborted, connections closed by force, requests to open fail. Commits that are under way are brought to
/// their end. Callbacks that are due then are called by the next `larder_storage_run`. False if a store could not make everything
/// durable.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_close(storage: Option<&Storage>, error: ErrorOut) -> bool {
    guard::succeeds(error, || {
        let storage = given_storage(storage)?.context.storage.clone();
        storage.close()?;
        Ok(())
    })
}

/// Closes a storage and frees it. No callback is called any more, also of those that were due, nor the waker. Handles that it has given stay, and are
/// to be freed; what they are asked for fails. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_free(storage: Option<Box<Storage>>) {
    guard::or_else((), || drop(storage));
}
