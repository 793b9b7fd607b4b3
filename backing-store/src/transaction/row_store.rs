//! Commits to a store that does not lie in LevelDB.

use std::sync::Arc;

use larder_leveldb::log::growth_bytes_max;
use larder_leveldb::write_batch::BatchWriter;

use super::{DATA_VERSION_ROW_LEN, WriteTransaction};
use crate::backing_store::open::data_version_row;
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
        let database_id = self.scope.database_id();
        let shared = Arc::clone(&self.pending);
        let pending = &mut *locked(&shared);
        for (key, value) in rows {
            pending.staging.put(key, value);
        }
        // Room is taken before the turn to raise versions, as in other commits.
        let needed = growth_bytes_max(pending.staging.batch_len_bytes() + DATA_VERSION_ROW_LEN);
        let taken = (self.is_under_quota() && !has_room).then(|| self.core.take_room(needed));
        let _taken = taken.transpose()?;
        let versions = &self.core.versions;
        let _turn = self.raise_to.map(|_| versions.raising());
        let raise = self.raise_to.map(|needed| needed.max(versions.data()));
        if let Some(version) = raise {
            let (key, value) = data_version_row(version);
            pending.staging.put(&key, &value);
        }
        pending.staging.settle();
        let index_facts = self.index_facts();
        index_facts.before_commit(database_id, &pending.facts);
        row_store.commit(RowCommit {
            database_id,
            metadata,
            data_version: raise.unwrap_or_else(|| versions.data()),
            handle_numbers: self
                .seldom
                .as_ref()
                .map_or(&[], |seldom| &seldom.handle_numbers),
            durability: self.durability,
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
        self.core.db.write(&mut batch, self.durability)?;
        pending.staging.clear();
        index_facts.after_commit(database_id, std::mem::take(&mut pending.facts));
        if let Some(version) = raise {
            versions.note_raised(version);
        }
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
