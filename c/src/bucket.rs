//! Storage buckets and private sessions.

use std::sync::Arc;

use larder_idb as idb;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::factory::Factory;
use crate::guard::{self, given};
use crate::pointers::{ErrorOut, Str};
use crate::request::Request;
use crate::storage::{Storage, given_storage, to_origin};

fn to_bucket(id: u64) -> Result<idb::BucketId> {
    let what = "a bucket's number is from 1 to 2^63 - 1";
    idb::BucketId::new(id).ok_or_else(|| Error::of_type(what))
}

/// The databases of an origin in another bucket than its default one in its own site: the host owns the factory. `id` is the
/// number in Chromium's quota database, or the host's own, from 1 to 2^63 - 1.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_bucket(
    storage: Option<&Storage>,
    origin: Str,
    id: u64,
    error: ErrorOut,
) -> Option<Box<Factory>> {
    guard::made(error, || {
        let context = given_storage(storage)?.context();
        let bucket = context.storage.bucket(&to_origin(origin)?, to_bucket(id)?);
        Ok(Factory::new(bucket, context))
    })
}

/// Deletes what a bucket stores, and nothing else of its origin.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_delete_bucket(
    storage: Option<&Storage>,
    origin: Str,
    id: u64,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = given_storage(storage)?.context();
        let (origin, id) = (to_origin(origin)?, to_bucket(id)?);
        Ok(Request::of(
            context.storage.delete_bucket(&origin, id),
            context,
        ))
    })
}

/// A session whose stores lie in memory, beside those on disk: private browsing. The host owns it.
pub struct PrivateSession {
    session: idb::PrivateSession,
    context: Arc<Context>,
}

/// A session: the host owns it. Null of null: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_private_session_new(
    storage: Option<&Storage>,
    error: ErrorOut,
) -> Option<Box<PrivateSession>> {
    guard::made(error, || {
        let context = Arc::clone(given_storage(storage)?.context());
        let session = context.storage.private_session();
        Ok(PrivateSession { session, context })
    })
}

/// The databases of an origin in this session: the host owns the factory.
#[unsafe(no_mangle)]
pub extern "C" fn larder_private_session_factory(
    session: Option<&PrivateSession>,
    origin: Str,
    error: ErrorOut,
) -> Option<Box<Factory>> {
    guard::made(error, || {
        let this = given(session, "the session")?;
        let factory = this.session.factory(&to_origin(origin)?);
        Ok(Factory::new(factory, &this.context))
    })
}

/// Frees a session, and deletes all that it stores: connections are closed by force, and their close callbacks are
/// called. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_private_session_free(session: Option<Box<PrivateSession>>) {
    guard::or_else((), || drop(session));
}
