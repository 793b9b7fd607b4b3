//! RADOS, the objects of a Ceph cluster, as catalogue and as blobs.
//!
//! Atomic is what is done to one object. So the catalogue is the ordered map (`omap`) of one object: a commit is one request of comparisons and
//! changes. Blobs are objects of some megabytes. All objects lie in a namespace of the pool, the *room*, which shares nothing with other rooms.
//!
//! No request that may have been executed is sent a second time by this client. librados sends one again when its connection was cut or the object's
//! home has moved, with the number of the first time; the cluster keeps the numbers of the last some thousand changes of a placement group with the data,
//! and answers without executing a change twice.

mod blobs;
mod catalogue;
mod errors;
mod key;
mod snapshot;
mod stretch;
mod url;

pub use url::RadosUrl;

use crate::error::{Error, ErrorKind, Result};
use larder_librados::{Answer, Errno, Pool, ReadPart, Settings, WritePart};
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a cluster is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RadosOptions {
    /// How long a request may take before it is given up, in whole seconds: a part of one counts as one. Less than a lease: 3 seconds by default.
    pub request_time_max: Duration,
    /// The user, without `client.` before it. Its key is in `/etc/ceph/ceph.client.USER.keyring`, `/etc/ceph/ceph.keyring` or `/etc/ceph/keyring`, or where
    /// the configuration file or the setting `keyring` says. `None`: `admin`.
    pub user: Option<String>,
    /// The namespace of the pool that all objects lie in: `larder` by default.
    pub room: String,
    /// Options of Ceph's own, names and values, such as `keyring`.
    pub settings: Vec<(String, String)>,
}

impl Default for RadosOptions {
    fn default() -> RadosOptions {
        RadosOptions {
            request_time_max: Duration::from_secs(3),
            user: None,
            room: "larder".to_owned(),
            settings: Vec::new(),
        }
    }
}

impl RadosOptions {
    /// The defaults.
    pub fn new() -> RadosOptions {
        RadosOptions::default()
    }

    /// With another longest time of a request.
    #[must_use]
    pub fn request_time_max(mut self, time: Duration) -> RadosOptions {
        self.request_time_max = time;
        self
    }

    /// With a user.
    #[must_use]
    pub fn user(mut self, name: &str) -> RadosOptions {
        self.user = Some(name.to_owned());
        self
    }

    /// With another room.
    #[must_use]
    pub fn room(mut self, room: &str) -> RadosOptions {
        room.clone_into(&mut self.room);
        self
    }

    /// With an option of Ceph's own.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> RadosOptions {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A pool of a Ceph cluster. It is both a [`Catalogue`](crate::Catalogue) and [`Blobs`](crate::Blobs). Clones are the same.
///
/// ```no_run
/// use larder_remote_files::{Cluster, Rados, RadosOptions, RadosUrl, SystemClock};
/// use std::{sync::Arc, time::Duration};
///
/// let url = RadosUrl::parse("rados://10.0.0.1,10.0.0.2/stores/notes")?;
/// let rados = Arc::new(Rados::connect(url.hosts(), url.pool(), RadosOptions::new())?);
/// let cluster = Cluster::new(rados.clone(), rados, Arc::new(SystemClock::new()), Duration::from_secs(10));
/// assert_eq!(cluster.namespaces()?, []);
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone)]
pub struct Rados {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Pool,
    /// Where it is, for messages.
    place: String,
    /// Numbers for values that are never used twice, by this client.
    commits: AtomicU64,
    instance: u64,
    sizes: stretch::Sizes,
}

impl std::fmt::Debug for Rados {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shared.place)
    }
}

impl Rados {
    /// Connects to the cluster whose monitors run at these hosts, `HOST` or `HOST:PORT` each, and opens a pool, which must be replicated. Without
    /// hosts the cluster is that of Ceph's configuration file on this machine (`CEPH_CONF`, or `/etc/ceph/ceph.conf`).
    ///
    /// # Errors
    /// `Unavailable` if no monitor answers, `Denied` for a user without its key, `Usage` for a pool that is not there.
    pub fn connect(hosts: &[String], pool: &str, options: RadosOptions) -> Result<Rados> {
        let at = match hosts {
            [] => "RADOS of the configuration file".to_owned(),
            _ => format!("RADOS at {}", hosts.join(",")),
        };
        let place = format!("{at}, pool {pool}");
        let opened = open(hosts, pool, &options).map_err(|error| error.context(&place))?;
        let shared = Shared {
            instance: opened.instance(),
            pool: opened,
            place,
            commits: AtomicU64::new(0),
            sizes: stretch::Sizes::default(),
        };
        let rados = Rados {
            shared: Arc::new(shared),
        };
        // Whether it answers, also about what it may read.
        let probe = [ReadPart::Values(&[])];
        rados.read(catalogue::OBJECT, &probe)?;
        Ok(rados)
    }

