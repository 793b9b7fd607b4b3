//! In which order a store has its rows, and opening it for reading in that order.
//!
//! Every table is looked at before anything is read. If its keys do not ascend, the store is tried in the order of signed
//! bytes; a store that is wholly in that order is read in it, and its cursors move as its browser's did. Any other is read in
//! Chromium's order by sorting its tables anew.

use std::path::Path;
use std::sync::Arc;

use larder_codec::compare::RowOrder;
use larder_codec::primitive::int;
use larder_codec::row_key::GlobalKey;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Db, KeyOrder, Options};

use crate::comparator::SignedBytesComparator;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;

/// The first schema that no program with signed bytes can have written or opened: it is younger than all of those.
const SCHEMA_WITHOUT_SIGNED_BYTES: i64 = 5;

/// So many rows has the first transaction of a store at most, in all Chromiums.
const FIRST_ROWS_MAX: u64 = 16;

/// The order of a store's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOrder {
    /// Chromium's.
    Chromium,
    /// That of signed bytes, throughout: `QtWebEngine` 5.12 to 5.15 wrote it. Cursors move in that order, as in that browser.
    SignedBytes,
    /// Neither, or both: a Chromium has written to a store of signed bytes, for instance. It is read whole, in Chromium's order.
    Mixed,
}

impl StoreOrder {
    /// The order in which cursors move.
    #[must_use]
    pub const fn of_rows(self) -> RowOrder {
        match self {
            Self::Chromium | Self::Mixed => RowOrder::Chromium,
            Self::SignedBytes => RowOrder::SignedBytes,
        }
    }

    /// A note for the store's user; `None` for the usual order.
    #[must_use]
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Self::Chromium => None,
            Self::SignedBytes => Some(
                "keys are in the order of signed bytes, as QtWebEngine 5.12 to 5.15 writes them, and shown in that order",
            ),
            Self::Mixed => Some(
                "keys are in no single order, as when Chromium has written to a store of QtWebEngine 5.12 to 5.15; all are \
                 shown, in Chromium's order",
            ),
        }
    }
}

/// Opens a store for reading, in its order.
pub(crate) fn open_read_only(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    options: Options,
) -> Result<(Db, StoreOrder)> {
    let open = |options: &Options| Db::open_read_only(Arc::clone(fs), dir, options.clone());
    let whole = Options {
        order_check_bytes: u64::MAX,
        ..options.clone()
    };
    let mut db = open(&options)?;
    if db.order() == KeyOrder::OwnAsIndexed && !is_made_without_signed_bytes(&db)? {
        db = open(&whole)?;
    }
    if db.order() != KeyOrder::Foreign {
        return Ok((db, StoreOrder::Chromium));
    }
    let signed = open(&Options {
        comparator: Arc::new(SignedBytesComparator),
        key_facts: None,
        ..whole
    })?;
    Ok(match signed.order() {
        KeyOrder::Foreign => (db, StoreOrder::Mixed),
        _ => (signed, StoreOrder::SignedBytes),
    })
}

/// Whether the store was made by a program whose schema none with signed bytes opens: its first transaction wrote that schema. A
/// store that was migrated has a younger row.
fn is_made_without_signed_bytes(db: &Db) -> Result<bool> {
    let mut key = Vec::new();
    GlobalKey::SchemaVersion.encode(&mut key);
    let mut iter = db.iter();
    // The least of all keys.
    iter.seek(&key)?;
    let is_first = iter.valid() && iter.key() == key && iter.sequence() <= FIRST_ROWS_MAX;
    let schema = int::decode_exact(iter.value()?);
    Ok(is_first && schema.is_ok_and(|schema| schema >= SCHEMA_WITHOUT_SIGNED_BYTES))
}

/// Fails for a store that must not be written to for its order.
pub(crate) fn check_writable(order: StoreOrder, paths: &StorePaths) -> Result<()> {
    let Some(note) = order.note() else {
        return Ok(());
    };
    let what = format!(
        "{}: {note}. The store is left as it is, because its browser would not find what is written to it; it can be opened for \
         reading only, and its content written into a new store",
        paths.leveldb.display()
    );
    Err(Error::new(ErrorKind::Unsupported, what))
}
