//! FoundationDB's numbers of errors, as far as they are returned here or looked at by a client.

use std::ffi::CStr;

/// Zero: none.
pub(crate) type Code = i32;

pub(crate) const TRANSACTION_TOO_OLD: Code = 1007;
pub(crate) const FUTURE_VERSION: Code = 1009;
pub(crate) const NOT_COMMITTED: Code = 1020;
pub(crate) const COMMIT_UNKNOWN_RESULT: Code = 1021;
pub(crate) const TRANSACTION_CANCELLED: Code = 1025;
pub(crate) const TRANSACTION_TIMED_OUT: Code = 1031;
pub(crate) const PROCESS_BEHIND: Code = 1037;
pub(crate) const CLUSTER_VERSION_CHANGED: Code = 1039;
pub(crate) const OPERATION_CANCELLED: Code = 1101;
pub(crate) const NO_CLUSTER_FILE: Code = 1515;
pub(crate) const CLIENT_INVALID_OPERATION: Code = 2000;
pub(crate) const KEY_OUTSIDE_LEGAL_RANGE: Code = 2004;
pub(crate) const INVERTED_RANGE: Code = 2005;
pub(crate) const READ_VERSION_ALREADY_SET: Code = 2010;
pub(crate) const VERSION_INVALID: Code = 2011;
pub(crate) const NETWORK_NOT_SETUP: Code = 2008;
pub(crate) const NETWORK_ALREADY_SETUP: Code = 2009;
pub(crate) const TRANSACTION_TOO_LARGE: Code = 2101;
pub(crate) const KEY_TOO_LARGE: Code = 2102;
pub(crate) const VALUE_TOO_LARGE: Code = 2103;
pub(crate) const CONNECTION_STRING_INVALID: Code = 2104;
pub(crate) const VERSION_UNSET: Code = 2200;
pub(crate) const VERSION_ALREADY_SET: Code = 2201;
pub(crate) const VERSION_INVALID_FOR_HEADER: Code = 2202;
pub(crate) const VERSION_NOT_SUPPORTED: Code = 2203;
pub(crate) const EXACT_MODE_WITHOUT_LIMITS: Code = 2210;

/// What is no number of FoundationDB's: asked for its words, this library says what it is.
pub(crate) const DOUBLE: Code = -740;

/// Errors of which one of the two predicates holds.
const MAYBE_COMMITTED: [Code; 2] = [COMMIT_UNKNOWN_RESULT, CLUSTER_VERSION_CHANGED];
const RETRYABLE_NOT_COMMITTED: [Code; 10] = [
    TRANSACTION_TOO_OLD,
    FUTURE_VERSION,
    NOT_COMMITTED,
    PROCESS_BEHIND,
    1038,
    1042,
    1051,
    1078,
    1213,
    1235,
];

/// `fdb_error_predicate`, by its number.
pub(crate) fn holds(predicate: i32, code: Code) -> bool {
    let maybe_committed = MAYBE_COMMITTED.contains(&code);
    let not_committed = RETRYABLE_NOT_COMMITTED.contains(&code);
    match predicate {
        50_000 => maybe_committed || not_committed,
        50_001 => maybe_committed,
        50_002 => not_committed,
        _ => false,
    }
}

/// The words of an error: its name.
pub(crate) fn words(code: Code) -> &'static CStr {
    match code {
        0 => c"success",
        DOUBLE => c"larder's double of FoundationDB's client",
        TRANSACTION_TOO_OLD => c"transaction_too_old",
        FUTURE_VERSION => c"future_version",
        NOT_COMMITTED => c"not_committed",
        COMMIT_UNKNOWN_RESULT => c"commit_unknown_result",
        TRANSACTION_CANCELLED => c"transaction_cancelled",
        TRANSACTION_TIMED_OUT => c"transaction_timed_out",
        PROCESS_BEHIND => c"process_behind",
        OPERATION_CANCELLED => c"operation_cancelled",
        NO_CLUSTER_FILE => c"no_cluster_file_found",
        CLIENT_INVALID_OPERATION => c"client_invalid_operation",
        KEY_OUTSIDE_LEGAL_RANGE => c"key_outside_legal_range",
        INVERTED_RANGE => c"inverted_range",
        READ_VERSION_ALREADY_SET => c"read_version_already_set",
        VERSION_INVALID => c"version_invalid",
        NETWORK_NOT_SETUP => c"network_not_setup",
        NETWORK_ALREADY_SETUP => c"network_already_setup",
        TRANSACTION_TOO_LARGE => c"transaction_too_large",
        KEY_TOO_LARGE => c"key_too_large",
        VALUE_TOO_LARGE => c"value_too_large",
        CONNECTION_STRING_INVALID => c"connection_string_invalid",
        VERSION_UNSET => c"api_version_unset",
        VERSION_ALREADY_SET => c"api_version_already_set",
        VERSION_INVALID_FOR_HEADER => c"api_version_invalid",
        VERSION_NOT_SUPPORTED => c"api_version_not_supported",
        EXACT_MODE_WITHOUT_LIMITS => c"exact_mode_without_limits",
        1038 => c"database_locked",
        CLUSTER_VERSION_CHANGED => c"cluster_version_changed",
        6000 => c"permission_denied",
        _ => c"an error that this double has no words for",
    }
}
