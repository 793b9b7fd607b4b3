//! [`Foreign`]: bytes of another engine's wire format, in a value that Chromium and every reader here take for an ordinary one.
//!
//! SpiderMonkey, JavaScriptCore and LibJS serialise values in formats of their own, which this crate does not read. Such bytes
//! are stored as an `ArrayBuffer` in a plain object that says whose they are (`docs/format/values.md`, part 7). What the bytes
//! mean is not asked here.

use super::buffer::ArrayBuffer;
use super::decode::Decoder;
use super::envelope::Payload;
use super::js_str::JsStr;
use super::needs::Needs;
use super::node::{Object, PropertyName, Value};
use super::reader::{Reader, error, invalid};
use super::tag::v8 as tag;
use super::tree::Tree;
use super::{BufferKind, Builder};
use crate::{ErrorKind, Result};

/// The names of the properties, in their order. None is the beginning of a key path: those have neither colon nor hyphen.
const ENGINE: &str = "larder:engine";
const FORMAT: &str = "larder:format";
const BYTES: &str = "larder:bytes";
/// What stands behind the bytes: the end of an object of three properties.
const END: [u8; 2] = [tag::END_OBJECT, 3];

/// Whose format the bytes have, and the bytes.
///
/// As a value of JavaScript it is `{"larder:engine": engine, "larder:format": format, "larder:bytes": ArrayBuffer}`. Property
/// names like these cannot be steps of a key path, so no key path leads into it, and a key that is put in from outside (a
/// generated one) comes behind them.
///
/// ```
/// use larder_codec::value::{Foreign, Payload};
///
/// let mut value = Vec::new();
/// Foreign::new("gecko", 8, b"\x01\x02")?.write(&mut value);
/// let foreign = Foreign::read(&Payload::read(&value)?).unwrap();
/// assert_eq!((foreign.engine(), foreign.format(), foreign.bytes()), ("gecko", 8, &b"\x01\x02"[..]));
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign<'a> {
    engine: &'a str,
    format: u32,
    bytes: &'a [u8],
}

impl<'a> Foreign<'a> {
    /// How many properties it has as an object.
    pub const PROPERTIES: usize = 3;
    /// The longest name of an engine, in bytes.
    pub const ENGINE_LEN_MAX: usize = 64;

