//! Clusters, which C's functions call databases.

use crate::cluster::Cluster;
use crate::errors::{self, Code};
use crate::network;
use crate::transaction::{Handle as TransactionHandle, Transaction};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Where the client looks for the cluster's file if no other is named.
const DEFAULT_FILES: [&str; 2] = ["fdb.cluster", "/etc/foundationdb/fdb.cluster"];

/// `FDBDatabase`, as the client has it. What is wrong about its connection string or its file is the answer to each request: opening it looks at neither.
pub(crate) struct Handle(Result<Arc<Cluster>, Code>);

type Place<'a, T> = &'a mut MaybeUninit<*mut T>;

/// Puts what was made into the client's place for it.
fn put<T>(made: Result<T, Code>, place: Place<'_, T>) -> Code {
    match made {
        Ok(made) => {
            place.write(Box::into_raw(Box::new(made)));
            0
        }
        Err(code) => code,
    }
}

fn open(cluster: Result<Arc<Cluster>, Code>) -> Result<Handle, Code> {
    network::check_set_up()?;
    Ok(Handle(cluster))
}

#[expect(
    clippy::disallowed_methods,
    reason = "it stands for a library that reads the file by itself"
)]
fn of_file(path: &str) -> Result<Arc<Cluster>, Code> {
    let text = std::fs::read(path).map_err(|_| errors::NO_CLUSTER_FILE)?;
    let text = String::from_utf8(text).map_err(|_| errors::CONNECTION_STRING_INVALID)?;
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    Cluster::of(line.ok_or(errors::CONNECTION_STRING_INVALID)?)
}

fn of_default_file() -> Result<Arc<Cluster>, Code> {
    match std::env::var("FDB_CLUSTER_FILE") {
        Ok(path) => of_file(&path),
        Err(_) => {
            let mut clusters = DEFAULT_FILES.iter().map(|path| of_file(path));
            let found = clusters.find(|cluster| !matches!(cluster, Err(errors::NO_CLUSTER_FILE)));
            found.unwrap_or(Err(errors::NO_CLUSTER_FILE))
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_create_database(path: *const c_char, place: Place<'_, Handle>) -> Code {
    let cluster = match path.is_null() {
        true => of_default_file(),
        false => {
            // SAFETY: it is no null, and ends with a zero, by the header.
            let path = unsafe { CStr::from_ptr(path) };
            of_file(&path.to_string_lossy())
        }
    };
    put(open(cluster), place)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_create_database_from_connection_string(
    connection: *const c_char,
    place: Place<'_, Handle>,
) -> Code {
    // SAFETY: it ends with a zero, by the header.
    let connection = unsafe { CStr::from_ptr(connection) };
    put(open(Cluster::of(&connection.to_string_lossy())), place)
}

#[unsafe(no_mangle)]
extern "C" fn fdb_database_destroy(database: Box<Handle>) {
    drop(database);
}

#[unsafe(no_mangle)]
extern "C" fn fdb_database_set_option(_: &Handle, _: c_int, _: *const c_void, _: c_int) -> Code {
    0
}

#[unsafe(no_mangle)]
extern "C" fn fdb_database_create_transaction(
    database: &Handle,
    place: Place<'_, TransactionHandle>,
) -> Code {
    let transaction = Transaction::new(database.0.clone());
    put(Ok(TransactionHandle(transaction)), place)
}
