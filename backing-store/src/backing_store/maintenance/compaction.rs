//! Compacts a whole store, a stretch of tables at a time.

use larder_codec::compare;

use crate::backing_store::Core;
use crate::error::Result;

/// A step compacts tables of about so many bytes.
const STEP_BYTES: u64 = 16 << 20;

/// A compaction under way.
#[derive(Debug)]
pub(super) struct Compaction {
    from: Option<Vec<u8>>,
    /// Where the steps before the last end, the last first.
    ends: Vec<Vec<u8>>,
}

impl Compaction {
    pub(super) fn start(core: &Core) -> Self {
        let mut tables: Vec<(Vec<u8>, u64)> = core
            .db
            .files()
            .into_iter()
            .filter_map(|file| Some((file.largest?, file.len_bytes.unwrap_or(0))))
            .collect();
        tables.sort_by(|a, b| compare(&a.0, &b.0));
        let (mut ends, mut len_bytes) = (Vec::new(), 0_u64);
        for (largest, table_len) in tables {
            len_bytes = len_bytes.saturating_add(table_len);
            if len_bytes >= STEP_BYTES {
                ends.push(largest);
                len_bytes = 0;
            }
        }
        ends.reverse();
        Self { from: None, ends }
    }

    /// Compacts the next stretch: whether it was the last.
    pub(super) fn step(&mut self, core: &Core) -> Result<bool> {
        let end = self.ends.pop();
        core.db
            .compact_range(self.from.as_deref(), end.as_deref())?;
        let is_last = end.is_none();
        self.from = end;
        Ok(is_last)
    }
}
