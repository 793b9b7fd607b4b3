//! What the server and its client say, as errors of this crate.

use crate::error::{Error, ErrorKind};
use std::error::Error as _;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// What was said, with the reason behind it.
fn words(error: &tokio_postgres::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        let reason_words = reason.to_string();
        if !words.contains(&reason_words) {
            words = format!("{words}: {reason_words}");
        }
        source = reason.source();
    }
    words
}

/// The error of connecting or of a request that changes nothing.
pub(super) fn of(error: &tokio_postgres::Error) -> Error {
    let words = words(error);
    if let Some(error) = error.as_db_error() {
        let (kind, remedy) = of_server(error);
        return Error::new(
            kind,
            format!("PostgreSQL says: {}{remedy}", error.message()),
        );
    }
    let is_password = words.contains("password missing");
    let is_tls = words.contains("TLS");
    let is_config = words.starts_with("invalid configuration");
    let (kind, remedy) = match () {
        () if is_password => (
            ErrorKind::Denied,
            ": put it into the address, USER:PASSWORD@HOST",
        ),
        () if is_tls => (
            ErrorKind::Usage,
            ": this client has no TLS; use a tunnel, or the library with a connector of yours",
        ),
        () if is_config => (ErrorKind::Usage, ""),
        () => (
            ErrorKind::Unavailable,
            ": is the server running, and are host and port right?",
        ),
    };
    Error::new(kind, format!("{words}{remedy}"))
}

/// The error of a request that changes something: what the server has refused is not done, and the rest is not known.
pub(super) fn of_change(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(refusal) if is_refusal(refusal) => of(error),
        _ => Error::new(
            ErrorKind::OutcomeUnknown,
            format!(
                "the connection to PostgreSQL ended before its answer: {}",
                words(error)
            ),
        ),
    }
}

/// Whether the server has undone the transaction. What ends the session as well may have come after the commit.
fn is_refusal(error: &DbError) -> bool {
    let is_unclear = [
        SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
        SqlState::TRANSACTION_RESOLUTION_UNKNOWN,
    ];
    error.parsed_severity() == Some(Severity::Error) && !is_unclear.contains(error.code())
}

fn of_server(error: &DbError) -> (ErrorKind, &'static str) {
    let code = error.code();
    let class = &code.code()[..2];
    match () {
        () if *code == SqlState::INSUFFICIENT_PRIVILEGE => (
            ErrorKind::Denied,
            ": let a user with more rights use the database once, or grant it what is in the schema larder",
        ),
        () if class == "28" => (ErrorKind::Denied, ": check user and password"),
        () if *code == SqlState::INVALID_CATALOG_NAME => {
            (ErrorKind::Usage, ": create it, or check the address")
        }
        () if *code == SqlState::DISK_FULL => (ErrorKind::Full, ""),
        () if *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => {
            (ErrorKind::SnapshotGone, "")
        }
        () if *code == SqlState::READ_ONLY_SQL_TRANSACTION => (
            ErrorKind::Unavailable,
            ": this server is a standby; give all servers in the address, and target_session_attrs=read-write",
        ),
        () if class == "54" => (ErrorKind::TooLarge, ""),
        // Connections, conflicts, resources, what an operator does, failures of the system.
        () if ["08", "40", "53", "55", "57", "58"].contains(&class) => (ErrorKind::Unavailable, ""),
        () => (
            ErrorKind::Corruption,
            ": has the schema larder been changed by hand?",
        ),
    }
}
