//! Values: bytes as a browser serialises them, and plain ways to make and read them.

use std::mem::MaybeUninit;

use larder_codec::value::{Object, PropertyName, Tree, Value as Node};
use larder_idb as idb;
use larder_idb::JsString;

use crate::blob::Blob;
use crate::builder::Units;
use crate::error::{Error, Exception, Result};
use crate::guard::{self, given};
use crate::pointers::{Bytes, ErrorOut, Str};
use crate::text::{Text, boxed};

/// A value that is to be put, or was read. The host owns it. It does not change; a value that was read can be put again.
pub struct Value(Kind);

enum Kind {
    New(idb::Value),
    Stored(idb::StoredValue),
}

impl Value {
    pub(crate) const fn new(value: idb::Value) -> Self {
        Self(Kind::New(value))
    }

    pub(crate) fn stored(value: idb::StoredValue) -> Box<Self> {
        Box::new(Self(Kind::Stored(value)))
    }

    fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::New(value) => value.bytes(),
            Kind::Stored(value) => value.bytes(),
        }
    }

    pub(crate) fn to_put(&self) -> idb::Value {
        match &self.0 {
            Kind::New(value) => value.clone(),
            Kind::Stored(value) => {
                let objects = value.objects().iter();
                let objects = objects.cloned().map(crate::blob::to_put_again);
                put_again(value).and_objects(objects.collect())
            }
        }
    }

    /// The value of another engine, if it is one.
    pub(crate) fn foreign(&self) -> Option<idb::Foreign<'_>> {
        use larder_codec::value::Payload;
        idb::Foreign::read(&Payload::read(self.bytes()).ok()?)
    }

    /// Looks at the value as a tree.
    ///
    /// # Errors
    /// If its bytes do not decode.
    fn with_tree<'a, T>(&'a self, look: impl FnOnce(&Tree<'a>) -> T) -> Result<T> {
        use larder_codec::value::{Decoder, Payload};
        let payload = Payload::read(self.bytes()).map_err(idb::Error::from)?;
        let tree = Decoder::new().decode(&payload).map_err(idb::Error::from)?;
        Ok(look(&tree))
    }

    /// Looks at what is where the path leads. `None` if nothing is there, or the bytes do not decode.
    fn at<'a, T>(
        &'a self,
        path: Str,
        look: impl FnOnce(&Tree<'a>, Node<'a>) -> Option<T>,
    ) -> Option<T> {
        let path = path.to_js_or_none().ok()?.unwrap_or_default();
        let found = self.with_tree(|tree| look(tree, walk(tree, &path)?));
        found.ok().flatten()
    }
}

/// A value that was read, without its external objects. One of another engine's has lost its index keys on the way, which no key path can
/// find: it is refused where there are indexes, and would have no entries in them as an ordinary value.
fn put_again(value: &idb::StoredValue) -> idb::Value {
    let ordinary = || idb::Value::from_bytes(value.bytes().to_vec());
    value.foreign().map_or_else(ordinary, |foreign| {
        let again = idb::Value::foreign(foreign.engine(), foreign.format(), foreign.bytes(), []);
        // Its name is one: it was read.
        again.unwrap_or_else(|_| ordinary())
    })
}

/// What names with dots between them lead to, from the root; without any, the root.
fn walk<'a>(tree: &Tree<'a>, path: &JsString) -> Option<Node<'a>> {
    const DOT: u16 = b'.' as u16;
    let mut at = tree.root();
    if path.is_empty() {
        return Some(at);
    }
    for name in path.units().split(|&unit| unit == DOT) {
        let Node::Object(id) = at else {
            return None;
        };
        let name = Units::of(name);
        at = tree.get(id, &PropertyName::from_js(name.as_js()))?;
    }
    Some(at)
}

/// A value that must be there.
///
/// # Errors
/// `TypeError` if it is null.
pub(crate) fn given_value(value: Option<&Value>) -> Result<&Value> {
    given(value, "the value")
}

/// A value of its bytes, which are copied: as a browser serialises it, in Blink's envelope around V8's format, `ff 15 fe …` today.
/// What is none is refused when it is put. Blobs that the bytes refer to are added by `larder_value_with_blobs`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_from_bytes(bytes: Bytes) -> Option<Box<Value>> {
    guard::or_else(None, || {
        let value = idb::Value::from_bytes(bytes.to_vec());
        Some(Box::new(Value::new(value)))
    })
}

