//! The version of the library.

use std::ffi::{CStr, c_char};

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// The version of the library that is linked, such as `"0.1.0"`: ends with a zero byte, and is there for ever.
#[unsafe(no_mangle)]
pub const extern "C" fn larder_version() -> *const c_char {
    VERSION.as_ptr()
}
