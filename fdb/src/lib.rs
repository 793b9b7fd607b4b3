//! What `larder-remote-files` needs of FoundationDB's client beside the crate `foundationdb`.
//!
//! The client has one thread, its *network*, which a process starts once and can never start again, and which must have ended before the process
//! does: the C library's own data is destroyed then. The crate `foundationdb` leaves that to its caller, as an `unsafe` function. Here `open` starts it
//! with the first cluster, and a handler of the process's exit stops it and waits for it. That is all of the `unsafe` of this engine.
//!
//! A program that uses FoundationDB itself must have started the client before: then it is that program's, and nothing is started or stopped here. The
//! other way around its own start is refused. A process that was made by `fork` has no client.
//!
//! Everything is behind the feature `client`; without it this crate is empty.
//!
//! ```no_run
//! let database = larder_fdb::open(&larder_fdb::Place::Cluster("test:1@127.0.0.1:4500"))?;
//! let transaction = database.create_trx()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod network;
#[cfg(feature = "client")]
mod open;

#[cfg(feature = "client")]
pub use error::OpenError;
#[cfg(feature = "client")]
pub use network::stop_first;
#[cfg(feature = "client")]
pub use open::{Place, open};
