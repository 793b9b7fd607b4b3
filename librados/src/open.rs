//! How a cluster is connected to, and what can be wrong with that.

use crate::errno::Errno;
use std::fmt;

/// How to connect.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The user, without `client.` before it; `None`: `admin`.
    pub user: Option<&'a str>,
    /// Whether the cluster's configuration is read from where Ceph's programs read it: `CEPH_CONF`, or `/etc/ceph/ceph.conf`.
    pub reads_file: bool,
    /// Options, which go before the file's: `mon_host`, `rados_osd_op_timeout` (seconds), `client_mount_timeout` (seconds).
    pub options: &'a [(&'a str, &'a str)],
}

/// Where connecting has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The user's name is none.
    User(Errno),
    /// The configuration file is missing, or is none.
    File(Errno),
    /// The cluster's library does not take this option.
    Option(String, Errno),
    /// No monitor has answered, or the cluster refuses the user.
    Connect(Errno),
    /// The pool is missing, or the user may not look for it.
    Pool(Errno),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::User(why) => write!(f, "this is no name of a user: {why}"),
            OpenError::File(why) => write!(f, "the configuration file cannot be read: {why}"),
            OpenError::Option(name, why) => write!(f, "the option {name} is wrong: {why}"),
            OpenError::Connect(why) => write!(f, "the monitors cannot be reached: {why}"),
            OpenError::Pool(why) => write!(f, "the pool cannot be opened: {why}"),
        }
    }
}

impl std::error::Error for OpenError {}
