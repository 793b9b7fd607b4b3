//! Bytes to values of the engine (HTML, StructuredDeserialize).
//!
//! First every object of the tree is made, then what they contain is put in: nesting costs no stack,
//! and cycles need no care. Properties are defined, not assigned, so that no setter of a page's
//! prototypes sees them.

use std::fmt::Display;

use larder_codec::value::{
    Array as TreeArray, ArrayBuffer as TreeBuffer, BigInt, BufferKind, Decoder, Envelope,
    ErrorObject, HandleKind, HostObject, JsStr, Object, Property, PropertyName, Tree,
    Value as TreeValue, View,
};
use larder_codec::{DataVersion, Key};
use larder_idb::DATA_VERSION_MAX;
use rquickjs::{Array, ArrayBuffer, Ctx, Exception, Object as QuickObject, Result, Value};

use super::Helpers;
use super::platform;
use super::read_in;
use super::text::{borrowed_to_js, number_to_js};
use crate::array::{array_of, define};

/// The key of the record that a value is of.
pub(crate) type KeyOf<'k> = &'k dyn Fn() -> Key;

/// What lies beside a value's bytes, which refer to it by position in each of the two.
#[derive(Debug, Default)]
pub(crate) struct Beside<'b, 'js> {
    /// Its `Blob`s and `File`s.
    pub(crate) blobs: Vec<Value<'js>>,
    /// The tokens of its file system handles.
    pub(crate) tokens: Vec<&'b [u8]>,
}

/// Makes values of bytes, and keeps its memory from one to the next.
#[derive(Default)]
pub(crate) struct Deserializer {
    decoder: Decoder,
    text: String,
}

impl Deserializer {
    /// The value of bytes that no longer lie in a blob (compressed ones do).
    /// `objects` lie beside them. `key` is for the error, if it is one of several. `read_in` is given if the value was in other
    /// versions before it was written in these.
    ///
    /// # Errors
    /// `DataError` (as a page sees it in Chromium) for bytes that are no value.
    pub(crate) fn deserialize<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        helpers: &Helpers,
        bytes: &[u8],
        objects: &Beside<'_, 'js>,
        key: Option<KeyOf<'_>>,
        read_in: Option<DataVersion>,
    ) -> Result<Value<'js>> {
        let mut buffer = Vec::new();
        let unreadable = |what: &dyn Display| unreadable(ctx, key, what);
        let payload = match Envelope::peel(bytes, &mut buffer) {
            Ok(Envelope::Inline(payload)) => payload,
            Ok(Envelope::InBlob { .. }) => return Err(unreadable(&"it lies in a blob")),
            Err(error) => return Err(unreadable(&error)),
        };
        let tree = self
            .decoder
            .decode(&payload)
            .map_err(|error| unreadable(&error))?;
        let mut make = Make {
            ctx,
            helpers,
            tree: &tree,
            objects,
            key,
            read_in: read_in.unwrap_or_else(|| payload.versions().into()),
            made: Vec::with_capacity(tree.object_count()),
            text: &mut self.text,
        };
        let value = make.value();
        self.decoder.recycle(tree);
        value
    }
}

fn unreadable(ctx: &Ctx<'_>, key: Option<KeyOf<'_>>, what: &dyn Display) -> rquickjs::Error {
    let message = match key.map(|key| key()) {
        None => format!("The value could not be read: {what}"),
        Some(key) => format!(
            "The value of the record with key {} could not be read: {what}",
            key.brief()
        ),
    };
    Exception::throw_dom(ctx, "DataError", &message)
}

struct Make<'m, 't, 'js> {
    ctx: &'m Ctx<'js>,
    helpers: &'m Helpers,
    tree: &'m Tree<'t>,
    objects: &'m Beside<'m, 'js>,
    key: Option<KeyOf<'m>>,
    read_in: DataVersion,
    /// By object of the tree.
    made: Vec<Value<'js>>,
    text: &'m mut String,
}

