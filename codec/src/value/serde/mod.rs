//! Rust values as JavaScript values, by way of serde: [`to_bytes`] and [`from_payload`].
//!
//! | Rust | JavaScript |
//! |---|---|
//! | `bool`, strings, `char` | the same |
//! | floats; integers up to 2^53 either way | number |
//! | integers beyond | BigInt |
//! | bytes (`serialize_bytes`) | `Uint8Array` on an `ArrayBuffer` of its own |
//! | `None`, `()`, unit structs | `null` |
//! | `Some(x)`, newtype structs | as `x` |
//! | sequences, tuples, tuple structs | array |
//! | structs; maps whose keys are text, numbers, `bool` or unit variants | object |
//! | unit variants | string |
//! | other variants | object with the variant's name as its only property |
//!
//! That is serde_json's mapping where JSON has a form; NaN, infinities and -0 survive here.
//! Reading takes more: `undefined` and holes as `null`, `Map` as map, `Set` as sequence, `Date` as
//! milliseconds, boxed primitives as primitives, every buffer and view as bytes, a `Uint8Array` as
//! sequence, too. Regular expressions, errors and objects of the web platform have no form, nor have
//! strings with lone surrogates and values that contain themselves. An object that occurs twice is
//! read twice.

mod de;
mod direct_de;
mod direct_ser;
mod key;
mod names;
mod ser;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::decode::Decoder;
use super::encode::Encoder;
use super::envelope::Payload;
use super::needs::Needs;
use super::tree::Tree;

/// Containers inside one another that are written and read: serde recurses.
pub const DEPTH_MAX: usize = 128;

/// The error for a value with more containers inside one another, or one that contains itself.
fn too_deep() -> SerdeError {
    SerdeError::new(format_args!(
        "more than {DEPTH_MAX} containers inside one another, or one inside itself"
    ))
}

/// Why a value cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerdeError {
    message: String,
    source: Option<crate::Error>,
}

impl SerdeError {
    fn new(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            source: None,
        }
    }

    /// The error by which [`direct_de`] stops; no caller sees it.
    const fn stop() -> Self {
        Self {
            message: String::new(),
            source: None,
        }
    }
}

impl fmt::Display for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SerdeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| -> &(dyn std::error::Error + 'static) { source })
    }
}

impl From<crate::Error> for SerdeError {
    fn from(error: crate::Error) -> Self {
        Self {
            message: format!("the value does not decode: {error}"),
            source: Some(error),
        }
    }
}

impl serde::ser::Error for SerdeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message)
    }
}

impl serde::de::Error for SerdeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message)
    }
}

/// Appends a value's bytes with their envelope: what stands behind a record's version, unless it is to be
/// [wrapped](super::wrap()). See the [table](self) of what becomes what. Returns which versions of the formats have a
/// form for it.
///
/// # Errors
/// If the value says so itself, a map's key is no text and nothing that has one, two names of an object are the same,
/// or more than [`DEPTH_MAX`] containers are inside one another. Nothing is appended then.
///
/// ```
/// use larder_codec::value::Envelope;
/// use larder_codec::value::serde::{from_payload, to_bytes};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Contact {
///     name: String,
///     age: Option<u8>,
///     id: u64,
/// }
/// let contact = Contact { name: "Ada".into(), age: None, id: u64::MAX };
/// let mut bytes = Vec::new();
/// to_bytes(&contact, &mut bytes)?;
/// let mut buffer = Vec::new();
/// let Envelope::Inline(payload) = Envelope::peel(&bytes, &mut buffer)? else {
///     unreachable!("nothing was moved to a blob")
/// };
/// assert_eq!(from_payload::<Contact>(&payload)?, contact);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_bytes<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<Needs, SerdeError> {
    match direct_ser::write(value, out) {
        Some(needs) => Ok(needs),
        None => to_bytes_by_tree(value, out),
    }
}

/// The naive twin of the short way through [`direct_ser`].
fn to_bytes_by_tree<T: Serialize + ?Sized>(
    value: &T,
    out: &mut Vec<u8>,
) -> Result<Needs, SerdeError> {
    let mut draft = ser::Draft::default();
    let root = value.serialize(&mut draft)?;
    Ok(Encoder::new().encode(&draft.tree(root)?, out))
}

/// Reads a value. Text of ASCII letters and bytes can be borrowed from the payload.
///
/// # Errors
/// If the bytes do not decode, or what they hold is not of type `T` or has no form in serde.
pub fn from_payload<'de, T: Deserialize<'de>>(payload: &Payload<'de>) -> Result<T, SerdeError> {
    match direct_de::read(payload) {
        Some(value) => Ok(value),
        None => from_payload_by_tree(payload),
    }
}

/// The naive twin of the short way through [`direct_de`].
fn from_payload_by_tree<'de, T: Deserialize<'de>>(payload: &Payload<'de>) -> Result<T, SerdeError> {
    let tree = Decoder::new().decode(payload)?;
    from_tree(&tree)
}

/// Reads a value that was decoded.
///
/// # Errors
/// If what it holds is not of type `T` or has no form in serde.
pub fn from_tree<'de, T: Deserialize<'de>>(tree: &Tree<'de>) -> Result<T, SerdeError> {
    let run = de::Run::new(tree);
    T::deserialize(de::Node::root(&run))
}
