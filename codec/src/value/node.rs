//! What a decoded value is made of: [`Value`], [`Property`] and [`Object`].
//!
//! A [`Value`] is small and copied freely. Whatever has an identity in JavaScript is an [`Object`]
//! in its [`Tree`](super::Tree) and is referred to by [`ObjectId`], so cycles and shared objects
//! cost nothing and stay visible. These types say nothing about bytes; the wire shapes are in
//! `docs/format/values.md`.

use super::bigint::BigInt;
use super::buffer::{ArrayBuffer, BufferKind, View, ViewKind};
use super::host::HostObject;
use super::js_str::JsStr;
use super::number::JsNumber;
use super::regexp::RegExpFlags;
use crate::JsString;

/// A JavaScript value: a primitive, or a reference to an object of the same tree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Value<'a> {
    /// `undefined`
    #[default]
    Undefined,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number. Whether it was written as an integer or as a double is not kept: JavaScript has
    /// one kind. -0 is kept.
    Number(f64),
    /// A `BigInt`.
    BigInt(BigInt<'a>),
    /// A string.
    String(JsStr<'a>),
    /// An object.
    Object(ObjectId),
}

/// The number of an object within its [`Tree`](super::Tree): counted from 0 in the order in which
/// the bytes introduce objects. Views come right after the buffer they are the first to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub(super) u32);

impl ObjectId {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stretch of a tree's properties or slots. Only the tree it comes from can resolve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Span {
    /// How many entries.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(super) const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// The name of a property.
#[derive(Debug, Clone, Copy)]
pub enum PropertyName<'a> {
    /// An array index, `0` to `4294967294`, however it was written.
    Index(u32),
    /// Any other string.
    String(JsStr<'a>),
    /// A number that is no array index, standing for its text. V8 accepts such names and never
    /// writes them.
    Number(f64),
}

impl<'a> PropertyName<'a> {
    /// The name that a string spells.
    #[inline]
    #[must_use]
    pub fn from_js(name: JsStr<'a>) -> Self {
        let first = match name {
            JsStr::Latin1(bytes) | JsStr::Utf8(bytes) | JsStr::Utf16Le(bytes) => bytes.first(),
        };
        if first.is_some_and(u8::is_ascii_digit)
            && let Some(index) = name.as_array_index()
        {
            return Self::Index(index);
        }
        Self::String(name)
    }

    /// The name that a number used as a property key stands for.
    #[must_use]
    pub fn from_number(number: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "compared with the original right after"
        )]
        let index = number as u32;
        // -0 is the name "0"; u32::MAX is no array index.
        if f64::from(index) == number && index != u32::MAX {
            Self::Index(index)
        } else {
            Self::Number(number)
        }
    }

    /// The name as a string of its own.
    #[must_use]
    pub fn to_js_string(&self) -> JsString {
        self.with_str(|text| JsString::from_units(text.units().collect()))
    }

    /// Calls `f` with the name as a string.
    pub fn with_str<R>(&self, f: impl FnOnce(JsStr<'_>) -> R) -> R {
        match self {
            Self::Index(index) => f(JsStr::from(
                JsNumber(f64::from(*index)).to_string().as_str(),
            )),
            Self::Number(number) => f(JsStr::from(JsNumber(*number).to_string().as_str())),
            Self::String(name) => f(*name),
        }
    }
}

/// Names are equal if they are the same string.
impl PartialEq for PropertyName<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Index(a), Self::Index(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Index(_), _) | (_, Self::Index(_)) => false,
            _ => self.with_str(|a| other.with_str(|b| a == b)),
        }
    }
}

impl Eq for PropertyName<'_> {}

/// An own enumerable property.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Property<'a> {
    /// Its name.
    pub name: PropertyName<'a>,
    /// Its value.
    pub value: Value<'a>,
}

/// An element of an array (or half an entry of a map): `None` is a hole.
pub type Slot<'a> = Option<Value<'a>>;

