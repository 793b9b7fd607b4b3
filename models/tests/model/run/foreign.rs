//! A host of another engine: it hands over values as bytes that nothing here can read, with the keys that it has found itself.
//!
//! Its format is V8's with every bit turned. Keys come from the model's key paths, so what the crate answers can be compared
//! with the model as it is.

use larder_idb::{Error, ErrorName, Foreign, JsString, Key as IdbKey, Result, Value as IdbValue};

use super::adapter::{key, name};
use super::bytes::{deserialize, serialize};
use super::state::reach;
use crate::naive::{
    Extracted, Index, Key, KeyPath, Store, Value, can_inject, extract, from_value, inject,
};

const ENGINE: &str = "turned-bits";
const FORMAT: u32 = 7;

fn turned(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

/// A value as this host hands it over, with its primary key if that is not to be generated. `None` if the host hands it over as
/// any other does: a third of all, those that have to be refused, and those with a key in an index that is still to be generated.
pub(super) fn foreign(
    store: &Store,
    value: &Value,
    given: Option<&Key>,
) -> Option<(IdbValue, Option<IdbKey>)> {
    let bytes = serialize(value);
    if bytes.len().is_multiple_of(3) {
        return None;
    }
    let primary_key = match &store.key_path {
        None => given.map(key),
        Some(_) if given.is_some() => return None,
        Some(path) => match extract(value, path, false) {
            Extracted::Key(found) => Some(key(&found)),
            Extracted::Failure if store.generator.is_some() && can_inject(value, path) => None,
            Extracted::Failure | Extracted::Invalid => return None,
        },
    };
    if primary_key.is_none() && store.generator.is_none() {
        return None;
    }
    let keys = keys_of_all(store, value);
    if let (None, Some(path)) = (&primary_key, &store.key_path) {
        let mut with_key = value.clone();
        inject(&mut with_key, path, &Key::Number(1.0));
        if keys_of_all(store, &with_key) != keys {
            return None;
        }
    }
    let value = IdbValue::foreign(ENGINE, FORMAT, &turned(&bytes), keys).unwrap();
    Some((value, primary_key))
}

fn keys_of_all(store: &Store, value: &Value) -> Vec<(JsString, Vec<IdbKey>)> {
    let keys = |index: &Index| keys_of(value, &index.key_path, index.multi_entry);
    let indexes = store.indexes.iter();
    indexes
        .map(|index| (name(&index.name), keys(index)))
        .collect()
}

fn keys_of(value: &Value, path: &KeyPath, multi_entry: bool) -> Vec<IdbKey> {
    match extract(value, path, multi_entry) {
        // In an order that is none of the index's.
        Extracted::Key(Key::Array(keys)) if multi_entry => keys.iter().rev().map(key).collect(),
        Extracted::Key(found) => vec![key(&found)],
        Extracted::Failure | Extracted::Invalid => Vec::new(),
    }
}

/// What this host says when an index is made: the keys of a value that is there.
pub(super) fn asked(
    store: &Store,
    path: &KeyPath,
    multi_entry: bool,
) -> impl FnMut(&IdbKey, &Foreign<'_>) -> Result<Vec<IdbKey>> + use<> {
    let inline = store.generator.as_ref().and(store.key_path.clone());
    let path = path.clone();
    move |primary_key, value| {
        reach(&["asked for keys of another engine"]);
        let mut value = read(value).map_err(|what| Error::new(ErrorName::UnknownError, what))?;
        if let Some(inline) = &inline {
            put_in(&mut value, inline, primary_key);
        }
        Ok(keys_of(&value, &path, multi_entry))
    }
}

/// Generated keys are not in the bytes.
fn put_in(value: &mut Value, path: &KeyPath, primary_key: &IdbKey) {
    if let Extracted::Failure = extract(value, path, false)
        && let Some(primary_key) = from_value(&super::adapter::key_value(primary_key))
    {
        inject(value, path, &primary_key);
    }
}

/// The value that was handed over.
fn read(foreign: &Foreign<'_>) -> std::result::Result<Value, String> {
    match (foreign.engine(), foreign.format()) {
        (ENGINE, FORMAT) => deserialize(&turned(foreign.bytes())),
        other => Err(format!("a value of {other:?}")),
    }
}

/// The value in bytes of which the crate says that they are foreign; and the generated key, which stands behind them for those that
/// see an ordinary object.
pub(super) fn value(foreign: &Foreign<'_>, bytes: &[u8]) -> std::result::Result<Value, String> {
    let mut value = read(foreign)?;
    let Value::Object(shown) = deserialize(bytes)? else {
        return Err("no object for those who see one".into());
    };
    add_missing(&mut value, shown.get(3..).unwrap_or_default());
    Ok(value)
}

fn add_missing(value: &mut Value, more: &[(Vec<u16>, Value)]) {
    let Value::Object(properties) = value else {
        return;
    };
    for (name, more) in more {
        let at = properties.iter().position(|(there, _)| there == name);
        match (at, more) {
            (None, _) => properties.push((name.clone(), more.clone())),
            (Some(at), _) if matches!(properties[at].1, Value::Undefined) => {
                properties[at].1 = more.clone();
            }
            (Some(at), Value::Object(more)) => add_missing(&mut properties[at].1, more),
            (Some(_), _) => {}
        }
    }
}
