//! What a version change does to object stores and indexes, on disk. Handles show it already.

use std::sync::Arc;

use larder_backing_store::{IndexParameters, ObjectStoreParameters};
use larder_codec::JsString;

use super::build_index::{ForeignKeys, build_index};
use crate::error::Result;
use crate::operation::Execution;
use crate::schema::{IndexCell, StoreCell};

pub(crate) fn create_object_store(
    execution: &mut Execution,
    cell: &StoreCell,
    name: JsString,
) -> Result<()> {
    let parameters = ObjectStoreParameters {
        id: None,
        name,
        key_path: cell.key_path.clone(),
        auto_increment: cell.auto_increment,
    };
    cell.set_id(execution.writer()?.create_object_store(&parameters)?);
    Ok(())
}

pub(crate) fn delete_object_store(execution: &mut Execution, cell: &StoreCell) -> Result<()> {
    Ok(execution.writer()?.delete_object_store(cell.id()?)?)
}

pub(crate) fn rename_object_store(
    execution: &mut Execution,
    cell: &StoreCell,
    name: &JsString,
) -> Result<()> {
    Ok(execution.writer()?.rename_object_store(cell.id()?, name)?)
}

/// Creates an index and fills it.
///
/// # Errors
/// As [`build_index`].
pub(crate) fn create_index(
    execution: &mut Execution,
    store: &Arc<StoreCell>,
    cell: &IndexCell,
    name: JsString,
    of_foreign: Option<ForeignKeys>,
) -> Result<()> {
    let parameters = IndexParameters {
        id: None,
        name,
        key_path: cell.key_path.clone(),
        unique: cell.unique,
        multi_entry: cell.multi_entry,
    };
    cell.set_id(execution.writer()?.create_index(store.id()?, &parameters)?);
    build_index(execution, store, cell, of_foreign)
}

pub(crate) fn delete_index(
    execution: &mut Execution,
    store: &StoreCell,
    cell: &IndexCell,
) -> Result<()> {
    Ok(execution.writer()?.delete_index(store.id()?, cell.id()?)?)
}

pub(crate) fn rename_index(
    execution: &mut Execution,
    store: &StoreCell,
    cell: &IndexCell,
    name: &JsString,
) -> Result<()> {
    let (store_id, index_id) = (store.id()?, cell.id()?);
    Ok(execution.writer()?.rename_index(store_id, index_id, name)?)
}