/// Something with an identity.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Object<'a> {
    /// A plain object. [`Tree::properties`](super::Tree::properties) gives its own properties in
    /// JavaScript's order.
    Plain(Span),
    /// An array.
    Array(Array),
    /// A `Date`: milliseconds since 1970, whole and within ±8.64e15, or NaN for an invalid date.
    Date(f64),
    /// `new Boolean(…)`
    BooleanObject(bool),
    /// `new Number(…)`
    NumberObject(f64),
    /// `Object(1n)`
    BigIntObject(BigInt<'a>),
    /// `new String(…)`
    StringObject(JsStr<'a>),
    /// A regular expression.
    RegExp {
        /// What stands between the slashes.
        source: JsStr<'a>,
        /// What stands behind them.
        flags: RegExpFlags,
    },
    /// A `Map`: keys and values in turn; read it with [`Tree::entries`](super::Tree::entries).
    Map(Span),
    /// A `Set`: read it with [`Tree::slots`](super::Tree::slots).
    Set(Span),
    /// An `ArrayBuffer`.
    ArrayBuffer(ArrayBuffer<'a>),
    /// A typed array or `DataView`.
    View(View),
    /// An `Error` of one of the built-in types.
    Error(Box<ErrorObject<'a>>),
    /// An object of the web platform.
    Host(Box<HostObject<'a>>),
}

impl Object<'_> {
    /// Whether some versions of the wire format have no form for it: V8's or Blink's, of those that have its kind. An error is none of these, since a
    /// script can change what it is.
    ///
    /// A store takes what its own versions have a form for ([`Needs`](super::Needs)). What a host has read there it may put there again, if it remembers what
    /// the object was read in ([`Builder::set_read_in`](super::Builder::set_read_in)): so it need remember that of these alone.
    #[must_use]
    pub fn is_of_some_versions(&self) -> bool {
        match self {
            Self::RegExp { flags, .. } => {
                flags.has(RegExpFlags::HAS_INDICES) || flags.has(RegExpFlags::UNICODE_SETS)
            }
            Self::ArrayBuffer(buffer) => buffer.kind != BufferKind::Fixed,
            Self::View(view) => view.kind == ViewKind::Float16Array,
            Self::Host(host) => matches!(
                **host,
                HostObject::CryptoKey(_)
                    | HostObject::FileSystemHandle(_)
                    | HostObject::ImageBitmap(_)
                    | HostObject::ImageData(_)
            ),
            _ => false,
        }
    }
}

/// An array, dense in front and sparse behind.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Array {
    /// Its `length`.
    pub length: u32,
    /// The elements from 0 on, holes included; never more than `length`, often none.
    pub elements: Span,
    /// All other own properties: elements further on (indices first, ascending), then names.
    pub properties: Span,
    /// Whether V8 wrote it element by element although it may have no holes: it does so with arrays that once had some
    /// (`new Array(3).fill(0)`). JavaScript code sees no difference.
    pub sparse: bool,
}

/// The built-in error types that survive serialisation; all others become [`ErrorType::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorType {
    /// `Error`
    #[default]
    Error,
    /// `EvalError`
    EvalError,
    /// `RangeError`
    RangeError,
    /// `ReferenceError`
    ReferenceError,
    /// `SyntaxError`
    SyntaxError,
    /// `TypeError`
    TypeError,
    /// `URIError`
    UriError,
}

impl ErrorType {
    /// The type that a sub-tag names.
    pub(super) const fn from_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            b'E' => Self::EvalError,
            b'R' => Self::RangeError,
            b'F' => Self::ReferenceError,
            b'S' => Self::SyntaxError,
            b'T' => Self::TypeError,
            b'U' => Self::UriError,
            _ => return None,
        })
    }

    /// The sub-tag that names the type; a plain `Error` has none.
    pub(super) const fn tag(self) -> Option<u8> {
        Some(match self {
            Self::Error => return None,
            Self::EvalError => b'E',
            Self::RangeError => b'R',
            Self::ReferenceError => b'F',
            Self::SyntaxError => b'S',
            Self::TypeError => b'T',
            Self::UriError => b'U',
        })
    }

    /// JavaScript's name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::EvalError => "EvalError",
            Self::RangeError => "RangeError",
            Self::ReferenceError => "ReferenceError",
            Self::SyntaxError => "SyntaxError",
            Self::TypeError => "TypeError",
            Self::UriError => "URIError",
        }
    }
}

/// An error object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ErrorObject<'a> {
    /// Its type.
    pub error_type: ErrorType,
    /// Its own `message`, if it has one.
    pub message: Option<JsStr<'a>>,
    /// Its `stack`, if it is a string.
    pub stack: Option<JsStr<'a>>,
    /// Its own `cause`, if it has one.
    pub cause: Option<Value<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_small() {
        assert_eq!(size_of::<Value<'_>>(), 24);
        assert_eq!(size_of::<Slot<'_>>(), 24);
        assert_eq!(size_of::<Property<'_>>(), 48);
        assert!(size_of::<Object<'_>>() <= 48, "{}", size_of::<Object<'_>>());
    }

    #[test]
    fn a_number_used_as_a_name_is_its_text() {
        let one_point_five = PropertyName::from_number(1.5);
        assert_eq!(one_point_five, PropertyName::from_js(JsStr::Latin1(b"1.5")));
        assert_eq!(
            PropertyName::from_number(-0.0),
            PropertyName::from_js(JsStr::Latin1(b"0"))
        );
        assert_eq!(PropertyName::from_number(7.0), PropertyName::Index(7));
        let top = PropertyName::from_number(4_294_967_295.0);
        assert!(matches!(top, PropertyName::Number(_)));
        assert_eq!(top, PropertyName::from_js(JsStr::Latin1(b"4294967295")));
        assert_ne!(
            PropertyName::from_number(-1.0),
            PropertyName::from_js(JsStr::Latin1(b"1"))
        );
    }
}
