//! Values: what a page stored, as Blink and V8 write it.
//!
//! A record's value is Blink's envelope around V8's wire format. [`Envelope`] takes the envelope
//! off: outermost possibly a blob in place of the bytes, then possibly Snappy, then version
//! headers. [`Decoder`] turns what is left into a [`Tree`], and a `Tree` serialises as JSON
//! (`docs/format/jsonl-values.md`). [`Encoder`] turns it into bytes again,
//! [`Builder`] writes bytes as a host walks values of its own, and [`wrap`] compresses
//! them or moves them to a blob. [`Overlay`] takes properties of two values. [`Evaluator`] finds keys in the bytes, [`serde`] makes values of
//! Rust's. [`Foreign`] is bytes of another engine's. Byte shapes: `docs/format/values.md`. Fetching
//! and storing blobs is not done here.
//!
//! ```
//! use larder_codec::value::{Decoder, Envelope, Object, Value};
//!
//! // `{a: 1}` as Chromium 156 stores it.
//! let bytes = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x10o\"\x01aI\x02{\x01";
//! let mut buffer = Vec::new();
//! let Envelope::Inline(payload) = Envelope::peel(bytes, &mut buffer)? else {
//!     unreachable!("this one is not in a blob")
//! };
//! let tree = Decoder::new().decode(&payload)?;
//! let Value::Object(id) = tree.root() else { unreachable!() };
//! let Object::Plain(properties) = tree.object(id) else { unreachable!() };
//! assert_eq!(tree.properties(*properties)[0].value, Value::Number(1.0));
//! assert_eq!(serde_json::to_string(&tree).unwrap(), r#"{"a":1}"#);
//! # Ok::<(), larder_codec::Error>(())
//! ```

mod bigint;
mod bits;
mod buffer;
mod builder;
mod date;
mod decode;
mod encode;
mod envelope;
mod foreign;
mod host;
mod js_str;
#[cfg(feature = "serde")]
mod json;
mod key_path;
mod names;
mod needs;
mod node;
mod number;
mod overlay;
mod reader;
mod regexp;
mod revision;
#[cfg(feature = "serde")]
pub mod serde;
mod tag;
mod tree;
#[cfg(test)]
mod vectors;
mod wrap;
mod writer;

pub use bigint::{BigInt, DECIMAL_LEN_BYTES_MAX};
pub use buffer::{ArrayBuffer, BufferKind, View, ViewKind};
pub use builder::Builder;
pub use date::{IsoDate, time_clip};
pub use decode::{DEPTH_MAX, Decoder};
pub use encode::Encoder;
pub use envelope::{Envelope, Payload};
pub use foreign::Foreign;
pub use host::{
    ColorSpace, CryptoKey, CryptoKeyAlgorithm, CryptoKeyType, CryptoKeyUsages, DomMatrix, DomPoint,
    DomRect, FileSystemHandle, HandleKind, HostObject, ImageBitmap, ImageData, LegacyFile,
    PixelFormat,
};
pub use js_str::{JsStr, Units};
#[cfg(feature = "serde")]
pub use json::DEPTH_INLINE_MAX;
pub use key_path::{Evaluated, Evaluator, ParsedKeyPath};
pub use needs::Needs;
pub use node::{
    Array, ErrorObject, ErrorType, Object, ObjectId, Property, PropertyName, Slot, Span, Value,
};
pub use number::JsNumber;
pub use overlay::{Overlay, Side};
pub use regexp::RegExpFlags;
pub use revision::{ChangedObjectStore, RevisionKind, RevisionRow, RevisionsReader, RevisionsRow};
pub use tree::{Tree, Versions};
pub use wrap::{COMPRESS_LEN_BYTES_MIN, INLINE_LEN_BYTES_MAX, WRAPPER_MIME_TYPE, Wrapped, wrap};
