//! Requests to open and to delete a database: what happens on the way.

use std::ffi::c_void;
use std::sync::Arc;

use larder_idb as idb;

use crate::callback::{BlockedCallback, Callback, UpgradeCallback};
use crate::connection::Listeners;
use crate::context::Context;
use crate::error::Result;
use crate::guard;
use crate::host_loop::HostLoop;
use crate::outcome::Outcome;
use crate::pointers::ErrorOut;
use crate::request::{Core, Request, given_request};
use crate::transaction::Transaction;

/// A request that `idb`'s request brings on. Its events are delivered where the host runs its loop.
pub(crate) fn opening(request: &idb::OpenRequest, context: &Arc<Context>) -> Request {
    let made = Request::awaited(context);
    let core = Arc::clone(made.core());
    let context = Weakly::of(context);
    request.events().on_event(move |event| match event {
        idb::OpenEvent::Blocked {
            old_version,
            new_version,
        } => push_blocked(&core, &context.host, old_version, new_version),
        idb::OpenEvent::UpgradeNeeded(upgrade) => push_upgrade(&core, &context, upgrade),
        idb::OpenEvent::Done(Ok(connection)) => {
            // Before anything else happens to it, so that nothing is missed.
            let listeners = Listeners::of(&connection, &context.host);
            core.complete(Ok(Outcome::Connection(connection, listeners)));
        }
        idb::OpenEvent::Done(Err(error)) => core.complete(Err(error)),
    });
    made
}

/// The handle of a request to delete a database. Its events are queued for the host's loop.
pub(crate) fn deleting(request: &idb::DeleteRequest, context: &Arc<Context>) -> Request {
    let made = Request::awaited(context);
    let core = Arc::clone(made.core());
    let host = Arc::clone(&context.host);
    request.events().on_event(move |event| match event {
        idb::DeleteEvent::Blocked { old_version } => push_blocked(&core, &host, old_version, 0),
        idb::DeleteEvent::Done(result) => core.complete(result.map(Outcome::Number)),
    });
    made
}

/// What a closure that the storage has may hold of the context: with all of it, the storage would hold itself.
struct Weakly {
    context: std::sync::Weak<Context>,
    host: Arc<HostLoop>,
}

impl Weakly {
    fn of(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::downgrade(context),
            host: Arc::clone(&context.host),
        }
    }
}

fn push_blocked(core: &Arc<Core>, host: &Arc<HostLoop>, old_version: u64, new_version: u64) {
    let core = Arc::clone(core);
    host.push(move || {
        if let Some(callback) = core.on_blocked() {
            callback.call(old_version, new_version);
        }
    });
}

/// A host without an upgrade callback gets the version and nothing else. One that has freed the request has given it
/// up.
fn push_upgrade(core: &Arc<Core>, context: &Weakly, upgrade: idb::Upgrade) {
    let core = Arc::clone(core);
    let weak = context.context.clone();
    context.host.push(move || {
        let Some(context) = weak.upgrade().filter(|_| !core.is_freed()) else {
            return;
        };
        match core.on_upgrade() {
            Some(callback) => {
                let (old_version, new_version) = (upgrade.old_version, upgrade.new_version);
                let transaction = Transaction::new(upgrade.transaction, &context);
                drop(upgrade.connection);
                callback.call(Box::new(transaction), old_version, new_version);
            }
            None => drop(upgrade.transaction.commit()),
        }
    });
}

/// Calls `callback` if the database has to be upgraded; registered before the loop runs again. Without one, a database gets its version
/// and nothing else. For requests of `larder_factory_open`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_on_upgrade(
    request: Option<&Request>,
    callback: UpgradeCallback,
    user_data: *mut c_void,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || -> Result<()> {
        let callback = Callback::new(callback, user_data, std::ptr::null_mut());
        given_request(request)?.core().set_on_upgrade(callback);
        Ok(())
    })
}

/// Calls `callback` if the request waits for other connections to be closed. For requests of `larder_factory_open` and
/// `larder_factory_delete_database`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_request_on_blocked(
    request: Option<&Request>,
    callback: BlockedCallback,
    user_data: *mut c_void,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || -> Result<()> {
        let callback = Callback::new(callback, user_data, std::ptr::null_mut());
        given_request(request)?.core().set_on_blocked(callback);
        Ok(())
    })
}
