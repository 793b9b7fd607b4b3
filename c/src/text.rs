//! Texts that the host reads: strings in both encodings, and lists of them.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::ptr;

use larder_idb::JsString;

use crate::guard;

/// A text, owned by the host, in UTF-16 and in UTF-8.
#[derive(Debug)]
pub struct Text {
    units: JsString,
    utf8: CString,
}

/// A list of texts, owned by the host.
#[derive(Debug)]
pub struct Names(Vec<Text>);

/// UTF-8 that ends with a zero byte; zero bytes inside are left out.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| {
        let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
        CString::new(bytes).unwrap_or_default()
    })
}

impl From<JsString> for Text {
    fn from(units: JsString) -> Self {
        let utf8 = c_text(&units.to_string_lossy());
        Self { units, utf8 }
    }
}

impl From<Vec<JsString>> for Names {
    fn from(names: Vec<JsString>) -> Self {
        Self(names.into_iter().map(Text::from).collect())
    }
}

/// A handle to a text.
pub(crate) fn boxed(text: JsString) -> Box<Text> {
    Box::new(text.into())
}

/// The UTF-16 units, there as long as the text; their number is written to `len` unless that is null. Never null but of null: with its
/// length it is what `larder_utf16` takes, also of an empty text.
#[unsafe(no_mangle)]
pub extern "C" fn larder_text_utf16(
    text: Option<&Text>,
    len: Option<&mut MaybeUninit<usize>>,
) -> *const u16 {
    const EMPTY: &[u16] = &[0];
    let units = text.map(|text| text.units.units());
    if let Some(len) = len {
        len.write(units.map_or(0, <[u16]>::len));
    }
    match units {
        None => ptr::null(),
        Some([]) => EMPTY.as_ptr(),
        Some(units) => units.as_ptr(),
    }
}

/// The text in UTF-8, there as long as the text: ends with a zero byte. Lone surrogates are U+FFFD there, and zero units left out.
#[unsafe(no_mangle)]
pub extern "C" fn larder_text_utf8(text: Option<&Text>) -> *const c_char {
    text.map_or(c"".as_ptr(), |text| text.utf8.as_ptr())
}

/// Frees a text that the host owns. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_text_free(text: Option<Box<Text>>) {
    guard::or_else((), || drop(text));
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn larder_names_len(names: Option<&Names>) -> usize {
    names.map_or(0, |names| names.0.len())
}

/// One of them, counted from 0, lent by the list; null beyond its end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_names_at(names: Option<&Names>, at: usize) -> Option<&Text> {
    names?.0.get(at)
}

/// Frees a list. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_names_free(names: Option<Box<Names>>) {
    guard::or_else((), || drop(names));
}
