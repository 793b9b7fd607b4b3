//! What the change feed needs of the backing store beyond its object stores.

use larder_backing_store::FeedCleaned;
use larder_codec::{Key, RecordVersion};

use super::Execution;
use crate::error::Result;
use crate::key_range::raw_key;
use crate::schema::StoreCell;

/// Turns it on; its object stores are there.
pub(crate) fn begin_feed(execution: &mut Execution) -> Result<()> {
    Ok(execution.writer()?.begin_feed()?)
}

/// Turns it off.
pub(crate) fn end_feed(execution: &mut Execution) -> Result<()> {
    Ok(execution.writer()?.end_feed()?)
}

/// Does one step of clean-up.
pub(crate) fn clean_feed(
    execution: &mut Execution,
    (behind, up_to): (u64, u64),
    count: usize,
) -> Result<FeedCleaned> {
    Ok(execution.writer()?.clean_feed(behind, up_to, count)?)
}

/// The version of a record.
pub(crate) fn record_version(
    execution: &mut Execution,
    store: &StoreCell,
    key: &Key,
) -> Result<Option<i64>> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    let key = raw_key(&bytes)?;
    let reads = execution.backing.reads();
    let version = reads.record_version(execution.database_id, store.id()?, key)?;
    Ok(version.map(RecordVersion::get))
}
