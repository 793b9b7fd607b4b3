//! What tests share.

/// Pages, beside maps.
pub(crate) mod page {
    pub(crate) use crate::page::tests::{
        Map, change, check_rows, content, open, open_with, options,
    };
}

/// Says that a comparison with another program is left out; where other programs are required, that is a failure.
pub(crate) fn is_missing(what: &str) {
    assert!(
        std::env::var_os("LARDER_REQUIRE_PEERS").is_none(),
        "{what} is missing"
    );
    println!("SKIPPED: {what} is missing");
}
