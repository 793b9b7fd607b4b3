//! Values of the engine to bytes (HTML, StructuredSerializeForStorage; V8's wire format).
//!
//! The walk keeps its own stack, which ends where readers do ([`DEPTH_MAX`]). Getters run in the order of properties; what they throw ends it.

use std::collections::HashMap;
use std::vec::IntoIter;

use larder_codec::value::{
    ArrayBuffer, BigInt, BufferKind, Builder, DEPTH_MAX, Decoder, Envelope, ErrorObject, ErrorType,
    HostObject, Needs, Object, ObjectId, PropertyName, RegExpFlags, View, ViewKind,
};
use rquickjs::object::Filter;
use rquickjs::{Array, Atom, Ctx, Exception, Function, Object as QuickObject, Result, Type, Value};

use super::Helpers;
use super::base64;
use super::platform;
use super::read_in;
use super::text::Text;

/// A serialised value.
pub(crate) struct Serialized<'js> {
    /// Blink's envelope and V8's wire format.
    pub(crate) bytes: Vec<u8>,
    /// Which versions of these have a form for it.
    pub(crate) needs: Needs,
    /// The `Blob`s and `File`s in it; the bytes refer to them by position.
    pub(crate) blobs: Vec<Value<'js>>,
    /// The tokens of its file system handles; the bytes refer to them by position, too.
    pub(crate) tokens: Vec<Vec<u8>>,
}

/// Serialises a value.
///
/// # Errors
/// `DataCloneError` for what cannot be cloned, `RangeError` for more than [`DEPTH_MAX`] containers one inside the other, and
/// whatever the value's getters throw.
pub(crate) fn serialize<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers,
    value: Value<'js>,
) -> Result<Serialized<'js>> {
    let mut bytes = Vec::with_capacity(128);
    let mut walk = Walk {
        ctx,
        helpers,
        inspect: helpers.inspect(ctx)?,
        builder: Builder::begin(&mut bytes),
        seen: HashMap::new(),
        frames: Vec::new(),
        blobs: Vec::new(),
        tokens: Vec::new(),
    };
    walk.value(value)?;
    while let Some(frame) = walk.frames.last_mut() {
        match frame.next(&mut walk.builder, helpers)? {
            Some(value) => walk.value(value)?,
            None => {
                walk.builder.close();
                walk.frames.pop();
            }
        }
    }
    let Walk {
        builder,
        blobs,
        tokens,
        ..
    } = walk;
    let needs = builder.end();
    Ok(Serialized {
        bytes,
        needs,
        blobs,
        tokens,
    })
}

struct Walk<'w, 'js> {
    ctx: &'w Ctx<'js>,
    helpers: &'w Helpers,
    inspect: Function<'js>,
    builder: Builder<'w>,
    /// Objects that have been begun. They are kept alive, so that none takes another's place.
    seen: HashMap<Value<'js>, ObjectId>,
    frames: Vec<Frame<'js>>,
    blobs: Vec<Value<'js>>,
    tokens: Vec<Vec<u8>>,
}

/// A container of which some parts are still to come.
enum Frame<'js> {
    /// The own properties of an object, or of an array those that are no elements or, if it has holes,
    /// all.
    Properties(QuickObject<'js>, IntoIter<Atom<'js>>),
    /// Elements of an array without holes, then its other properties.
    Elements {
        array: QuickObject<'js>,
        /// An element that has been read already.
        pending: Option<Value<'js>>,
        at: u32,
        length: u32,
        rest: IntoIter<Atom<'js>>,
    },
    /// Parts of a map or set, or an error's cause, as they were when it was begun.
    Values(IntoIter<Value<'js>>),
}

