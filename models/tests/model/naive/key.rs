//! Keys (specification, 2.4): their kinds, their order, and the values that are keys (7.3, "convert a value to a key").

use std::cmp::Ordering;

use super::value::Value;

/// A key.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Number(f64),
    Date(f64),
    String(Vec<u16>),
    Binary(Vec<u8>),
    Array(Vec<Key>),
}

/// "To compare two keys".
pub(crate) fn compare(a: &Key, b: &Key) -> Ordering {
    let (kind_a, kind_b) = (kind(a), kind(b));
    if kind_a != kind_b {
        return kind_a.cmp(&kind_b);
    }
    match (a, b) {
        (Key::Number(a), Key::Number(b)) | (Key::Date(a), Key::Date(b)) => {
            if a > b {
                Ordering::Greater
            } else if a < b {
                Ordering::Less
            } else {
                Ordering::Equal
            }
        }
        (Key::String(a), Key::String(b)) => a.cmp(b),
        (Key::Binary(a), Key::Binary(b)) => a.cmp(b),
        (Key::Array(a), Key::Array(b)) => {
            for at in 0..a.len().min(b.len()) {
                let order = compare(&a[at], &b[at]);
                if order != Ordering::Equal {
                    return order;
                }
            }
            a.len().cmp(&b.len())
        }
        _ => unreachable!("the kinds are the same"),
    }
}

/// Arrays are greater than binary keys, those than strings, those than dates, those than numbers.
fn kind(key: &Key) -> u8 {
    match key {
        Key::Number(_) => 0,
        Key::Date(_) => 1,
        Key::String(_) => 2,
        Key::Binary(_) => 3,
        Key::Array(_) => 4,
    }
}

/// As keys are compared: -0 is 0.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other) == Ordering::Equal
    }
}

/// A key, or `None` ("invalid").
pub(crate) fn from_value(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Number(number) if !number.is_nan() => Key::Number(*number),
        Value::Date(time) if !time.is_nan() => Key::Date(*time),
        Value::String(units) => Key::String(units.clone()),
        Value::Binary(bytes) => Key::Binary(bytes.clone()),
        Value::Array(elements) => {
            let mut keys = Vec::new();
            for element in elements {
                keys.push(from_value(element.as_ref()?)?);
            }
            Key::Array(keys)
        }
        _ => return None,
    })
}

/// "Convert a value to a multiEntry key": of an array, every element that is a key, each once.
pub(crate) fn from_value_multi_entry(value: &Value) -> Option<Key> {
    let Value::Array(elements) = value else {
        return from_value(value);
    };
    let mut keys: Vec<Key> = Vec::new();
    for element in elements.iter().flatten() {
        if let Some(key) = from_value(element)
            && !keys.contains(&key)
        {
            keys.push(key);
        }
    }
    Some(Key::Array(keys))
}

/// The value that a key is (7.5).
pub(crate) fn to_value(key: &Key) -> Value {
    match key {
        Key::Number(number) => Value::Number(*number),
        Key::Date(time) => Value::Date(*time),
        Key::String(units) => Value::String(units.clone()),
        Key::Binary(bytes) => Value::Binary(bytes.clone()),
        Key::Array(keys) => Value::Array(keys.iter().map(|key| Some(to_value(key))).collect()),
    }
}

/// A key range (2.9): each bound with whether it is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Range {
    pub(crate) lower: Option<(Key, bool)>,
    pub(crate) upper: Option<(Key, bool)>,
}

impl Range {
    pub(crate) fn only(key: Key) -> Self {
        Self {
            lower: Some((key.clone(), false)),
            upper: Some((key, false)),
        }
    }

    /// "A key is in a key range".
    pub(crate) fn includes(&self, key: &Key) -> bool {
        let above = match &self.lower {
            None => true,
            Some((lower, open)) => match compare(lower, key) {
                Ordering::Less => true,
                Ordering::Equal => !open,
                Ordering::Greater => false,
            },
        };
        let below = match &self.upper {
            None => true,
            Some((upper, open)) => match compare(upper, key) {
                Ordering::Greater => true,
                Ordering::Equal => !open,
                Ordering::Less => false,
            },
        };
        above && below
    }
}
