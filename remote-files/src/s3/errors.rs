//! What S3 and its client say, as errors of this crate.

use crate::error::{Error, ErrorKind};
use object_store::Error as ClientError;
use std::error::Error as _;

/// All that a client's error says: what failed, and why.
pub(super) fn words(error: &ClientError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Most say what their causes say.
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

/// The codes of a user that is refused. The client has a variant for them, but not for each kind of request.
const REFUSALS: [&str; 5] = [
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
];

/// What was refused, for a reason that says that nothing was done.
fn refusal(error: &ClientError) -> Option<Error> {
    let words = words(error);
    let has = |code: &str| words.contains(code);
    let (kind, remedy) = if has("QuotaExceeded") {
        (ErrorKind::Full, "raise the quota")
    } else if has("NoSuchBucket") {
        (ErrorKind::Usage, "make the bucket, or name another one")
    } else if has("SlowDown") || has("ServiceUnavailable") {
        (ErrorKind::Unavailable, "it is busy")
    } else if REFUSALS.iter().any(|code| has(code)) {
        (
            ErrorKind::Denied,
            "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they may read and write",
        )
    } else {
        match error {
            ClientError::InvalidPath { .. } => (ErrorKind::Corruption, "it is no object of ours"),
            ClientError::NotSupported { .. } | ClientError::NotImplemented { .. } => {
                (ErrorKind::Usage, "the server does not do that")
            }
            _ => return None,
        }
    };
    Some(Error::new(kind, format!("{words}: {remedy}")))
}

/// The error of a request that changes nothing.
pub(super) fn of(error: &ClientError) -> Error {
    refusal(error).unwrap_or_else(|| {
        let what = format!(
            "{}: is it running, and is AWS_ENDPOINT_URL right?",
            words(error)
        );
        Error::new(ErrorKind::Unavailable, what)
    })
}

/// The error of a request that changes something.
pub(super) fn of_change(error: &ClientError) -> Error {
    refusal(error).unwrap_or_else(|| Error::new(ErrorKind::OutcomeUnknown, words(error)))
}
