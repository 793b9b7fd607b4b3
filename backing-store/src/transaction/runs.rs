//! Writes a transaction's rows as tables of its own before it commits, when there are too many to be staged.
//!
//! A transaction has its object stores alone, so its rows can be sorted runs beside the store (`larder_leveldb`'s `Ingestion`):
//! no other transaction sees them, and the commit makes all of them part of the store by one edit, together with the rows that come
//! with it. A rollback drops them. Neither leaves anything to be cleaned up. Decision 42.

use std::sync::Arc;

use larder_codec::KeyPrefix;
use larder_leveldb::Ingestion;

use super::WriteTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::Numbering;
use crate::staging::Staging;
use crate::sync::locked;
use crate::undo_log::metadata_key;
use crate::view::{Base, Pending};

impl WriteTransaction {
    /// Writes all staged rows and goes on over them with nothing staged.
    pub(super) fn spill(&mut self) -> Result<()> {
        if self.core.row_store.is_some() {
            let what =
                "a store that does not lie in LevelDB takes at most a GiB in one transaction";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        if !self.core.has_undo_log {
            let what = "a store of schema version 3 takes at most a GiB in one transaction, because it has no undo log (`raise_schema` gives it one)";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        self.core.settle()?;
        let pending = Arc::clone(&self.pending);
        let pending = &mut *locked(&pending);
        let needed = growth_bytes_max(&pending.staging);
        let core = Arc::clone(&self.core);
        let taken = self.is_under_quota().then(|| core.take_room(needed));
        let _taken = taken.transpose()?;
        self.write_run(pending)
    }

    /// Writes the staged rows as a run.
    fn write_run(&mut self, pending: &mut Pending) -> Result<()> {
        pending.staging.settle();
        let ingestion = match &mut self.ingestion {
            Some(ingestion) => ingestion,
            none => {
                // A key of the undo log that no row has: its deletion does nothing, in Chromium neither.
                let mark = metadata_key(self.core.new_scope_id()?);
                none.insert(Box::new(self.core.db.ingest(&mark)?))
            }
        };
        let rows = pending.staging.rows();
        let mut len_bytes = 0;
        let rows = rows.map(|row| {
            len_bytes += row.key.len() + row.value.map_or(0, <[u8]>::len);
            (row.key, row.value)
        });
        ingestion.add(rows, |key, next| !are_of_one_table(key, next))?;
        self.seldom.get_or_insert_default().spilled_bytes += len_bytes as u64;
        let stamp = self.core.context.index_facts.stamp();
        pending.restart(Base::new(ingestion.snapshot()).with_stamp(stamp));
        Ok(())
    }

    /// Commits what is in runs, with what is staged and `rows`, which are of the whole store. If it `has_room`, the quota has given
    /// its bytes already.
    pub(super) fn install(
        &self,
        mut ingestion: Ingestion,
        rows: &[(Vec<u8>, Vec<u8>)],
        has_room: bool,
        numbering: Option<&Numbering>,
    ) -> Result<()> {
        let pending = Arc::clone(&self.pending);
        let pending = &mut *locked(&pending);
        for (key, value) in rows {
            pending.staging.put(key, value);
        }
        let feed_len = numbering.map_or(0, Numbering::len_bytes_max) as u64;
        let needed = growth_bytes_max(&pending.staging) + feed_len;
        let begun = self.begin_commit((!has_room).then_some(needed), &pending.facts)?;
        if let Some((key, value)) = begun.version_row() {
            pending.staging.put(&key, &value);
        }
        // Held until the rows are in the store, as in other commits. Another commit that gave numbers has written the row of the last one
        // before; the run that has it here is newer.
        let staging = &mut pending.staging;
        let numbered =
            numbering.map(|numbering| numbering.write(|key, value| staging.put(key, value)));
        let numbered = numbered.transpose()?;
        pending.staging.settle();
        let staged = pending.staging.rows();
        ingestion.add(staged.map(|row| (row.key, row.value)), |key, next| {
            !are_of_one_table(key, next)
        })?;
        ingestion.install()?;
        if let Some(numbered) = numbered {
            numbered.taken();
        }
        self.end_commit(&begun, std::mem::take(&mut pending.facts));
        Ok(())
    }

    /// Lets go of what was read from runs, and so of their tables.
    pub(super) fn leave_runs(&mut self) {
        drop(self.ingestion.take());
        let had_runs = self
            .seldom
            .as_ref()
            .is_some_and(|seldom| seldom.spilled_bytes > 0);
        if had_runs {
            locked(&self.pending).restart(self.core.base());
            self.core.db.remove_unread();
        }
    }
}

/// So many bytes the tables of what is staged have at most: keys and values as they are in the batch, a tag, lengths and a filter's
/// bits of each, and the index of each table's blocks.
fn growth_bytes_max(staging: &Staging) -> u64 {
    let batch = staging.batch_len_bytes();
    (batch + batch / 16 + staging.len() * 16 + (64 << 10)) as u64
}

/// Whether a table of the engine may have both rows: so tables of runs that are written in the order of one object store's keys do
/// not overlap.
fn are_of_one_table(a: &[u8], b: &[u8]) -> bool {
    if let (Some([0, a @ ..]), Some([0, b @ ..])) = (a.get(..4), b.get(..4)) {
        // Ids of a byte each, as nearly all are.
        return a == b;
    }
    let table = |key| KeyPrefix::decode(key).ok().map(|(prefix, _)| prefix);
    table(a) == table(b)
}
