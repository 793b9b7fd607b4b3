//! Tables of which no MANIFEST says which is newer than which: sequence numbers decide.

use crate::core::Core;
use crate::table::TableCursor;
use crate::table_file::TableFile;
use crate::version::Version;
use std::sync::Arc;

/// Tables that no MANIFEST lists, or whose order is not known from it: finds out their ranges.
pub(crate) fn version(core: &Arc<Core>, mut files: Vec<TableFile>) -> Version {
    let unknown = |file: &&mut TableFile| file.smallest.is_none() && !file.is_unsorted;
    for file in files.iter_mut().filter(unknown) {
        if let Some((smallest, largest)) = range_of(core, file) {
            (file.smallest, file.largest) = (Some(smallest), Some(largest));
        }
    }
    Version::unordered(&core.order, files)
}

fn range_of(core: &Arc<Core>, file: &TableFile) -> Option<(Vec<u8>, Vec<u8>)> {
    let regions_before = core.damage.region_count();
    let (context, table) = (core.context.clone(), core.table(file).ok()?);
    let mut cursor = TableCursor::new(context, table, Arc::new(file.clone())).ok()?;
    cursor.seek_to_first().ok()?;
    let smallest = cursor.valid().then(|| cursor.key().to_vec())?;
    cursor.seek_to_last().ok()?;
    let largest = cursor.valid().then(|| cursor.key().to_vec())?;
    // With damage at an end of it, the range is not known.
    (core.damage.region_count() == regions_before).then_some((smallest, largest))
}