impl<'js> Frame<'js> {
    /// The next value inside, whose name has been written; `None` at the end.
    fn next(&mut self, builder: &mut Builder<'_>, helpers: &Helpers) -> Result<Option<Value<'js>>> {
        match self {
            Self::Properties(object, keys) => next_property(object, keys, builder, helpers),
            Self::Elements {
                array,
                pending,
                at,
                length,
                rest,
            } => {
                if *at == *length {
                    return next_property(array, rest, builder, helpers);
                }
                let index = *at;
                *at += 1;
                match pending.take() {
                    Some(value) => Ok(Some(value)),
                    None => array.get(index).map(Some),
                }
            }
            Self::Values(values) => Ok(values.next()),
        }
    }
}

fn next_property<'js>(
    object: &QuickObject<'js>,
    keys: &mut IntoIter<Atom<'js>>,
    builder: &mut Builder<'_>,
    helpers: &Helpers,
) -> Result<Option<Value<'js>>> {
    for key in keys {
        let name = key.to_js_string()?;
        let value: Value<'js> = object.get(key)?;
        // A getter before this one may have removed the property.
        if value.is_undefined()
            && !helpers.call::<_, bool>(object.ctx(), "hasOwn", (object.clone(), name.clone()))?
        {
            continue;
        }
        let text = Text::of(helpers, &name)?;
        builder.name(&PropertyName::from_js(text.as_js_str()));
        return Ok(Some(value));
    }
    Ok(None)
}

