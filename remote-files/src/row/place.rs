//! Where the content of a namespace lies.

use super::{FORMAT, Reader};
use crate::error::Result;

/// The address of the blobs, without secrets. There is none where they lie with the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaceRow(pub(crate) String);

impl PlaceRow {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [&[FORMAT], self.0.as_bytes()].concat()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<PlaceRow> {
        Reader::new("row of a place", row)?.text().map(PlaceRow)
    }
}
