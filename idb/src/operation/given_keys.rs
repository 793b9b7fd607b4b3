//! Index keys that a host gives for a value of another engine, checked against the object store's indexes.

use std::sync::Arc;

use larder_codec::shown::Quoted;
use larder_codec::{JsString, Key};

use crate::error::{Error, ErrorName, Result};
use crate::key_range::raw_key;
use crate::schema::{IndexCell, StoreCell};
use crate::value::NamedKeys;

/// Keys of each index, ascending, each once.
#[derive(Debug)]
pub(crate) struct GivenKeys(pub(super) Vec<(Arc<IndexCell>, Vec<Key>)>);

/// The keys of each index of an object store.
///
/// # Errors
/// `NotFoundError` for a name without an index; `DataError` if an index is not named or is named twice, for keys that an index
/// cannot have, or for what is no key.
pub(super) fn given_keys(cell: &StoreCell, named: NamedKeys) -> Result<GivenKeys> {
    let mut given = Vec::with_capacity(named.len());
    for (name, keys) in named {
        let Some(index) = cell.index(&name) else {
            return Err(cell.no_such_index(&name));
        };
        if given.iter().any(|(other, _)| Arc::ptr_eq(other, &index)) {
            let what = format!("keys are given twice for the index {}", Quoted(&name));
            return Err(Error::data(what));
        }
        let keys = keys_of_index(&index, keys)?;
        given.push((index, keys));
    }
    // Each is named once, and each name is an index.
    match given.len() == cell.indexes().len() {
        true => Ok(GivenKeys(given)),
        false => Err(not_named(cell, &given)),
    }
}

#[cold]
fn not_named(cell: &StoreCell, given: &[(Arc<IndexCell>, Vec<Key>)]) -> Error {
    let is_missing = |name: &JsString| !given.iter().any(|(index, _)| index.name() == *name);
    let name = cell.index_names().into_iter().find(is_missing);
    let what = format!(
        "no keys are given for the index {:?}: an empty list says that there are none",
        name.unwrap_or_default().to_string_lossy()
    );
    Error::new(ErrorName::DataError, what)
}

/// One record's keys as the index has them.
///
/// # Errors
/// `DataError` for more than one if the index has no multiple entries, or for what is no key.
pub(super) fn keys_of_index(index: &IndexCell, mut keys: Vec<Key>) -> Result<Vec<Key>> {
    if keys.len() > 1 && !index.multi_entry {
        let what = "several keys are given for an index that has one for each record";
        return Err(Error::data(what));
    }
    let mut bytes = Vec::new();
    for key in &keys {
        bytes.clear();
        key.encode(&mut bytes);
        raw_key(&bytes)?;
    }
    keys.sort();
    keys.dedup();
    Ok(keys)
}