    /// Bytes in version `format` of the wire format of `engine`.
    ///
    /// # Errors
    /// If the name is empty, longer than [`ENGINE_LEN_MAX`](Self::ENGINE_LEN_MAX), or has anything but printable ASCII
    /// without blanks in it.
    pub fn new(engine: &'a str, format: u32, bytes: &'a [u8]) -> Result<Self> {
        const WHAT: &str = "name of an engine";
        let len = engine.len();
        if len > Self::ENGINE_LEN_MAX {
            let limit = Self::ENGINE_LEN_MAX as u64;
            return error(ErrorKind::LimitExceeded { limit }, 0, WHAT);
        }
        match engine.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(at) => invalid(u64::from(engine.as_bytes()[at]), at, WHAT),
            None if len == 0 => error(ErrorKind::Truncated { missing: 1 }, 0, WHAT),
            None => Ok(Self {
                engine,
                format,
                bytes,
            }),
        }
    }

    /// The engine's name.
    #[must_use]
    pub const fn engine(&self) -> &'a str {
        self.engine
    }

    /// The version of its wire format.
    #[must_use]
    pub const fn format(&self) -> u32 {
        self.format
    }

    /// What it has serialised.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Appends the value to `out`.
    pub fn write(&self, out: &mut Vec<u8>) -> Needs {
        let name = |name| PropertyName::String(JsStr::from(name));
        // Headers, names and numbers take less than 128 bytes.
        out.reserve(self.bytes.len() + self.engine.len() + 128);
        let mut builder = Builder::begin(out);
        builder.begin_object();
        builder.name(&name(ENGINE));
        builder.string(JsStr::from(self.engine));
        builder.name(&name(FORMAT));
        builder.number(f64::from(self.format));
        builder.name(&name(BYTES));
        let kind = BufferKind::Fixed;
        let bytes = self.bytes;
        builder.leaf(&Object::ArrayBuffer(ArrayBuffer { bytes, kind }));
        builder.close();
        builder.end()
    }

    /// Reads a value if it is one. The bytes are borrowed, and nothing is decoded but what stands around them, unless something stands
    /// behind them.
    ///
    /// Properties behind the three are passed over: a browser puts generated keys there, and what a page has copied has them.
    /// Anything else is an ordinary value, also what begins like one and is damaged: `None`.
    #[must_use]
    pub fn read(payload: &Payload<'a>) -> Option<Self> {
        let (wire, start) = payload.wire();
        let reader = Reader::starting_at(wire, start);
        begins_like_one(reader)?;
        Self::read_written(reader).or_else(|| {
            let tree = Decoder::new().decode(payload).ok()?;
            Self::of_tree(&tree)
        })
    }

    /// What [`read`](Self::read) gives of the value's bytes.
    #[must_use]
    pub fn of_tree(tree: &Tree<'a>) -> Option<Self> {
        let Value::Object(root) = tree.root() else {
            return None;
        };
        let Object::Plain(properties) = tree.object(root) else {
            return None;
        };
        let [engine, format, bytes, ..] = tree.properties(*properties) else {
            return None;
        };
        let named = [(engine, ENGINE), (format, FORMAT), (bytes, BYTES)];
        let are_named = named.iter().all(|(property, name)| {
            matches!(property.name, PropertyName::String(JsStr::Latin1(found)) if found == name.as_bytes())
        });
        let (
            true,
            Value::String(JsStr::Latin1(engine)),
            Value::Number(format),
            Value::Object(bytes),
        ) = (are_named, engine.value, format.value, bytes.value)
        else {
            return None;
        };
        let buffer = tree.array_buffer(bytes)?;
        (buffer.kind == BufferKind::Fixed).then_some(())?;
        let engine = std::str::from_utf8(engine).ok()?;
        Self::new(engine, whole(format)?, buffer.bytes).ok()
    }

    /// Reads the bytes if [`write`](Self::write) has written them, to the last one.
    fn read_written(mut reader: Reader<'a>) -> Option<Self> {
        expect(&mut reader, tag::BEGIN_OBJECT)?;
        expect_name(&mut reader, ENGINE)?;
        let engine = one_byte_string(&mut reader)?;
        expect_name(&mut reader, FORMAT)?;
        let format = match reader.byte("tag").ok()? {
            tag::INT32 => u32::try_from(reader.zigzag("number").ok()?).ok()?,
            tag::DOUBLE => whole(reader.f64("number").ok()?)?,
            _ => return None,
        };
        expect_name(&mut reader, BYTES)?;
        expect(&mut reader, tag::ARRAY_BUFFER)?;
        let buffer = ArrayBuffer::read(&mut reader, tag::ARRAY_BUFFER).ok()?;
        (reader.rest() == END).then_some(())?;
        let engine = std::str::from_utf8(engine).ok()?;
        Self::new(engine, format, buffer.bytes).ok()
    }
}

/// Nothing for almost every value that is none, at little cost.
fn begins_like_one(mut reader: Reader<'_>) -> Option<()> {
    (next_tag(&mut reader)? == tag::BEGIN_OBJECT).then_some(())?;
    (next_tag(&mut reader)? == tag::ONE_BYTE_STRING).then_some(())?;
    reader.varint_u32("length of a string").ok()?;
    reader.rest().starts_with(ENGINE.as_bytes()).then_some(())
}

/// Behind what V8 passes over in front of one.
fn next_tag(reader: &mut Reader<'_>) -> Option<u8> {
    loop {
        match reader.byte("tag").ok()? {
            tag::PADDING => {}
            tag::VERIFY_OBJECT_COUNT => drop(reader.varint_u32("object count").ok()?),
            tag => return Some(tag),
        }
    }
}

