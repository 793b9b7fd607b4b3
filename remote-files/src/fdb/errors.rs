//! What FoundationDB and its client say, as errors of this crate. Numbers are those of its documentation, "Error codes", and of its `error_definitions.h`.

use super::wait::TIMED_OUT;
use crate::error::{Error, ErrorKind};
use foundationdb::FdbError;
use larder_fdb::OpenError;

const TRANSACTION_TOO_OLD: i32 = 1007;
const NOT_COMMITTED: i32 = 1020;
const DATABASE_LOCKED: i32 = 1038;
const NO_CLUSTER_FILES: [i32; 3] = [1511, 1513, 1515];
/// An operation, a key or a range that is none.
const USAGE: [i32; 9] = [2000, 2002, 2004, 2005, 2006, 2007, 2010, 2011, 2012];
const TOO_LARGE: [i32; 3] = [2101, 2102, 2103];
const CONNECTION_STRING_INVALID: i32 = 2104;
const NETWORK_NOT_SETUP: i32 = 2008;
const VERSION_NOT_SUPPORTED: i32 = 2203;
const DENIED: [i32; 3] = [6000, 6001, 6003];

fn words(error: FdbError) -> String {
    format!("{} ({})", error.message(), error.code())
}

/// Whether a commit has conflicted with another one. It is not made.
pub(super) fn is_conflict(error: FdbError) -> bool {
    error.code() == NOT_COMMITTED
}

/// What was refused, for a reason that says that nothing was done.
fn refusal(error: FdbError) -> Option<Error> {
    let (kind, remedy) = match error.code() {
        code if TOO_LARGE.contains(&code) => (ErrorKind::TooLarge, ""),
        code if USAGE.contains(&code) => (ErrorKind::Usage, ""),
        code if DENIED.contains(&code) => (
            ErrorKind::Denied,
            ": check what the cluster lets this client do",
        ),
        DATABASE_LOCKED => (
            ErrorKind::Unavailable,
            ": unlock it when its restore or switch-over is done (fdbcli)",
        ),
        _ if error.is_retryable_not_committed() => (ErrorKind::Unavailable, ""),
        _ => return None,
    };
    Some(Error::new(kind, format!("{}{remedy}", words(error))))
}

/// The error of a request that changes nothing.
pub(super) fn of(error: FdbError) -> Error {
    refusal(error).unwrap_or_else(|| {
        let what = match error.code() {
            TIMED_OUT => {
                "no answer in time: is the cluster running (fdbcli), are its coordinators right, and is libfdb_c of its version?"
                    .to_owned()
            }
            _ => words(error),
        };
        Error::new(ErrorKind::Unavailable, what)
    })
}

/// The error of the first request. The client opens whatever it is given: what is wrong about a connection string or a cluster file comes now.
pub(super) fn of_first(error: FdbError) -> Error {
    match error.code() {
        CONNECTION_STRING_INVALID => of_opening(&OpenError::Client(error)),
        code if NO_CLUSTER_FILES.contains(&code) => of_opening(&OpenError::Client(error)),
        _ => of(error),
    }
}

/// The error of a page, whose version may have become too old.
pub(super) fn of_page(error: FdbError) -> Error {
    match error.code() {
        TRANSACTION_TOO_OLD => Error::new(ErrorKind::SnapshotGone, words(error)),
        _ => of(error),
    }
}

/// The error of a commit. What is not refused for certain may be made, or may be made later: one that is given up after its time, too.
pub(super) fn of_commit(error: FdbError) -> Error {
    refusal(error).unwrap_or_else(|| of(error).of_kind(ErrorKind::OutcomeUnknown))
}

/// The error of opening a cluster.
pub(super) fn of_opening(error: &OpenError) -> Error {
    let code = match error {
        OpenError::Client(error) => error.code(),
        _ => 0,
    };
    let (kind, remedy) = match error {
        OpenError::Client(_) if code == VERSION_NOT_SUPPORTED => (
            ErrorKind::Usage,
            ": its library libfdb_c is older than 7.3: install a newer one",
        ),
        OpenError::Client(_) if NO_CLUSTER_FILES.contains(&code) => (
            ErrorKind::Usage,
            ": name the cluster in the address, or its file in FDB_CLUSTER_FILE",
        ),
        OpenError::Client(_) if code == CONNECTION_STRING_INVALID => (
            ErrorKind::Usage,
            ": a connection string is the line of a cluster file, DESCRIPTION:ID@HOST:PORT,HOST:PORT",
        ),
        OpenError::Client(_) if code == NETWORK_NOT_SETUP => (
            ErrorKind::Usage,
            ": the program has chosen a version of the client by itself, and must start it before",
        ),
        OpenError::Zero => (ErrorKind::Usage, ""),
        _ => (ErrorKind::Unavailable, ""),
    };
    Error::new(kind, format!("{error}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_by_whether_something_was_changed() {
        for (code, reading, committing) in [
            (1007, ErrorKind::Unavailable, ErrorKind::Unavailable),
            (1009, ErrorKind::Unavailable, ErrorKind::Unavailable),
            (1020, ErrorKind::Unavailable, ErrorKind::Unavailable),
            (1021, ErrorKind::Unavailable, ErrorKind::OutcomeUnknown),
            (1025, ErrorKind::Unavailable, ErrorKind::OutcomeUnknown),
            (1031, ErrorKind::Unavailable, ErrorKind::OutcomeUnknown),
            (1038, ErrorKind::Unavailable, ErrorKind::Unavailable),
            (1039, ErrorKind::Unavailable, ErrorKind::OutcomeUnknown),
            (1510, ErrorKind::Unavailable, ErrorKind::OutcomeUnknown),
            (2004, ErrorKind::Usage, ErrorKind::Usage),
            (2101, ErrorKind::TooLarge, ErrorKind::TooLarge),
            (2102, ErrorKind::TooLarge, ErrorKind::TooLarge),
            (2103, ErrorKind::TooLarge, ErrorKind::TooLarge),
            (6000, ErrorKind::Denied, ErrorKind::Denied),
            (-1, ErrorKind::Unavailable, ErrorKind::OutcomeUnknown),
        ] {
            let error = FdbError::from_code(code);
            assert_eq!(of(error).kind(), reading, "{code}");
            assert_eq!(of_commit(error).kind(), committing, "{code}");
        }
        let old = of_page(FdbError::from_code(1007));
        assert_eq!(old.kind(), ErrorKind::SnapshotGone);
        assert_eq!(
            of_page(FdbError::from_code(1009)).kind(),
            ErrorKind::Unavailable
        );
    }
}
