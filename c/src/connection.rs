//! Connections, and what happens to them.

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use larder_idb as idb;

use crate::callback::{Callback, Close, CloseCallback, VersionChange, VersionChangeCallback};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::guard::{self, given};
use crate::host_loop::{HostLoop, locked};
use crate::pointers::{ErrorOut, Str, handle, slice};
use crate::text::{Names, Text, boxed};
use crate::transaction::Transaction;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Read.
    ReadOnly = 0,
    /// Read and write records.
    ReadWrite = 1,
    /// All that, and change object stores and indexes: only that of an upgrade.
    VersionChange = 2,
}

/// When a transaction counts as committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Durability {
    /// Chromium's default: relaxed.
    Default = 0,
    /// When the operating system has it: it survives the end of the process.
    Relaxed = 1,
    /// When it was synced: it survives the end of the machine.
    Strict = 2,
}

/// A [`Mode`] that C has given: any number.
pub type ModeNumber = u32;

/// A [`Durability`] that C has given: any number.
pub type DurabilityNumber = u32;

/// A connection to a database. The host owns it; freeing it closes it.
pub struct Connection {
    connection: idb::Connection,
    listeners: Arc<Listeners>,
    context: Arc<Context>,
}

/// The callbacks of a connection.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Registered>);

#[derive(Default)]
struct Registered {
    on_version_change: Option<VersionChange>,
    on_close: Option<Close>,
}

impl Listeners {
    /// Takes the connection's events to the host's loop.
    pub(crate) fn of(connection: &idb::Connection, host: &Arc<HostLoop>) -> Arc<Self> {
        let made = Arc::<Self>::default();
        let (listeners, host) = (Arc::clone(&made), Arc::clone(host));
        connection.events().on_event(move |event| {
            let listeners = Arc::clone(&listeners);
            match event {
                idb::ConnectionEvent::VersionChange(change) => host.push(move || {
                    let callback = locked(&listeners.0).on_version_change;
                    if let Some(callback) = callback {
                        callback.call(change.old_version(), change.new_version().unwrap_or(0));
                    }
                    change.dispatched();
                }),
                idb::ConnectionEvent::Close => host.push(move || {
                    let callback = locked(&listeners.0).on_close;
                    if let Some(callback) = callback {
                        callback.call();
                    }
                }),
            }
        });
        made
    }
}

impl Connection {
    pub(crate) fn boxed(
        connection: idb::Connection,
        listeners: Arc<Listeners>,
        context: &Arc<Context>,
    ) -> Box<Self> {
        let context = Arc::clone(context);
        Box::new(Self {
            connection,
            listeners,
            context,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        *locked(&self.listeners.0) = Registered::default();
        self.connection.close();
    }
}

/// The database's name: the host owns the text. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_connection_name(connection: Option<&Connection>) -> Option<Box<Text>> {
    guard::or_else(None, || Some(boxed(connection?.connection.name().clone())))
}

/// The database's version as this connection sees it. Of null, 0.
#[unsafe(no_mangle)]
pub extern "C" fn larder_connection_version(connection: Option<&Connection>) -> u64 {
    guard::or_else(0, || connection.map_or(0, |this| this.connection.version()))
}

/// The names of the object stores, sorted by UTF-16 units: the host owns the list. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_connection_object_store_names(
    connection: Option<&Connection>,
) -> Option<Box<Names>> {
    guard::or_else(None, || {
        let names = connection?.connection.object_store_names();
        Some(Box::new(names.into()))
    })
}

/// Begins a transaction over the object stores of these names, in one of the modes `LARDER_MODE_READ_ONLY` and `LARDER_MODE_READ_WRITE`. The
/// host owns it, and either commits it or aborts it. It starts when its turn comes: after all that were made before, if they have an
/// object store in common with it and one of the two writes. Null if it fails:
///
/// - `LARDER_EXCEPTION_INVALID_STATE` while the database is being upgraded, or once the connection is to be closed
/// - `LARDER_EXCEPTION_NOT_FOUND` if there is no object store of one of the names
/// - `LARDER_EXCEPTION_INVALID_ACCESS` if there are no names
/// - `LARDER_EXCEPTION_TYPE` for another mode or durability
///
/// # Safety
/// `names` points at `names_len` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_connection_transaction(
    connection: Option<&Connection>,
    names: *const Str,
    names_len: usize,
    mode: ModeNumber,
    durability: DurabilityNumber,
    error: ErrorOut,
) -> Option<Box<Transaction>> {
    // SAFETY: as promised.
    let names = unsafe { slice(names, names_len) };
    guard::made(error, || {
        let this = given(connection, "the connection")?;
        let names = names.iter().map(|name| name.to_js());
        let names = names.collect::<Result<Vec<_>>>()?;
        let options = idb::TransactionOptions::new().durability(match durability {
            0 => idb::TransactionDurability::Default,
            1 => idb::TransactionDurability::Relaxed,
            2 => idb::TransactionDurability::Strict,
            _ => return Err(Error::of_type("there is no durability of this number")),
        });
        let mode = match mode {
            0 => idb::TransactionMode::ReadOnly,
            1 => idb::TransactionMode::ReadWrite,
            2 => idb::TransactionMode::VersionChange,
            _ => return Err(Error::of_type("there is no mode of this number")),
        };
        let transaction = this.connection.transaction(&names, mode, options)?;
        Ok(Transaction::new(transaction, &this.context))
    })
}

/// Calls `callback` on the host's loop each time when the database is wanted in another version or is to be deleted. Another call
/// replaces the callback, null takes it back. What happened before the host took the connection from its request is not
/// missed if this is called in the same callback, or before the loop runs again.
///
/// # Safety
/// `connection` is null, or a connection that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_connection_on_version_change(
    connection: *mut Connection,
    callback: VersionChangeCallback,
    user_data: *mut c_void,
) {
    // SAFETY: as promised.
    let this = unsafe { handle(connection) };
    guard::or_else((), || {
        if let Some(this) = this {
            let callback = Callback::new(callback, user_data, connection);
            locked(&this.listeners.0).on_version_change = callback;
        }
    });
}

/// Calls `callback` on the host's loop if the connection is closed by force.
///
/// # Safety
/// `connection` is null, or a connection that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_connection_on_close(
    connection: *mut Connection,
    callback: CloseCallback,
    user_data: *mut c_void,
) {
    // SAFETY: as promised.
    let this = unsafe { handle(connection) };
    guard::or_else((), || {
        if let Some(this) = this {
            let callback = Callback::new(callback, user_data, connection);
            locked(&this.listeners.0).on_close = callback;
        }
    });
}

/// Closes the connection: it takes no new transactions, and is closed when those it has have ended. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_connection_close(connection: Option<&Connection>) {
    guard::or_else((), || {
        if let Some(this) = connection {
            this.connection.close();
        }
    });
}

/// Whether `larder_connection_close` was called, or it was closed otherwise. Of null, true.
#[unsafe(no_mangle)]
pub extern "C" fn larder_connection_is_close_pending(connection: Option<&Connection>) -> bool {
    guard::or_else(true, || {
        connection.is_none_or(|this| this.connection.is_close_pending())
    })
}

/// Closes a connection and frees it. Its transactions go on; its callbacks are not called any more. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_connection_free(connection: Option<Box<Connection>>) {
    guard::or_else((), || drop(connection));
}
