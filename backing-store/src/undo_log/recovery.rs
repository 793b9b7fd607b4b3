//! What opening would do about transactions that a crash left behind, done in memory.
//!
//! Chromium keeps an undo log ("scopes", `docs/FORMAT.md`): a scope whose metadata row still has locks is a transaction
//! that never committed, and its undo rows say how to take it back; a scope without locks is committed, and its clean-up
//! rows say what is still to be deleted. Source: `components/services/storage/indexed_db/scopes`.

use std::collections::HashMap;

use larder_codec::ScopeId;
use larder_codec::compare::RowOrder;
use larder_codec::row_key::{RowKey, ScopeTask, ScopesKey};
use larder_codec::scopes::{
    CleanupTask, LockKey, SCOPES_VERSION, ScopeMetadata, ScopesMetadata, UndoTask,
};
use larder_leveldb::{Iter, Snapshot};

use crate::error::{Error, Result};
use crate::overlay::{INLINE_VALUE_MAX, Overlay, OverlayBuilder, OverlayValue};

/// What was found in the undo log.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Transactions that never committed; their changes are undone.
    pub undone: Vec<ScopeId>,
    /// Transactions that committed without having been cleaned up; their deferred deletions are done.
    pub finished: Vec<ScopeId>,
    /// Two of the transactions in `undone` held the same lock, as two that change different object stores of one
    /// database do. Chromium takes each lock for itself alone when it starts to undo, fails at the second, calls that
    /// corruption and throws the store away (seen with 110 and 131). The transactions do not
    /// touch each other's rows, so undoing both is as sound as undoing one.
    pub contested: Option<(ScopeId, ScopeId)>,
    /// Rows that could not be made sense of. Chromium would give up the whole store.
    pub problems: Vec<Error>,
}

/// A scope that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundScope {
    pub(super) id: ScopeId,
    pub(super) is_committed: bool,
    pub(super) ignore_cleanup_tasks: bool,
}

/// Reads the undo log and works out what it changes.
pub(crate) fn recover(snapshot: &Snapshot, order: RowOrder) -> Result<(Overlay, Recovery)> {
    let (scopes, mut recovery) = survey(snapshot)?;
    let mut builder = OverlayBuilder::new(order);
    for (number, scope) in scopes.into_iter().enumerate() {
        let task = if !scope.is_committed {
            ScopeTask::Undo
        } else if !scope.ignore_cleanup_tasks {
            ScopeTask::Cleanup
        } else {
            continue;
        };
        visit_tasks(snapshot, scope.id, task, |sequence, key, value| {
            builder.go_to(number, sequence);
            let added = match task {
                ScopeTask::Undo => add_undo(key, value, &mut builder),
                ScopeTask::Cleanup => add_cleanup(value, &mut builder),
            };
            if let Err(error) = added {
                let what = "undo log row with an undecodable value";
                recovery.problems.push(Error::row(key, what, error));
            }
        })?;
    }
    Ok((builder.build(), recovery))
}

/// Reads which scopes there are, in order, and notes what is wrong with their metadata.
pub(super) fn survey(snapshot: &Snapshot) -> Result<(Vec<FoundScope>, Recovery)> {
    let mut recovery = Recovery::default();
    let mut scopes = Vec::new();
    let mut holders = LockHolders::default();
    let mut iter = snapshot.iter();
    seek(&mut iter, &ScopesKey::GlobalMetadata)?;
    while let Some(row) = scopes_row(&iter, &mut recovery.problems) {
        match row {
            Some(ScopesKey::GlobalMetadata) => check_global(&iter, &mut recovery.problems)?,
            Some(ScopesKey::ScopeMetadata(id)) => {
                match ScopeMetadata::decode_exact(iter.value()?) {
                    Ok(metadata) => {
                        holders.take(id, &metadata, &mut recovery);
                        let found = FoundScope {
                            id,
                            is_committed: metadata.is_committed(),
                            ignore_cleanup_tasks: metadata.ignore_cleanup_tasks,
                        };
                        match found.is_committed {
                            true => recovery.finished.push(id),
                            false => recovery.undone.push(id),
                        }
                        scopes.push(found);
                    }
                    Err(error) => {
                        let what =
                            "scope metadata; it is not known whether the transaction committed";
                        recovery.problems.push(Error::row(iter.key(), what, error));
                    }
                }
            }
            // Tasks sort behind all metadata.
            Some(ScopesKey::Task { .. }) => break,
            None => {}
        }
        iter.next()?;
    }
    Ok((scopes, recovery))
}