fn expect(reader: &mut Reader<'_>, tag: u8) -> Option<()> {
    (reader.byte("tag").ok()? == tag).then_some(())
}

fn one_byte_string<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    expect(reader, tag::ONE_BYTE_STRING)?;
    let len = usize::try_from(reader.varint_u32("length of a string").ok()?).ok()?;
    reader.bytes(len, "string").ok()
}

fn expect_name(reader: &mut Reader<'_>, name: &str) -> Option<()> {
    (one_byte_string(reader)? == name.as_bytes()).then_some(())
}

/// A number that is a whole one of 32 bits.
fn whole(number: f64) -> Option<u32> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "compared with the original right after"
    )]
    let whole = number as u32;
    (f64::from(whole).to_bits() == number.to_bits()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;
    use crate::idb_key::Key;
    use crate::value::{Encoder, Evaluated, Evaluator, ParsedKeyPath};
    use crate::{DataVersion, KeyPath};

    fn written(engine: &str, format: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Foreign::new(engine, format, bytes).unwrap().write(&mut out);
        out
    }

    /// Reads in both ways, which must agree.
    fn read(value: &[u8]) -> Option<Foreign<'_>> {
        let payload = Payload::read(value).ok()?;
        let found = Foreign::read(&payload);
        let tree = Decoder::new().decode(&payload);
        let of_tree = tree.ok().as_ref().and_then(Foreign::of_tree);
        assert_eq!(found, of_tree, "{}", value.escape_ascii());
        found
    }

    fn path(text: &str) -> ParsedKeyPath {
        ParsedKeyPath::new(&KeyPath::String(text.into())).unwrap()
    }

    quickcheck! {
        fn what_is_written_is_read_with_its_bytes_borrowed(format: u32, bytes: Vec<u8>) -> bool {
            let value = written("javascriptcore", format, &bytes);
            let foreign = read(&value).unwrap();
            let is_within = value.as_ptr_range().contains(&foreign.bytes().as_ptr());
            (is_within || bytes.is_empty())
                && (foreign.engine(), foreign.format(), foreign.bytes()) == ("javascriptcore", format, &*bytes)
        }
    }

    #[test]
    fn it_is_an_object_of_three_properties_in_all_versions_that_values_are_written_in() {
        let mut value = Vec::new();
        let needs = Foreign::new("gecko", 1 << 31, b"\x07")
            .unwrap()
            .write(&mut value);
        for version in [(13, 17), (13, 20), (15, 21), (16, 21)] {
            let (v8, blink) = version;
            let mut value = value.clone();
            assert!(needs.restate(DataVersion { v8, blink }, &mut value));
            let tree = Decoder::new()
                .decode(&Payload::read(&value).unwrap())
                .unwrap();
            assert_eq!(
                serde_json::to_string(&tree).unwrap(),
                r#"{"larder:engine":"gecko","larder:format":2147483648,"larder:bytes":{"$arraybuffer":"Bw=="}}"#
            );
            // What V8 writes when a page has read it and puts it again.
            let mut again = Vec::new();
            Encoder::new().encode(&tree, &mut again);
            assert_eq!(
                read(&again),
                Some(Foreign::new("gecko", 1 << 31, b"\x07").unwrap())
            );
            assert_eq!(read(&value), read(&again));
        }
    }

    #[test]
    fn names_of_engines_are_short_printable_ascii() {
        for refused in ["", "a b", "gecko\n", "ö", &"x".repeat(65)] {
            assert!(Foreign::new(refused, 1, b"").is_err(), "{refused:?}");
        }
        assert!(Foreign::new(&"x".repeat(64), 1, b"").is_ok());
    }

    #[test]
    fn no_key_path_leads_into_it_and_a_key_put_in_leaves_it_what_it_is() {
        let value = written("gecko", 8, b"opaque");
        let payload = Payload::read(&value).unwrap();
        let mut evaluator = Evaluator::new();
        for steps in ["larder", "engine", "bytes", "length", "a.b"] {
            let found = evaluator.evaluate(&path(steps), &payload, &[]).unwrap();
            assert_eq!(found, Evaluated::Missing, "{steps}");
        }
        let keys = [Key::Number(7.0), Key::from("x"), Key::Binary(vec![1])];
        for (key, steps) in keys.iter().flat_map(|key| [(key, "id"), (key, "a.b.c")]) {
            let mut with_key = Vec::new();
            assert!(
                evaluator
                    .inject(&path(steps), key, &payload, &mut with_key)
                    .unwrap()
            );
            assert_eq!(
                read(&with_key),
                Some(Foreign::new("gecko", 8, b"opaque").unwrap())
            );
        }
    }

    #[test]
    fn what_is_cut_or_changed_is_no_foreign_value_or_another_one_and_never_read_past_its_end() {
        let value = written("gecko", 300, b"opaque bytes");
        let whole = read(&value).unwrap();
        for len in 0..value.len() {
            assert_eq!(read(&value[..len]), None, "cut to {len}");
        }
        for at in 0..value.len() {
            for byte in 0..=u8::MAX {
                let mut changed = value.clone();
                changed[at] = byte;
                let Some(found) = read(&changed) else {
                    continue;
                };
                assert!(found == whole || changed[at] != value[at]);
            }
        }
    }

    #[test]
    fn imitations_with_other_shapes_are_ordinary_values() {
        const HEAD: &[u8] = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fo\"\x0dlarder:engine";
        let middle = |engine: &[u8], format: &[u8], rest: &[u8]| {
            let names = [
                &b"\"\x0dlarder:format"[..],
                format,
                b"\"\x0clarder:bytes",
                rest,
            ];
            [HEAD, engine, &names.concat()].concat()
        };
        assert!(read(&middle(b"\"\x01x", b"I\x02", b"B\x01\x00{\x03")).is_some());
        // As V8 could write it.
        let padded = middle(b"\0?\x05\"\x01x", b"\0U\x02", b"\0B\x01\x00{\x03\0");
        assert_eq!(read(&padded), Some(Foreign::new("x", 2, b"\0").unwrap()));
        // Names that are numbers come first in JavaScript's order.
        let numbered = middle(b"\"\x01x", b"I\x02", b"B\x01\x00I\x02T{\x04");
        assert_eq!(read(&numbered), None);
        let others: [(&[u8], &[u8], &[u8]); 7] = [
            (b"\"\x00", b"I\x02", b"B\x01\x00{\x03"),   // no name
            (b"\"\x01 ", b"I\x02", b"B\x01\x00{\x03"),  // a blank
            (b"c\x02x\0", b"I\x02", b"B\x01\x00{\x03"), // a wide string
            (b"\"\x01x", b"I\x01", b"B\x01\x00{\x03"),  // version -1
            (b"\"\x01x", b"T", b"B\x01\x00{\x03"),      // no number
            (b"\"\x01x", b"I\x02", b"B\x01\x00VB\x00\x01\x00{\x03"), // a Uint8Array
            (b"\"\x01x", b"I\x02", b"C\x01\x00{\x03"),  // an immutable buffer
        ];
        for (engine, format, rest) in others {
            let value = middle(engine, format, rest);
            assert_eq!(read(&value), None, "{}", value.escape_ascii());
            let payload = Payload::read(&value).unwrap();
            assert!(
                Decoder::new().decode(&payload).is_ok(),
                "{}",
                value.escape_ascii()
            );
        }
        // Damaged behind: more properties are said than there are.
        assert_eq!(read(&middle(b"\"\x01x", b"I\x02", b"B\x01\x00{\x04")), None);
    }
}
