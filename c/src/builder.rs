//! Values built part by part, blobs among them.

use std::sync::Arc;

use larder_codec::value::{
    ArrayBuffer, BufferKind, Builder, HostObject, JsStr, Object, PropertyName, View, ViewKind,
};
use larder_idb as idb;
use larder_idb::NewExternalObject;

use crate::blob::modified_micros;
use crate::error::{Error, Result};
use crate::guard::{self, given};
use crate::pointers::{Bytes, ErrorOut, Str};
use crate::value::Value;

/// A value in the making. Call what stands for the next part: between a `begin` and its `larder_builder_end`, of objects names
/// and values in turn, of maps keys and values in turn, of arrays and sets their elements. The host owns it.
#[derive(Default)]
pub struct ValueBuilder {
    parts: Vec<Part>,
    blobs: Vec<NewExternalObject>,
}

/// What was called. It is written when all of it is there.
enum Part {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Date(f64),
    Text(Units),
    Binary(Vec<u8>),
    Blob(u32),
    File(u32),
    Name(Units),
    Object,
    Array(u32),
    Map,
    Set,
    End,
}

/// A string as V8 has it: Latin-1 if that is enough, else UTF-16.
pub(crate) enum Units {
    Latin1(Vec<u8>),
    Utf16Le(Vec<u8>),
}

impl Units {
    pub(crate) fn of(units: &[u16]) -> Self {
        let latin1: std::result::Result<Vec<u8>, _> =
            units.iter().map(|&unit| u8::try_from(unit)).collect();
        match latin1 {
            Ok(bytes) => Self::Latin1(bytes),
            Err(_) => Self::Utf16Le(units.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
        }
    }

    pub(crate) fn as_js(&self) -> JsStr<'_> {
        match self {
            Self::Latin1(bytes) => JsStr::Latin1(bytes),
            Self::Utf16Le(bytes) => JsStr::Utf16Le(bytes),
        }
    }
}

impl ValueBuilder {
    fn write(&self) -> Value {
        let mut bytes = Vec::new();
        let mut builder = Builder::begin(&mut bytes);
        for part in &self.parts {
            part.write(&mut builder);
        }
        let needs = builder.end();
        let value = idb::Value::from_written(bytes, needs);
        Value::new(value.and_objects(self.blobs.clone()))
    }

    fn push_blob(&mut self, object: NewExternalObject, part: fn(u32) -> Part) -> Result<()> {
        let at = u32::try_from(self.blobs.len());
        let at = at.map_err(|_| Error::of_type("the value has too many blobs"))?;
        self.blobs.push(object);
        self.parts.push(part(at));
        Ok(())
    }
}

impl Part {
    fn write(&self, builder: &mut Builder<'_>) {
        match self {
            Self::Undefined => builder.undefined(),
            Self::Null => builder.null(),
            Self::Bool(flag) => builder.bool(*flag),
            Self::Number(number) => builder.number(*number),
            Self::Date(milliseconds) => {
                builder.leaf(&Object::Date(*milliseconds));
            }
            Self::Text(text) => builder.string(text.as_js()),
            Self::Binary(bytes) => write_binary(builder, bytes),
            Self::Blob(at) => write_host(builder, HostObject::Blob(*at)),
            Self::File(at) => write_host(builder, HostObject::File(*at)),
            Self::Name(name) => builder.name(&PropertyName::from_js(name.as_js())),
            Self::Object => {
                builder.begin_object();
            }
            Self::Array(length) => {
                builder.begin_array(*length);
            }
            Self::Map => {
                builder.begin_map();
            }
            Self::Set => {
                builder.begin_set();
            }
            Self::End => builder.close(),
        }
    }
}

fn write_host(builder: &mut Builder<'_>, object: HostObject<'_>) {
    builder.leaf(&Object::Host(Box::new(object)));
}

/// A `Uint8Array` on a buffer of its own.
fn write_binary(builder: &mut Builder<'_>, bytes: &[u8]) {
    let kind = BufferKind::Fixed;
    let buffer = builder.view_buffer(None, ArrayBuffer { bytes, kind });
    let view = View {
        kind: ViewKind::Uint8Array,
        buffer,
        byte_offset: 0,
        byte_length: bytes.len(),
        length_tracking: false,
    };
    builder.view(&view, kind);
}

