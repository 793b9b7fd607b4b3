//! JavaScript strings: sequences of UTF-16 code units, well formed or not.
//!
//! [`JsString`] owns its units; [`Utf16Be`] is the borrowed view of units as they lie on disk,
//! big-endian. Both order by code unit, as IndexedDB orders string keys. The bytes are described in
//! `docs/FORMAT.md`, 1.5.

use std::fmt::{self, Write as _};

use byteorder::{BigEndian, ByteOrder};
use encoding_rs::mem;
#[cfg(feature = "serde")]
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A JavaScript string. Unpaired surrogates survive; order is by code unit.
///
/// ```
/// use larder_codec::JsString;
/// let whole = JsString::from("köter");
/// assert_eq!(whole.to_utf8().as_deref(), Some("köter"));
/// let half = JsString::from_units(vec![0xd83d]);
/// assert_eq!(half.to_utf8(), None);
/// assert_eq!(half.to_string_lossy(), "\u{fffd}");
/// assert_eq!(half.to_string(), "\\ud83d");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct JsString(Vec<u16>);

impl JsString {
    /// The string of these code units.
    #[must_use]
    pub const fn from_units(units: Vec<u16>) -> Self {
        Self(units)
    }

    /// The code units.
    #[must_use]
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// The code units, given away.
    #[must_use]
    pub fn into_units(self) -> Vec<u16> {
        self.0
    }

    /// Length in code units, as JavaScript's `length`.
    #[must_use]
    pub fn len_units(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every surrogate is paired, so that the string has a UTF-8 form.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        mem::utf16_valid_up_to(&self.0) == self.0.len()
    }

    /// The UTF-8 form, or `None` if a surrogate is unpaired.
    #[must_use]
    pub fn to_utf8(&self) -> Option<String> {
        self.is_well_formed().then(|| self.to_string_lossy())
    }

    /// The UTF-8 form with U+FFFD in place of each unpaired surrogate.
    #[must_use]
    pub fn to_string_lossy(&self) -> String {
        // Three bytes per unit always hold the result.
        let mut utf8 = vec![0; self.0.len().saturating_mul(3)];
        let written = mem::convert_utf16_to_utf8(&self.0, &mut utf8);
        utf8.truncate(written);
        String::from_utf8(utf8).unwrap_or_else(|_| String::from_utf16_lossy(&self.0))
    }

    /// Four lower-case hex digits per unit: the form for text that has no UTF-8 form.
    #[must_use]
    pub fn to_hex(&self) -> String {
        let mut hex = String::with_capacity(self.0.len().saturating_mul(4));
        for unit in &self.0 {
            // Writing to a String does not fail.
            let _ = write!(hex, "{unit:04x}");
        }
        hex
    }
}

impl From<&str> for JsString {
    fn from(text: &str) -> Self {
        // UTF-16 never has more units than UTF-8 has bytes.
        let mut units = vec![0; text.len()];
        let written = mem::convert_str_to_utf16(text, &mut units);
        units.truncate(written);
        units.shrink_to_fit();
        Self(units)
    }
}

impl From<String> for JsString {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for JsString {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq<str> for JsString {
    fn eq(&self, other: &str) -> bool {
        self.0.iter().copied().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for JsString {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// The text, with each unpaired surrogate as `\uXXXX`. For eyes: not reversible.
impl fmt::Display for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in char::decode_utf16(self.0.iter().copied()) {
            match item {
                Ok(c) => f.write_char(c)?,
                Err(lone) => write!(f, "\\u{:04x}", lone.unpaired_surrogate())?,
            }
        }
        Ok(())
    }
}

/// The text quoted and escaped, with each unpaired surrogate as `\u{XXXX}`.
impl fmt::Debug for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for item in char::decode_utf16(self.0.iter().copied()) {
            match item {
                Ok(c) => write!(f, "{}", c.escape_debug())?,
                Err(lone) => write!(f, "\\u{{{:x}}}", lone.unpaired_surrogate())?,
            }
        }
        f.write_char('"')
    }
}

/// Text if well formed, else a map `{"utf16": "<4 hex digits per unit>"}`.
#[cfg(feature = "serde")]
impl Serialize for JsString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.to_utf8() {
            return serializer.serialize_str(&text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("utf16", &self.to_hex())?;
        map.end()
    }
}

/// Big-endian UTF-16 code units as they lie on disk, borrowed. An even number of bytes.
///
/// Orders by code unit, which for big-endian units is the order of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Utf16Be<'a>(&'a [u8]);

impl<'a> Utf16Be<'a> {
    /// A view of `bytes`, or `None` if their number is odd.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len().is_multiple_of(2) {
            Some(Self(bytes))
        } else {
            None
        }
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Length in code units.
    #[must_use]
    pub const fn len_units(self) -> usize {
        self.0.len() / 2
    }