impl<'js> Walk<'_, 'js> {
    fn refuse<T>(&self, why: &str) -> Result<T> {
        Err(Exception::throw_dom(self.ctx, "DataCloneError", why))
    }

    /// Goes into a container. In a browser, whose walk recurses, its stack ends at some thousands.
    fn open(&mut self, frame: Frame<'js>) -> Result<()> {
        if self.frames.len() >= DEPTH_MAX {
            let what = format!(
                "Maximum call stack size exceeded: more than {DEPTH_MAX} objects are one inside the other."
            );
            return Err(Exception::throw_range(self.ctx, &what));
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Writes a value; if it is a container, its beginning.
    fn value(&mut self, value: Value<'js>) -> Result<()> {
        match value.type_of() {
            Type::Undefined => self.builder.undefined(),
            Type::Null => self.builder.null(),
            Type::Bool => self.builder.bool(value.as_bool().unwrap_or(false)),
            Type::Int | Type::Float => self.builder.number(value.as_number().unwrap_or(f64::NAN)),
            Type::String => {
                if let Some(string) = value.as_string() {
                    let text = Text::of(self.helpers, string)?;
                    self.builder.string(text.as_js_str());
                }
            }
            Type::BigInt => {
                let wire = bigint_wire(self.ctx, self.helpers, value)?;
                self.builder.bigint(as_bigint(self.ctx, &wire)?);
            }
            Type::Symbol => return self.refuse("A symbol could not be cloned."),
            _ => return self.object(value),
        }
        Ok(())
    }

    fn object(&mut self, value: Value<'js>) -> Result<()> {
        if let Some(id) = self.seen.get(&value) {
            self.builder.reference(*id);
            return Ok(());
        }
        if value.is_proxy() {
            return self.refuse("A proxy could not be cloned.");
        }
        if value.is_function() {
            return self.refuse("A function could not be cloned.");
        }
        if value.is_promise() {
            return self.refuse("A promise could not be cloned.");
        }
        let Some(object) = value.as_object() else {
            return self.refuse("Something of the engine's could not be cloned.");
        };
        if value.is_array() {
            return self.array(object.clone());
        }
        let found: Value<'js> = self.inspect.call((value.clone(),))?;
        if let Some(why) = found.as_string() {
            return self.refuse(&why.to_string()?);
        }
        match found.into_array() {
            None => self.plain(value),
            Some(found) => self.special(value, &found),
        }
    }

    fn plain(&mut self, value: Value<'js>) -> Result<()> {
        let id = self.builder.begin_object();
        if let Some(object) = value.as_object() {
            let keys = own_keys(object)?;
            self.open(Frame::Properties(object.clone(), keys))?;
        }
        self.seen.insert(value, id);
        Ok(())
    }

    /// V8 writes an array densely if it has no holes, and its numbers as doubles if it has nothing
    /// else and not all are small integers.
    fn array(&mut self, array: QuickObject<'js>) -> Result<()> {
        let keys: Vec<Atom<'js>> = own_keys(&array)?.collect();
        let length = array.get::<_, f64>("length")? as u32;
        let mut elements = 0;
        for key in keys.iter().take(length as usize) {
            if *key != Atom::from_u32(self.ctx.clone(), elements)? {
                break;
            }
            elements += 1;
        }
        let mut keys = keys.into_iter();
        if elements < length {
            let id = self.builder.begin_sparse_array(length);
            self.seen.insert(array.clone().into_value(), id);
            return self.open(Frame::Properties(array, keys));
        }
        let id = self.builder.begin_array(length);
        self.seen.insert(array.clone().into_value(), id);
        let (numbers, pending) = leading_numbers(&array, length)?;
        let all = numbers.len() == length as usize;
        let doubles = all && numbers.iter().any(|number| !is_small_integer(*number));
        for number in &numbers {
            if doubles {
                self.builder.double(*number);
            } else {
                self.builder.number(*number);
            }
        }
        keys.by_ref().take(length as usize).for_each(drop);
        self.open(Frame::Elements {
            array,
            pending,
            at: u32::try_from(numbers.len()).unwrap_or(length),
            length,
            rest: keys,
        })
    }

    /// An object that `inspect` has found to be of a class of its own: kind and content.
    fn special(&mut self, value: Value<'js>, found: &Array<'js>) -> Result<()> {
        let kind: u32 = found.get(0)?;
        let id = match kind {
            1 => self.builder.leaf(&Object::Date(found.get(1)?)),
            2 => self.regexp(&value, found)?,
            3 | 4 => {
                let parts: Vec<Value<'js>> = found.get(1)?;
                let id = match kind {
                    3 => self.builder.begin_map(),
                    _ => self.builder.begin_set(),
                };
                self.open(Frame::Values(parts.into_iter()))?;
                id
            }
            5 => self.builder.leaf(&Object::BooleanObject(found.get(1)?)),
            6 => self.builder.leaf(&Object::NumberObject(found.get(1)?)),
            7 => {
                let text = self.text(found.get(1)?)?;
                self.builder.leaf(&Object::StringObject(text.as_js_str()))
            }
            8 => {
                let wire = bigint_wire(self.ctx, self.helpers, found.get(1)?)?;
                let bigint = as_bigint(self.ctx, &wire)?;
                self.builder.leaf(&Object::BigIntObject(bigint))
            }
            9 => self.buffer(None, &value, found)?.0,
            10 => return self.view(value, found),
            11 => self.error(found)?,
            12 => self.dom_exception(found)?,
            _ => self.platform(&value, found)?,
        };
        self.seen.insert(value, id);
        Ok(())
    }

    fn text(&self, value: Value<'js>) -> Result<Text> {
        match value.as_string() {
            Some(string) => Text::of(self.helpers, string),
            None => Ok(Text::Utf8(String::new())),
        }
    }

    fn regexp(&mut self, value: &Value<'js>, found: &Array<'js>) -> Result<ObjectId> {
        let source = self.text(found.get(1)?)?;
        let letters: String = found.get(2)?;
        let all = (0..16).filter_map(|bit| RegExpFlags::from_bits(1 << bit));
        let bits = all
            .filter(|flag| letters.contains(&flag.to_string()))
            .fold(0, |bits, flag| bits | u32::from(flag.bits()));
        let Some(flags) = RegExpFlags::from_bits(bits) else {
            return self.refuse("A regular expression has flags that could not be cloned.");
        };
        let source = source.as_js_str();
        self.leaf(value, &Object::RegExp { source, flags })
    }

    /// A buffer that `inspect` has found; `known` if it has been written before.
    fn buffer(
        &mut self,
        known: Option<ObjectId>,
        value: &Value<'js>,
        found: &Array<'js>,
    ) -> Result<(ObjectId, BufferKind)> {
        let encoded: String = found.get(1)?;
        let Some(bytes) = base64::decode(encoded.as_bytes()) else {
            return self.refuse("An ArrayBuffer could not be read.");
        };
        let max: Option<f64> = found.get(2)?;
        let kind = match max {
            Some(max) => BufferKind::Resizable(max as u64),
            None if found.get(3)? => BufferKind::Immutable,
            None => BufferKind::Fixed,
        };
        let buffer = ArrayBuffer {
            bytes: &bytes,
            kind,
        };
        let id = match known {
            Some(_) => self.builder.view_buffer(known, buffer),
            None => self.leaf(value, &Object::ArrayBuffer(buffer))?,
        };
        Ok((id, kind))
    }

    /// A view: V8 writes its buffer in front of it, and gives it the number after that.
    fn view(&mut self, value: Value<'js>, found: &Array<'js>) -> Result<()> {
        let name: String = found.get(1)?;
        let buffer: Value<'js> = found.get(2)?;
        let inspected: Value<'js> = self.inspect.call((buffer.clone(),))?;
        let Some(inside) = inspected.as_array() else {
            return self.refuse("An ArrayBuffer is detached and could not be cloned.");
        };
        let (id, kind) = self.buffer(self.seen.get(&buffer).copied(), &buffer, inside)?;
        self.seen.insert(buffer, id);
        let Some(view_kind) = VIEWS.into_iter().find(|kind| kind.name() == name) else {
            return self.refuse("A view of an unknown class could not be cloned.");
        };
        let view = View {
            kind: view_kind,
            buffer: id,
            byte_offset: found.get::<f64>(3)? as usize,
            byte_length: found.get::<f64>(4)? as usize,
            length_tracking: found.get(5)?,
        };
        self.begin_read(&value, &Object::View(view))?;
        let id = self.builder.view(&view, kind);
        self.builder.set_read_in(None);
        self.seen.insert(value, id);
        Ok(())
    }

    fn error(&mut self, found: &Array<'js>) -> Result<ObjectId> {
        let name: String = found.get(1)?;
        let texts: [Option<Value<'js>>; 2] = [found.get(2)?, found.get(3)?];
        let [message, stack] = texts.map(|text| text.map(|value| self.text(value)));
        let (message, stack) = (message.transpose()?, stack.transpose()?);
        let types = [
            ErrorType::EvalError,
            ErrorType::RangeError,
            ErrorType::ReferenceError,
            ErrorType::SyntaxError,
            ErrorType::TypeError,
            ErrorType::UriError,
        ];
        let error_type = types.into_iter().find(|known| known.name() == name);
        let id = self.builder.begin_error(&ErrorObject {
            error_type: error_type.unwrap_or_default(),
            message: message.as_ref().map(Text::as_js_str),
            stack: stack.as_ref().map(Text::as_js_str),
            cause: None,
        });
        let mut inside = Vec::new();
        if found.get(4)? {
            self.builder.cause();
            inside.push(found.get(5)?);
        }
        self.open(Frame::Values(inside.into_iter()))?;
        Ok(id)
    }

    fn dom_exception(&mut self, found: &Array<'js>) -> Result<ObjectId> {
        let name = self.text(found.get(1)?)?;
        let message = self.text(found.get(2)?)?;
        let stack = self.text(found.get(3)?)?;
        Ok(self.host(HostObject::DomException {
            name: name.as_js_str(),
            message: message.as_js_str(),
            stack: stack.as_js_str(),
        }))
    }

    fn host(&mut self, host: HostObject<'_>) -> ObjectId {
        self.builder.leaf(&Object::Host(Box::new(host)))
    }

    /// An object without values inside, of which it may be kept what it was read in.
    fn leaf(&mut self, value: &Value<'js>, object: &Object<'_>) -> Result<ObjectId> {
        self.begin_read(value, object)?;
        let id = self.builder.leaf(object);
        self.builder.set_read_in(None);
        Ok(id)
    }

    fn begin_read(&mut self, value: &Value<'js>, object: &Object<'_>) -> Result<()> {
        if object.is_of_some_versions() {
            let version = read_in::of(self.ctx, self.helpers, value)?;
            self.builder.set_read_in(version);
        }
        Ok(())
    }

    /// An object of the web platform: its kind, and what else there is to it.
    fn platform(&mut self, value: &Value<'js>, found: &Array<'js>) -> Result<ObjectId> {
        let kind: String = found.get(1)?;
        let host = match kind.as_str() {
            // One that is being transferred. What lies beside the bytes need not be a blob.
            "Blob" | "MessagePort" => HostObject::Blob(self.blob(value.clone())),
            "File" => HostObject::File(self.blob(value.clone())),
            "FileList" => {
                let files: Vec<Value<'js>> = found.get(2)?;
                let files = files.into_iter().map(|file| self.blob(file)).collect();
                HostObject::FileList(files)
            }
            "ImageData" => return self.image_data(value, &found.get(2)?),
            "opaque" => return self.opaque(value, &found.get(2)?),
            kind => match platform::geometry(kind, &found.get(2)?)? {
                Some(host) => host,
                None => return self.refuse("A platform object could not be cloned."),
            },
        };
        Ok(self.host(host))
    }

    fn image_data(&mut self, value: &Value<'js>, fields: &Array<'js>) -> Result<ObjectId> {
        let pixels: String = fields.get(4)?;
        let pixels = base64::decode(pixels.as_bytes()).unwrap_or_default();
        let image = platform::image_data(fields, &pixels)?;
        match image {
            Some(image) => self.leaf(value, &Object::Host(Box::new(HostObject::ImageData(image)))),
            None => self.refuse("An ImageData could not be cloned."),
        }
    }

    /// What was read and is to be written as it was. Of a file system handle the token gets another place.
    fn opaque(&mut self, value: &Value<'js>, fields: &Array<'js>) -> Result<ObjectId> {
        let token: Value<'js> = fields.get(1)?;
        let bytes = self.helpers.bytes_of(self.ctx, fields.get(0)?)?;
        let mut decoder = Decoder::new();
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
            return self.refuse("A platform object could not be cloned.");
        };
        let Ok(tree) = decoder.decode(&payload) else {
            return self.refuse("A platform object could not be cloned.");
        };
        let Some(Object::Host(host)) = tree.objects().next() else {
            return self.refuse("A platform object could not be cloned.");
        };
        let mut host = (**host).clone();
        if let HostObject::FileSystemHandle(handle) = &mut host {
            handle.token_index = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
            self.tokens.push(self.helpers.bytes_of(self.ctx, token)?);
        }
        self.leaf(value, &Object::Host(Box::new(host)))
    }

    fn blob(&mut self, blob: Value<'js>) -> u32 {
        self.blobs.push(blob);
        u32::try_from(self.blobs.len() - 1).unwrap_or(u32::MAX)
    }
}

const VIEWS: [ViewKind; 13] = [
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

/// The own enumerable properties with names, in JavaScript's order.
fn own_keys<'js>(object: &QuickObject<'js>) -> Result<IntoIter<Atom<'js>>> {
    let keys: Result<Vec<_>> = object.own_keys::<Atom<'js>>(Filter::default()).collect();
    Ok(keys?.into_iter())
}

