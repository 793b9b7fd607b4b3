//! Changing an object.

use crate::errno::Errno;
use crate::ffi;
use crate::pool::Pool;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

/// A part of a change. The parts are executed in their order, all or none.
#[derive(Clone, Copy, Debug)]
pub enum WritePart<'a> {
    /// Makes the object, if it is not there.
    Create,
    /// Makes the object; [`Errno::EXISTS`] if it is there.
    CreateNew,
    /// Requires a value of the map, or else [`Errno::CANCELED`]. A key that is missing has an empty value.
    Require(&'a [u8], &'a [u8]),
    /// Sets keys of the map to values.
    Set(&'a [(&'a [u8], &'a [u8])]),
    /// Removes keys of the map, those of them that are there.
    Unset(&'a [&'a [u8]]),
    /// Removes the keys from one on, and before another one.
    UnsetRange(&'a [u8], &'a [u8]),
    /// Writes bytes at an offset.
    Write(u64, &'a [u8]),
    /// Removes the object, with all it has.
    Remove,
}

/// A request that is being made.
struct Operation(ffi::WriteOperation);

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: it was made by `rados_create_write_op`, and is used no more.
        unsafe { ffi::rados_release_write_op(self.0) };
    }
}

fn chars(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

impl Operation {
    fn add(&mut self, part: WritePart<'_>) {
        let op = self.0;
        match part {
            WritePart::Create => {
                // SAFETY: the request is one that was not sent; the category, which the library ignores, may be null.
                unsafe { ffi::rados_write_op_create(op, ffi::CREATE_IDEMPOTENT, null()) }
            }
            WritePart::CreateNew => {
                // SAFETY: as above.
                unsafe { ffi::rados_write_op_create(op, ffi::CREATE_EXCLUSIVE, null()) }
            }
            WritePart::Require(key, value) => {
                let (key_at, value_at) = (chars(key), chars(value));
                let (key_len, value_len) = (key.len(), value.len());
                // SAFETY: the request was not sent; key and value are as long as is said, and are copied. No result of this part is asked for.
                unsafe {
                    ffi::rados_write_op_omap_cmp2(
                        op,
                        key_at,
                        ffi::EQUAL,
                        value_at,
                        key_len,
                        value_len,
                        null_mut(),
                    );
                }
            }
            WritePart::Set(rows) => {
                let keys: Vec<_> = rows.iter().map(|(key, _)| chars(key)).collect();
                let values: Vec<_> = rows.iter().map(|(_, value)| chars(value)).collect();
                let key_lens: Vec<_> = rows.iter().map(|(key, _)| key.len()).collect();
                let value_lens: Vec<_> = rows.iter().map(|(_, value)| value.len()).collect();
                // SAFETY: the request was not sent; the four have as many elements as is said; keys and values are as long as is said. All is copied.
                unsafe {
                    ffi::rados_write_op_omap_set2(
                        op,
                        keys.as_ptr(),
                        values.as_ptr(),
                        key_lens.as_ptr(),
                        value_lens.as_ptr(),
                        rows.len(),
                    );
                }
            }
            WritePart::Unset(keys) => {
                let key_lens: Vec<_> = keys.iter().map(|key| key.len()).collect();
                let keys: Vec<_> = keys.iter().map(|key| chars(key)).collect();
                let count = keys.len();
                // SAFETY: the request was not sent; the two have as many elements as is said; keys are as long as is said. All is copied.
                unsafe {
                    ffi::rados_write_op_omap_rm_keys2(op, keys.as_ptr(), key_lens.as_ptr(), count);
                }
            }
            WritePart::UnsetRange(start, end) => {
                let (start_at, end_at) = (chars(start), chars(end));
                let (start_len, end_len) = (start.len(), end.len());
                // SAFETY: the request was not sent; both keys are as long as is said, and are copied.
                unsafe {
                    ffi::rados_write_op_omap_rm_range2(op, start_at, start_len, end_at, end_len);
                }
            }
            WritePart::Write(offset, bytes) => {
                // SAFETY: the request was not sent; the bytes are as many as is said, and are copied.
                unsafe { ffi::rados_write_op_write(op, chars(bytes), bytes.len(), offset) }
            }
            WritePart::Remove => {
                // SAFETY: the request was not sent.
                unsafe { ffi::rados_write_op_remove(op) }
            }
        }
    }
}

impl Pool {
    /// Changes an object by one request, and waits until every replica has it. A cluster or pool that is full says so at once.
    ///
    /// # Errors
    /// [`Errno::TIMED_OUT`]: it may be executed, or may be later. [`Errno::CANCELED`], [`Errno::EXISTS`], [`Errno::NO_ENTRY`]: a part of it
    /// did not hold, and nothing was changed. Removing an object that is not there, and requiring a value of one, is [`Errno::NO_ENTRY`].
    pub fn write(&self, object: &CStr, parts: &[WritePart<'_>]) -> Result<(), Errno> {
        // SAFETY: it takes nothing and returns a request, which is released when `operation` is dropped.
        let mut operation = Operation(unsafe { ffi::rados_create_write_op() });
        for part in parts {
            operation.add(*part);
        }
        let (op, io, object) = (operation.0, self.io(), object.as_ptr());
        // SAFETY: the request is sent once; the context lives as long as `self`, which is borrowed until the call has ended; the name ends
        // with a zero, and is copied; null is for the time of now.
        let done =
            unsafe { ffi::rados_write_op_operate2(op, io, object, null_mut(), ffi::FULL_TRY) };
        Errno::check(done).map(drop)
    }
}