    /// The code units one by one.
    pub fn units(self) -> impl ExactSizeIterator<Item = u16> + 'a {
        self.0.chunks_exact(2).map(BigEndian::read_u16)
    }

    /// An owned copy.
    #[must_use]
    pub fn to_js_string(self) -> JsString {
        let mut units = vec![0; self.len_units()];
        BigEndian::read_u16_into(self.0, &mut units);
        JsString(units)
    }
}

impl fmt::Debug for Utf16Be<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_js_string(), f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::properties;

    use super::*;

    #[test]
    fn a_lone_surrogate_survives_and_is_never_replaced_silently() {
        let string = JsString::from_units(vec![0x61, 0xdc00, 0xd800, 0x62]);
        assert!(!string.is_well_formed());
        assert_eq!(string.to_utf8(), None);
        assert_eq!(string.to_string(), "a\\udc00\\ud800b");
        assert_eq!(format!("{string:?}"), "\"a\\u{dc00}\\u{d800}b\"");
        assert_eq!(
            serde_json::to_string(&string).unwrap(),
            r#"{"utf16":"0061dc00d8000062"}"#
        );
    }

    #[test]
    fn well_formed_text_serialises_as_text() {
        let string = JsString::from("a\"😀");
        assert_eq!(serde_json::to_string(&string).unwrap(), r#""a\"😀""#);
        assert_eq!(format!("{string:?}"), r#""a\"😀""#);
    }

    #[test]
    fn order_is_by_code_unit_not_by_code_point() {
        // The larger code point has the smaller first unit, a surrogate.
        for (less, greater) in [("\u{1f600}", "\u{ff5e}"), ("a", "aa"), ("", "\0")] {
            let (less, greater) = (JsString::from(less), JsString::from(greater));
            assert!(less < greater, "{less:?} {greater:?}");
        }
    }

    properties! {
        fn text_goes_to_units_and_back(text: String) -> bool {
            let string = JsString::from(text.as_str());
            string.units() == text.encode_utf16().collect::<Vec<_>>()
                && string == text.as_str()
                && string.to_utf8().as_deref() == Some(text.as_str())
        }

        fn units_convert_like_the_standard_library(units: Vec<u16>) -> bool {
            let string = JsString::from_units(units.clone());
            string.to_utf8() == String::from_utf16(&units).ok()
                && string.to_string_lossy() == String::from_utf16_lossy(&units)
        }

        fn the_view_on_disk_orders_like_the_owned_string(a: Vec<u16>, b: Vec<u16>) -> bool {
            let bytes = |units: &[u16]| units.iter().flat_map(|u| u.to_be_bytes()).collect::<Vec<_>>();
            let (bytes_a, bytes_b) = (bytes(&a), bytes(&b));
            let (view_a, view_b) = (Utf16Be::new(&bytes_a).unwrap(), Utf16Be::new(&bytes_b).unwrap());
            view_a.cmp(&view_b) == a.cmp(&b)
                && view_a.units().collect::<Vec<_>>() == a
                && view_b.to_js_string().into_units() == b
        }
    }
}
