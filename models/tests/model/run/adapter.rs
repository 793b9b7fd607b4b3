//! Between the model's types and the crate's.

use std::sync::{Arc, Mutex, PoisonError};

use larder_codec::value::{Foreign, Payload};
use larder_codec::{JsString, Key as IdbKey, KeyPath as IdbKeyPath};
use larder_idb::{Cursor, KeyRange, Records, Request, Result, StoredValue};

use super::{bytes, foreign};
use crate::naive::{self, Key, KeyPath, Outcome, Value, to_value};

pub(crate) fn name(units: &[u16]) -> JsString {
    JsString::from_units(units.to_vec())
}

pub(crate) fn key(key: &Key) -> IdbKey {
    match key {
        Key::Number(number) => IdbKey::Number(*number),
        Key::Date(time) => IdbKey::Date(*time),
        Key::String(units) => IdbKey::String(name(units)),
        Key::Binary(bytes) => IdbKey::Binary(bytes.clone()),
        Key::Array(keys) => IdbKey::array(keys.iter().map(self::key).collect()).unwrap(),
    }
}

/// A key of the crate as the value that a page would see.
pub(crate) fn key_value(key: &IdbKey) -> Value {
    fn model(key: &IdbKey) -> Key {
        match key {
            IdbKey::Number(number) => Key::Number(*number),
            IdbKey::Date(time) => Key::Date(*time),
            IdbKey::String(string) => Key::String(string.units().to_vec()),
            IdbKey::Binary(bytes) => Key::Binary(bytes.clone()),
            IdbKey::Array(keys) => Key::Array(keys.iter().map(model).collect()),
        }
    }
    to_value(&model(key))
}

pub(crate) fn range(range: &naive::Range) -> KeyRange {
    match (&range.lower, &range.upper) {
        (None, None) => KeyRange::all(),
        (Some((lower, open)), None) => KeyRange::lower_bound(key(lower), *open),
        (None, Some((upper, open))) => KeyRange::upper_bound(key(upper), *open),
        (Some((lower, lower_open)), Some((upper, upper_open))) => {
            KeyRange::bound(key(lower), key(upper), *lower_open, *upper_open).unwrap()
        }
    }
}

pub(crate) fn direction(direction: naive::Direction) -> larder_idb::CursorDirection {
    match direction {
        naive::Direction::Next => larder_idb::CursorDirection::Next,
        naive::Direction::NextUnique => larder_idb::CursorDirection::NextUnique,
        naive::Direction::Prev => larder_idb::CursorDirection::Prev,
        naive::Direction::PrevUnique => larder_idb::CursorDirection::PrevUnique,
    }
}

pub(crate) fn key_path(path: Option<&KeyPath>) -> IdbKeyPath {
    match path {
        None => IdbKeyPath::Null,
        Some(KeyPath::One(path)) => IdbKeyPath::String(name(path)),
        Some(KeyPath::Several(paths)) => {
            IdbKeyPath::Array(paths.iter().map(|path| name(path)).collect())
        }
    }
}

/// A request of the crate, of whatever type.
pub(crate) enum Pending {
    Key(Request<IdbKey>),
    Keys(Request<Vec<IdbKey>>),
    MaybeKey(Request<Option<IdbKey>>),
    Value(Request<Option<StoredValue>>),
    Records(Request<Records>, Shape),
    Page(Request<Option<Records>>),
    Count(Request<u64>),
    Done(Request<()>),
    Cursor(Request<Option<Cursor>>),
}

/// What [`Records`] were asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Keys,
    Values,
    Records,
}

/// Where results of watched requests go, in the order in which they come.
pub(crate) type Log = Arc<Mutex<Vec<(usize, Outcome)>>>;

impl Pending {
    /// Waits; a cursor comes with its handle.
    pub(crate) fn wait(self) -> (Outcome, Option<Cursor>) {
        match self {
            Self::Key(request) => (key_outcome(request.wait()), None),
            Self::Keys(request) => (keys_outcome(request.wait()), None),
            Self::MaybeKey(request) => (maybe_key_outcome(request.wait()), None),
            Self::Value(request) => (value_outcome(request.wait()), None),
            Self::Records(request, shape) => (records_outcome(request.wait(), shape), None),
            Self::Page(request) => (page_outcome(request.wait()), None),
            Self::Count(request) => (outcome(request.wait(), Outcome::Count), None),
            Self::Done(request) => (outcome(request.wait(), |()| Outcome::Done), None),
            Self::Cursor(request) => {
                let result = request.wait();
                let cursor = result.as_ref().ok().and_then(Clone::clone);
                (
                    outcome(result, |cursor| cursor_outcome(cursor.as_ref())),
                    cursor,
                )
            }
        }
    }

