//! FoundationDB as catalogue and as blobs: rows of one ordered space of keys, under a prefix, the *room*, which shares nothing with other rooms.
//!
//! A commit is a transaction: it reads what the commit requires, and is made if none of that was written meanwhile. A segment of a blob is a row. All is
//! within FoundationDB's limits: keys of 10,000 bytes, values of 100,000, transactions of 10 MB and of 5 seconds; most are below the 1 MB that it advises.
//!
//! No commit that may have been made is sent a second time by this client; the retry loops of the crate `foundationdb` are not used. One that has conflicted
//! with another is not made for certain, so its conditions are read anew.
//!
//! # The client of FoundationDB
//! It has one thread for the whole process, which the first connection starts, and which ends when the process does (`larder-fdb`). A
//! program that uses FoundationDB itself must have started it before: the client cannot be started twice. A process that was made by `fork` has no client.
//!
//! # Limits
//! All rows of a namespace are read at one version when it is taken, one reply of 80 KB after the other. FoundationDB keeps a version for 5 seconds. So a namespace
//! should stay below some hundred thousand rows (an estimate): that many files, and pieces of files in the catalogue.
//!
//! # What was tested
//! FoundationDB was never run with this: neither its server nor its client can be had where this is made. The tests run the real crate `foundationdb` on a double of
//! its C library, which keeps FoundationDB's documented rules (`fdb-double` of the repository).

mod blobs;
mod catalogue;
mod errors;
mod key;
mod url;
mod wait;

pub use url::FoundationDbUrl;

use crate::error::{Error, ErrorKind, Result};
use foundationdb::options::{StreamingMode, TransactionOption};
use foundationdb::{Database, FdbError, RangeOption, Transaction};
use key::Room;
use larder_fdb::Place;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Rows of a reply to a range.
const REPLY_ROWS_MAX: usize = 1000;
/// Bytes of a reply to a range, but for its last row: as many as a storage server sends at once. The client asks for no second reply where it has
/// such a limit.
const REPLY_LEN: usize = 80_000;

/// How a cluster is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundationDbOptions {
    /// How long a request may take before it is given up. Less than a lease: 3 seconds by default. FoundationDB gives a transaction 5.
    pub request_time_max: Duration,
    /// The name under which all keys lie, `larder` by default: the first element of a tuple, text. 1 to 255 bytes without control characters.
    pub room: String,
}

impl Default for FoundationDbOptions {
    fn default() -> FoundationDbOptions {
        FoundationDbOptions {
            request_time_max: Duration::from_secs(3),
            room: "larder".to_owned(),
        }
    }
}

impl FoundationDbOptions {
    /// The defaults.
    pub fn new() -> FoundationDbOptions {
        FoundationDbOptions::default()
    }

    /// With another longest time of a request.
    #[must_use]
    pub fn request_time_max(mut self, time: Duration) -> FoundationDbOptions {
        self.request_time_max = time;
        self
    }

    /// With another room.
    #[must_use]
    pub fn room(mut self, room: &str) -> FoundationDbOptions {
        room.clone_into(&mut self.room);
        self
    }
}

/// A FoundationDB cluster. It is both a [`Catalogue`](crate::Catalogue) and [`Blobs`](crate::Blobs). Clones are the same.
///
/// ```no_run
/// use larder_remote_files::{Cluster, FoundationDb, FoundationDbOptions, FoundationDbUrl, SystemClock};
/// use std::{sync::Arc, time::Duration};
///
/// let url = FoundationDbUrl::parse("fdb://stores:Qa7dB2@10.0.0.1:4500,10.0.0.2:4500/notes")?;
/// let engine = Arc::new(FoundationDb::connect(url.cluster(), FoundationDbOptions::new())?);
/// let cluster = Cluster::new(engine.clone(), engine, Arc::new(SystemClock::new()), Duration::from_secs(10));
/// assert_eq!(cluster.namespaces()?, []);
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone)]
pub struct FoundationDb {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    /// Where it is, for messages.
    place: String,
    room: Room,
    time_max: Duration,
}

impl std::fmt::Debug for FoundationDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shared.place)
    }
}

impl FoundationDb {
    /// Connects to the cluster of a connection string, which is the line of a cluster file: `DESCRIPTION:ID@HOST:PORT,HOST:PORT`. `None`: that of the
    /// cluster file of this machine (`FDB_CLUSTER_FILE`, `fdb.cluster` in the working folder, or `/etc/foundationdb/fdb.cluster`).
    ///
    /// # Errors
    /// `Unavailable` if no coordinator answers, `Usage` for a connection string, a cluster file or a room that is none, and for a client library that is older
    /// than 7.3.
    pub fn connect(cluster: Option<&str>, options: FoundationDbOptions) -> Result<FoundationDb> {
        let (at, place) = match cluster {
            Some(text) => {
                let hosts = text.rsplit_once('@').map_or(text, |(_, hosts)| hosts);
                (Place::Cluster(text), format!("FoundationDB at {hosts}"))
            }
            None => {
                let place = "FoundationDB of the cluster file".to_owned();
                (Place::DefaultFile, place)
            }
        };
        let room = Room::new(&options.room)?;
        let opened = larder_fdb::open(&at);
        let opened = opened.map_err(|error| errors::of_opening(&error).context(&place));
        let shared = Shared {
            database: opened?,
            place,
            room,
            time_max: options.request_time_max,
        };
        let engine = FoundationDb {
            shared: Arc::new(shared),
        };
        // Whether it answers.
        let transaction = engine.begin()?;
        let probe = transaction.get(&engine.shared.room.row(b""), true);
        engine.wait(probe, errors::of_first).map(drop)?;
        larder_fdb::stop_first();
        Ok(engine)
    }

    /// A transaction with its longest time.
    fn begin(&self) -> Result<Transaction> {
        self.begin_within(self.shared.time_max)
    }

    /// A transaction with a longest time of its own.
    fn begin_within(&self, time_max: Duration) -> Result<Transaction> {
        let millis = time_max.as_millis().max(1);
        let timeout = TransactionOption::Timeout(i32::try_from(millis).unwrap_or(i32::MAX));
        let transaction = self.shared.database.create_trx().and_then(|transaction| {
            transaction.set_option(timeout)?;
            Ok(transaction)
        });
        transaction.map_err(|error| errors::of(error).context(&self.shared.place))
    }

    /// Waits for the result of a request.
    fn wait<T, E>(
        &self,
        request: impl Future<Output = Result<T, E>>,
        error_of: impl FnOnce(FdbError) -> Error,
    ) -> Result<T>
    where
        FdbError: From<E>,
    {
        let result = wait::wait(request, self.shared.time_max.saturating_add(wait::GRACE));
        result.map_err(|error| error_of(error).context(&self.shared.place))
    }
}

/// Rows of a range from its start, at most so many.
fn rows_of(keys: Range<Vec<u8>>, rows_max: usize) -> RangeOption<'static> {
    RangeOption {
        limit: Some(rows_max.clamp(1, REPLY_ROWS_MAX)),
        target_bytes: REPLY_LEN,
        mode: StreamingMode::Exact,
        ..RangeOption::from(keys)
    }
}

/// The key after the last one of a reply that has more behind it; `None`: it has not.
fn next(last: Option<&[u8]>, has_more: bool) -> Result<Option<Vec<u8>>> {
    match (last, has_more) {
        (_, false) => Ok(None),
        (Some(last), true) => Ok(Some([last, &[0]].concat())),
        (None, true) => {
            let what = "a reply has no row, and says that there are more";
            Err(Error::new(ErrorKind::Unavailable, what))
        }
    }
}
