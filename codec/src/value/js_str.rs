//! [`JsStr`]: a JavaScript string borrowed from the bytes of a value.
//!
//! V8 writes strings in three shapes, and this type keeps whichever stood there, so that decoding
//! copies nothing: one byte per unit (Latin-1, tag `"`), two bytes per unit (little-endian UTF-16,
//! tag `c`), or UTF-8 (tag `S`, and every string inside Blink's host objects). Comparison, equality
//! and hashing look at UTF-16 units only, so `"a"` is the same name in all three shapes.
//! Unpaired surrogates survive. It owns nothing and converts nothing until asked.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A borrowed JavaScript string: a sequence of UTF-16 units, not necessarily well formed.
///
/// ```
/// use larder_codec::value::JsStr;
///
/// let one_byte = JsStr::Latin1(b"caf\xe9");
/// let two_byte = JsStr::from_utf16_le(b"c\0a\0f\0\xe9\0").unwrap();
/// assert_eq!(one_byte, two_byte);
/// assert_eq!(one_byte.to_utf8().unwrap(), "café");
/// let lone = JsStr::from_utf16_le(b"\x00\xd8").unwrap();
/// assert!(lone.to_utf8().is_none());
/// ```
#[derive(Clone, Copy)]
pub enum JsStr<'a> {
    /// One byte per unit.
    Latin1(&'a [u8]),
    /// Two bytes per unit, low byte first. A last odd byte is not part of the string; [`JsStr::from_utf16_le`] refuses
    /// it.
    Utf16Le(&'a [u8]),
    /// UTF-8. Ill-formed sequences count as U+FFFD, one for each maximal part, which is what V8
    /// makes of them.
    Utf8(&'a [u8]),
}

impl<'a> JsStr<'a> {
    /// The empty string.
    pub const EMPTY: JsStr<'static> = JsStr::Latin1(&[]);

    /// A string from little-endian units; `None` if a byte is left over.
    #[must_use]
    pub const fn from_utf16_le(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len().is_multiple_of(2) {
            Some(Self::Utf16Le(bytes))
        } else {
            None
        }
    }

    /// How many UTF-16 units there are. Constant time except for UTF-8.
    #[must_use]
    pub fn len_units(&self) -> usize {
        match self {
            Self::Latin1(bytes) => bytes.len(),
            Self::Utf16Le(bytes) => bytes.len() / 2,
            Self::Utf8(_) => self.units().count(),
        }
    }

    /// Whether there is no unit at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::Latin1(bytes) | Self::Utf8(bytes) => bytes.is_empty(),
            Self::Utf16Le(bytes) => bytes.len() < 2,
        }
    }

    /// The UTF-16 units, in order.
    #[must_use]
    pub fn units(&self) -> Units<'a> {
        Units(match *self {
            Self::Latin1(bytes) => Source::Latin1(bytes.iter()),
            Self::Utf16Le(bytes) => Source::Utf16(bytes.as_chunks().0.iter()),
            Self::Utf8(bytes) => Source::Utf8(Utf8Units::new(bytes)),
        })
    }

    /// The text itself if it is ASCII and stored one byte per unit: no copy, no conversion.
    #[must_use]
    pub fn as_ascii(&self) -> Option<&'a str> {
        match *self {
            Self::Latin1(bytes) | Self::Utf8(bytes) if bytes.is_ascii() => {
                std::str::from_utf8(bytes).ok()
            }
            _ => None,
        }
    }

    /// Whether every surrogate has its partner.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        match self {
            Self::Latin1(_) | Self::Utf8(_) => true,
            Self::Utf16Le(_) => char::decode_utf16(self.units()).all(|c| c.is_ok()),
        }
    }

    /// The text as UTF-8, borrowed where the bytes already are; `None` if a surrogate stands alone.
    #[must_use]
    pub fn to_utf8(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Latin1(bytes) => Some(encoding_rs::mem::decode_latin1(bytes)),
            Self::Utf8(bytes) => Some(String::from_utf8_lossy(bytes)),
            Self::Utf16Le(_) => {
                let mut text = String::new();
                self.push_utf8(&mut text).then_some(Cow::Owned(text))
            }
        }
    }

    /// Appends the text as UTF-8 and returns true; leaves `out` as it was and returns false if a
    /// surrogate stands alone. For callers that keep one buffer for many strings.
    #[must_use]
    pub fn push_utf8(&self, out: &mut String) -> bool {
        let before = out.len();
        match *self {
            Self::Latin1(bytes) => out.extend(bytes.iter().map(|&b| char::from(b))),
            Self::Utf8(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
            Self::Utf16Le(_) => {
                out.reserve(self.len_units());
                for c in char::decode_utf16(self.units()) {
                    let Ok(c) = c else {
                        out.truncate(before);
                        return false;
                    };
                    out.push(c);
                }
            }
        }
        true
    }

    /// The text as UTF-8 with U+FFFD in place of each lone surrogate: for eyes, never for data.
    #[must_use]
    pub fn to_utf8_lossy(&self) -> Cow<'a, str> {
        self.to_utf8().unwrap_or_else(|| {
            Cow::Owned(
                char::decode_utf16(self.units())
                    .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect(),
            )
        })
    }

    /// The array index that this string spells, if it is one: `0` to `4294967294`, no sign, no
    /// leading zero. Such property names sort before all others (ECMAScript, `OrdinaryOwnPropertyKeys`).
    #[must_use]
    pub fn as_array_index(&self) -> Option<u32> {
        const DIGITS_MAX: usize = 10;
        let bytes = match self {
            Self::Latin1(bytes) | Self::Utf8(bytes) => bytes.len(),
            Self::Utf16Le(bytes) => bytes.len() / 2,
        };
        if bytes == 0 || bytes > DIGITS_MAX {
            return None;
        }
        let mut index: u64 = 0;
        for (at, unit) in self.units().enumerate() {
            let digit = u64::from(unit.wrapping_sub(u16::from(b'0')));
            if digit > 9 || (at == 1 && index == 0) {
                return None;
            }
            index = index * 10 + digit;
        }
        u32::try_from(index).ok().filter(|&index| index != u32::MAX)
    }
}