    /// Has the result logged when it is there.
    pub(crate) fn watch(self, id: usize, log: &Log) {
        let log = Arc::clone(log);
        let push = move |outcome| {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.push((id, outcome));
        };
        match self {
            Self::Key(request) => request.on_done(move |result| push(key_outcome(result))),
            Self::Keys(request) => request.on_done(move |result| push(keys_outcome(result))),
            Self::MaybeKey(request) => {
                request.on_done(move |result| push(maybe_key_outcome(result)));
            }
            Self::Value(request) => request.on_done(move |result| push(value_outcome(result))),
            Self::Records(request, shape) => {
                request.on_done(move |result| push(records_outcome(result, shape)));
            }
            Self::Page(request) => request.on_done(move |result| push(page_outcome(result))),
            Self::Count(request) => {
                request.on_done(move |result| push(outcome(result, Outcome::Count)));
            }
            Self::Done(request) => {
                request.on_done(move |result| push(outcome(result, |()| Outcome::Done)));
            }
            Self::Cursor(request) => request.on_done(move |result| {
                push(outcome(result, |cursor| cursor_outcome(cursor.as_ref())));
            }),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Key(request) => request.is_done(),
            Self::Keys(request) => request.is_done(),
            Self::MaybeKey(request) => request.is_done(),
            Self::Value(request) => request.is_done(),
            Self::Records(request, _) => request.is_done(),
            Self::Page(request) => request.is_done(),
            Self::Count(request) => request.is_done(),
            Self::Done(request) => request.is_done(),
            Self::Cursor(request) => request.is_done(),
        }
    }
}

fn outcome<T>(result: Result<T>, ok: impl FnOnce(T) -> Outcome) -> Outcome {
    match result {
        Ok(result) => ok(result),
        Err(error) => Outcome::Error(error.name().as_str()),
    }
}

fn key_row(key: &IdbKey) -> [Option<Value>; 3] {
    [None, Some(key_value(key)), None]
}

fn key_outcome(result: Result<IdbKey>) -> Outcome {
    outcome(result, |key| Outcome::Rows(vec![key_row(&key)]))
}

fn keys_outcome(result: Result<Vec<IdbKey>>) -> Outcome {
    outcome(result, |keys| {
        Outcome::Rows(keys.iter().map(key_row).collect())
    })
}

fn maybe_key_outcome(result: Result<Option<IdbKey>>) -> Outcome {
    outcome(result, |key| {
        Outcome::Rows(key.iter().map(key_row).collect())
    })
}

/// What cannot be read is a value that no program puts.
pub(crate) fn value(bytes: &[u8]) -> Value {
    let payload = Payload::read(bytes);
    let read = match payload.ok().as_ref().and_then(Foreign::read) {
        Some(found) => foreign::value(&found, bytes),
        None => bytes::deserialize(bytes),
    };
    read.unwrap_or_else(|error| {
        Value::String(naive::units(&format!(
            "cannot be read: {error}; {bytes:02x?}"
        )))
    })
}

fn value_outcome(result: Result<Option<StoredValue>>) -> Outcome {
    outcome(result, |stored| {
        let rows = stored
            .iter()
            .map(|stored| [None, None, Some(value(stored.bytes()))]);
        Outcome::Rows(rows.collect())
    })
}

pub(crate) fn records_outcome(result: Result<Records>, shape: Shape) -> Outcome {
    outcome(result, |records| {
        let rows = records.iter().map(|entry| {
            let key = || Some(key_value(&entry.key()));
            let primary_key = || Some(key_value(&entry.primary_key()));
            let value = || Some(value(entry.value()));
            match shape {
                Shape::Keys => [None, primary_key(), None],
                Shape::Values => [None, None, value()],
                Shape::Records => [key(), primary_key(), value()],
            }
        });
        Outcome::Rows(rows.collect())
    })
}

fn page_outcome(result: Result<Option<Records>>) -> Outcome {
    match result.transpose() {
        None => Outcome::Rows(Vec::new()),
        Some(result) => records_outcome(result, Shape::Records),
    }
}

fn cursor_outcome(cursor: Option<&Cursor>) -> Outcome {
    let rows = cursor.iter().map(|cursor| {
        let value = cursor.value().map(|stored| value(stored.bytes()));
        let [key, primary_key] =
            [cursor.key(), cursor.primary_key()].map(|key| Some(key_value(&key)));
        [key, primary_key, value]
    });
    Outcome::Rows(rows.collect())
}
