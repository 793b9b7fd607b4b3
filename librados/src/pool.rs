//! A connection to a cluster, and a namespace of one of its pools.

use crate::errno::Errno;
use crate::ffi;
use crate::open::{OpenError, Settings};
use std::ffi::{CStr, CString};
use std::fmt;
use std::ptr::{null, null_mut};

/// The connection of a process. It ends when this is dropped.
struct Cluster(ffi::Cluster);

/// A namespace of a pool.
struct IoContext(ffi::IoContext);

/// A namespace of a pool, and the connection to its cluster. Both end when this is dropped.
pub struct Pool {
    // Dropped first: contexts have to end before their connection.
    io: IoContext,
    cluster: Cluster,
}

// SAFETY: librados says of its handles that any thread may use them, several at once; what would not be so, changing a context's namespace,
// is done here before any other thread can have it.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {} of client {}", self.id(), self.instance())
    }
}

impl Cluster {
    fn new(user: Option<&CStr>) -> Result<Cluster, Errno> {
        let mut cluster = null_mut();
        let id = user.map_or(null(), CStr::as_ptr);
        // SAFETY: the first is a place for a pointer; the second is null or ends with a zero, and is copied.
        let created = unsafe { ffi::rados_create(&raw mut cluster, id) };
        Errno::check(created)?;
        Ok(Cluster(cluster))
    }

    fn read_file(&self) -> Result<(), Errno> {
        // SAFETY: the handle is one until `self` is dropped; null is for the files that Ceph's own programs read.
        let read = unsafe { ffi::rados_conf_read_file(self.0, null()) };
        Errno::check(read).map(drop)
    }

    fn set(&self, option: &str, value: &str) -> Result<(), Errno> {
        let (Ok(option), Ok(value)) = (CString::new(option), CString::new(value)) else {
            return Err(Errno::INVALID);
        };
        // SAFETY: the handle is one until `self` is dropped; both texts end with a zero, and are copied.
        let set = unsafe { ffi::rados_conf_set(self.0, option.as_ptr(), value.as_ptr()) };
        Errno::check(set).map(drop)
    }

    fn connect(&self) -> Result<(), Errno> {
        // SAFETY: the handle is one until `self` is dropped.
        let connected = unsafe { ffi::rados_connect(self.0) };
        Errno::check(connected).map(drop)
    }

    fn open(&self, pool: &CStr, namespace: &CStr) -> Result<IoContext, Errno> {
        let mut io = null_mut();
        // SAFETY: the handle is one and connected; the name ends with a zero, and is copied; the last is a place for a pointer.
        let created = unsafe { ffi::rados_ioctx_create(self.0, pool.as_ptr(), &raw mut io) };
        Errno::check(created)?;
        let io = IoContext(io);
        // SAFETY: the context was made above, and no other thread has it; the name ends with a zero, and is copied.
        unsafe { ffi::rados_ioctx_set_namespace(io.0, namespace.as_ptr()) };
        Ok(io)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `rados_create`, is used no more, and its context has ended before it.
        unsafe { ffi::rados_shutdown(self.0) };
    }
}

impl Drop for IoContext {
    fn drop(&mut self) {
        // SAFETY: the context was made by `rados_ioctx_create` and is used no more: calls that use it borrow its owner until they have ended.
        unsafe { ffi::rados_ioctx_destroy(self.0) };
    }
}

impl Pool {
    /// Connects, and opens a pool. An empty namespace is that of objects without one.
    ///
    /// # Errors
    /// Where it has ended, and why.
    pub fn open(settings: &Settings<'_>, pool: &CStr, namespace: &CStr) -> Result<Pool, OpenError> {
        let user = settings.user.map(CString::new).transpose();
        let user = user.map_err(|_| OpenError::User(Errno::INVALID))?;
        let cluster = Cluster::new(user.as_deref()).map_err(OpenError::User)?;
        if settings.reads_file {
            cluster.read_file().map_err(OpenError::File)?;
        }
        for (option, value) in settings.options {
            let set = cluster.set(option, value);
            set.map_err(|why| OpenError::Option((*option).to_owned(), why))?;
        }
        cluster.connect().map_err(OpenError::Connect)?;
        let io = cluster.open(pool, namespace).map_err(OpenError::Pool)?;
        Ok(Pool { io, cluster })
    }

    /// The context, which lives as long as `self`.
    pub(crate) fn io(&self) -> ffi::IoContext {
        self.io.0
    }

    /// A number that no other connection to the cluster ever has.
    pub fn instance(&self) -> u64 {
        // SAFETY: the handle is one, and connected, until `self` is dropped.
        unsafe { ffi::rados_get_instance_id(self.cluster.0) }
    }

    fn id(&self) -> i64 {
        // SAFETY: the context is one until `self` is dropped.
        unsafe { ffi::rados_ioctx_get_id(self.io.0) }
    }

    /// Whether the pool is still there, by what this client has heard of the cluster last; no request is sent.
    pub fn is_there(&self) -> bool {
        let mut name = [0; 512];
        // SAFETY: the handle is one until `self` is dropped; of the buffer no more is written than its length.
        let found = unsafe {
            ffi::rados_pool_reverse_lookup(self.cluster.0, self.id(), name.as_mut_ptr(), name.len())
        };
        // A name that is longer than the buffer is one, too.
        Errno::check(found) != Err(Errno::NO_ENTRY)
    }
}