    /// A value that no other commit has, of this or any other client.
    fn version(&self) -> [u8; 16] {
        let number = self.shared.commits.fetch_add(1, Ordering::Relaxed);
        let mut version = [0; 16];
        version[..8].copy_from_slice(&self.shared.instance.to_be_bytes());
        version[8..].copy_from_slice(&number.to_be_bytes());
        version
    }

    /// Answers to one request, all of one moment; `None`: there is no such object.
    fn read(&self, object: &CStr, parts: &[ReadPart<'_>]) -> Result<Option<Vec<Answer>>> {
        let result = match self.shared.pool.read(object, parts) {
            Ok(answers) => Ok(Some(answers)),
            Err(Errno::NO_ENTRY) if self.shared.pool.is_there() => Ok(None),
            Err(Errno::NO_ENTRY) => Err(errors::no_pool()),
            Err(errno) => Err(errors::of(errno)),
        };
        result.map_err(|error| error.context(&self.shared.place))
    }

    /// One request that changes an object; false: a part of it did not hold, and nothing was changed.
    fn change(&self, object: &CStr, parts: &[WritePart<'_>]) -> Result<bool> {
        let result = match self.shared.pool.write(object, parts) {
            Ok(()) => Ok(true),
            Err(Errno::CANCELED | Errno::EXISTS) => Ok(false),
            Err(Errno::NO_ENTRY) if self.shared.pool.is_there() => Ok(false),
            Err(Errno::NO_ENTRY) => Err(errors::no_pool()),
            Err(errno) => Err(errors::of_change(errno)),
        };
        result.map_err(|error| error.context(&self.shared.place))
    }
}

fn open(hosts: &[String], pool: &str, options: &RadosOptions) -> Result<Pool> {
    let text = |text: &str, what: &str| {
        let wrong = |_| Error::new(ErrorKind::Usage, format!("{text:?} is no name of a {what}"));
        CString::new(text).map_err(wrong)
    };
    let (pool_name, room) = (text(pool, "pool")?, text(&options.room, "room")?);
    // The library takes whole seconds.
    let seconds = options.request_time_max.as_secs_f64().ceil().max(1.0);
    let (hosts, seconds) = (hosts.join(","), format!("{seconds}"));
    let keyrings = keyrings(options.user.as_deref().unwrap_or("admin"));
    let mut settings = vec![
        ("rados_osd_op_timeout", &seconds[..]),
        ("rados_mon_op_timeout", &seconds),
        ("client_mount_timeout", &seconds),
        // A library says what it has to say by its results.
        ("log_to_stderr", "false"),
        ("err_to_stderr", "false"),
        ("log_file", ""),
        ("admin_socket", ""),
    ];
    if !hosts.is_empty() {
        settings.extend([("mon_host", &hosts[..]), ("keyring", &keyrings)]);
    }
    let given = options.settings.iter();
    settings.extend(given.map(|(name, value)| (name.as_str(), value.as_str())));
    let settings = Settings {
        user: options.user.as_deref(),
        reads_file: hosts.is_empty(),
        options: &settings,
    };
    Pool::open(&settings, &pool_name, &room).map_err(|error| errors::of_opening(&error, pool))
}

/// Where a user's key is looked for, in this order. Without a configuration file the library does not put the name of the cluster and the user into the
/// usual names. The last one is empty and always there: a cluster without users needs no key, and the library would print that there is none.
fn keyrings(user: &str) -> String {
    format!(
        "/etc/ceph/ceph.client.{user}.keyring,/etc/ceph/ceph.keyring,/etc/ceph/keyring,/etc/ceph/keyring.bin,/dev/null"
    )
}

/// The rows of an answer, and whether there are more.
fn rows(answer: Option<Answer>) -> Result<(Vec<larder_librados::Row>, bool)> {
    match answer {
        Some(Answer::Rows { rows, has_more }) => Ok((rows, has_more)),
        _ => Err(Error::corruption(
            "a reply has not the parts of the request",
        )),
    }
}
