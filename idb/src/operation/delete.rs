//! Deleting records (7.6, 7.7).

use crate::error::Result;
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::schema::StoreCell;

/// Deletes the records in the range.
pub(crate) fn delete(execution: &mut Execution, store: &StoreCell, range: &KeyRange) -> Result<()> {
    let store_id = store.id()?;
    let mut buffer = std::mem::take(&mut execution.reading().range);
    let done = range.with_bytes(&mut buffer, |range| {
        Ok(execution.writer()?.delete(store_id, range)?)
    });
    execution.reading().range = buffer;
    execution.statistics.records_deleted += done?;
    Ok(())
}

/// Deletes all records. The key generator goes on from where it is.
pub(crate) fn clear(execution: &mut Execution, store: &StoreCell) -> Result<()> {
    let count = execution.writer()?.clear(store.id()?)?;
    execution.statistics.records_deleted += count;
    Ok(())
}