/// The bytes without a last odd one.
fn even(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - bytes.len() % 2]
}

impl PartialEq for JsStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Latin1(a), Self::Latin1(b)) => a == b,
            (Self::Utf16Le(a), Self::Utf16Le(b)) => even(a) == even(b),
            _ => self.units().eq(other.units()),
        }
    }
}

impl Eq for JsStr<'_> {}

impl PartialEq<str> for JsStr<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == JsStr::Utf8(other.as_bytes())
    }
}

/// Order by UTF-16 units, shorter first: the order of JavaScript's `<`.
impl Ord for JsStr<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Latin1(a), Self::Latin1(b)) => a.cmp(b),
            _ => self.units().cmp(other.units()),
        }
    }
}

impl PartialOrd for JsStr<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for JsStr<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for unit in self.units() {
            state.write_u16(unit);
        }
        state.write_u32(u32::MAX);
    }
}

/// Quoted, with lone surrogates as `\u{d800}`.
impl fmt::Debug for JsStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        f.write_char('"')?;
        for c in char::decode_utf16(self.units()) {
            match c {
                Ok(c) => write!(f, "{}", c.escape_debug())?,
                Err(lone) => write!(f, "\\u{{{:x}}}", lone.unpaired_surrogate())?,
            }
        }
        f.write_char('"')
    }
}

impl<'a> From<&'a str> for JsStr<'a> {
    fn from(text: &'a str) -> Self {
        Self::Utf8(text.as_bytes())
    }
}

/// Iterator over the units of a [`JsStr`].
#[derive(Debug, Clone)]
pub struct Units<'a>(Source<'a>);

#[derive(Debug, Clone)]
enum Source<'a> {
    Latin1(std::slice::Iter<'a, u8>),
    Utf16(std::slice::Iter<'a, [u8; 2]>),
    Utf8(Utf8Units<'a>),
}

impl Iterator for Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        match &mut self.0 {
            Source::Latin1(bytes) => bytes.next().map(|&b| u16::from(b)),
            Source::Utf16(units) => units.next().map(|&unit| u16::from_le_bytes(unit)),
            Source::Utf8(units) => units.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Source::Latin1(bytes) => bytes.size_hint(),
            Source::Utf16(units) => units.size_hint(),
            Source::Utf8(_) => (0, None),
        }
    }
}