/// Which scope holds which lock: its partition and its key.
#[derive(Default)]
struct LockHolders(HashMap<(i64, Vec<u8>), ScopeId>);

impl LockHolders {
    fn take(&mut self, scope: ScopeId, metadata: &ScopeMetadata<'_>, recovery: &mut Recovery) {
        for lock in &metadata.locks {
            // Ranges are from before 109: Chromium 83 recovers such stores.
            let LockKey::Key(key) = lock.key else {
                continue;
            };
            let holder = *self
                .0
                .entry((lock.partition, key.to_vec()))
                .or_insert(scope);
            if holder != scope {
                recovery.contested.get_or_insert((holder, scope));
            }
        }
    }
}

fn seek(iter: &mut Iter, key: &ScopesKey) -> Result<()> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    Ok(iter.seek(&bytes)?)
}

/// The scopes row that `iter` stands on; `None` behind the area, `Some(None)` for a row that cannot be read.
fn scopes_row(iter: &Iter, problems: &mut Vec<Error>) -> Option<Option<ScopesKey>> {
    if !iter.valid() || !iter.key().starts_with(&crate::view::SCOPES_PREFIX) {
        return None;
    }
    Some(match RowKey::decode_exact(iter.key()) {
        Ok(RowKey::Scopes(key)) => Some(key),
        Ok(_) => {
            problems.push(Error::inconsistent(
                iter.key(),
                "undo log row of an unknown kind",
            ));
            None
        }
        Err(error) => {
            problems.push(Error::row(
                iter.key(),
                "undo log row with an undecodable key",
                error,
            ));
            None
        }
    })
}

fn check_global(iter: &Iter, problems: &mut Vec<Error>) -> Result<()> {
    match ScopesMetadata::decode_exact(iter.value()?) {
        Ok(metadata) if metadata.version == SCOPES_VERSION => {}
        Ok(metadata) => {
            let what = format!(
                "undo log of version {}; it is read as version {}",
                metadata.version, SCOPES_VERSION
            );
            problems.push(Error::inconsistent(iter.key(), what));
        }
        Err(error) => problems.push(Error::row(iter.key(), "undo log version", error)),
    }
    Ok(())
}

/// Calls `visit` with the number, key and value of each row of one of a scope's lists, in the order of the store: among signed
/// bytes that is not the order of the numbers, in which they are carried out.
pub(super) fn visit_tasks(
    snapshot: &Snapshot,
    scope: ScopeId,
    task: ScopeTask,
    mut visit: impl FnMut(u64, &[u8], &[u8]),
) -> Result<()> {
    let mut prefix = Vec::new();
    ScopesKey::encode_task_list_prefix(scope, task, &mut prefix);
    let mut iter = snapshot.iter();
    // Shorter than all of them, and so before them, in any order of bytes.
    iter.seek(&prefix)?;
    while let Some(number) = iter.key().strip_prefix(&*prefix) {
        let sequence = number
            .first_chunk()
            .map_or(0, |number| u64::from_be_bytes(*number));
        visit(sequence, iter.key(), iter.value()?);
        iter.next()?;
    }
    Ok(())
}

