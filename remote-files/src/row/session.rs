//! The lease of a process.

use super::{FORMAT, Reader};
use crate::error::Result;

/// A process that may hold locks. While it lives it changes the row more often than once in its duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// After so long without a change the process counts as dead.
    pub(crate) duration_ms: u64,
    /// How often the row was renewed.
    pub(crate) renewals: u64,
    /// Words for people: which process.
    pub(crate) label: String,
}

impl SessionRow {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut row = vec![FORMAT];
        row.extend(self.duration_ms.to_be_bytes());
        row.extend(self.renewals.to_be_bytes());
        row.extend(self.label.as_bytes());
        row
    }

    pub(crate) fn decode(row: &[u8]) -> Result<SessionRow> {
        let mut reader = Reader::new("row of a session", row)?;
        Ok(SessionRow {
            duration_ms: reader.u64()?,
            renewals: reader.u64()?,
            label: reader.text()?,
        })
    }
}
