//! Walks over everything in a value that can be read as a text, with the way to it.
//!
//! Each object is visited once, however often it is referred to, so values with cycles end. The way is kept as steps and becomes a
//! text only where it is asked for.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;

use larder_codec::external_object::ExternalObject;
use larder_codec::value::{
    HostObject, IsoDate, JsStr, Object, ObjectId, PropertyName, Tree, Value,
};

use crate::display::js_number;

/// A step from an object to what is in it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// A property.
    Property(PropertyName<'a>),
    /// An element of an array.
    Element(usize),
    /// The key of an entry of a map.
    MapKey(usize),
    /// The value of an entry of a map.
    MapValue(usize),
    /// A member of a set.
    Member(usize),
    /// What an error has.
    OfError(&'static str),
}

/// What stands at the end of a way.
#[derive(Debug)]
pub(crate) enum Leaf<'l> {
    /// A text, or what has one: a string, a number, a date, a pattern, a name.
    Text(&'static str, Cow<'l, str>),
    /// Bytes.
    Bytes(&'l [u8]),
    /// An object of this type, before what is in it.
    Object(&'static str),
    /// What lies outside of the value, of this type.
    External(&'static str, &'l ExternalObject),
}

/// The way to a leaf, as JavaScript would write it: `.a[0]`, `.get("k")`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'w, 'a>(&'w [Step<'a>]);

impl fmt::Display for Way<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.0 {
            match step {
                Step::Property(PropertyName::Index(index)) => write!(f, "[{index}]")?,
                Step::Property(PropertyName::Number(number)) => {
                    write!(f, "[{}]", js_number(*number))?;
                }
                Step::Property(PropertyName::String(name)) => write_name(f, name)?,
                Step::Element(index) => write!(f, "[{index}]")?,
                Step::MapKey(index) => write!(f, "<key {index}>")?,
                Step::MapValue(index) => write!(f, "<value {index}>")?,
                Step::Member(index) => write!(f, "<member {index}>")?,
                Step::OfError(what) => write!(f, ".{what}")?,
            }
        }
        Ok(())
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: &JsStr<'_>) -> fmt::Result {
    let text = name.to_utf8_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match !text.is_empty() && text.chars().all(is_plain) {
        true => write!(f, ".{text}"),
        false => write!(f, "[{text:?}]"),
    }
}

/// Calls `visit` with the way and each leaf, in the order of the value, until it breaks.
pub(crate) fn walk<'a>(
    tree: &Tree<'a>,
    objects: &[ExternalObject],
    visit: &mut dyn FnMut(Way<'_, 'a>, Leaf<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut walk = Walk {
        tree,
        objects,
        seen: HashSet::new(),
        way: Vec::new(),
        pending: vec![(0, None, tree.root())],
    };
    while let Some((depth, step, value)) = walk.pending.pop() {
        walk.way.truncate(depth);
        walk.way.extend(step);
        walk.value(value, visit)?;
    }
    ControlFlow::Continue(())
}

type Visit<'v, 'a> = &'v mut dyn FnMut(Way<'_, 'a>, Leaf<'_>) -> ControlFlow<()>;

struct Walk<'t, 'a> {
    tree: &'t Tree<'a>,
    objects: &'t [ExternalObject],
    seen: HashSet<ObjectId>,
    way: Vec<Step<'a>>,
    /// What is still to be visited, the next at the end: how many steps lead to where it hangs, the step from there, and it.
    pending: Vec<(usize, Option<Step<'a>>, Value<'a>)>,
}

