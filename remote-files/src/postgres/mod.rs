//! PostgreSQL as catalogue and blobs: two tables in the schema `larder` of a database.
//!
//! A commit is one statement, which is one transaction: it locks, compares and writes, or changes nothing. It is acknowledged when
//! PostgreSQL has made it durable, and, if `synchronous_standby_names` is set, on the standbys as well. A connection that breaks before that leaves
//! the outcome unknown, and is never used again.
//!
//! Nothing here ever cancels a statement: a commit that is cancelled while it waits for a standby counts as made, and is not on the standby.

mod blobs;
mod catalogue;
mod errors;
mod pool;
mod schema;
mod url;

pub use url::PostgresUrl;

use crate::error::{Error, ErrorKind, Result};
use crate::io_thread::IoThread;
use pool::{Connector, Lease, Pool};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

/// How a server is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// How long a request may take before the connection is given up. Less than a lease: 3 seconds by default.
    pub request_time_max: Duration,
    /// How many connections are open at once: 8 by default.
    pub connections_max: usize,
}

impl Default for PostgresOptions {
    fn default() -> PostgresOptions {
        PostgresOptions {
            request_time_max: Duration::from_secs(3),
            connections_max: 8,
        }
    }
}

impl PostgresOptions {
    /// The defaults.
    pub fn new() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// With another longest time of a request.
    #[must_use]
    pub fn request_time_max(mut self, time: Duration) -> PostgresOptions {
        self.request_time_max = time;
        self
    }

    /// With another number of connections.
    #[must_use]
    pub fn connections_max(mut self, count: usize) -> PostgresOptions {
        self.connections_max = count;
        self
    }
}

/// A database of a PostgreSQL server. It is both a [`Catalogue`](crate::Catalogue) and [`Blobs`](crate::Blobs). Clones are the same.
///
/// ```no_run
/// use larder_remote_files::{Cluster, Namespace, Postgres, PostgresOptions, PostgresUrl, SystemClock};
/// use std::{sync::Arc, time::Duration};
///
/// let url = PostgresUrl::parse("postgres://larder:secret@127.0.0.1/stores/notes")?;
/// let postgres = Arc::new(Postgres::connect(url.config(), PostgresOptions::new())?);
/// let cluster = Cluster::new(postgres.clone(), postgres, Arc::new(SystemClock::new()), Duration::from_secs(10));
/// assert_eq!(cluster.namespaces()?, []);
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Postgres {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pool: Arc<Pool>,
    time_max: Duration,
    thread: IoThread,
}

impl Postgres {
    /// Connects without TLS, and makes the schema if it is not there.
    ///
    /// # Errors
    /// `Denied` for a wrong password or too few rights, `Usage` for a database that is not there, `Unavailable` if no server answers.
    pub fn connect(config: &Config, options: PostgresOptions) -> Result<Postgres> {
        Postgres::connect_with(config, NoTls, options)
    }

    /// Connects with the TLS of the host's choice: a connector of `tokio-postgres-rustls`, `postgres-native-tls`, or the like.
    ///
    /// # Errors
    /// As [`connect`](Postgres::connect).
    pub fn connect_with<T>(config: &Config, tls: T, options: PostgresOptions) -> Result<Postgres>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let thread = IoThread::start("larder-postgres")?;
        let connector = Connector::new(config, tls);
        let shared = Shared {
            pool: Arc::new(Pool::new(connector, options.connections_max)),
            time_max: options.request_time_max,
            thread,
        };
        let postgres = Postgres {
            shared: Arc::new(shared),
        };
        postgres.run(
            ErrorKind::Unavailable,
            |lease| async move { Ok((lease, ())) },
        )?;
        Ok(postgres)
    }

    /// Runs a request on a connection. What the request returns with its result goes back to the pool; after an error it does not.
    fn run<T, F>(
        &self,
        late: ErrorKind,
        request: impl FnOnce(Lease) -> F + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<(Lease, T)>> + Send + 'static,
    {
        let pool = Arc::clone(&self.shared.pool);
        let has_begun = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&has_begun);
        let request = async move {
            let lease = pool.lease().await?;
            begins.store(true, Ordering::Release);
            let (lease, result) = request(lease).await?;
            lease.give_back();
            Ok(result)
        };
        let result = self.shared.thread.run(self.shared.time_max, late, request);
        result.map_err(|error| match has_begun.load(Ordering::Acquire) {
            true => error,
            // No connection was free, or none could be made, in time: nothing was sent.
            false if error.kind() == late => error.of_kind(ErrorKind::Unavailable),
            false => error,
        })
    }
}

/// The answer of a statement that gives another one than it must.
fn strange(what: &str) -> Error {
    let what = format!("PostgreSQL returned {what}: has the schema larder been changed by hand?");
    Error::corruption(what)
}