/// Elements from the front as long as they are numbers, and the first that is none.
fn leading_numbers<'js>(
    array: &QuickObject<'js>,
    length: u32,
) -> Result<(Vec<f64>, Option<Value<'js>>)> {
    let mut numbers = Vec::new();
    for index in 0..length {
        let value: Value<'js> = array.get(index)?;
        match value.as_number() {
            Some(number) => numbers.push(number),
            None => return Ok((numbers, Some(value))),
        }
    }
    Ok((numbers, None))
}

/// Whether V8 keeps a number as a small integer: 31 bits, and not -0.
fn is_small_integer(number: f64) -> bool {
    const MIN: f64 = -1_073_741_824.0;
    const MAX: f64 = 1_073_741_823.0;
    (MIN..=MAX).contains(&number)
        && number.fract() == 0.0
        && !(number == 0.0 && number.is_sign_negative())
}

/// A BigInt as it stands on the wire.
fn bigint_wire<'js>(ctx: &Ctx<'js>, helpers: &Helpers, value: Value<'js>) -> Result<Vec<u8>> {
    let hex: String = helpers.make(ctx, "hex", (value,))?;
    let (negative, digits) = match hex.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, hex.as_str()),
    };
    let digits = digits.as_bytes();
    let mut magnitude: Vec<u8> = digits
        .rchunks(2)
        .map(|pair| {
            pair.iter()
                .fold(0, |byte, digit| byte << 4 | nibble(*digit))
        })
        .collect();
    while magnitude.last() == Some(&0) {
        magnitude.pop();
    }
    let mut wire = Vec::with_capacity(magnitude.len() + 5);
    let mut field = (magnitude.len() as u64) << 1 | u64::from(negative);
    while field > 0x7f {
        wire.push(field.to_le_bytes()[0] | 0x80);
        field >>= 7;
    }
    wire.push(field.to_le_bytes()[0]);
    wire.append(&mut magnitude);
    Ok(wire)
}

fn nibble(digit: u8) -> u8 {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
        .unwrap_or(0)
}

fn as_bigint<'w>(ctx: &Ctx<'_>, wire: &'w [u8]) -> Result<BigInt<'w>> {
    let too_long = |_| Exception::throw_dom(ctx, "DataCloneError", "A BigInt is too long.");
    BigInt::from_wire(wire).map_err(too_long)
}