fn push(
    builder: Option<&mut ValueBuilder>,
    error: ErrorOut,
    part: impl FnOnce() -> Result<Part>,
) -> bool {
    guard::succeeds(error, || {
        let builder = builder.ok_or_else(|| Error::of_type("the builder is null"))?;
        builder.parts.push(part()?);
        Ok(())
    })
}

/// An empty builder: the host owns it.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_new() -> Option<Box<ValueBuilder>> {
    guard::or_else(None, || Some(Box::default()))
}

/// `undefined`. This and what follows is false only if the builder is null or a text is none: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_undefined(
    builder: Option<&mut ValueBuilder>,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Undefined))
}

/// `null`
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_null(builder: Option<&mut ValueBuilder>, error: ErrorOut) -> bool {
    push(builder, error, || Ok(Part::Null))
}

/// `true` or `false`
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_bool(
    builder: Option<&mut ValueBuilder>,
    flag: bool,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Bool(flag)))
}

/// A number.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_number(
    builder: Option<&mut ValueBuilder>,
    number: f64,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Number(number)))
}

/// A `Date`: milliseconds since 1970 UTC.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_date(
    builder: Option<&mut ValueBuilder>,
    milliseconds: f64,
    error: ErrorOut,
) -> bool {
    push(builder, error, || {
        Ok(Part::Date(larder_codec::value::time_clip(milliseconds)))
    })
}

/// A string.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_text(
    builder: Option<&mut ValueBuilder>,
    text: Str,
    error: ErrorOut,
) -> bool {
    push(builder, error, || {
        Ok(Part::Text(Units::of(text.to_js()?.units())))
    })
}

/// A `Uint8Array` of these bytes, which are copied.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_binary(
    builder: Option<&mut ValueBuilder>,
    bytes: Bytes,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Binary(bytes.to_vec())))
}

/// A `Blob` of these bytes, which are copied, with a MIME type that may be empty.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_blob(
    builder: Option<&mut ValueBuilder>,
    bytes: Bytes,
    mime_type: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let builder = builder.ok_or_else(|| Error::of_type("the builder is null"))?;
        let blob = NewExternalObject::Blob {
            mime_type: mime_type.to_js_or_none()?.unwrap_or_default(),
            content: Arc::new(bytes.to_vec()),
        };
        builder.push_blob(blob, Part::Blob)
    })
}

/// A `File` of these bytes, which are copied, with a MIME type that may be empty, a name, and when it was last modified: milliseconds
/// since 1970 UTC.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_file(
    builder: Option<&mut ValueBuilder>,
    bytes: Bytes,
    mime_type: Str,
    name: Str,
    modified_milliseconds: i64,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let builder = builder.ok_or_else(|| Error::of_type("the builder is null"))?;
        let file = NewExternalObject::File {
            mime_type: mime_type.to_js_or_none()?.unwrap_or_default(),
            content: Arc::new(bytes.to_vec()),
            name: name.to_js()?,
            last_modified_micros: modified_micros(modified_milliseconds),
        };
        builder.push_blob(file, Part::File)
    })
}

/// The name of the property whose value comes next.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_name(
    builder: Option<&mut ValueBuilder>,
    name: Str,
    error: ErrorOut,
) -> bool {
    push(builder, error, || {
        Ok(Part::Name(Units::of(name.to_js()?.units())))
    })
}

/// An object begins.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_begin_object(
    builder: Option<&mut ValueBuilder>,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Object))
}

/// An array of exactly `length` elements begins.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_begin_array(
    builder: Option<&mut ValueBuilder>,
    length: u32,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Array(length)))
}

/// A `Map` begins.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_begin_map(
    builder: Option<&mut ValueBuilder>,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Map))
}

/// A `Set` begins.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_begin_set(
    builder: Option<&mut ValueBuilder>,
    error: ErrorOut,
) -> bool {
    push(builder, error, || Ok(Part::Set))
}

/// What was begun last ends.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_end(builder: Option<&mut ValueBuilder>, error: ErrorOut) -> bool {
    push(builder, error, || Ok(Part::End))
}

/// The value of all parts, which the host owns; the builder stays as it is. Parts in a wrong order make a value that cannot be read;
/// what is still open is ended. Null of null: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_value(
    builder: Option<&ValueBuilder>,
    error: ErrorOut,
) -> Option<Box<Value>> {
    guard::made(error, || Ok(given(builder, "the builder")?.write()))
}

/// Frees a builder. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_builder_free(builder: Option<Box<ValueBuilder>>) {
    guard::or_else((), || drop(builder));
}
