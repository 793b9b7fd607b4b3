//! A change feed catches up with what programs without it have written, before the first transaction that writes.

use std::sync::Arc;

use larder_codec::DatabaseId;
use larder_leveldb::Durability;

use super::WriteTransaction;
use crate::backing_store::{BackingStore, Core, FeedState, noted};
use crate::error::{ErrorKind, Result};
use crate::scope::Scope;
use crate::sync::locked;

/// What [`BackingStore::catch_up`] has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaughtUp {
    /// Whether it has compared the feed with the records.
    pub compared: bool,
    /// Whether it has found something that others have changed.
    pub changed: bool,
}

impl BackingStore {
    /// Appends to a database's change feed what programs have changed that have none, such as a browser: see `docs/format/feed.md`. The
    /// first time since the store was opened it finds out whether anything was written since it was last closed here, and compares if so;
    /// later it does nothing. The first transaction that writes to the database does the same.
    ///
    /// # Errors
    /// As reading and writing. Then the feed is as it was, and the next call tries it again, unless damage is in the way.
    pub fn catch_up(&self, database_id: DatabaseId) -> Result<CaughtUp> {
        catch_up(&self.core, database_id)
    }
}

fn catch_up(core: &Arc<Core>, database_id: DatabaseId) -> Result<CaughtUp> {
    // Held until it is done: every transaction that writes to the database asks first.
    let mut compared = locked(&core.compared);
    if compared.databases.contains_key(&database_id) {
        return Ok(CaughtUp::default());
    }
    let mut done = CaughtUp::default();
    let found = find_out(core, database_id, compared.sequence, &mut done);
    let state = match &found {
        Ok(state) => *state,
        Err(error) if error.kind() == ErrorKind::Corruption => FeedState::Unknown,
        Err(_) => return found.map(|_| done),
    };
    compared.databases.insert(database_id, state);
    found.map(|_| done)
}

/// What a transaction that writes does first. Damage that keeps a feed from being compared does not keep others from writing.
pub(super) fn catch_up_before_writing(core: &Arc<Core>, database_id: DatabaseId) -> Result<()> {
    match catch_up(core, database_id) {
        Err(error) if error.kind() != ErrorKind::Corruption => Err(error),
        _ => Ok(()),
    }
}

fn find_out(
    core: &Arc<Core>,
    database_id: DatabaseId,
    opened_at: u64,
    done: &mut CaughtUp,
) -> Result<FeedState> {
    let view = core.committed();
    let Some(feed) = core.feed_of(database_id, || view.clone())? else {
        return Ok(FeedState::None);
    };
    if noted(&view, database_id, &feed)? == Some(opened_at) {
        return Ok(FeedState::Right);
    }
    done.compared = true;
    let scope = Scope::VersionChange(database_id);
    let mut transaction = WriteTransaction::begin(Arc::clone(core), scope, Durability::Strict)?;
    match transaction.note_what_others_changed()? {
        true => {
            done.changed = true;
            transaction.commit()?;
        }
        false => transaction.rollback(),
    }
    Ok(FeedState::Right)
}
