//! What is expected to fail, and why: `js-host/wpt-expectations.json`.

use serde::Deserialize;

const EXPECTATIONS: &str = include_str!("../../../wpt-expectations.json");

/// Subtests of one file that are expected to fail.
#[derive(Debug, Deserialize)]
pub(crate) struct Expected {
    pub(crate) file: String,
    pub(crate) subtests: Vec<String>,
    pub(crate) reason: String,
}

pub(crate) fn read() -> serde_json::Result<Vec<Expected>> {
    serde_json::from_str(EXPECTATIONS)
}
