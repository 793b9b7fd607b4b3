//! Writes what is copied of a store as rows into a LevelDB store.

use std::sync::Arc;

use larder_backing_store::{Error, NewStore, RowSequence, StoreOrder};

use super::rows::SelectedRows;
use super::{Copied, Job, copy_blobs};

/// The new store, which is not at its place yet; none in a dry run.
pub(super) fn write(
    job: &Job<'_>,
    copied: &mut Copied,
    tick: &mut dyn FnMut(),
) -> Result<Option<NewStore>, Error> {
    let store = job.store;
    let mut rows = SelectedRows::new(store, job.plan, copied, tick);
    if job.dry_run {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while rows.next(&mut key, &mut value)? {
            key.clear();
            value.clear();
        }
        return Ok(None);
    }
    let new = NewStore::begin(Arc::clone(job.target), job.to.clone())?;
    let sequence = match store.order() {
        StoreOrder::SignedBytes => RowSequence::Unsorted,
        StoreOrder::Chromium | StoreOrder::Mixed => RowSequence::Sorted,
    };
    new.write_rows(sequence, |key, value| rows.next(key, value))?;
    let blobs = rows.into_blobs();
    copy_blobs(store, &new, &blobs, copied)?;
    Ok(Some(new))
}
