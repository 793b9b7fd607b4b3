//! The databases of an origin.

use std::sync::Arc;

use larder_idb as idb;

use crate::context::Context;
use crate::guard::{self, given};
use crate::key::Key;
use crate::open::{deleting, opening};
use crate::pointers::{ErrorOut, Str};
use crate::request::Request;

/// The databases of one origin: of its default bucket, of another one, or in a private session. The host owns it.
pub struct Factory {
    factory: idb::Factory,
    context: Arc<Context>,
}

impl Factory {
    pub(crate) fn new(factory: idb::Factory, context: &Arc<Context>) -> Self {
        let context = Arc::clone(context);
        Self { factory, context }
    }
}

/// Opens a database, which is made if it is not there. With a version above its own it is upgraded (`larder_request_on_upgrade`); with
/// version 0 it is opened as it is, and made with version 1. The request comes to a connection (`larder_request_take_connection`), or
/// fails:
///
/// - `LARDER_EXCEPTION_VERSION` if the database has a greater version
/// - `LARDER_EXCEPTION_ABORT` if its upgrade is aborted
/// - `LARDER_EXCEPTION_UNKNOWN` if the store cannot be opened; with the kind `LARDER_KIND_CONFLICT` if another process has it
///
/// Null at once: `LARDER_EXCEPTION_TYPE` for a version above 2^53 - 1, `LARDER_EXCEPTION_SECURITY` for an opaque origin,
/// `LARDER_EXCEPTION_INVALID_STATE` if the storage is closed.
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_open(
    factory: Option<&Factory>,
    name: Str,
    version: u64,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        let version = (version != 0).then_some(version);
        let request = this.factory.open(&name.to_js()?, version)?;
        Ok(opening(&request, &this.context))
    })
}

/// Deletes a database once all connections to it are closed. There need be none. The request comes to the version that it had, or 0
/// (`larder_request_take_number`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_delete_database(
    factory: Option<&Factory>,
    name: Str,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        let request = this.factory.delete_database(&name.to_js()?);
        Ok(deleting(&request, &this.context))
    })
}

/// Requests the databases that are there, by name (`larder_request_take_databases`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_databases(
    factory: Option<&Factory>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        Ok(Request::of(this.factory.databases(), &this.context))
    })
}

/// Asks what the origin stores and may store (`larder_request_take_estimate`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_estimate(
    factory: Option<&Factory>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        Ok(Request::of(this.factory.estimate(), &this.context))
    })
}

/// Gives the origin a quota of its own, in bytes, as long as the storage is there: `UINT64_MAX` is none.
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_set_quota_bytes(factory: Option<&Factory>, quota_bytes: u64) {
    guard::or_else((), || {
        if let Some(this) = factory {
            this.factory.set_quota_bytes(quota_bytes);
        }
    });
}

/// Says whether the origin is to stay when room is wanted (`larder_storage_evict`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_set_persisted(
    factory: Option<&Factory>,
    is_to_stay: bool,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        let request = this.factory.set_persisted(is_to_stay);
        Ok(Request::of(request, &this.context))
    })
}

/// Asks whether the origin is to stay when room is wanted: 1 or 0 (`larder_request_take_number`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_persisted(
    factory: Option<&Factory>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        Ok(Request::of(this.factory.persisted(), &this.context))
    })
}

/// Aborts all transactions of a database, or of all databases of the origin if there is no name (`larder_null`), and
/// closes the connections, whose close callbacks are called (`larder_connection_on_close`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_force_close(
    factory: Option<&Factory>,
    name: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let this = given(factory, "the factory")?;
        let name = name.to_js_or_none()?;
        this.factory.force_close(name.as_ref()).detach();
        Ok(())
    })
}

/// Closes everything of the origin by force, and then its store, so that another program can open it. It is opened again with
/// the next request that needs it.
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_close(
    factory: Option<&Factory>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        Ok(Request::of(this.factory.close(), &this.context))
    })
}

/// Repairs the origin's store, which cannot be opened because it is damaged: what is whole is written anew, what could
/// not be read is set aside in the folder `lost` of the store's, and nothing is deleted that was not read whole.
/// Connections are closed by force before, and their close callbacks called; the next request opens the repaired store.
/// With `brings_back`, records come back of which something newer may be lost. The request comes to a text that says
/// what was done (`larder_request_take_text`). It fails with `LARDER_EXCEPTION_UNKNOWN` if there is no store, or its
/// files cannot be read or written; with the kind `LARDER_KIND_CONFLICT` if another process has it.
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_repair(
    factory: Option<&Factory>,
    brings_back: bool,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(factory, "the factory")?;
        let rows_in_doubt = match brings_back {
            true => idb::RowsInDoubt::BringBack,
            false => idb::RowsInDoubt::LeaveOut,
        };
        let request = this.factory.repair(rows_in_doubt);
        Ok(Request::of(request, &this.context))
    })
}

/// Compares two keys, as `indexedDB.cmp()` does: -1, 0 or 1. Null is less than any key.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_cmp(first: Option<&Key>, second: Option<&Key>) -> i32 {
    guard::or_else(0, || {
        let order = first.map(Key::key).cmp(&second.map(Key::key));
        order as i32
    })
}

/// Frees a factory. Connections and requests that it has made stay. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_factory_free(factory: Option<Box<Factory>>) {
    guard::or_else((), || drop(factory));
}
