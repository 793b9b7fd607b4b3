//! How a cluster is opened.

use crate::error::OpenError;
use crate::network;
use foundationdb::{Database, FdbError};
use foundationdb_sys as sys;
use std::ffi::CString;
use std::ptr::{NonNull, null, null_mut};

/// Which cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// That of this machine's cluster file: `FDB_CLUSTER_FILE`, `fdb.cluster` in the working folder, or `/etc/foundationdb/fdb.cluster`.
    DefaultFile,
    /// That of a connection string, which is the line of a cluster file: `DESCRIPTION:ID@HOST:PORT,HOST:PORT`. When the cluster chooses other
    /// coordinators, this process follows it, and nothing is written to a file.
    Cluster(&'a str),
}

/// Opens a cluster, and starts the client before if that was not done. Nothing is asked of the cluster yet: one that cannot be reached is opened, too.
///
/// # Errors
/// The client's own, and those of its thread.
pub fn open(place: &Place<'_>) -> Result<Database, OpenError> {
    let connection = match place {
        Place::DefaultFile => None,
        Place::Cluster(text) => Some(CString::new(*text).map_err(|_| OpenError::Zero)?),
    };
    network::start()?;
    let mut database: *mut sys::FDBDatabase = null_mut();
    let code = match &connection {
        // SAFETY: null is for the default file; the second is a place for a pointer; the client was started.
        None => unsafe { sys::fdb_create_database(null(), &raw mut database) },
        Some(text) => {
            let text = text.as_ptr();
            // SAFETY: the text ends with a zero, and is copied; the second is a place for a pointer; the client was started.
            unsafe { sys::fdb_create_database_from_connection_string(text, &raw mut database) }
        }
    };
    match NonNull::new(database).filter(|_| code == 0) {
        // SAFETY: the library has just made it, and nothing else has the pointer: the value ends it.
        Some(database) => Ok(unsafe { Database::new_from_pointer(database) }),
        None => Err(OpenError::Client(FdbError::from_code(code))),
    }
}