/// The least and the greatest key of one of a scope's lists.
pub(super) fn task_range(scope: ScopeId, task: ScopeTask) -> (Vec<u8>, Vec<u8>) {
    let key = |sequence| {
        let mut bytes = Vec::new();
        ScopesKey::Task {
            scope,
            task,
            sequence,
        }
        .encode(&mut bytes);
        bytes
    };
    (key(0), key(u64::MAX))
}

fn add_undo(
    row_key: &[u8],
    value: &[u8],
    builder: &mut OverlayBuilder,
) -> larder_codec::Result<()> {
    match UndoTask::decode_exact(value)? {
        UndoTask::Put { key, value } if value.len() <= INLINE_VALUE_MAX => {
            builder.put(key, OverlayValue::Inline(value.to_vec()));
        }
        UndoTask::Put { key, .. } => builder.put(key, OverlayValue::InUndoRow(row_key.to_vec())),
        UndoTask::Delete { key } => builder.delete(key),
        UndoTask::DeleteRange { begin, end } => builder.delete_range(begin, end),
    }
    Ok(())
}

fn add_cleanup(value: &[u8], builder: &mut OverlayBuilder) -> larder_codec::Result<()> {
    match CleanupTask::decode_exact(value)? {
        CleanupTask::DeleteRange { begin, end }
        | CleanupTask::DeleteRangeAndCompact { begin, end } => {
            builder.delete_range(begin, end);
        }
    }
    Ok(())
}

impl Recovery {
    /// Whether the store was closed cleanly.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.undone.is_empty() && self.finished.is_empty() && self.problems.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contested(scopes: &[(i64, &[u8])]) -> Option<(i64, i64)> {
        let mut recovery = Recovery::default();
        let mut holders = LockHolders::default();
        for (scope, row) in scopes {
            let metadata = ScopeMetadata::decode_exact(row).unwrap();
            holders.take(ScopeId::new(*scope).unwrap(), &metadata, &mut recovery);
        }
        let (one, other) = recovery.contested?;
        Some((one.get(), other.get()))
    }

    /// A scope's metadata as a killed Chromium 110 left it: locks on database 7 and on one of its object stores.
    fn chromium_110(object_store: u8) -> Vec<u8> {
        let mut row = b"\x0a\x0c\x12\x0a\x0a\x08\0\0\0\0\0\0\0\x07".to_vec();
        row.extend_from_slice(b"\x0a\x16\x08\x01\x12\x12\x0a\x10\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0");
        row.push(object_store);
        row
    }

    #[test]
    fn unfinished_transactions_that_chromium_110_discarded_a_store_for_are_contested() {
        let rows = [2, 3, 1].map(chromium_110);
        assert_eq!(
            contested(&[(77, &rows[0]), (79, &rows[1]), (81, &rows[2])]),
            Some((77, 79))
        );
        assert_eq!(contested(&[(77, &rows[0])]), None);
    }

    #[test]
    fn ranges_of_locks_as_chromium_83_wrote_and_recovered_them_are_not_contested() {
        let range = LockKey::Range {
            begin: b"7",
            end: b"8",
        };
        let lock = larder_codec::scopes::ScopeLock {
            partition: 0,
            key: range,
        };
        let mut row = Vec::new();
        ScopeMetadata {
            locks: vec![lock],
            ignore_cleanup_tasks: false,
        }
        .encode(&mut row);
        assert_eq!(contested(&[(1, &row), (2, &row)]), None);
    }

    #[test]
    fn version_changes_of_two_databases_that_chromium_156_recovered_are_not_contested() {
        let fixture = larder_fixtures::get("c156-killed-upgrade").open();
        let fs = std::sync::Arc::new(larder_leveldb::storage::DiskFileSystem::new());
        let paths = crate::StorePaths::of_leveldb(&fixture.leveldb());
        let store = crate::Store::open_read_only(fs, paths, crate::OpenOptions::default()).unwrap();
        assert_eq!(store.recovery().undone.len(), 2);
        assert_eq!(store.recovery().contested, None);
    }
}
