//! What librados says, as errors of this crate.

use crate::error::{Error, ErrorKind};
use larder_librados::{Errno, OpenError};

/// What the cluster has refused, for a reason that says that nothing was done.
fn refusal(errno: Errno) -> Option<Error> {
    let (kind, remedy) = match errno {
        Errno::PERM | Errno::ACCESS => (
            ErrorKind::Denied,
            "check the user, its keyring, and what it may do in the pool",
        ),
        Errno::SHUT_DOWN => (
            ErrorKind::Denied,
            "the cluster has blocklisted this client: connect anew (ceph osd blocklist ls)",
        ),
        Errno::NO_SPACE => (
            ErrorKind::Full,
            "delete data, or add disks (ceph health detail)",
        ),
        Errno::QUOTA => (ErrorKind::Full, "the pool's quota is reached: raise it"),
        Errno::TOO_LARGE | Errno::MESSAGE_SIZE => (ErrorKind::TooLarge, "see osd_max_write_size"),
        Errno::NOT_SUPPORTED => (
            ErrorKind::Usage,
            "it may be erasure-coded, and such pools have no omap: take a replicated one",
        ),
        _ => return None,
    };
    Some(Error::new(kind, format!("{errno}: {remedy}")))
}

/// The error of a request that changes nothing.
pub(super) fn of(errno: Errno) -> Error {
    refusal(errno).unwrap_or_else(|| {
        let what = match errno {
            Errno::TIMED_OUT => {
                "no answer in time: are most of its OSDs up (ceph health)?".to_owned()
            }
            _ => errno.to_string(),
        };
        Error::new(ErrorKind::Unavailable, what)
    })
}

/// The error of a request that changes something.
pub(super) fn of_change(errno: Errno) -> Error {
    refusal(errno).unwrap_or_else(|| of(errno).of_kind(ErrorKind::OutcomeUnknown))
}

/// The error of a pool that was there when it was opened.
pub(super) fn no_pool() -> Error {
    Error::new(
        ErrorKind::Usage,
        "the pool was deleted: nothing can be read or written there",
    )
}

/// The error of connecting.
pub(super) fn of_opening(error: &OpenError, pool: &str) -> Error {
    let (kind, remedy) = match error {
        OpenError::Connect(Errno::PERM | Errno::ACCESS) => (
            ErrorKind::Denied,
            "check the user and its keyring".to_owned(),
        ),
        // The library looks for the user's key before it asks.
        OpenError::Connect(Errno::NO_ENTRY) => (
            ErrorKind::Denied,
            "there is no configuration or no keyring of this user: see /etc/ceph, or CEPH_CONF"
                .to_owned(),
        ),
        OpenError::Connect(Errno::INVALID) => (
            ErrorKind::Usage,
            "is it a list of hosts, with ports that are right?".to_owned(),
        ),
        OpenError::Connect(_) => (
            ErrorKind::Unavailable,
            "is the cluster running, and are hosts and ports right?".to_owned(),
        ),
        OpenError::Pool(Errno::NO_ENTRY) => (
            ErrorKind::Usage,
            format!(
                "there is no pool {pool:?}: make it with `ceph osd pool create {pool}`, or check the name"
            ),
        ),
        OpenError::Pool(Errno::TIMED_OUT) => {
            (ErrorKind::Unavailable, "is the cluster running?".to_owned())
        }
        OpenError::Pool(Errno::PERM | Errno::ACCESS) => (
            ErrorKind::Denied,
            "check what the user may do in the pool".to_owned(),
        ),
        OpenError::File(_) => (
            ErrorKind::Usage,
            "name the monitors in the address, or the file in CEPH_CONF".to_owned(),
        ),
        _ => (
            ErrorKind::Usage,
            "check the address and the options".to_owned(),
        ),
    };
    Error::new(kind, format!("{error}: {remedy}"))
}
