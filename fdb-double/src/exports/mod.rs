//! The functions of `fdb_c.h` that the crate `foundationdb` calls, and one more that larder-fdb does.
//!
//! The client keeps to the header: pointers that it passes are of this library or to what it says, until the call returns. So parameters are references and
//! boxes here, which are such pointers in C's calls.

mod client;
mod database;
mod refused;
mod requests;
mod results;

use std::ffi::c_int;

/// The bytes of a parameter.
///
/// # Safety
/// At `at` there are `len` bytes, or `len` is zero.
unsafe fn bytes(at: *const u8, len: c_int) -> Vec<u8> {
    match usize::try_from(len) {
        Ok(len @ 1..) => {
            // SAFETY: by the caller's word; the slice ends with this expression.
            unsafe { std::slice::from_raw_parts(at, len) }.to_vec()
        }
        _ => Vec::new(),
    }
}
