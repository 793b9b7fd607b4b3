//! What this double has not: functions that the crate is linked with and that larder-remote-files never calls. Each is refused, with its parameters unread.

use crate::errors::{self, Code};
use crate::future::{Future, Handle as FutureHandle};
use crate::transaction::Handle;
use std::ffi::c_void;

const REFUSED: Code = errors::CLIENT_INVALID_OPERATION;

fn refused() -> Box<FutureHandle> {
    let (future, handle) = Future::new();
    future.complete(Err(REFUSED));
    handle
}

/// Functions with a future, and with an error. C's caller removes its parameters itself, so that a function may take fewer than it is passed.
macro_rules! refuse {
    (futures: $($future:ident)*; errors: $($error:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $future(_: *const c_void) -> Box<FutureHandle> {
                refused()
            }
        )*
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $error(_: *const c_void) -> Code {
                REFUSED
            }
        )*
    };
}

refuse! {
    futures:
        fdb_database_get_client_status
        fdb_transaction_get_addresses_for_key
        fdb_transaction_get_approximate_size
        fdb_transaction_get_estimated_range_size_bytes
        fdb_transaction_get_key
        fdb_transaction_get_mapped_range
        fdb_transaction_get_range_split_points
        fdb_transaction_get_versionstamp
        fdb_transaction_on_error
        fdb_transaction_watch;
    errors:
        fdb_future_get_key
        fdb_future_get_key_array
        fdb_future_get_mappedkeyvalue_array
        fdb_future_get_string_array
}

/// It has no result: the commit is refused.
#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_atomic_op(transaction: &Handle) {
    transaction.0.refuse(REFUSED);
}
