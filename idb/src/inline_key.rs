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
        Evaluated::Invalid => Err(Error::data(format!(
            "the value has no key at {}: a key is a number, a date, a string, bytes or an array of keys",
            cell.shown_path()
        ))),
        Evaluated::Missing if !cell.auto_increment => Err(Error::data(format!(
            "the value has nothing at {}, which does not generate keys",
            cell.shown_path()
        ))),
        Evaluated::Missing
            if !evaluator.can_inject(path, payload)? && !evaluator.loses_key(path, payload)? =>
        {
            Err(Error::data(format!(
                "the value cannot take the generated key at {}: what the path leads through has to be an object",
                cell.shown_path()
            )))
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
