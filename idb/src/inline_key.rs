//! Keys that are found in values.

use larder_codec::Key;
use larder_codec::value::Evaluated;

use crate::error::{Error, Result};
use crate::operation;
use crate::schema::StoreCell;
use crate::value::Value;

/// The key in a value; `None` if it is to be generated.
///
/// # Errors
/// `DataError` if there is none and none can be generated; `DataCloneError` if these are not the bytes of a value.
pub(crate) fn find(cell: &StoreCell, value: &Value) -> Result<Option<Key>> {
    let payload = &value.payload()?;
    let Some(path) = &cell.path else {
        return Ok(None);
    };
    let mut evaluator = cell.evaluator();
    let objects = operation::objects_for_paths(&value.objects);
    let found = evaluator.evaluate(path, payload, &objects);
    match found.map_err(|error| Error::not_a_value(&error.to_string()))? {
        Evaluated::Key(key) => Ok(Some(key)),
        Evaluated::Invalid => Err(Error::data("the value has no key where the key path leads")),
        Evaluated::Missing if !cell.auto_increment => Err(Error::data(
            "the value has nothing where the key path leads",
        )),
        Evaluated::Missing
            if !evaluator.can_inject(path, payload)? && !evaluator.loses_key(path, payload)? =>
        {
            let what = "no key can be put into the value where the key path leads";
            Err(Error::data(what))
        }
        Evaluated::Missing => Ok(None),
    }
}

/// The key in a value, however it is to be used.
///
/// # Errors
/// `DataCloneError` if these are not the bytes of a value.
pub(crate) fn of_value(cell: &StoreCell, value: &Value) -> Result<Option<Key>> {
    let Some(path) = &cell.path else {
        return Ok(None);
    };
    let objects = operation::objects_for_paths(&value.objects);
    let payload = value.payload()?;
    let found = cell.evaluator().evaluate(path, &payload, &objects)?;
    Ok(found.key())
}
