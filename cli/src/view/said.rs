//! What functions of other commands report, in a list.

use std::sync::{Arc, Mutex};

use super::stores::locked;
use crate::report::Report;

/// The texts, in their order.
#[derive(Clone, Default)]
pub(super) struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    /// A report that fills it.
    pub(super) fn report(&self) -> Report {
        let this = self.clone();
        Report::saying(Box::new(move |_kind, text| this.add(text)))
    }

    pub(super) fn add(&self, text: impl Into<String>) {
        locked(&self.0).push(text.into());
    }

    /// What has been said since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.0))
    }
}
