//! What C points at, read and written. A value of a type here was made in C, where the documentation of the function that it is
//! given to says what it has to point at: its fields are private, so none can be made of safe code.

use std::ffi::{CStr, c_char};
use std::ptr;

use larder_idb::JsString;

use crate::error::{Error, Result};

/// Text that a function reads while it runs: UTF-16 units or UTF-8 bytes. Made by `larder_utf8`, `larder_utf8_n`, `larder_utf16` or
/// `larder_null`, or by hand.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Str {
    /// The UTF-16 units, lone surrogates among them as they like; null if the text is in UTF-8.
    utf16: *const u16,
    /// The UTF-8 bytes, which need no zero byte behind them; not looked at if `utf16` is not null.
    utf8: *const c_char,
    /// How many units or bytes there are.
    len: usize,
}

/// Bytes that are read while a function runs, or that lie in a handle as long as that is there.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Bytes {
    /// The first; may be null if there are none.
    data: *const u8,
    /// How many there are.
    len: usize,
}

/// Where an error goes: null, or a place for a pointer, which is written if the call fails. `cbindgen.toml` calls it what it is
/// in C.
#[derive(Debug)]
#[repr(transparent)]
pub struct ErrorOut(*mut *mut Error);

/// No text, where a function allows that: not the empty one.
#[unsafe(no_mangle)]
pub const extern "C" fn larder_null() -> Str {
    let (utf16, utf8, len) = (ptr::null(), ptr::null(), 0);
    Str { utf16, utf8, len }
}

/// UTF-8 text up to a zero byte.
///
/// # Safety
/// `text` is null, or ends with a zero byte, and stays as it is as long as the result is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_utf8(text: *const c_char) -> Str {
    let len = match text.is_null() {
        true => 0,
        // SAFETY: it ends with a zero byte, as promised.
        false => unsafe { CStr::from_ptr(text) }.count_bytes(),
    };
    let (utf16, utf8) = (ptr::null(), text);
    Str { utf16, utf8, len }
}

/// UTF-8 text of so many bytes. A null pointer is `larder_null`, also of no bytes, as an empty `std::string_view` may have it.
///
/// # Safety
/// `text` points at `len` bytes, which stay as they are as long as the result is used.
#[unsafe(no_mangle)]
pub const unsafe extern "C" fn larder_utf8_n(text: *const c_char, len: usize) -> Str {
    let (utf16, utf8) = (ptr::null(), text);
    Str { utf16, utf8, len }
}

/// UTF-16 text of so many units. A null pointer is `larder_null`, also of no units.
///
/// # Safety
/// `units` points at `len` units, which stay as they are as long as the result is used.
#[unsafe(no_mangle)]
pub const unsafe extern "C" fn larder_utf16(units: *const u16, len: usize) -> Str {
    let (utf16, utf8) = (units, ptr::null());
    Str { utf16, utf8, len }
}

impl Str {
    /// Whether there is no text at all.
    pub(crate) const fn is_null(self) -> bool {
        self.utf16.is_null() && self.utf8.is_null()
    }

    /// The text.
    ///
    /// # Errors
    /// `TypeError` if there is none, or it is meant as UTF-8 and is not.
    pub(crate) fn to_js(self) -> Result<JsString> {
        if !self.utf16.is_null() {
            // SAFETY: C has made this of a pointer and the number of units there.
            let units = unsafe { slice(self.utf16, self.len) };
            return Ok(JsString::from_units(units.to_vec()));
        }
        if self.is_null() {
            return Err(Error::of_type("a text is null"));
        }
        // SAFETY: C has made this of a pointer and the number of bytes there.
        let bytes = unsafe { slice(self.utf8.cast::<u8>(), self.len) };
        let text = str::from_utf8(bytes);
        let text = text.map_err(|error| Error::of_type(&format!("no UTF-8: {error}")))?;
        Ok(JsString::from(text))
    }

    /// The text; `None` if there is none.
    ///
    /// # Errors
    /// `TypeError` if it is meant as UTF-8 and is not.
    pub(crate) fn to_js_or_none(self) -> Result<Option<JsString>> {
        match self.is_null() {
            true => Ok(None),
            false => self.to_js().map(Some),
        }
    }

    /// The text in UTF-8.
    ///
    /// # Errors
    /// `TypeError` if there is none, or it has lone surrogates.
    pub(crate) fn to_utf8(self) -> Result<String> {
        let text = self.to_js()?;
        text.to_utf8()
            .ok_or_else(|| Error::of_type("a text has lone surrogates, and must be whole here"))
    }
}

impl Bytes {
    /// Those of a handle's.
    pub(crate) const fn lent(bytes: &[u8]) -> Self {
        let (data, len) = (bytes.as_ptr(), bytes.len());
        Self { data, len }
    }

    /// None.
    pub(crate) const fn none() -> Self {
        let (data, len) = (ptr::null(), 0);
        Self { data, len }
    }

    /// A copy of the bytes.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        // SAFETY: C has made this of a pointer and the number of bytes there.
        unsafe { slice(self.data, self.len) }.to_vec()
    }
}

impl ErrorOut {
    /// Writes errors at a place of a test's.
    #[cfg(test)]
    pub(crate) const fn to(place: &mut *mut Error) -> Self {
        Self(place)
    }

    /// Puts it there, if there is a place; else it is let go.
    pub(crate) fn set(self, error: Error) {
        if !self.0.is_null() {
            // SAFETY: C has given the address of a pointer, which may hold anything.
            unsafe { self.0.write(Box::into_raw(Box::new(error))) };
        }
    }
}

/// What a pointer and a number stand for. Null is nothing.
///
/// # Safety
/// `first` is null, or points at `len` values, which nothing changes as long as the result is used.
pub(crate) unsafe fn slice<'a, T>(first: *const T, len: usize) -> &'a [T] {
    match first.is_null() || len == 0 {
        true => &[],
        // SAFETY: as promised.
        false => unsafe { std::slice::from_raw_parts(first, len) },
    }
}

/// What a handle points at. Null is nothing.
///
/// # Safety
/// `handle` is null, or one that this library has given and that is not freed as long as the result is used.
pub(crate) unsafe fn handle<'a, T>(handle: *const T) -> Option<&'a T> {
    // SAFETY: as promised.
    unsafe { handle.as_ref() }
}
