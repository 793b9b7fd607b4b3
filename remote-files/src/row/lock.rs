//! The lock of a namespace.

use super::{FORMAT, Reader};
use crate::error::Result;

/// Which session writes the namespace. Every commit of that session requires this row as it has left it, and writes the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockRow {
    /// How often the namespace has changed hands. Never goes back.
    pub(crate) epoch: u32,
    /// A number of each commit of the epoch.
    pub(crate) sequence: u64,
    /// `None`: nothing writes it.
    pub(crate) session: Option<[u8; 16]>,
    /// Words for people: which process.
    pub(crate) label: String,
}

const FREE: u8 = 0;
const HELD: u8 = 1;

impl LockRow {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut row = vec![FORMAT, if self.session.is_some() { HELD } else { FREE }];
        row.extend(self.epoch.to_be_bytes());
        row.extend(self.sequence.to_be_bytes());
        if let Some(session) = &self.session {
            row.extend(session);
            row.extend(self.label.as_bytes());
        }
        row
    }

    pub(crate) fn decode(row: &[u8]) -> Result<LockRow> {
        let mut reader = Reader::new("row of a lock", row)?;
        let is_held = match reader.take()? {
            [FREE] => false,
            [HELD] => true,
            _ => return Err(reader.wrong()),
        };
        let (epoch, sequence) = (reader.u32()?, reader.u64()?);
        let (session, label) = match is_held {
            true => (Some(reader.take()?), reader.text()?),
            false => {
                reader.end()?;
                (None, String::new())
            }
        };
        Ok(LockRow {
            epoch,
            sequence,
            session,
            label,
        })
    }
}
