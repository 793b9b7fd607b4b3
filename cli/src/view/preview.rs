//! A value in one line, for a table.

use std::fmt::{self, Write};

use larder_codec::external_object::ExternalObject;
use larder_codec::value::{
    Foreign, HostObject, IsoDate, JsStr, Object, ObjectId, PropertyName, Tree, Value,
};
use serde_json::{Value as Json, json};

use super::shown::limited;
use crate::display::{Size, js_number};

/// So many characters of a value are shown, and of a cell.
const TEXT_MAX: usize = 200;
/// So many properties have cells.
const CELLS_MAX: usize = 50;
/// So many bytes of a buffer are shown.
const BYTES_MAX: usize = 32;
/// Deeper values are only named.
const DEPTH_MAX: usize = 4;

/// A value, and what it refers to.
#[derive(Clone, Copy)]
pub(super) struct Previewed<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) objects: &'t [ExternalObject],
}

impl<'a> Previewed<'_, 'a> {
    /// The whole value, with cells for what is on top of an object.
    pub(super) fn to_json(self) -> Json {
        let root = self.tree.root();
        let mut shown = self.cell(root);
        if let Value::Object(id) = root
            && let Object::Plain(span) = self.tree.object(id)
        {
            let properties = self.tree.properties(*span);
            let cells = properties.iter().take(CELLS_MAX).map(|property| {
                let name = property.name.to_js_string();
                json!([super::tree::name(&name), self.cell(property.value)])
            });
            shown["cells"] = cells.collect();
            if properties.len() > CELLS_MAX {
                shown["more"] = (properties.len() - CELLS_MAX).into();
            }
        }
        shown
    }

    fn cell(self, value: Value<'a>) -> Json {
        let text = limited(Line(self, value, 0), TEXT_MAX);
        json!({"t": self.kind(value), "text": text})
    }

    fn kind(self, value: Value<'a>) -> &'static str {
        match value {
            Value::Undefined => "undefined",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::BigInt(_) => "bigint",
            Value::String(_) => "string",
            Value::Object(id) => crate::canonical::name_of(self.tree.object(id)),
        }
    }
}

/// A value at some depth.
struct Line<'t, 'a>(Previewed<'t, 'a>, Value<'a>, usize);

impl fmt::Display for Line<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(of, value, depth) = *self;
        match value {
            Value::Undefined => f.write_str("undefined"),
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(number) => write!(f, "{}", js_number(number)),
            Value::BigInt(number) => write!(f, "{number}n"),
            // A cell that is a text needs no quotes.
            Value::String(text) if depth == 0 => plain(f, text),
            Value::String(text) => quoted(f, text),
            Value::Object(id) => of.object(f, id, depth),
        }
    }
}

fn plain(f: &mut fmt::Formatter<'_>, text: JsStr<'_>) -> fmt::Result {
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok(c) => f.write_char(c)?,
            Err(lone) => write!(f, "\\u{{{:x}}}", lone.unpaired_surrogate())?,
        }
    }
    Ok(())
}

fn quoted(f: &mut fmt::Formatter<'_>, text: JsStr<'_>) -> fmt::Result {
    f.write_char('"')?;
    plain(f, text)?;
    f.write_char('"')
}

