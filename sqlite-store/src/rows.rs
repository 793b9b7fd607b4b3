//! The rows of a store whose parts stay as they are.

use std::sync::Arc;

use larder_backing_store::{Error, OnRow, RowIter, RowSource};
use larder_codec::compare;

use crate::cursor::Cursor;
use crate::lookups;
use crate::parts::Part;

/// All parts of a store.
#[derive(Debug, Clone)]
pub(crate) struct Parts(pub(crate) Arc<Vec<Part>>);

impl RowSource for Parts {
    fn iter(&self) -> Box<dyn RowIter> {
        Box::new(Cursor::new(Arc::clone(&self.0)))
    }

    fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        get_into(&self.0, key, value)
    }

    fn multi_get(&self, keys: &mut dyn Iterator<Item = &[u8]>, found: OnRow<'_>) {
        let parts_of = |_: &[u8]| Some(Arc::clone(&self.0));
        let get_into = |key: &[u8], value: &mut Vec<u8>| self.get_into(key, value);
        lookups::multi_get(keys, found, &parts_of, get_into);
    }
}

/// The value of a row, into the caller's buffer; whether there is one.
pub(crate) fn get_into(
    parts: &Arc<Vec<Part>>,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<bool, Error> {
    if let Some(table) = lookups::table_of(parts, key)
        && let Some(is_there) = table.get_into(key, value)?
    {
        return Ok(is_there);
    }
    let mut cursor = Cursor::new(Arc::clone(parts));
    cursor.seek(key)?;
    if !cursor.valid() || compare(cursor.key(), key).is_ne() {
        return Ok(false);
    }
    value.clear();
    value.extend_from_slice(cursor.value());
    Ok(true)
}
