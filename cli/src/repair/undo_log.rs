//! Whether the damage may hide a transaction that had not committed: then what it has written looks certain, and must be taken back.
//!
//! Chromium writes a scope's row, and an undo task with each change, in the batches that change rows, and deletes them all when the
//! transaction has ended. Most of what is lost of them was deleted long ago. An unfinished one leaves something to be seen, unless both its
//! row and its first task are lost: tasks count down from the greatest number, so that one is always there.

use std::collections::BTreeMap;

use larder_codec::primitive::var_int;
use larder_codec::row_key::{ScopeTask, ScopesKey};
use larder_codec::{RowKey, ScopeId, compare};
use larder_leveldb::{Damage, RowState};

/// The first task of a scope has this number.
const FIRST_TASK: u64 = i64::MAX as u64;

/// Keys from the lower to the upper, both included; `None` where there is no end.
type Range = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What is seen of scopes.
#[derive(Default)]
pub(super) struct UndoLog {
    /// Scopes' rows, and the latest undo task of each scope, by their sequence numbers.
    scopes: BTreeMap<ScopeId, u64>,
    with_tasks: BTreeMap<ScopeId, u64>,
    /// A scope's row is there, and its deletion may be lost.
    is_row_in_doubt: bool,
    lost: Vec<Range>,
}

impl UndoLog {
    /// Takes a row of the store, or a lost key.
    pub(super) fn row(&mut self, key: &[u8], state: RowState, sequence: u64) {
        let Ok(RowKey::Scopes(scopes_key)) = RowKey::decode_exact(key) else {
            return;
        };
        if state == RowState::Lost {
            self.lost.push((Some(key.to_vec()), Some(key.to_vec())));
            return;
        }
        match scopes_key {
            ScopesKey::GlobalMetadata => {}
            ScopesKey::ScopeMetadata(scope) => {
                self.is_row_in_doubt |= state != RowState::Certain;
                self.scopes.insert(scope, sequence);
            }
            ScopesKey::Task { scope, task, .. } => {
                if task == ScopeTask::Undo {
                    let latest = self.with_tasks.entry(scope).or_default();
                    *latest = sequence.max(*latest);
                }
            }
        }
    }

    /// Whether anything says how to take changes back.
    pub(super) fn has_tasks(&self) -> bool {
        !self.with_tasks.is_empty()
    }

    /// Whether an unfinished transaction may be hidden, wholly or in part. `up_to`: up to this sequence number any row may be lost.
    pub(super) fn may_be_hidden(mut self, damage: &[Damage], up_to: Option<u64>) -> bool {
        let ranges = damage.iter().filter_map(|damage| damage.key_range.as_ref());
        self.lost
            .extend(ranges.map(|range| (range.low.clone(), range.high.clone())));
        self.is_row_in_doubt
            || up_to.is_some_and(|up_to| self.goes_on_after(up_to))
            || self.scopes.keys().any(|scope| self.lacks_tasks(*scope))
            || self.with_tasks.keys().any(|scope| {
                let row = bytes(ScopesKey::ScopeMetadata(*scope));
                !self.scopes.contains_key(scope) && self.intersects(&row, &row)
            })
            || self.hides_a_whole_scope()
    }

    /// Whether a transaction that had begun by a write has changed rows after it: of what it changed before, tasks may be lost.
    fn goes_on_after(&self, sequence: u64) -> bool {
        self.with_tasks.iter().any(|(scope, latest)| {
            let row = self.scopes.get(scope);
            *latest > sequence && row.is_none_or(|row| *row <= sequence)
        })
    }

    fn lacks_tasks(&self, scope: ScopeId) -> bool {
        self.intersects(&task(scope, 0), &task(scope, FIRST_TASK))
    }

