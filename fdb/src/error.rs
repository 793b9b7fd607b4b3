//! What can be wrong with opening a cluster.

use foundationdb::FdbError;
use std::fmt;

/// Why there is no database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The client refuses: its version, the connection string or the cluster file.
    Client(FdbError),
    /// The system starts no thread, in its words.
    Thread(String),
    /// The system registers nothing for the process's end.
    Exit,
    /// A byte of the connection string is zero.
    Zero,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Client(error) => {
                write!(f, "its client says: {error} ({})", error.code())
            }
            OpenError::Thread(why) => write!(f, "its client has no thread: {why}"),
            OpenError::Exit => f.write_str("its client could not be stopped at the process's end"),
            OpenError::Zero => f.write_str("a connection string has no byte 00"),
        }
    }
}

impl std::error::Error for OpenError {}
