//! Key paths (specification, 2.5 and 7.1): which are valid, what they find in a value, where a generated key goes.

use super::key::{self, Key};
use super::value::{Value, units};

/// A key path, valid or not: of a store or an index. A store without one has `None` in place of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyPath {
    One(Vec<u16>),
    Several(Vec<Vec<u16>>),
}

/// What looking for a key gives.
#[derive(Debug)]
pub(crate) enum Extracted {
    Key(Key),
    /// There is something, but it is no key.
    Invalid,
    /// There is nothing.
    Failure,
}

const PERIOD: u16 = 0x2e;

/// "A valid key path". A list that is empty is none.
pub(crate) fn is_valid(path: &KeyPath) -> bool {
    match path {
        KeyPath::One(path) => is_valid_string(path),
        KeyPath::Several(paths) => !paths.is_empty() && paths.iter().all(|p| is_valid_string(p)),
    }
}

/// Empty, an identifier, or identifiers with periods between. (Identifiers of ASCII only here.)
fn is_valid_string(path: &[u16]) -> bool {
    path.is_empty()
        || path.split(|unit| *unit == PERIOD).all(|identifier| {
            let text = String::from_utf16_lossy(identifier);
            let is_start = |c: char| c.is_ascii_alphabetic() || c == '$' || c == '_';
            text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
        })
}

/// "Evaluate a key path on a value"; `None` is failure.
pub(crate) fn evaluate(value: &Value, path: &KeyPath) -> Option<Value> {
    match path {
        KeyPath::Several(paths) => {
            let mut result = Vec::new();
            for path in paths {
                result.push(Some(evaluate_string(value, path)?));
            }
            Some(Value::Array(result))
        }
        KeyPath::One(path) => evaluate_string(value, path),
    }
}

fn evaluate_string(value: &Value, path: &[u16]) -> Option<Value> {
    if path.is_empty() {
        return Some(value.clone());
    }
    let mut value = value.clone();
    for identifier in path.split(|unit| *unit == PERIOD) {
        let is_length = identifier == units("length");
        value = match value {
            Value::String(units) if is_length => Value::Number(units.len() as f64),
            Value::Array(elements) if is_length => Value::Number(elements.len() as f64),
            Value::Object(properties) => {
                let found = properties.into_iter().find(|(name, _)| name == identifier);
                match found?.1 {
                    Value::Undefined => return None,
                    value => value,
                }
            }
            _ => return None,
        };
    }
    Some(value)
}

/// "Extract a key from a value using a key path", with the multiEntry flag or without.
pub(crate) fn extract(value: &Value, path: &KeyPath, multi_entry: bool) -> Extracted {
    let Some(found) = evaluate(value, path) else {
        return Extracted::Failure;
    };
    let key = match multi_entry {
        false => key::from_value(&found),
        true => key::from_value_multi_entry(&found),
    };
    key.map_or(Extracted::Invalid, Extracted::Key)
}

/// "Check that a key could be injected into a value": only stores with a key generator ask, whose key path is one string
/// that is not empty.
pub(crate) fn can_inject(value: &Value, path: &KeyPath) -> bool {
    let KeyPath::One(path) = path else {
        return false;
    };
    let mut identifiers: Vec<&[u16]> = path.split(|unit| *unit == PERIOD).collect();
    identifiers.pop();
    let mut value = value;
    for identifier in identifiers {
        let properties = match value {
            Value::Object(properties) => properties,
            // An array has no property of such a name, but could have.
            Value::Array(_) => return identifier != units("length"),
            // So these; but what is put into them is not kept.
            Value::Date(_) | Value::Binary(_) => return true,
            _ => return false,
        };
        match properties.iter().find(|(name, _)| name == identifier) {
            Some((_, found)) => value = found,
            None => return true,
        }
    }
    !matches!(
        value,
        Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)
    )
}

/// "Inject a key into a value using a key path". Values into which the model's programs have keys injected are objects.
pub(crate) fn inject(value: &mut Value, path: &KeyPath, key: &Key) {
    let KeyPath::One(path) = path else { return };
    let mut identifiers: Vec<&[u16]> = path.split(|unit| *unit == PERIOD).collect();
    let Some(last) = identifiers.pop() else {
        return;
    };
    let mut value = value;
    for identifier in identifiers {
        let Value::Object(properties) = value else {
            return;
        };
        let at = match properties.iter().position(|(name, _)| name == identifier) {
            Some(at) => at,
            None => {
                properties.push((identifier.to_vec(), Value::Object(Vec::new())));
                properties.len() - 1
            }
        };
        value = &mut properties[at].1;
    }
    let Value::Object(properties) = value else {
        return;
    };
    let key = key::to_value(key);
    match properties.iter_mut().find(|(name, _)| name == last) {
        Some((_, found)) => *found = key,
        None => properties.push((last.to_vec(), key)),
    }
}
