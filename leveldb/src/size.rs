//! How many bytes of tables a range of keys takes, from the tables' indexes alone.

use crate::block::BlockCursor;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::internal_key::{SEQUENCE_MAX, seek_tag, tagged, user_key};
use crate::pinned::PinnedBytes;
use crate::table::BlockHandle;
use crate::table_file::TableFile;
use crate::version::Version;
use std::cmp::Ordering;

/// Bytes of tables from `from` up to and without `to`: packed, exact to a block for each table at both ends; all of a
/// table in another order.
pub(crate) fn between(core: &Core, version: &Version, from: &[u8], to: &[u8]) -> Result<u64> {
    let mut bytes = 0u64;
    for file in version.files() {
        if file.is_unsorted {
            // Its keys may be anywhere in it.
            bytes = bytes.saturating_add(file.len_bytes.unwrap_or(0));
            continue;
        }
        let (start, end) = (offset_of(core, file, from)?, offset_of(core, file, to)?);
        bytes = bytes.saturating_add(end.saturating_sub(start));
    }
    Ok(bytes)
}

/// About where in a table a user key is.
fn offset_of(core: &Core, file: &TableFile, key: &[u8]) -> Result<u64> {
    let user = core.order.user();
    let is = |bound: &Option<Vec<u8>>, ordering: Ordering| {
        let compared = bound
            .as_ref()
            .map(|bound| user.compare(user_key(bound), key));
        compared == Some(ordering)
    };
    if is(&file.largest, Ordering::Less) {
        return Ok(file.len_bytes.unwrap_or(0));
    }
    if is(&file.smallest, Ordering::Greater) {
        return Ok(0);
    }
    let table = core.table(file)?;
    let index = table.index();
    let index = index.map_err(|(offset, fault)| fault.into_error(&table.name, offset))?;
    let damaged =
        |fault: crate::block::BlockFault| Error::corruption(&*table.name, None, fault.what);
    let target = tagged(key, seek_tag(SEQUENCE_MAX));
    let mut cursor = BlockCursor::default();
    cursor
        .set_block(PinnedBytes::whole(index))
        .map_err(damaged)?;
    cursor
        .seek(|entry| core.order.compare(entry, &target))
        .map_err(damaged)?;
    let handle = cursor
        .valid()
        .then(|| BlockHandle::decode_exact(cursor.value()));
    Ok(handle.flatten().map_or(table.len(), |handle| handle.offset))
}
