//! etcd as catalogue, and as blobs of stores of some gigabytes at most: etcd keeps all keys in memory, and 8 GiB are advised as its limit.
//!
//! A commit is one transaction with comparisons. Rows and segments lie under a prefix: `r` and the row's key, `s` and the segment's. The
//! row of a session has a lease of etcd's, so that it goes by itself when its process has died. No request that may have been executed is sent a
//! second time by this client or by the crate below it.

mod blobs;
mod catalogue;
mod errors;
mod url;

pub use url::EtcdUrl;

use crate::error::{ErrorKind, Result};
use crate::io_thread::IoThread;
use etcd_client::{Client, ConnectOptions, GetOptions, KvClient};
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// How often a connection with requests under way is asked whether it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(6);
/// A reply has so many bytes at most.
const REPLY_LEN_MAX: usize = 64 << 20;
/// Keys of a reply: as many values of the greatest length, with their keys, are less than what a reply may have.
const REPLY_ROWS_MAX: usize = 500;
/// Operations of a transaction. etcd takes 128.
const OPERATIONS_MAX: usize = 100;
/// Bytes of the segments of a transaction. etcd takes requests of 1.5 MiB.
const TRANSACTION_LEN_MAX: usize = 1_200_000;

/// How a cluster is used.
#[derive(Clone)]
#[non_exhaustive]
pub struct EtcdOptions {
    /// How long a request may take before it is given up. Less than a lease: 3 seconds by default.
    pub request_time_max: Duration,
    /// User and password, if etcd asks for them.
    pub user: Option<(String, String)>,
    /// What all keys begin with: `larder/` by default.
    pub prefix: Vec<u8>,
}

impl std::fmt::Debug for EtcdOptions {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EtcdOptions")
            .field("request_time_max", &self.request_time_max)
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .field("prefix", &self.prefix)
            .finish()
    }
}

impl Default for EtcdOptions {
    fn default() -> EtcdOptions {
        EtcdOptions {
            request_time_max: Duration::from_secs(3),
            user: None,
            prefix: b"larder/".to_vec(),
        }
    }
}

impl EtcdOptions {
    /// The defaults.
    pub fn new() -> EtcdOptions {
        EtcdOptions::default()
    }

    /// With another longest time of a request.
    #[must_use]
    pub fn request_time_max(mut self, time: Duration) -> EtcdOptions {
        self.request_time_max = time;
        self
    }

    /// With a user.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str) -> EtcdOptions {
        self.user = Some((name.to_owned(), password.to_owned()));
        self
    }

    /// With another prefix.
    #[must_use]
    pub fn prefix(mut self, prefix: &[u8]) -> EtcdOptions {
        self.prefix = prefix.to_vec();
        self
    }
}

/// A cluster of etcd. It is both a [`Catalogue`](crate::Catalogue) and [`Blobs`](crate::Blobs). Clones are the same.
///
/// ```no_run
/// use larder_remote_files::{Cluster, Etcd, EtcdOptions, EtcdUrl, SystemClock};
/// use std::{sync::Arc, time::Duration};
///
/// let url = EtcdUrl::parse("etcd://127.0.0.1:2379/notes")?;
/// let etcd = Arc::new(Etcd::connect(url.endpoints(), EtcdOptions::new())?);
/// let cluster = Cluster::new(etcd.clone(), etcd, Arc::new(SystemClock::new()), Duration::from_secs(10));
/// assert_eq!(cluster.namespaces()?, []);
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Etcd {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    /// The nodes, for messages.
    place: String,
    prefix: Vec<u8>,
    time_max: Duration,
    thread: IoThread,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place)
    }
}

/// The rows, and the segments of blobs.
const ROWS: u8 = b'r';
const SEGMENTS: u8 = b's';

impl Etcd {
    /// Connects to the nodes, `HOST:PORT` each, without TLS.
    ///
    /// # Errors
    /// `Denied` for a wrong password, `Usage` for endpoints that are none, `Unavailable` if no node answers.
    pub fn connect(endpoints: &[String], options: EtcdOptions) -> Result<Etcd> {
        let thread = IoThread::start("larder-etcd")?;
        let place = format!("etcd at {}", endpoints.join(","));
        let mut connect = ConnectOptions::new()
            .with_connect_timeout(options.request_time_max)
            // A server of etcd closes connections that ask more often than every 5 seconds, or without a request under way.
            .with_keep_alive(KEEP_ALIVE, options.request_time_max)
            .with_require_leader(true);
        if let Some((name, password)) = &options.user {
            // A token ends when its node is started anew. Only what was refused for that is sent again.
            connect = connect
                .with_user(name, password)
                .with_auto_token_refresh(true);
        }
        let endpoints = endpoints.to_vec();
        let (limit, prefix) = (options.request_time_max, options.prefix.clone());
        let connected = thread.run(limit, ErrorKind::Unavailable, async move {
            let client = Client::connect(endpoints, Some(connect)).await;
            let client = client.map_err(|error| errors::of(&error))?;
            // Whether it answers, about what a user of this prefix alone may read.
            let answer = client.kv_client().get(prefix, None).await;
            answer.map_err(|error| errors::of(&error))?;
            Ok(client)
        });
        let shared = Shared {
            client: connected.map_err(|error| error.context(&place))?,
            place,
            prefix: options.prefix,
            time_max: options.request_time_max,
            thread,
        };
        Ok(Etcd {
            shared: Arc::new(shared),
        })
    }

    fn kv(&self) -> KvClient {
        self.shared
            .client
            .kv_client()
            .max_decoding_message_size(REPLY_LEN_MAX)
    }

    fn run<T: Send + 'static>(
        &self,
        late: ErrorKind,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let limit = self.shared.time_max;
        let result = self.shared.thread.run(limit, late, request);
        result.map_err(|error| error.context(&self.shared.place))
    }

    /// A key of this crate's as etcd has it.
    fn key(&self, kind: u8, key: &[u8]) -> Vec<u8> {
        [&self.shared.prefix[..], &[kind], key].concat()
    }

    /// How long what etcd has before keys is.
    fn prefix_len(&self) -> usize {
        self.shared.prefix.len() + 1
    }
}

/// Keys and values of a range from its start, at most so many; whether there are more; and the revision.
async fn page(
    kv: &mut KvClient,
    range: Range<Vec<u8>>,
    rows_max: usize,
    revision: i64,
) -> Result<(Vec<(Vec<u8>, Vec<u8>)>, bool, i64), etcd_client::Error> {
    let limit = rows_max.clamp(1, REPLY_ROWS_MAX) as i64;
    let options = GetOptions::new()
        .with_range(range.end)
        .with_limit(limit)
        .with_revision(revision);
    let mut answer = kv.get(range.start, Some(options)).await?;
    let has_more = answer.more();
    let at = answer
        .header()
        .map_or(0, etcd_client::ResponseHeader::revision);
    let rows = answer
        .take_kvs()
        .into_iter()
        .map(etcd_client::KeyValue::into_key_value);
    Ok((rows.collect(), has_more, at))
}
