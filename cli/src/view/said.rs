//! What functions of other commands report, in a list.

use std::sync::{Arc, Mutex};

use super::stores::locked;
use crate::report::Report;

/// The texts, in their order: what is worth a look, and what is wrong.
#[derive(Clone, Default)]
pub(super) struct Said(Arc<Mutex<Texts>>);

#[derive(Default)]
pub(super) struct Texts {
    pub(super) notes: Vec<String>,
    pub(super) problems: Vec<String>,
}

impl Said {
    /// A report that fills it.
    pub(super) fn report(&self) -> Report {
        let this = self.clone();
        Report::saying(Box::new(move |kind, text| {
            let mut texts = locked(&this.0);
            match kind {
                "note" => texts.notes.push(text.to_owned()),
                _ => texts.problems.push(text.to_owned()),
            }
        }))
    }

    /// What has been said since the last time.
    pub(super) fn take(&self) -> Texts {
        std::mem::take(&mut locked(&self.0))
    }
}
