//! The rows of a damaged store as a whole LevelDB of its own, to be read as any other store.

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{Error, OpenOptions, Store, StorePaths, files, write_rows};
use larder_codec::RowKey;
use larder_codec::row_key::{DatabaseField, GlobalKey, ObjectStoreField, ScopeTask, ScopesKey};
use larder_leveldb::RowState;
use larder_leveldb::storage::FileSystem;

use super::evidence::Evidence;

/// Which rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that are certain, and the numbers below.
    Certain,
    /// Those in doubt, too.
    All,
    /// All but the tasks that take back what unfinished transactions have written.
    NotUndone,
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
    which: Which,
    tick: &mut dyn FnMut(),
) -> Result<Store, Error> {
    files::make_dir(&**fs, dir)?;
    let order = evidence.map_or(larder_backing_store::StoreOrder::Chromium, |all| all.order);
    let mut rows = evidence.map(|evidence| {
        let rows = match which {
            Which::Certain => evidence.rows(),
            Which::All | Which::NotUndone => evidence.salvage.rows(),
        };
        (evidence, rows)
    });
    write_rows(Arc::clone(fs), dir, order, |key, value| {
        let Some((evidence, rows)) = &mut rows else {
            return Ok(false);
        };
        while let Some(state) = rows.advance()? {
            tick();
            let is_wanted = match which {
                Which::All => true,
                Which::NotUndone => !is_undo_task(rows.key()),
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
        Ok(false)
    })?;
    let staged = StorePaths {
        leveldb: dir.to_owned(),
        blob: paths.blob.clone(),
    };
    Store::open_read_only(Arc::clone(fs), staged, OpenOptions::default())
}

fn is_undo_task(key: &[u8]) -> bool {
    let undo = ScopeTask::Undo;
    matches!(
        RowKey::decode_exact(key),
        Ok(RowKey::Scopes(ScopesKey::Task { task, .. })) if task == undo
    )
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
