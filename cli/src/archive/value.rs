//! Values from the JSON of `docs/format/jsonl-values.md` to the bytes that are stored.
//!
//! Nothing recurses: what is still to be written stands on a list, so a value may be as deep as the form lets it be.

use std::collections::{HashMap, HashSet};

use larder_codec::DataVersion;
use larder_codec::value::{
    ArrayBuffer, BigInt, BufferKind, Builder, ColorSpace, DEPTH_MAX, Decoder, Encoder, ErrorObject,
    ErrorType, HostObject, ImageData, JsStr, Needs, Object, ObjectId, Payload, PixelFormat,
    PropertyName, RegExpFlags, View, ViewKind,
};

use super::bigint;
use super::json::{Json, Wrong, utf16};

/// A value in bytes, and in which versions.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// The least versions that a store of it must have.
    pub(super) needs: DataVersion,
}

/// Writes a value in these versions, or in those that it needs.
pub(super) fn write(json: &Json, version: DataVersion) -> Result<Written, Wrong> {
    let mut bytes = Vec::new();
    let mut writer = Writer {
        builder: Builder::begin(&mut bytes),
        todo: Vec::new(),
        known: HashMap::new(),
        deep: HashMap::new(),
    };
    writer.root(json)?;
    let needs = writer.builder.end();
    if needs.depth() > DEPTH_MAX {
        return Err(format!(
            "the value is {} levels deep, and no store has more than {DEPTH_MAX}",
            needs.depth()
        ));
    }
    let wanted = needs.version().max(version);
    if !needs.restate(wanted, &mut bytes) {
        bytes =
            anew(&bytes, wanted).map_err(|needs| format!("{} cannot be written", needs.what()))?;
    }
    Ok(Written {
        bytes,
        needs: needs.version(),
    })
}

/// Writes a value again, in other versions.
fn anew(bytes: &[u8], version: DataVersion) -> Result<Vec<u8>, Needs> {
    let mut out = Vec::new();
    let payload = Payload::read(bytes);
    let mut decoder = Decoder::new();
    if let Ok(tree) = payload.and_then(|payload| decoder.decode(&payload)) {
        Encoder::new().encode_in(version, &tree, &mut out)?;
    }
    Ok(out)
}

