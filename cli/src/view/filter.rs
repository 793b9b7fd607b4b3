//! A text that records must have to be shown.

use std::ops::ControlFlow;

use larder_codec::RawKey;
use larder_codec::external_object::ExternalObject;
use larder_codec::value::Tree;

use crate::find::{Pattern, fits};

/// It, if there is one.
pub(super) struct Filter(Option<Pattern>);

impl Filter {
    pub(super) fn new(text: Option<&str>) -> Self {
        let text = text.filter(|text| !text.is_empty());
        Self(text.map(|text| Pattern::text(text, true)))
    }

    /// Whether a record passes.
    pub(super) fn passes(
        &self,
        key: RawKey<'_>,
        tree: &Tree<'_>,
        objects: &[ExternalObject],
    ) -> bool {
        self.0.as_ref().is_none_or(|pattern| {
            matches!(fits(key, tree, objects, pattern), ControlFlow::Break(()))
        })
    }
}