/// The value of a JSON text: objects, arrays, strings, numbers, `true`, `false` and `null`. Not as a page's `JSON.parse`: integers of
/// 64 bits beyond 2^53 become BigInts, and lone surrogates (`"\ud800"`), numbers beyond 1.8e308, and more than 127 arrays and objects one inside the
/// other are refused; `larder_builder` has no such limits. Null: `LARDER_EXCEPTION_SYNTAX` for those and for what is no JSON.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_from_json(json: Str, error: ErrorOut) -> Option<Box<Value>> {
    guard::made(error, || {
        let parsed: serde_json::Value = serde_json::from_str(&json.to_utf8()?)
            .map_err(|error| Error::usage(Exception::Syntax, &error.to_string()))?;
        Ok(Value::new(idb::Value::serialize(&parsed)?))
    })
}

/// The value's bytes, there as long as the value: what `larder_value_from_bytes` takes. Of null, none.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_bytes(value: Option<&Value>) -> Bytes {
    guard::or_else(Bytes::none(), || {
        value.map_or(Bytes::none(), |value| Bytes::lent(value.bytes()))
    })
}

/// The value as JSON: the host owns the text. What JSON has no form for stands there as `larder dump` prints it, such as
/// `{"$date":"2020-01-01T00:00:00.000Z"}`. Null if the bytes do not decode: `LARDER_EXCEPTION_UNKNOWN`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_to_json(
    value: Option<&Value>,
    error: ErrorOut,
) -> Option<Box<Text>> {
    let json = guard::run(error, || {
        given_value(value)?
            .with_tree(serde_json::to_string)?
            .map_err(|error| Error::usage(Exception::Data, &error.to_string()))
    });
    json.map(|json| boxed(json.into()))
}

/// Writes the number that is where the path leads, or a date's milliseconds: `larder_utf8("size.width")`, or `larder_null()` for the
/// value itself. False if there is no number there: then nothing is written.
///
/// This and its like read the value anew each time. They are for values of a few properties.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_number(
    value: Option<&Value>,
    path: Str,
    number: Option<&mut MaybeUninit<f64>>,
) -> bool {
    guard::or_else(false, || {
        let found = value.and_then(|value| {
            value.at(path, |tree, found| match found {
                Node::Number(number) => Some(number),
                Node::Object(id) => match tree.object(id) {
                    Object::Date(number) | Object::NumberObject(number) => Some(*number),
                    _ => None,
                },
                _ => None,
            })
        });
        if let (Some(found), Some(number)) = (found, number) {
            number.write(found);
        }
        found.is_some()
    })
}

/// Writes the `true` or `false` that is where the path leads. False if there is none: then nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_bool(
    value: Option<&Value>,
    path: Str,
    flag: Option<&mut MaybeUninit<bool>>,
) -> bool {
    guard::or_else(false, || {
        let found = value.and_then(|value| {
            value.at(path, |_, found| match found {
                Node::Bool(flag) => Some(flag),
                _ => None,
            })
        });
        if let (Some(found), Some(flag)) = (found, flag) {
            flag.write(found);
        }
        found.is_some()
    })
}

/// The string that is where the path leads: the host owns the text. Null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_text(value: Option<&Value>, path: Str) -> Option<Box<Text>> {
    guard::or_else(None, || {
        let found = value?.at(path, |_, found| match found {
            Node::String(text) => Some(JsString::from_units(text.units().collect())),
            _ => None,
        });
        found.map(boxed)
    })
}

/// The bytes of the array buffer, typed array or `DataView` that is where the path leads, there as long as the value. Without a first
/// byte if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_binary(value: Option<&Value>, path: Str) -> Bytes {
    guard::or_else(Bytes::none(), || {
        let found = value.and_then(|value| {
            value.at(path, |tree, found| {
                let Node::Object(id) = found else {
                    return None;
                };
                if let Some(buffer) = tree.array_buffer(id) {
                    return Some(buffer.bytes);
                }
                let Object::View(view) = tree.object(id) else {
                    return None;
                };
                let bytes = tree.array_buffer(view.buffer)?.bytes;
                bytes.get(view.byte_offset..)?.get(..view.byte_length)
            })
        });
        found.map_or(Bytes::none(), Bytes::lent)
    })
}

/// How many blobs and files the value has. Of one that was not read from a store, 0.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_blobs_len(value: Option<&Value>) -> usize {
    guard::or_else(0, || match value {
        Some(Value(Kind::Stored(value))) => value.objects().len(),
        _ => 0,
    })
}

/// A blob or file of a value that was read: the host owns it. Counted from 0; null beyond the end. Its content can be read as long as
/// it is there, whatever becomes of the record.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_blob(value: Option<&Value>, at: usize) -> Option<Box<Blob>> {
    guard::or_else(None, || match value {
        Some(Value(Kind::Stored(value))) => value.objects().get(at).cloned().map(Blob::boxed),
        _ => None,
    })
}

/// Frees a value. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_free(value: Option<Box<Value>>) {
    guard::or_else((), || drop(value));
}