/// What is still to be written, the next last.
enum Todo<'j> {
    Value(&'j Json),
    Name(&'j Json),
    OwnName(&'j str),
    Close,
}

#[derive(Clone, Copy)]
struct Known {
    id: ObjectId,
    /// Its kind and length, if it is a buffer.
    buffer: Option<(BufferKind, usize)>,
}

struct Writer<'j, 'o> {
    builder: Builder<'o>,
    todo: Vec<Todo<'j>>,
    /// Objects that were written, by their `$id`.
    known: HashMap<u64, Known>,
    /// Objects that stand out of line, until they are written.
    deep: HashMap<u64, &'j Json>,
}

/// A string, in the form that the writer takes.
struct Text(Vec<u8>, bool);

impl Text {
    fn of(json: &Json) -> Result<Self, Wrong> {
        match json {
            Json::Text(text) => Ok(Self::of_str(text)),
            other => match other.get("$utf16") {
                Some(units) => Ok(Self::of_units(utf16(units.text()?)?)),
                None => Err(format!("{other} is no string")),
            },
        }
    }

    fn of_str(text: &str) -> Self {
        let narrow: Option<Vec<u8>> = text
            .chars()
            .map(|c| u8::try_from(u32::from(c)).ok())
            .collect();
        match narrow {
            Some(bytes) => Self(bytes, true),
            None => Self::of_units(text.encode_utf16()),
        }
    }

    fn of_units(units: impl IntoIterator<Item = u16>) -> Self {
        Self(
            units.into_iter().flat_map(u16::to_le_bytes).collect(),
            false,
        )
    }

    fn str(&self) -> JsStr<'_> {
        match self.1 {
            true => JsStr::Latin1(&self.0),
            false => JsStr::Utf16Le(&self.0),
        }
    }
}

impl<'j> Writer<'j, '_> {
    fn root(&mut self, json: &'j Json) -> Result<(), Wrong> {
        let mut root = json;
        if let Some(inner) = json.get("$root") {
            for object in json.need("$deep")?.items()? {
                let id = object.need("$id")?.whole()?;
                if self.deep.insert(id, object).is_some() {
                    return Err(format!("two objects have the $id {id}"));
                }
            }
            root = inner;
        }
        self.todo.push(Todo::Value(root));
        while let Some(todo) = self.todo.pop() {
            match todo {
                Todo::Value(json) => self.value(json)?,
                Todo::Name(json) => {
                    let name = Text::of(json)?;
                    self.builder.name(&PropertyName::from_js(name.str()));
                }
                Todo::OwnName(name) => {
                    let name = Text::of_str(name);
                    self.builder.name(&PropertyName::from_js(name.str()));
                }
                Todo::Close => self.builder.close(),
            }
        }
        Ok(())
    }

    fn value(&mut self, json: &'j Json) -> Result<(), Wrong> {
        match json {
            Json::Null => self.builder.null(),
            Json::Bool(bool) => self.builder.bool(*bool),
            Json::Number(number) => self.builder.number(*number),
            Json::Text(text) => self.builder.string(Text::of_str(text).str()),
            Json::Array(items) => {
                self.array(items)?;
            }
            Json::Object(members) => self.object(json, members)?,
        }
        Ok(())
    }

    fn array(&mut self, items: &'j [Json]) -> Result<ObjectId, Wrong> {
        let length = u32::try_from(items.len()).map_err(|_| "an array is too long".to_owned())?;
        let id = self.builder.begin_array(length);
        self.todo.push(Todo::Close);
        self.todo.extend(items.iter().rev().map(Todo::Value));
        Ok(id)
    }

    fn object(&mut self, json: &'j Json, members: &'j [(String, Json)]) -> Result<(), Wrong> {
        let (id, rest) = match members {
            [(name, id), rest @ ..] if name == "$id" => (Some(id.whole()?), rest),
            _ => (None, members),
        };
        if id.is_some_and(|id| self.known.contains_key(&id)) {
            return Err("two objects have one $id".to_owned());
        }
        let tag = rest.first().filter(|(name, _)| name.starts_with('$'));
        let Some((tag, value)) = tag else {
            let object = self.plain(rest)?;
            self.remember(id, object, None);
            return Ok(());
        };
        match (tag.as_str(), value) {
            ("$ref", reference) => return self.reference(reference.whole()?),
            ("$undefined", _) => self.builder.undefined(),
            ("$number", _) => self.builder.number(json.number()?),
            ("$bigint", text) => {
                let wire = bigint::wire(text.text()?)?;
                self.builder.bigint(as_bigint(&wire)?);
            }
            ("$utf16", _) => self.builder.string(Text::of(json)?.str()),
            ("$view", kind) => return self.view(id, kind.text()?, json),
            ("$arraybuffer", _) => {
                self.buffer(id, json)?;
            }
            _ => {
                let object = self.tagged(tag, value, json)?;
                self.remember(id, object, None);
            }
        }
        Ok(())
    }

    fn remember(&mut self, id: Option<u64>, object: ObjectId, buffer: Option<(BufferKind, usize)>) {
        if let Some(id) = id {
            self.known.insert(id, Known { id: object, buffer });
        }
    }

    /// An object that was written already, or stands out of line and is written here.
    fn reference(&mut self, id: u64) -> Result<(), Wrong> {
        if let Some(known) = self.known.get(&id) {
            self.builder.reference(known.id);
            return Ok(());
        }
        let deep = self.deep.remove(&id);
        let object = deep.ok_or_else(|| format!("there is no object before with the $id {id}"))?;
        self.todo.push(Todo::Value(object));
        Ok(())
    }

    /// The members of an object. Of two with one name the last counts, as JavaScript's parser has it.
    fn plain(&mut self, members: &'j [(String, Json)]) -> Result<ObjectId, Wrong> {
        let id = self.builder.begin_object();
        self.todo.push(Todo::Close);
        let mut seen = HashSet::new();
        for (name, value) in members.iter().rev() {
            if members.len() == 1 || seen.insert(name) {
                self.todo.push(Todo::Value(value));
                self.todo.push(Todo::OwnName(name));
            }
        }
        Ok(id)
    }

    /// `[[name, value], …]`
    fn pairs(&mut self, pairs: &'j Json, names: bool) -> Result<(), Wrong> {
        self.todo.push(Todo::Close);
        let mut seen = HashSet::new();
        for pair in pairs.items()?.iter().rev() {
            let [first, second] = pair.items()? else {
                return Err("a pair has two parts".to_owned());
            };
            if names && !seen.insert(Text::of(first)?.str().units().collect::<Vec<u16>>()) {
                continue;
            }
            self.todo.push(Todo::Value(second));
            self.todo.push(match names {
                true => Todo::Name(first),
                false => Todo::Value(first),
            });
        }
        Ok(())
    }

    /// Everything that has a tag of its own and an identity.
    fn tagged(&mut self, tag: &str, value: &'j Json, json: &'j Json) -> Result<ObjectId, Wrong> {
        let object = match tag {
            "$object" => {
                let id = self.builder.begin_object();
                self.pairs(value, true)?;
                return Ok(id);
            }
            "$items" => return self.array(value.items()?),
            "$array" => {
                let id = self.builder.begin_sparse_array(value.whole_u32()?);
                self.pairs(json.need("properties")?, true)?;
                return Ok(id);
            }
            "$map" => {
                let id = self.builder.begin_map();
                self.pairs(value, false)?;
                return Ok(id);
            }
            "$set" => {
                let id = self.builder.begin_set();
                self.todo.push(Todo::Close);
                self.todo
                    .extend(value.items()?.iter().rev().map(Todo::Value));
                return Ok(id);
            }
            "$error" => return self.error(value.text()?, json),
            "$date" => Object::Date(date(value)?),
            "$booleanobject" => Object::BooleanObject(value.bool()?),
            "$numberobject" => Object::NumberObject(value.number()?),
            "$bigintobject" => {
                let wire = bigint::wire(value.text()?)?;
                return Ok(self.builder.leaf(&Object::BigIntObject(as_bigint(&wire)?)));
            }
            "$stringobject" => {
                let text = Text::of(value)?;
                return Ok(self.builder.leaf(&Object::StringObject(text.str())));
            }
            "$regexp" => {
                let text = Text::of(value)?;
                let flags = flags(json.need("flags")?.text()?)?;
                let source = text.str();
                return Ok(self.builder.leaf(&Object::RegExp { source, flags }));
            }
            "$blob" if *value != Json::Null => host(HostObject::Blob(value.whole_u32()?)),
            "$file" if *value != Json::Null => host(HostObject::File(value.whole_u32()?)),
            "$imagedata" if is_plain_picture(json) => {
                let size = |name: &str| json.need(name)?.whole_u32();
                let (width, height, pixels) = (size("width")?, size("height")?, value.base64()?);
                let len = u64::from(width) * u64::from(height);
                if len.checked_mul(4) != Some(pixels.len() as u64) {
                    let what = format!(
                        "an ImageData of {width} by {height} has {} bytes",
                        pixels.len()
                    );
                    return Err(what);
                }
                let image = HostObject::ImageData(ImageData {
                    width,
                    height,
                    color_space: ColorSpace::Srgb,
                    format: PixelFormat::Rgba8,
                    pixels: &pixels,
                });
                return Ok(self.builder.leaf(&Object::Host(Box::new(image))));
            }
            "$filelist" => {
                let files = value.items()?.iter().map(Json::whole_u32);
                host(HostObject::FileList(files.collect::<Result<_, _>>()?))
            }
            other => {
                return Err(format!(
                    "{other} cannot be made from JSON: it needs the value's bytes in the member \"wire\""
                ));
            }
        };
        Ok(self.builder.leaf(&object))
    }

    fn error(&mut self, name: &str, json: &'j Json) -> Result<ObjectId, Wrong> {
        let text = |name: &str| json.get(name).map(Text::of).transpose();
        let (message, stack) = (text("message")?, text("stack")?);
        let cause = json.get("cause");
        let id = self.builder.begin_error(&ErrorObject {
            error_type: error_type(name)?,
            message: message.as_ref().map(Text::str),
            stack: stack.as_ref().map(Text::str),
            cause: None,
        });
        self.todo.push(Todo::Close);
        if let Some(cause) = cause {
            self.builder.cause();
            self.todo.push(Todo::Value(cause));
        }
        Ok(id)
    }

    fn buffer(&mut self, id: Option<u64>, json: &Json) -> Result<Known, Wrong> {
        let bytes = json.need("$arraybuffer")?.base64()?;
        let kind = match (json.get("maxByteLength"), json.get("immutable")) {
            (Some(max), _) => BufferKind::Resizable(max.whole()?),
            (None, Some(Json::Bool(true))) => BufferKind::Immutable,
            _ => BufferKind::Fixed,
        };
        if matches!(kind, BufferKind::Resizable(max) if max < bytes.len() as u64) {
            return Err("maxByteLength is less than the buffer's length".to_owned());
        }
        let bytes = &bytes[..];
        let object = self.builder.view_buffer(None, ArrayBuffer { bytes, kind });
        let buffer = Some((kind, bytes.len()));
        self.remember(id, object, buffer);
        Ok(Known { id: object, buffer })
    }

    fn view(&mut self, id: Option<u64>, kind: &str, json: &'j Json) -> Result<(), Wrong> {
        let buffer = json.need("buffer")?;
        let known = match buffer.get("$ref") {
            Some(reference) => {
                let reference = reference.whole()?;
                let known = self.known.get(&reference).copied();
                let known = known
                    .ok_or_else(|| format!("there is no buffer before with the $id {reference}"))?;
                self.builder.reference(known.id);
                known
            }
            None => {
                let id = buffer.get("$id").map(Json::whole).transpose()?;
                if id.is_some_and(|id| self.known.contains_key(&id)) {
                    return Err("two objects have one $id".to_owned());
                }
                self.buffer(id, buffer)?
            }
        };
        let (buffer_kind, len) = known.buffer.ok_or("a view is of a buffer")?;
        let size = |name: &str| {
            let size = json.need(name)?.whole()?;
            usize::try_from(size).map_err(|_| format!("{name} is too large"))
        };
        let view = View {
            kind: view_kind(kind)?,
            buffer: known.id,
            byte_offset: size("byteOffset")?,
            byte_length: size("byteLength")?,
            length_tracking: json.get("lengthTracking") == Some(&Json::Bool(true)),
        };
        let element = view.kind.element_len_bytes();
        let end = view.byte_offset.checked_add(view.byte_length);
        if end.is_none_or(|end| end > len)
            || !view.byte_offset.is_multiple_of(element)
            || !view.byte_length.is_multiple_of(element)
        {
            return Err(format!(
                "the {kind} does not lie within its buffer of {len} bytes"
            ));
        }
        let object = self.builder.view(&view, buffer_kind);
        self.remember(id, object, None);
        Ok(())
    }
}