    fn intersects(&self, low: &[u8], high: &[u8]) -> bool {
        self.lost.iter().any(|(lost_low, lost_high)| {
            let begins_after = lost_low
                .as_ref()
                .is_some_and(|key| compare(key, high).is_gt());
            let ends_before = lost_high
                .as_ref()
                .is_some_and(|key| compare(key, low).is_lt());
            !begins_after && !ends_before
        })
    }

    /// Whether the row and the first task of one scope can both be lost. Ids are in the order of their bytes.
    fn hides_a_whole_scope(&self) -> bool {
        let rows: Vec<_> = self.lost.iter().filter_map(scopes_of_rows).collect();
        let tasks: Vec<_> = self.lost.iter().filter_map(scopes_of_first_tasks).collect();
        rows.iter().any(|(row_low, row_high)| {
            tasks.iter().any(|(task_low, task_high)| {
                let low = row_low.max(task_low);
                let is_below = |high: &High| match high {
                    High::None => true,
                    High::Included(high) => low <= high,
                    High::Excluded(high) => low < high,
                };
                is_below(row_high) && is_below(task_high)
            })
        })
    }
}

/// The upper end of a range of ids.
enum High {
    None,
    Included(Vec<u8>),
    Excluded(Vec<u8>),
}

/// The ids whose rows are in a range.
fn scopes_of_rows((low, high): &Range) -> Option<(Vec<u8>, High)> {
    let low = match low.as_deref().map(place_of) {
        None | Some(Place::Before | Place::Global) => id_bytes(ScopeId::MIN),
        Some(Place::Row(scope)) => id_bytes(scope),
        Some(Place::Task(..) | Place::After) => return None,
    };
    let high = match high.as_deref().map(place_of) {
        Some(Place::Before | Place::Global) => return None,
        Some(Place::Row(scope)) => High::Included(id_bytes(scope)),
        None | Some(Place::Task(..) | Place::After) => High::None,
    };
    Some((low, high))
}

/// The ids whose first tasks are in a range.
fn scopes_of_first_tasks((low, high): &Range) -> Option<(Vec<u8>, High)> {
    let low = match low.as_deref().map(place_of) {
        None | Some(Place::Before | Place::Global | Place::Row(_)) => id_bytes(ScopeId::MIN),
        Some(Place::Task(scope, _)) => id_bytes(scope),
        Some(Place::After) => return None,
    };
    let high = match high.as_deref().map(place_of) {
        Some(Place::Before | Place::Global | Place::Row(_)) => return None,
        Some(Place::Task(scope, true)) => High::Included(id_bytes(scope)),
        Some(Place::Task(scope, false)) => High::Excluded(id_bytes(scope)),
        None | Some(Place::After) => High::None,
    };
    Some((low, high))
}

/// Where a key is, beside the undo log.
enum Place {
    Before,
    Global,
    Row(ScopeId),
    /// Whether the first task of the scope is at or before it.
    Task(ScopeId, bool),
    After,
}

fn place_of(key: &[u8]) -> Place {
    match RowKey::decode_exact(key) {
        Ok(RowKey::Scopes(ScopesKey::GlobalMetadata)) => Place::Global,
        Ok(RowKey::Scopes(ScopesKey::ScopeMetadata(scope))) => Place::Row(scope),
        Ok(RowKey::Scopes(ScopesKey::Task {
            scope,
            task,
            sequence,
        })) => Place::Task(scope, task == ScopeTask::Cleanup || sequence >= FIRST_TASK),
        _ if compare(key, &bytes(ScopesKey::GlobalMetadata)).is_lt() => Place::Before,
        _ => Place::After,
    }
}

/// Whether a key is that of a task that takes something back.
pub(super) fn is_undo_task(key: &[u8]) -> bool {
    let key = RowKey::decode_exact(key);
    matches!(key, Ok(RowKey::Scopes(ScopesKey::Task { task, .. })) if task == ScopeTask::Undo)
}

