//! The undo log ("scopes", `docs/FORMAT.md`, section 7): rows beside the data that say how to take a transaction back that
//! has written and not committed, and what is still to be deleted after one that has.
//!
//! Chromium's transactions write it; ours do not (decision 42), but for deleted databases. Here is what is done with it: at opening,
//! in memory ([`recover`]) or on disk ([`recover_on_disk`]), and afterwards ([`Cleanup`]). Source:
//! `components/services/storage/indexed_db/scopes`.

mod cleanup;
mod on_disk;
mod recovery;
mod revert;

pub(crate) use cleanup::{Cleanup, PendingCompaction};
pub(crate) use on_disk::{check, has_log, recover_on_disk};
pub use recovery::Recovery;
pub(crate) use recovery::recover;
use revert::revert;

use larder_codec::ScopeId;
use larder_codec::row_key::{ScopeTask, ScopesKey};

/// The key of a scope's metadata.
pub(crate) fn metadata_key(scope: ScopeId) -> Vec<u8> {
    let mut key = Vec::new();
    ScopesKey::ScopeMetadata(scope).encode(&mut key);
    key
}

/// The key of an undo or clean-up task.
pub(crate) fn task_key(scope: ScopeId, task: ScopeTask, sequence: u64, key: &mut Vec<u8>) {
    key.clear();
    let task = ScopesKey::Task {
        scope,
        task,
        sequence,
    };
    task.encode(key);
}
