//! What happens when damage is met, and which errors of the system are damage.

use std::io;

/// What happens when damaged bytes are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDamage {
    /// The call fails with [`ErrorKind::Corruption`](crate::ErrorKind::Corruption).
    Fail,
    /// It is written down ([`Db::damage`](crate::Db::damage)), and what is whole is read. A row that may be outdated
    /// because something newer was lost is not shown.
    ///
    /// A temporary error of the system, such as a timeout, is not damage: the call fails with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), and the next one reads again.
    Skip,
}

/// `EMFILE` and `ENFILE`: too many open files. The standard library has no kind for them.
#[cfg(unix)]
const TOO_MANY_FILES: [i32; 2] = [24, 23];
/// `ERROR_TOO_MANY_OPEN_FILES`.
#[cfg(not(unix))]
const TOO_MANY_FILES: [i32; 1] = [4];

impl OnDamage {
    /// Whether a call fails that meets what cannot be used, for this error of the system if it is for one. Bytes that a disk
    /// has lost stay lost, and the rest is worth reading; an error that passes would hide whole rows for as long as the store is
    /// open.
    pub(crate) fn fails_on(self, cause: Option<&io::Error>) -> bool {
        self == OnDamage::Fail || cause.is_some_and(is_passing)
    }
}

/// Whether the same call may succeed a moment later, with nothing changed on the disk.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, OutOfMemory, ResourceBusy, TimedOut, WouldBlock};
    let number = error.raw_os_error();
    number.is_some_and(|number| TOO_MANY_FILES.contains(&number))
        || matches!(
            error.kind(),
            Interrupted | OutOfMemory | ResourceBusy | TimedOut | WouldBlock
        )
}
