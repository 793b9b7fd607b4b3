//! What is expected to fail, and why: `js-host/wpt-expectations.json`.

use serde::Deserialize;

use crate::suite::Form;

const EXPECTATIONS: &str = include_str!("../../../wpt-expectations.json");

/// Subtests of one file that are expected to fail.
#[derive(Debug, Deserialize)]
pub(crate) struct Expected {
    pub(crate) file: String,
    pub(crate) subtests: Vec<String>,
    /// In these forms; if none is named, in all.
    #[serde(default)]
    forms: Vec<Form>,
    pub(crate) reason: String,
}

impl Expected {
    pub(crate) fn is_for(&self, form: Form) -> bool {
        self.forms.is_empty() || self.forms.contains(&form)
    }
}

pub(crate) fn read() -> serde_json::Result<Vec<Expected>> {
    serde_json::from_str(EXPECTATIONS)
}