fn bytes(key: ScopesKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn task(scope: ScopeId, sequence: u64) -> Vec<u8> {
    let task = ScopeTask::Undo;
    bytes(ScopesKey::Task {
        scope,
        task,
        sequence,
    })
}

fn id_bytes(scope: ScopeId) -> Vec<u8> {
    let mut bytes = Vec::new();
    var_int::encode(scope.get(), &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_leveldb::{DamageKind, KeyRange};

    fn id(number: i64) -> ScopeId {
        ScopeId::new(number).unwrap()
    }

    fn row(number: i64) -> Vec<u8> {
        bytes(ScopesKey::ScopeMetadata(id(number)))
    }

    fn lost(low: Vec<u8>, high: Option<Vec<u8>>) -> Vec<Damage> {
        let mut damage = Damage::new("000005.ldb", None, DamageKind::Checksum, "");
        let low = Some(low);
        damage.key_range = Some(KeyRange { low, high });
        vec![damage]
    }

    fn hidden(rows: &[(Vec<u8>, RowState)], damage: &[Damage]) -> bool {
        let mut log = UndoLog::default();
        for (key, state) in rows {
            log.row(key, *state, 1);
        }
        log.may_be_hidden(damage, None)
    }

    #[test]
    fn a_scope_is_hidden_if_its_row_and_its_first_task_are() {
        let first = vec![0, 0, 0, 0, 0];
        // Tasks of other scopes without their rows; rows without a first task; both.
        assert!(!hidden(&[], &lost(task(id(15), 5), Some(task(id(17), 9)))));
        assert!(!hidden(&[], &lost(first.clone(), Some(task(id(0), 700)))));
        assert!(hidden(&[], &lost(first.clone(), Some(task(id(1), 700)))));
        assert!(hidden(
            &[],
            &lost(first.clone(), Some(vec![0, 1, 1, 1, 3, 0, 0]))
        ));
        assert!(hidden(&[], &lost(first, None)));
        let mut apart = lost(row(3), Some(row(3)));
        apart.extend(lost(task(id(4), 1), Some(task(id(5), FIRST_TASK))));
        assert!(!hidden(&[], &apart));
        apart.extend(lost(task(id(3), 1), Some(task(id(3), FIRST_TASK))));
        assert!(hidden(&[], &apart));
    }

    #[test]
    fn what_is_seen_of_a_scope_says_that_the_rest_is_hidden() {
        let mid = lost(task(id(15), 5), Some(task(id(17), 9)));
        assert!(!hidden(&[(row(14), RowState::Certain)], &mid));
        assert!(hidden(&[(row(16), RowState::Certain)], &mid));
        assert!(hidden(&[(row(14), RowState::MayBeOutdated)], &[]));
        let seen = (task(id(3), 9), RowState::Certain);
        assert!(!hidden(std::slice::from_ref(&seen), &mid));
        assert!(hidden(&[seen], &lost(row(2), Some(row(4)))));
        assert!(hidden(
            &[
                (row(3), RowState::Lost),
                (task(id(3), FIRST_TASK), RowState::Lost)
            ],
            &[]
        ));
    }
    #[test]
    fn a_transaction_that_had_begun_before_the_last_loss_and_went_on_is_hidden() {
        let hidden = |row_at: Option<u64>, tasks_at: &[u64]| {
            let mut log = UndoLog::default();
            if let Some(at) = row_at {
                log.row(&row(3), RowState::Certain, at);
            }
            for (number, at) in tasks_at.iter().enumerate() {
                let key = task(id(3), FIRST_TASK - number as u64);
                log.row(&key, RowState::Certain, *at);
            }
            log.may_be_hidden(&[], Some(50))
        };
        assert!(hidden(Some(10), &[11, 60]));
        assert!(hidden(None, &[60, 61]));
        assert!(!hidden(Some(51), &[52, 60]));
        // All that it wrote afterwards is lost, or it had ended.
        assert!(!hidden(Some(10), &[11, 12]));
        assert!(!hidden(Some(60), &[]));
    }
}
