//! The rows of a damaged store as a whole LevelDB of its own, to be read as any other store.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{
    Error, OpenOptions, RowSequence, Store, StoreOrder, StorePaths, files, write_rows,
};
use larder_codec::RowKey;
use larder_codec::row_key::{DatabaseField, GlobalKey, ObjectStoreField};
use larder_leveldb::RowState;
use larder_leveldb::storage::FileSystem;

use super::damaged::{Damaged, is_of_record};
use super::evidence::Evidence;
use super::undo_log::is_undo_task;

/// Which rows.
#[derive(Clone, Copy)]
pub(super) enum Which<'a> {
    /// Those that are certain, and the numbers below.
    Certain,
    /// Those in doubt, too.
    All,
    /// All but the tasks that take back what unfinished transactions have written.
    NotUndone,
    /// Those as of a write, but for such tasks.
    NotUndoneAsOf(u64),
    /// All but such tasks, and rows out of damaged places, where nothing newer of a record is whole, and nothing at all of other things.
    WithDamaged(&'a Damaged),
}

/// Writes the rows into `dir`, which is made, and opens them as a store with the blobs of the damaged one.
///
/// # Errors
/// If rows cannot be read on, or written.
pub(super) fn stage(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    paths: &StorePaths,
    evidence: Option<&Evidence>,
    which: Which<'_>,
    tick: &mut dyn FnMut(),
) -> Result<Store, Error> {
    files::make_dir(&**fs, dir)?;
    let is_sorted = evidence.is_none_or(|all| all.order != StoreOrder::SignedBytes);
    let sequence = match (which, is_sorted) {
        (Which::WithDamaged(_), _) | (_, false) => RowSequence::Unsorted,
        (_, true) => RowSequence::Sorted,
    };
    let damaged = match which {
        Which::WithDamaged(damaged) => Some(damaged),
        _ => None,
    };
    let mut damaged_rows = damaged.map(Damaged::rows);
    // Keys of damaged rows that count less than what is whole.
    let mut passed: HashSet<Vec<u8>> = HashSet::new();
    let mut rows = evidence.map(|evidence| {
        let rows = match which {
            Which::Certain => evidence.rows(),
            Which::NotUndoneAsOf(sequence) => evidence.salvage.rows_as_of(sequence),
            Which::All | Which::NotUndone | Which::WithDamaged(_) => evidence.salvage.rows(),
        };
        (evidence, rows)
    });
    write_rows(Arc::clone(fs), dir, sequence, |key, value| {
        let Some((evidence, rows)) = &mut rows else {
            return Ok(false);
        };
        while let Some(state) = rows.advance()? {
            tick();
            let is_wanted = match which {
                Which::All => true,
                Which::NotUndone | Which::NotUndoneAsOf(_) => !is_undo_task(rows.key()),
                Which::WithDamaged(damaged) => {
                    if state != RowState::Lost
                        && let Some(row) = damaged.get(rows.key())
                        && !(is_of_record(rows.key()) && row.sequence > rows.sequence())
                    {
                        passed.insert(rows.key().to_vec());
                    }
                    !is_undo_task(rows.key())
                }
                Which::Certain => {
                    evidence.is_certain(state, rows.sequence())
                        || (evidence.whole.is_none() && is_number(rows.key()))
                }
            };
            if state != RowState::Lost && is_wanted {
                key.extend_from_slice(rows.key());
                value.extend_from_slice(rows.value()?);
                return Ok(true);
            }
        }
        for (damaged_key, row) in damaged_rows.iter_mut().flatten() {
            if let Some(damaged_value) = &row.value
                && !passed.contains(damaged_key)
            {
                key.extend_from_slice(damaged_key);
                value.extend_from_slice(damaged_value);
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    let staged = StorePaths {
        leveldb: dir.to_owned(),
        blob: paths.blob.clone(),
    };
    Store::open_read_only(Arc::clone(fs), staged, OpenOptions::default())
}

/// Whether it is a row with a number that only ascends, and that most transactions write. An outdated one will do: it is raised to what
/// the rows have.
fn is_number(key: &[u8]) -> bool {
    match RowKey::decode_exact(key) {
        Ok(RowKey::Global(key)) => matches!(
            key,
            GlobalKey::SchemaVersion | GlobalKey::MaxDatabaseId | GlobalKey::DataVersion
        ),
        Ok(RowKey::Database(key)) => matches!(
            key.field,
            DatabaseField::MaxObjectStoreId | DatabaseField::BlobNumberGenerator
        ),
        Ok(RowKey::ObjectStoreMetadata(key)) => matches!(
            key.field,
            ObjectStoreField::LastVersion
                | ObjectStoreField::MaxIndexId
                | ObjectStoreField::KeyGenerator
        ),
        _ => false,
    }
}
