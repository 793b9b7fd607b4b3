//! What etcd and its client say, as errors of this crate. Codes of gRPC are their numbers in its specification.

use crate::error::{Error, ErrorKind};
use etcd_client::Error as ClientError;

/// The code of a status, and its words.
fn status(error: &ClientError) -> Option<(i32, &str)> {
    match error {
        ClientError::GRpcStatus(status) => Some((status.code().into(), status.message())),
        _ => None,
    }
}

const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const OUT_OF_RANGE: i32 = 11;
const UNAUTHENTICATED: i32 = 16;

/// What etcd has refused, for a reason that says that nothing was done.
fn refusal(error: &ClientError) -> Option<Error> {
    let (code, words) = status(error)?;
    let has = |part: &str| words.contains(part);
    let (kind, remedy) = match code {
        INVALID_ARGUMENT if has("authentication failed") || has("user name") => {
            (ErrorKind::Denied, ": check user and password")
        }
        INVALID_ARGUMENT if has("too large") => (ErrorKind::TooLarge, ""),
        INVALID_ARGUMENT | FAILED_PRECONDITION => (ErrorKind::Usage, ""),
        PERMISSION_DENIED | UNAUTHENTICATED => (
            ErrorKind::Denied,
            ": check user and password, and what they may read and write",
        ),
        // It ran out before its row was there; the next attempt has another one.
        NOT_FOUND if has("lease not found") => (ErrorKind::Unavailable, ""),
        RESOURCE_EXHAUSTED if has("database space") => (
            ErrorKind::Full,
            ": compact and defragment it, raise its quota, and disarm the alarm (etcdctl)",
        ),
        RESOURCE_EXHAUSTED if has("too many requests") => (ErrorKind::Unavailable, ""),
        OUT_OF_RANGE if has("compacted") => (ErrorKind::SnapshotGone, ""),
        _ => return None,
    };
    Some(Error::new(kind, format!("it says: {words}{remedy}")))
}

fn words(error: &ClientError) -> String {
    match status(error) {
        Some((_, words)) => words.to_owned(),
        None => error.to_string(),
    }
}

/// The error of connecting or of a request that changes nothing.
pub(super) fn of(error: &ClientError) -> Error {
    refusal(error).unwrap_or_else(|| match error {
        ClientError::InvalidUri(_) | ClientError::InvalidArgs(_) => {
            Error::new(ErrorKind::Usage, words(error))
        }
        _ => {
            let words = words(error);
            let what = format!("{words}: is it running, and are hosts and ports right?");
            Error::new(ErrorKind::Unavailable, what)
        }
    })
}

/// The error of a request that changes something.
pub(super) fn of_change(error: &ClientError) -> Error {
    refusal(error).unwrap_or_else(|| Error::new(ErrorKind::OutcomeUnknown, words(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::{Etcd, EtcdOptions};
    use etcd_client::PutOptions;

    /// In the words of a real server: a lease may end before the row that it is for is there.
    #[test]
    fn a_row_whose_lease_has_ended_was_not_written() {
        let Some(server) = larder_fixtures::servers::Etcd::shared() else {
            return;
        };
        let etcd = Etcd::connect(&[server.endpoints()], EtcdOptions::new()).unwrap();
        let mut kv = etcd.kv();
        let put = etcd.run(ErrorKind::OutcomeUnknown, async move {
            let options = PutOptions::new().with_lease(7);
            let put = kv.put("row", "value", Some(options)).await;
            put.map_err(|error| of_change(&error))
        });
        let error = put.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("lease not found"), "{error}");
    }
}
