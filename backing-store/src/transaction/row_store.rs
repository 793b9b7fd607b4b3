//! Commits to a store that does not lie in LevelDB.

use std::sync::Arc;

use larder_leveldb::log::growth_bytes_max;
use larder_leveldb::write_batch::BatchWriter;

use super::{DATA_VERSION_ROW_LEN, WriteTransaction};
use crate::error::Result;
use crate::metadata::{DatabaseMetadata, read_databases};
use crate::row_source::is_of_records;
use crate::row_store::{ChangedRow, RowCommit, RowStore};
use crate::scope::Scope;
use crate::sync::locked;

impl WriteTransaction {
    /// Gives what is staged, and `rows`, which are of the whole store, to where records lie, and then the metadata to the LevelDB in memory.
    pub(super) fn commit_to(
        &self,
        row_store: &dyn RowStore,
        rows: &[(Vec<u8>, Vec<u8>)],
        has_room: bool,
    ) -> Result<()> {
        let metadata = self.metadata()?;
        let shared = Arc::clone(&self.pending);
        let pending = &mut *locked(&shared);
        for (key, value) in rows {
            pending.staging.put(key, value);
        }
        let needed = growth_bytes_max(pending.staging.batch_len_bytes() + DATA_VERSION_ROW_LEN);
        let begun = self.begin_commit((!has_room).then_some(needed), &pending.facts)?;
        if let Some((key, value)) = begun.version_row() {
            pending.staging.put(&key, &value);
        }
        let durability = self.durability_of(&begun);
        pending.staging.settle();
        row_store.commit(RowCommit {
            database_id: self.scope.database_id(),
            metadata,
            data_version: begun.raise.unwrap_or_else(|| self.core.versions.data()),
            handle_numbers: self
                .seldom
                .as_ref()
                .map_or(&[], |seldom| &seldom.handle_numbers),
            durability,
            rows: &mut pending.staging.rows().map(|row| ChangedRow {
                key: row.key,
                value: row.value,
            }),
        })?;
        let mut batch = BatchWriter::new();
        for row in pending.staging.rows().filter(|row| !is_of_records(row.key)) {
            match row.value {
                Some(value) => batch.put(row.key, value),
                None => batch.delete(row.key),
            }
        }
        self.core.db.write(&mut batch, durability)?;
        pending.staging.clear();
        self.end_commit(&begun, std::mem::take(&mut pending.facts));
        Ok(())
    }

    /// What the database is when this is committed, if it may have changed that.
    fn metadata(&self) -> Result<Option<DatabaseMetadata>> {
        let Scope::VersionChange(id) = self.scope else {
            return Ok(None);
        };
        let mut problems = Vec::new();
        let all = read_databases(self.view(), &mut problems)?;
        match problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(all.into_iter().find(|database| database.id == id)),
        }
    }
}