impl<'a> Walk<'_, 'a> {
    fn value(&mut self, value: Value<'a>, visit: Visit<'_, 'a>) -> ControlFlow<()> {
        let way = Way(&self.way);
        if let Some(Step::Property(PropertyName::String(name))) = self.way.last() {
            visit(way, Leaf::Text("property name", name.to_utf8_lossy()))?;
        }
        match value {
            Value::Undefined => visit(way, Leaf::Text("undefined", "undefined".into())),
            Value::Null => visit(way, Leaf::Text("null", "null".into())),
            Value::Bool(flag) => visit(way, Leaf::Text("boolean", flag.to_string().into())),
            Value::Number(number) => visit(
                way,
                Leaf::Text("number", js_number(number).to_string().into()),
            ),
            Value::BigInt(number) => visit(way, Leaf::Text("bigint", number.to_string().into())),
            Value::String(text) => visit(way, Leaf::Text("string", text.to_utf8_lossy())),
            Value::Object(id) => match self.seen.insert(id) {
                true => self.object(id, visit),
                false => ControlFlow::Continue(()),
            },
        }
    }

    fn object(&mut self, id: ObjectId, visit: Visit<'_, 'a>) -> ControlFlow<()> {
        let tree = self.tree;
        let object = tree.object(id);
        let kind = kind(object);
        visit(Way(&self.way), Leaf::Object(kind))?;
        let way = Way(&self.way);
        let text = |text: Cow<'_, str>, visit: Visit<'_, 'a>| visit(way, Leaf::Text(kind, text));
        match object {
            Object::Date(time) => text(date_text(*time).into(), visit)?,
            Object::BooleanObject(flag) => text(flag.to_string().into(), visit)?,
            Object::NumberObject(number) => text(js_number(*number).to_string().into(), visit)?,
            Object::BigIntObject(number) => text(number.to_string().into(), visit)?,
            Object::StringObject(string) => text(string.to_utf8_lossy(), visit)?,
            Object::RegExp { source, .. } => text(source.to_utf8_lossy(), visit)?,
            Object::ArrayBuffer(buffer) => visit(way, Leaf::Bytes(buffer.bytes))?,
            Object::Error(error) => {
                for part in [&error.message, &error.stack].into_iter().flatten() {
                    text(part.to_utf8_lossy(), visit)?;
                }
            }
            Object::Host(host) => self.host(host, kind, visit)?,
            _ => {}
        }
        self.push_children(id);
        ControlFlow::Continue(())
    }

    /// Names and types of blobs, files and handles.
    fn host(
        &self,
        host: &HostObject<'a>,
        kind: &'static str,
        visit: Visit<'_, 'a>,
    ) -> ControlFlow<()> {
        let way = Way(&self.way);
        let of_object = |index: u32, visit: Visit<'_, 'a>| {
            let at = usize::try_from(index).unwrap_or(usize::MAX);
            let Some(object) = self.objects.get(at) else {
                return ControlFlow::Continue(());
            };
            let (name, blob) = match object {
                ExternalObject::Blob(blob) => (None, blob),
                ExternalObject::File { blob, name, .. } => (Some(name), blob),
                ExternalObject::FileSystemAccessHandle { .. } => {
                    return ControlFlow::Continue(());
                }
            };
            for text in name.into_iter().chain([&blob.mime_type]) {
                visit(way, Leaf::Text(kind, text.to_string_lossy().into()))?;
            }
            visit(way, Leaf::External(kind, object))
        };
        match host {
            HostObject::Blob(index) | HostObject::File(index) => of_object(*index, visit),
            HostObject::FileList(files) => files.iter().try_for_each(|index| {
                visit(way, Leaf::Object("File"))?;
                of_object(*index, visit)
            }),
            HostObject::FileSystemHandle(handle) => {
                visit(way, Leaf::Text(kind, handle.name.to_utf8_lossy()))
            }
            HostObject::DomException { name, message, .. } => {
                visit(way, Leaf::Text(kind, name.to_utf8_lossy()))?;
                visit(way, Leaf::Text(kind, message.to_utf8_lossy()))
            }
            HostObject::QuotaExceededError { message, .. } => {
                visit(way, Leaf::Text(kind, message.to_utf8_lossy()))
            }
            HostObject::DomFileSystem { name, root_url, .. } => {
                visit(way, Leaf::Text(kind, name.to_utf8_lossy()))?;
                visit(way, Leaf::Text(kind, root_url.to_utf8_lossy()))
            }
            HostObject::RtcCertificate {
                certificate_pem, ..
            } => visit(way, Leaf::Text(kind, certificate_pem.to_utf8_lossy())),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Puts what is in an object behind what is pending, the first at the end.
    fn push_children(&mut self, id: ObjectId) {
        let tree = self.tree;
        let depth = self.way.len();
        let start = self.pending.len();
        match tree.object(id) {
            Object::Array(array) => {
                let elements = tree.slots(array.elements).iter().enumerate();
                for (n, slot) in elements {
                    if let Some(value) = slot {
                        self.pending.push((depth, Some(Step::Element(n)), *value));
                    }
                }
            }
            Object::Map(span) => {
                for (n, (key, value)) in tree.entries(*span).enumerate() {
                    self.pending.push((depth, Some(Step::MapKey(n)), key));
                    self.pending.push((depth, Some(Step::MapValue(n)), value));
                }
            }
            Object::Set(span) => {
                for (n, slot) in tree.slots(*span).iter().enumerate() {
                    if let Some(value) = slot {
                        self.pending.push((depth, Some(Step::Member(n)), *value));
                    }
                }
            }
            Object::View(view) => {
                self.pending.push((depth, None, Value::Object(view.buffer)));
            }
            Object::Error(error) => {
                if let Some(cause) = error.cause {
                    self.pending
                        .push((depth, Some(Step::OfError("cause")), cause));
                }
            }
            _ => {}
        }
        for property in tree.own_properties(id) {
            let step = Step::Property(property.name);
            self.pending.push((depth, Some(step), property.value));
        }
        if let Some(pushed) = self.pending.get_mut(start..) {
            pushed.reverse();
        }
    }
}

fn date_text(time: f64) -> String {
    match IsoDate::new(time) {
        Some(date) => date.to_string(),
        None => "Invalid Date".to_owned(),
    }
}

/// The name of an object's type.
fn kind(object: &Object<'_>) -> &'static str {
    match object {
        Object::Plain(_) => "Object",
        Object::Array(_) => "Array",
        Object::Date(_) => "Date",
        Object::BooleanObject(_) => "Boolean",
        Object::NumberObject(_) => "Number",
        Object::BigIntObject(_) => "BigInt",
        Object::StringObject(_) => "String",
        Object::RegExp { .. } => "RegExp",
        Object::Map(_) => "Map",
        Object::Set(_) => "Set",
        Object::ArrayBuffer(_) => "ArrayBuffer",
        Object::View(_) => "ArrayBufferView",
        Object::Error(_) => "Error",
        Object::Host(host) => host_kind(host),
        _ => "other",
    }
}

fn host_kind(host: &HostObject<'_>) -> &'static str {
    match host {
        HostObject::Blob(_) | HostObject::LegacyBlob { .. } => "Blob",
        HostObject::File(_) | HostObject::LegacyFile(_) => "File",
        HostObject::FileList(_) | HostObject::LegacyFileList(_) => "FileList",
        HostObject::FileSystemHandle(_) => "FileSystemHandle",
        HostObject::ImageData(_) => "ImageData",
        HostObject::ImageBitmap(_) => "ImageBitmap",
        HostObject::CryptoKey(_) => "CryptoKey",
        HostObject::DomException { .. } | HostObject::QuotaExceededError { .. } => "DOMException",
        HostObject::DomPoint(_) | HostObject::DomPointReadOnly(_) => "DOMPoint",
        HostObject::DomRect(_) | HostObject::DomRectReadOnly(_) => "DOMRect",
        HostObject::DomQuad(_) => "DOMQuad",
        HostObject::DomMatrix(_) | HostObject::DomMatrixReadOnly(_) => "DOMMatrix",
        HostObject::RtcCertificate { .. } => "RTCCertificate",
        _ => "PlatformObject",
    }
}