/// Pixels in the form that all of Chromium's versions have.
fn is_plain_picture(json: &Json) -> bool {
    let is =
        |name: &str, word: &str| json.get(name).and_then(|text| text.text().ok()) == Some(word);
    is("colorSpace", "srgb") && is("format", "rgba8")
}

fn host(object: HostObject<'static>) -> Object<'static> {
    Object::Host(Box::new(object))
}

fn date(json: &Json) -> Result<f64, Wrong> {
    match json {
        Json::Null => Ok(f64::NAN),
        Json::Number(ms) => Ok(*ms),
        json => {
            let text = json.text()?;
            super::date::milliseconds(text).ok_or_else(|| format!("{json} is no date"))
        }
    }
}

fn as_bigint(wire: &[u8]) -> Result<BigInt<'_>, Wrong> {
    BigInt::from_wire(wire).map_err(|error| error.to_string())
}

fn flags(text: &str) -> Result<RegExpFlags, Wrong> {
    let bit = |letter: char| {
        let bit = "gimyus?dv"
            .chars()
            .position(|own| own == letter && own != '?')?;
        Some(1_u32 << bit)
    };
    let bits = text
        .chars()
        .try_fold(0, |bits, letter| Some(bits | bit(letter)?));
    bits.and_then(RegExpFlags::from_bits)
        .ok_or_else(|| format!("{text:?} are no flags of a regular expression"))
}

fn error_type(name: &str) -> Result<ErrorType, Wrong> {
    const ALL: [ErrorType; 7] = [
        ErrorType::Error,
        ErrorType::EvalError,
        ErrorType::RangeError,
        ErrorType::ReferenceError,
        ErrorType::SyntaxError,
        ErrorType::TypeError,
        ErrorType::UriError,
    ];
    let found = ALL.into_iter().find(|error| error.name() == name);
    found.ok_or_else(|| format!("{name:?} is no type of errors"))
}

fn view_kind(name: &str) -> Result<ViewKind, Wrong> {
    const ALL: [ViewKind; 13] = [
        ViewKind::Int8Array,
        ViewKind::Uint8Array,
        ViewKind::Uint8ClampedArray,
        ViewKind::Int16Array,
        ViewKind::Uint16Array,
        ViewKind::Int32Array,
        ViewKind::Uint32Array,
        ViewKind::Float16Array,
        ViewKind::Float32Array,
        ViewKind::Float64Array,
        ViewKind::BigInt64Array,
        ViewKind::BigUint64Array,
        ViewKind::DataView,
    ];
    let found = ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("{name:?} is no kind of views"))
}
