//! Recovery when a store is opened for writing: what [`super::recover`] does in memory, done.

use std::collections::BTreeSet;

use larder_codec::row_key::{RowKey, ScopeTask, ScopesKey};
use larder_codec::scopes::{CleanupTask, SCOPES_VERSION, ScopesMetadata, UndoTask};
use larder_codec::{DatabaseId, KeyPrefix, ScopeId, compare, range};
use larder_leveldb::{Db, Durability, Snapshot};

use super::recovery::{survey, visit_tasks};
use super::{Cleanup, revert};
use crate::error::{Error, Result};
use crate::metadata::read_database_names;
use crate::view::{Base, SCOPES_PREFIX, View};

/// Whether every row that recovery will need can be read; nothing is written.
pub(crate) fn check(snapshot: &Snapshot) -> Result<()> {
    let (scopes, recovery) = survey(snapshot)?;
    let mut problem = recovery.problems.into_iter().next();
    for scope in scopes {
        // The other rows are only deleted.
        let task = match scope.is_committed {
            true => ScopeTask::Cleanup,
            false => ScopeTask::Undo,
        };
        visit_tasks(snapshot, scope.id, task, |_, key, value| {
            let decoded = match task {
                ScopeTask::Undo => UndoTask::decode_exact(value).map(drop),
                ScopeTask::Cleanup => CleanupTask::decode_exact(value).map(drop),
            };
            if let Err(error) = decoded {
                let what = "undo log row with an undecodable value";
                problem.get_or_insert_with(|| Error::row(key, what, error));
            }
        })?;
    }
    problem.map_or(Ok(()), Err)
}

/// Starts the undo log, or takes back what never committed and finishes what did, in the order of their numbers. Gives the
/// first scope number that is not on disk, and the clean-ups that are left: compactions, what is stuck, and, if every
/// transaction had committed, as in a store that was closed, the rows of databases that are gone.
///
/// Two scopes with one lock, for which Chromium throws the store away, are both taken back, as in memory: the
/// transactions did not touch each other's rows.
/// `starts`: whether a log that is not there is started. Chromiums of schema 3 have none.
pub(crate) fn recover_on_disk(db: &Db, starts: bool) -> Result<(i64, Vec<Cleanup>)> {
    let snapshot = db.snapshot();
    if starts {
        start(db, &snapshot)?;
    }
    let (scopes, _) = survey(&snapshot)?;
    let next = first_free_scope(&snapshot)?;
    let gone = match !scopes.is_empty() && scopes.iter().all(|scope| scope.is_committed) {
        true => GoneDatabases::read(&snapshot)?,
        false => None,
    };
    let mut left = Vec::new();
    for scope in scopes {
        let (mut cleanup, can_wait) = if !scope.is_committed {
            revert(db, scope.id)?;
            (Cleanup::of_undone(scope.id), true)
        } else if scope.ignore_cleanup_tasks {
            (Cleanup::of_undone(scope.id), true)
        } else {
            let can_wait = match &gone {
                Some(gone) => gone.have_all_of(&snapshot, scope.id)?,
                None => false,
            };
            (Cleanup::of_committed(scope.id), can_wait)
        };
        if !can_wait {
            cleanup.finish_rows(db)?;
        }
        if !cleanup.is_done() {
            left.push(cleanup);
        }
    }
    Ok((next, left))
}

/// The databases that no name leads to.
struct GoneDatabases {
    named: BTreeSet<DatabaseId>,
}

impl GoneDatabases {
    /// `None` if names cannot be read.
    fn read(snapshot: &Snapshot) -> Result<Option<Self>> {
        let view = View::committed(Base::new(snapshot.clone()));
        let mut problems = Vec::new();
        let names = read_database_names(&view, &mut problems)?;
        let named = names.into_iter().map(|name| name.id).collect();
        Ok(problems.is_empty().then_some(Self { named }))
    }

    /// Whether all that is to be deleted for a scope belongs to deleted databases, so that no reader sees when it is deleted.
    fn have_all_of(&self, snapshot: &Snapshot, scope: ScopeId) -> Result<bool> {
        let mut is_all = true;
        visit_tasks(snapshot, scope, ScopeTask::Cleanup, |_, _, value| {
            let is_theirs = match CleanupTask::decode_exact(value) {
                Ok(
                    CleanupTask::DeleteRange { begin, end }
                    | CleanupTask::DeleteRangeAndCompact { begin, end },
                ) => self.have(begin, end),
                Err(_) => false,
            };
            is_all &= is_theirs;
        })?;
        Ok(is_all)
    }

    fn have(&self, begin: &[u8], end: &[u8]) -> bool {
        let Ok((prefix, _)) = KeyPrefix::decode(begin) else {
            return false;
        };
        let id = i64::try_from(prefix.database)
            .ok()
            .and_then(DatabaseId::new);
        id.is_some_and(|id| {
            !self.named.contains(&id) && compare(end, &range::database_end(id)).is_le()
        })
    }
}

fn global_key() -> Vec<u8> {
    let mut key = Vec::new();
    ScopesKey::GlobalMetadata.encode(&mut key);
    key
}

/// Whether there is an undo log, be it empty.
pub(crate) fn has_log(snapshot: &Snapshot) -> Result<bool> {
    Ok(snapshot.get(&global_key())?.is_some())
}

/// The log's version: the first row of a new store, not synced.
fn start(db: &Db, snapshot: &Snapshot) -> Result<()> {
    let key = global_key();
    if snapshot.get(&key)?.is_none() {
        let mut value = Vec::new();
        let version = SCOPES_VERSION;
        ScopesMetadata { version }.encode(&mut value);
        db.put(&key, &value, Durability::Relaxed)?;
    }
    Ok(())
}

/// Also past numbers that only tasks have: Chromium never looks at those, a scope that took the number would.
fn first_free_scope(snapshot: &Snapshot) -> Result<i64> {
    let mut next = 0;
    let mut iter = snapshot.iter();
    iter.seek(&SCOPES_PREFIX)?;
    while iter.valid() && iter.key().starts_with(&SCOPES_PREFIX) {
        match RowKey::decode_exact(iter.key()) {
            Ok(RowKey::Scopes(ScopesKey::Task { scope, .. })) => {
                next = next.max(after(scope));
                // Past the rest of its tasks.
                let mut end = Vec::new();
                super::task_key(scope, ScopeTask::Cleanup, u64::MAX, &mut end);
                iter.seek(&end)?;
                if iter.valid() && iter.key() == end {
                    iter.next()?;
                }
                continue;
            }
            Ok(RowKey::Scopes(ScopesKey::ScopeMetadata(scope))) => next = next.max(after(scope)),
            _ => {}
        }
        iter.next()?;
    }
    Ok(next)
}

fn after(scope: ScopeId) -> i64 {
    // The greatest number is refused when it is asked for.
    scope.get().saturating_add(1)
}