/// Units of UTF-8 with each maximal ill-formed part read as U+FFFD.
#[derive(Debug, Clone)]
struct Utf8Units<'a> {
    chunks: std::str::Utf8Chunks<'a>,
    valid: std::str::EncodeUtf16<'a>,
    /// The chunk that `valid` comes from is followed by an ill-formed part not yet given out.
    broken: bool,
}

impl<'a> Utf8Units<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            chunks: bytes.utf8_chunks(),
            valid: "".encode_utf16(),
            broken: false,
        }
    }
}

impl Iterator for Utf8Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some(unit) = self.valid.next() {
                return Some(unit);
            }
            if std::mem::take(&mut self.broken) {
                return Some(0xfffd);
            }
            let chunk = self.chunks.next()?;
            self.valid = chunk.valid().encode_utf16();
            self.broken = !chunk.invalid().is_empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_byte(units: &[u16]) -> Vec<u8> {
        units.iter().flat_map(|u| u.to_le_bytes()).collect()
    }

    #[test]
    fn the_same_units_are_equal_in_every_shape() {
        let wide = two_byte(&"aé".encode_utf16().collect::<Vec<_>>());
        let shapes = [
            JsStr::Latin1(b"a\xe9"),
            JsStr::Utf16Le(&wide),
            JsStr::Utf8("aé".as_bytes()),
        ];
        for a in shapes {
            for b in shapes {
                assert_eq!(a, b);
                assert_eq!(a.cmp(&b), Ordering::Equal);
            }
            assert_ne!(a, JsStr::Latin1(b"a"));
            assert_eq!(a.len_units(), 2);
        }
    }

    #[test]
    fn order_is_by_code_unit_not_by_code_point() {
        // U+FFFF (one unit ffff) sorts after U+10000 (units d800 dc00).
        let (high, astral) = (two_byte(&[0xffff]), two_byte(&[0xd800, 0xdc00]));
        assert!(JsStr::Utf16Le(&high) > JsStr::Utf16Le(&astral));
        assert!(JsStr::Latin1(b"ab") > JsStr::Latin1(b"a"));
    }

    #[test]
    fn lone_surrogates_survive_and_refuse_utf8() {
        for units in [[0xd800, 0x41], [0x41, 0xdc00], [0xdc00, 0xd800]] {
            let bytes = two_byte(&units);
            let string = JsStr::Utf16Le(&bytes);
            assert!(!string.is_well_formed());
            assert_eq!(string.to_utf8(), None);
            let mut out = String::from("kept");
            assert!(!string.push_utf8(&mut out));
            assert_eq!(out, "kept");
            assert_eq!(string.units().collect::<Vec<_>>(), units);
        }
    }

    #[test]
    fn push_utf8_and_to_utf8_agree() {
        let wide = two_byte(&"あ😀 x".encode_utf16().collect::<Vec<_>>());
        for string in [
            JsStr::Latin1(b"\x80\xff abc"),
            JsStr::Utf16Le(&wide),
            JsStr::Utf8(b"ok \xff\xf0\x9f\x98 end"),
        ] {
            let mut out = String::new();
            assert!(string.push_utf8(&mut out));
            assert_eq!(out, string.to_utf8().unwrap());
            assert!(out.encode_utf16().eq(string.units()));
        }
    }

    #[test]
    fn a_byte_order_mark_is_a_character_like_any_other() {
        let bytes = two_byte(&[0xfeff, 0x61]);
        assert_eq!(JsStr::Utf16Le(&bytes).to_utf8().unwrap(), "\u{feff}a");
    }

    #[test]
    fn array_indices_are_canonical_and_below_the_top() {
        for (text, index) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("10", Some(10)),
            ("4294967294", Some(4_294_967_294)),
            ("4294967295", None),
            ("9999999999", None),
            ("00", None),
            ("01", None),
            ("", None),
            ("-1", None),
            ("1a", None),
            ("1.5", None),
        ] {
            assert_eq!(
                JsStr::Latin1(text.as_bytes()).as_array_index(),
                index,
                "{text}"
            );
            let wide = two_byte(&text.encode_utf16().collect::<Vec<_>>());
            assert_eq!(JsStr::Utf16Le(&wide).as_array_index(), index, "{text}");
        }
    }
}