impl<'a> Previewed<'_, 'a> {
    fn inner<'s>(&'s self, value: Value<'a>, depth: usize) -> Line<'s, 'a> {
        Line(*self, value, depth + 1)
    }

    fn object(&self, f: &mut fmt::Formatter<'_>, id: ObjectId, depth: usize) -> fmt::Result {
        let tree = self.tree;
        let object = tree.object(id);
        if let Some(foreign) = Foreign::of_tree(tree).filter(|_| depth == 0) {
            return write!(f, "{} bytes of {}", foreign.bytes().len(), foreign.engine());
        }
        let is_list = matches!(
            object,
            Object::Plain(_) | Object::Array(_) | Object::Map(_) | Object::Set(_)
        );
        if is_list && depth >= DEPTH_MAX {
            return write!(f, "{} …", crate::canonical::name_of(object));
        }
        match object {
            Object::Plain(span) => {
                f.write_char('{')?;
                for (at, property) in tree.properties(*span).iter().enumerate() {
                    separate(f, at)?;
                    self.name(f, &property.name)?;
                    write!(f, ": {}", self.inner(property.value, depth))?;
                }
                f.write_char('}')
            }
            Object::Array(array) => {
                f.write_char('[')?;
                let elements = tree.slots(array.elements);
                let mut is_first = true;
                for slot in elements {
                    separate(f, usize::from(!is_first))?;
                    is_first = false;
                    match slot {
                        Some(value) => write!(f, "{}", self.inner(*value, depth))?,
                        None => f.write_str("hole")?,
                    }
                }
                let holes = array.length as usize - elements.len().min(array.length as usize);
                if holes > 0 {
                    separate(f, usize::from(!is_first))?;
                    write!(f, "{holes} × hole")?;
                }
                for property in tree.properties(array.properties) {
                    f.write_str(", ")?;
                    self.name(f, &property.name)?;
                    write!(f, ": {}", self.inner(property.value, depth))?;
                }
                f.write_char(']')
            }
            Object::Map(span) => {
                write!(f, "Map({}) {{", span.len() / 2)?;
                for (at, (key, value)) in tree.entries(*span).enumerate() {
                    separate(f, at)?;
                    write!(
                        f,
                        "{} → {}",
                        self.inner(key, depth),
                        self.inner(value, depth)
                    )?;
                }
                f.write_char('}')
            }
            Object::Set(span) => {
                write!(f, "Set({}) {{", span.len())?;
                for (at, value) in tree.slots(*span).iter().flatten().enumerate() {
                    separate(f, at)?;
                    write!(f, "{}", self.inner(*value, depth))?;
                }
                f.write_char('}')
            }
            other => self.leaf(f, other),
        }
    }

    fn name(&self, f: &mut fmt::Formatter<'_>, name: &PropertyName<'_>) -> fmt::Result {
        name.with_str(|text| plain(f, text))
    }

    /// An object in which no other value lies.
    fn leaf(&self, f: &mut fmt::Formatter<'_>, object: &Object<'_>) -> fmt::Result {
        match object {
            Object::Date(time) => match IsoDate::new(*time) {
                Some(date) => write!(f, "{date}"),
                None => f.write_str("Invalid Date"),
            },
            Object::BooleanObject(value) => write!(f, "Boolean({value})"),
            Object::NumberObject(number) => write!(f, "Number({})", js_number(*number)),
            Object::BigIntObject(number) => write!(f, "BigInt({number}n)"),
            Object::StringObject(text) => {
                f.write_str("String(")?;
                quoted(f, *text)?;
                f.write_char(')')
            }
            Object::RegExp { source, flags } => {
                f.write_char('/')?;
                plain(f, *source)?;
                write!(f, "/{flags}")
            }
            Object::ArrayBuffer(buffer) => {
                write!(f, "ArrayBuffer({})", buffer.bytes.len())?;
                bytes(f, buffer.bytes)
            }
            Object::View(view) => {
                let buffer = self.tree.array_buffer(view.buffer);
                let shown = buffer.as_ref().and_then(|buffer| {
                    let start = view.byte_offset;
                    buffer
                        .bytes
                        .get(start..start.checked_add(view.byte_length)?)
                });
                write!(f, "{}({})", view.kind.name(), view.length())?;
                bytes(f, shown.unwrap_or_default())
            }
            Object::Error(error) => {
                f.write_str(error.error_type.name())?;
                match error.message {
                    Some(message) => {
                        f.write_str(": ")?;
                        plain(f, message)
                    }
                    None => Ok(()),
                }
            }
            Object::Host(host) => self.host(f, object, host),
            other => f.write_str(crate::canonical::name_of(other)),
        }
    }

    fn host(
        &self,
        f: &mut fmt::Formatter<'_>,
        object: &Object<'_>,
        host: &HostObject<'_>,
    ) -> fmt::Result {
        match host {
            HostObject::Blob(index) | HostObject::File(index) => self.external(f, *index),
            HostObject::FileList(indices) => {
                write!(f, "FileList({})", indices.len())?;
                for index in indices {
                    f.write_char(' ')?;
                    self.external(f, *index)?;
                }
                Ok(())
            }
            HostObject::FileSystemHandle(handle) => {
                write!(f, "{} ", crate::canonical::name_of(object))?;
                plain(f, handle.name)
            }
            HostObject::ImageData(image) => {
                write!(f, "ImageData {} × {}", image.width, image.height)
            }
            HostObject::DomException { name, message, .. } => {
                plain(f, *name)?;
                f.write_str(": ")?;
                plain(f, *message)
            }
            _ => f.write_str(crate::canonical::name_of(object)),
        }
    }

    /// A blob or file, as the record's list has it.
    fn external(&self, f: &mut fmt::Formatter<'_>, index: u32) -> fmt::Result {
        let object = usize::try_from(index)
            .ok()
            .and_then(|index| self.objects.get(index));
        let (kind, blob) = match object {
            Some(ExternalObject::Blob(blob)) => ("Blob", blob),
            Some(ExternalObject::File { blob, name, .. }) => {
                f.write_str(&name.to_string_lossy())?;
                f.write_char(' ')?;
                ("File", blob)
            }
            // The list is not there: of an earlier version it is looked for when that is shown whole.
            _ => return f.write_str("blob or file"),
        };
        write!(f, "{kind}")?;
        if let Ok(size) = u64::try_from(blob.size_bytes) {
            write!(f, " {}", Size(size))?;
        }
        if !blob.mime_type.is_empty() {
            write!(f, " {}", blob.mime_type.to_string_lossy())?;
        }
        Ok(())
    }
}

fn separate(f: &mut fmt::Formatter<'_>, at: usize) -> fmt::Result {
    match at {
        0 => Ok(()),
        _ => f.write_str(", "),
    }
}

fn bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for byte in bytes.iter().take(BYTES_MAX) {
        write!(f, " {byte:02x}")?;
    }
    match bytes.len() > BYTES_MAX {
        true => f.write_str(" …"),
        false => Ok(()),
    }
}
