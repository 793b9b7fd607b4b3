//! Whether a record is the one its exists row speaks of.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, ObjectStoreId, RawKey, RecordVersion};

use super::{get_row, record_row_prefix};
use crate::error::{Error, ErrorKind, Result};
use crate::view::View;

/// The check, made only in a store that lost writes: there the data row may be an older one that its lost successor no
/// longer hides.
#[derive(Debug)]
pub(crate) struct ExistsCheck {
    view: View,
    prefix: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl ExistsCheck {
    pub(super) fn new(view: View, database_id: DatabaseId, object_store_id: ObjectStoreId) -> Self {
        Self {
            view,
            prefix: record_row_prefix(database_id, object_store_id, RecordTable::Exists),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    pub(crate) fn check(
        &mut self,
        row_key: &[u8],
        primary_key: RawKey<'_>,
        version: RecordVersion,
    ) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(&self.prefix);
        primary_key.encode(&mut self.key);
        let found = match get_row(&self.view, &self.key, primary_key, &mut self.value) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::Corruption => {
                let what = "record withheld: a newer write of it may be lost";
                return Err(Error::inconsistent(row_key, what));
            }
            Err(error) => return Err(error),
        };
        let exists = found
            .then(|| ExistsRow::decode_exact(&self.value).ok())
            .flatten();
        if exists == Some(ExistsRow { version }) {
            return Ok(());
        }
        let what =
            "record withheld: its exists row is of another version, so a write of it is lost";
        Err(Error::inconsistent(row_key, what))
    }
}
