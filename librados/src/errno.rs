//! What librados says when it does not do something: numbers of the C library of Linux.

use std::fmt;

/// Why a request was not executed, or is not known to have been.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

impl Errno {
    /// The cluster does not let this user do it.
    pub const PERM: Errno = Errno(1);
    /// There is no such object, pool or file.
    pub const NO_ENTRY: Errno = Errno(2);
    /// The cluster does not let this user do it.
    pub const ACCESS: Errno = Errno(13);
    /// The object is there already.
    pub const EXISTS: Errno = Errno(17);
    /// The request, or one of the options, is none.
    pub const INVALID: Errno = Errno(22);
    /// The object would be larger than the cluster takes.
    pub const TOO_LARGE: Errno = Errno(27);
    /// The cluster has no room.
    pub const NO_SPACE: Errno = Errno(28);
    /// The request is larger than the cluster takes.
    pub const MESSAGE_SIZE: Errno = Errno(90);
    /// The pool cannot do that: one that is erasure-coded has no `omap`.
    pub const NOT_SUPPORTED: Errno = Errno(95);
    /// The cluster has blocklisted this client.
    pub const SHUT_DOWN: Errno = Errno(108);
    /// No answer came in time.
    pub const TIMED_OUT: Errno = Errno(110);
    /// A quota is reached.
    pub const QUOTA: Errno = Errno(122);
    /// A value was not what the request requires.
    pub const CANCELED: Errno = Errno(125);

    /// What a function of librados returned: zero or more is success.
    pub(crate) fn check(returned: i32) -> Result<i32, Errno> {
        match returned {
            0.. => Ok(returned),
            _ => Err(Errno(returned.saturating_neg())),
        }
    }

    /// The number, above zero.
    pub fn code(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errno({}: {self})", self.0)
    }
}

impl std::error::Error for Errno {}