impl<'js> Make<'_, '_, 'js> {
    fn value(&mut self) -> Result<Value<'js>> {
        let tree = self.tree;
        let is_old = !self.read_in.is_at_least(DATA_VERSION_MAX);
        for object in tree.objects() {
            let made = self.object(object)?;
            if is_old && object.is_of_some_versions() {
                read_in::note(self.ctx, self.helpers, &made, self.read_in)?;
            }
            self.made.push(made);
        }
        for (at, object) in tree.objects().enumerate() {
            self.fill(at, object)?;
        }
        self.primitive(tree.root())
    }

    /// The engine's value of a tree's; objects have been made.
    fn primitive(&mut self, value: TreeValue<'_>) -> Result<Value<'js>> {
        let ctx = self.ctx.clone();
        Ok(match value {
            TreeValue::Undefined => Value::new_undefined(ctx),
            TreeValue::Null => Value::new_null(ctx),
            TreeValue::Bool(bool) => Value::new_bool(ctx, bool),
            TreeValue::Number(number) => number_to_js(self.ctx, number),
            TreeValue::BigInt(bigint) => self.bigint(bigint)?,
            TreeValue::String(string) => self.string(string)?,
            TreeValue::Object(id) => match self.made.get(id.get() as usize) {
                Some(made) => made.clone(),
                None => Value::new_undefined(ctx),
            },
        })
    }

    fn string(&mut self, string: JsStr<'_>) -> Result<Value<'js>> {
        borrowed_to_js(self.ctx, self.helpers, string, self.text)
    }

    fn make<A: rquickjs::function::IntoArgs<'js>>(
        &self,
        name: &str,
        args: A,
    ) -> Result<Value<'js>> {
        self.helpers.make(self.ctx, name, args)
    }

    fn bigint(&self, bigint: BigInt<'_>) -> Result<Value<'js>> {
        use std::fmt::Write as _;
        let mut hex = String::from("0x0");
        for byte in bigint.magnitude_le().iter().rev() {
            // Writing to a String does not fail.
            let _ = write!(hex, "{byte:02x}");
        }
        self.make("bigint", (hex, bigint.is_negative()))
    }

    /// An object, without what it contains if that may be objects.
    fn object(&mut self, object: &Object<'_>) -> Result<Value<'js>> {
        match object {
            Object::Plain(_) => Ok(QuickObject::new(self.ctx.clone())?.into_value()),
            Object::Array(_) => Ok(Array::new(self.ctx.clone())?.into_value()),
            Object::Date(time) => self.make("date", (*time,)),
            Object::BooleanObject(bool) => self.make("boxed", (*bool,)),
            Object::NumberObject(number) => self.make("boxed", (number_to_js(self.ctx, *number),)),
            Object::BigIntObject(bigint) => {
                let inside = self.bigint(*bigint)?;
                self.make("boxed", (inside,))
            }
            Object::StringObject(string) => {
                let inside = self.string(*string)?;
                self.make("boxed", (inside,))
            }
            Object::RegExp { source, flags } => {
                let source = self.string(*source)?;
                self.make("regexp", (source, flags.to_string()))
            }
            Object::Map(_) => self.make("map", ()),
            Object::Set(_) => self.make("set", ()),
            Object::ArrayBuffer(buffer) => self.buffer(buffer),
            Object::View(view) => self.view(view),
            Object::Error(error) => self.error(error),
            Object::Host(host) => self.host(host),
            _ => self.unknown("an object of an unknown class"),
        }
    }

    fn unknown(&self, what: &str) -> Result<Value<'js>> {
        let what = format_args!("this host has no {what}");
        Err(unreadable(self.ctx, self.key, &what))
    }

    fn buffer(&self, buffer: &TreeBuffer<'_>) -> Result<Value<'js>> {
        let bytes = ArrayBuffer::new_copy(self.ctx.clone(), buffer.bytes)?.into_value();
        match buffer.kind {
            BufferKind::Fixed => Ok(bytes),
            BufferKind::Resizable(max) => self.make("resizable", (bytes, max as f64)),
            BufferKind::Immutable => self.make("immutable", (bytes,)),
        }
    }

    fn view(&self, view: &View) -> Result<Value<'js>> {
        let Some(buffer) = self.made.get(view.buffer.get() as usize) else {
            return self.unknown("buffer behind its view");
        };
        let offset = view.byte_offset as f64;
        let length = (!view.length_tracking).then_some(view.length() as f64);
        self.make("view", (view.kind.name(), buffer.clone(), offset, length))
    }

    fn error(&mut self, error: &ErrorObject<'_>) -> Result<Value<'js>> {
        let mut text = |text: Option<JsStr<'_>>| text.map(|text| self.string(text)).transpose();
        let (message, stack) = (text(error.message)?, text(error.stack)?);
        self.make("error", (error.error_type.name(), message, stack))
    }

    fn host(&mut self, host: &HostObject<'_>) -> Result<Value<'js>> {
        match host {
            HostObject::Blob(index) | HostObject::File(index) => self.blob(*index),
            HostObject::FileList(files) => {
                let files: Result<Vec<_>> = files.iter().map(|index| self.blob(*index)).collect();
                self.make("fileList", (array_of(self.ctx, files?)?,))
            }
            HostObject::DomException { name, message, .. } => {
                let (name, message) = (self.string(*name)?, self.string(*message)?);
                self.make("domException", (name, message))
            }
            HostObject::QuotaExceededError { message, .. } => {
                let message = self.string(*message)?;
                self.make("domException", ("QuotaExceededError", message))
            }
            _ => match platform::made(self.ctx, self.helpers, host)? {
                Some(made) => Ok(made),
                None => self.opaque(host),
            },
        }
    }

    /// An object that script cannot use, with the attributes that script may look at.
    fn opaque(&mut self, host: &HostObject<'_>) -> Result<Value<'js>> {
        let Some(class) = platform::opaque_class(host) else {
            return self.unknown("such object of the web platform");
        };
        let ctx = self.ctx;
        let mut token = Value::new_undefined(ctx.clone());
        let number = |number: u32| Value::new_number(ctx.clone(), f64::from(number));
        let undefined = Value::new_undefined(ctx.clone());
        let attributes = match host {
            HostObject::ImageBitmap(image) => {
                let (width, height) = image.size();
                [number(width), number(height)]
            }
            HostObject::FileSystemHandle(handle) => {
                let Some(found) = self.objects.tokens.get(handle.token_index as usize) else {
                    return self.unknown("token for its file system handle");
                };
                token = ArrayBuffer::new_copy(ctx.clone(), found)?.into_value();
                let kind = match handle.kind {
                    HandleKind::File => "file",
                    HandleKind::Directory => "directory",
                };
                [self.string(JsStr::from(kind))?, self.string(handle.name)?]
            }
            HostObject::DomFileSystem { name, .. } => [self.string(*name)?, undefined],
            _ => [undefined.clone(), undefined],
        };
        let bytes = ArrayBuffer::new(ctx.clone(), platform::alone(host))?;
        let [first, second] = attributes;
        self.make("opaque", (class, bytes, token, first, second))
    }

    fn blob(&self, index: u32) -> Result<Value<'js>> {
        match self.objects.blobs.get(index as usize) {
            Some(blob) => Ok(blob.clone()),
            None => self.unknown("blob for its entry"),
        }
    }

    /// Puts into a container what it contains.
    fn fill(&mut self, at: usize, object: &Object<'_>) -> Result<()> {
        let tree = self.tree;
        let Some(made) = self.made.get(at).and_then(Value::as_object).cloned() else {
            return Ok(());
        };
        match object {
            Object::Plain(span) => self.properties(&made, tree.properties(*span)),
            Object::Array(array) => self.elements(&made, array),
            Object::Map(span) | Object::Set(span) => {
                let name = match object {
                    Object::Map(_) => "fillMap",
                    _ => "fillSet",
                };
                let parts = tree.slots(*span).iter().flatten();
                let parts: Result<Vec<_>> = parts.map(|value| self.primitive(*value)).collect();
                let parts = array_of(self.ctx, parts?)?;
                self.make(name, (made, parts)).map(drop)
            }
            Object::Error(error) => match error.cause {
                Some(cause) => {
                    let cause = self.primitive(cause)?;
                    self.make("cause", (made, cause)).map(drop)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn elements(&mut self, made: &QuickObject<'js>, array: &TreeArray) -> Result<()> {
        let slots = self.tree.slots(array.elements);
        for (index, slot) in slots.iter().enumerate() {
            if let Some(value) = slot {
                let value = self.primitive(*value)?;
                define(made, u32::try_from(index).unwrap_or(u32::MAX), value)?;
            }
        }
        self.properties(made, self.tree.properties(array.properties))?;
        // Behind the last element there may be holes.
        made.set("length", f64::from(array.length))
    }

    fn properties(&mut self, made: &QuickObject<'js>, all: &[Property<'_>]) -> Result<()> {
        for property in all {
            let value = self.primitive(property.value)?;
            match property.name {
                PropertyName::Index(index) => define(made, index, value)?,
                PropertyName::String(name) => match name.as_ascii() {
                    Some(name) => define(made, name, value)?,
                    None => {
                        let name = self.string(name)?;
                        define(made, name, value)?;
                    }
                },
                PropertyName::Number(_) => {
                    let name = property.name.with_str(|name| self.string(name))?;
                    define(made, name, value)?;
                }
            }
        }
        Ok(())
    }
}
