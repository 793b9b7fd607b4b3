//! Reading an object.

use crate::errno::Errno;
use crate::ffi;
use crate::pool::Pool;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

/// A part of what is read.
#[derive(Clone, Copy, Debug)]
pub enum ReadPart<'a> {
    /// Rows of the map with these keys, those of them that are there, in the order of the keys as bytes.
    Values(&'a [&'a [u8]]),
    /// Rows of the map whose keys are greater than a key and begin with a prefix, ascending.
    Rows {
        /// Their keys are greater than this.
        after: &'a CStr,
        /// Their keys begin so.
        prefix: &'a CStr,
        /// So many at most. The cluster may return fewer (`osd_max_omap_entries_per_request`, 1024).
        count_max: u64,
    },
    /// Bytes from an offset on, as many as there are.
    Bytes {
        /// Where they begin.
        offset: u64,
        /// How many at most.
        len: usize,
    },
}

/// A key of the map, and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// What a part returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Rows.
    Rows {
        /// Keys and values.
        rows: Vec<Row>,
        /// Whether there are more of them than were returned.
        has_more: bool,
    },
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A request that is being made.
struct Operation(ffi::ReadOperation);

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: it was made by `rados_create_read_op`, and is used no more.
        unsafe { ffi::rados_release_read_op(self.0) };
    }
}

/// Where the library puts what a part returns. It keeps pointers into this until the request has ended.
struct Place {
    rows: Rows,
    has_more: u8,
    bytes: Vec<u8>,
    read: usize,
    result: c_int,
}

/// An iterator over rows, or null.
struct Rows(ffi::OmapIterator);

impl Drop for Rows {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the library made it for one part of a request that has ended, and it is used no more.
            unsafe { ffi::rados_omap_get_end(self.0) };
        }
    }
}

impl Rows {
    fn next(&mut self) -> Result<Option<Row>, Errno> {
        let (mut key, mut value) = (null_mut(), null_mut());
        let (mut key_len, mut value_len) = (0, 0);
        // SAFETY: the iterator is one of a part that has succeeded; the others are places for pointers and lengths.
        let next = unsafe {
            ffi::rados_omap_get_next2(
                self.0,
                &raw mut key,
                &raw mut value,
                &raw mut key_len,
                &raw mut value_len,
            )
        };
        Errno::check(next)?;
        if key.is_null() {
            return Ok(None);
        }
        // SAFETY: both lie in the iterator, as long as it says, until it ends.
        let key = unsafe { copy(key, key_len) };
        // SAFETY: as above.
        let value = unsafe { copy(value, value_len) };
        Ok(Some((key, value)))
    }
}

/// # Safety
/// At `at` there are `len` bytes, or `len` is zero.
unsafe fn copy(at: *mut c_char, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: by the caller's word; the slice ends with this expression.
    unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len) }.to_vec()
}

impl Place {
    fn new(part: &ReadPart<'_>) -> Place {
        let len = match part {
            ReadPart::Bytes { len, .. } => *len,
            _ => 0,
        };
        Place {
            rows: Rows(null_mut()),
            has_more: 0,
            bytes: vec![0; len],
            read: 0,
            result: 0,
        }
    }

    /// What the part returned, after its request has succeeded.
    fn answer(mut self, part: &ReadPart<'_>) -> Result<Answer, Errno> {
        Errno::check(self.result)?;
        if let ReadPart::Bytes { .. } = part {
            self.bytes.truncate(self.read);
            return Ok(Answer::Bytes(self.bytes));
        }
        let mut rows = Vec::new();
        if !self.rows.0.is_null() {
            while let Some(row) = self.rows.next()? {
                rows.push(row);
            }
        }
        let has_more = self.has_more != 0;
        Ok(Answer::Rows { rows, has_more })
    }
}

impl Operation {
    /// Adds a part.
    ///
    /// # Safety
    /// The place stays where it is, and is not used, until the request has ended or is released.
    unsafe fn add(&mut self, part: &ReadPart<'_>, place: *mut Place) {
        let op = self.0;
        // SAFETY: the place is one, by the caller's word, for as long as the library has these pointers.
        let place = unsafe { &mut *place };
        match part {
            ReadPart::Values(keys) => {
                let key_lens: Vec<_> = keys.iter().map(|key| key.len()).collect();
                let keys: Vec<_> = keys.iter().map(|key| key.as_ptr().cast()).collect();
                // SAFETY: the request was not sent; the two have as many elements as is said, keys are as long as is said, and all is
                // copied; the places stay.
                unsafe {
                    ffi::rados_read_op_omap_get_vals_by_keys2(
                        op,
                        keys.as_ptr(),
                        keys.len(),
                        key_lens.as_ptr(),
                        &raw mut place.rows.0,
                        &raw mut place.result,
                    );
                }
            }
            ReadPart::Rows {
                after,
                prefix,
                count_max,
            } => {
                // SAFETY: the request was not sent; both keys end with a zero, and are copied; the places stay.
                unsafe {
                    ffi::rados_read_op_omap_get_vals2(
                        op,
                        after.as_ptr(),
                        prefix.as_ptr(),
                        *count_max,
                        &raw mut place.rows.0,
                        &raw mut place.has_more,
                        &raw mut place.result,
                    );
                }
            }
            ReadPart::Bytes { offset, len } => {
                // SAFETY: the request was not sent; the buffer is as long as is said, and is not moved or made longer while the library has it;
                // the places stay.
                unsafe {
                    ffi::rados_read_op_read(
                        op,
                        *offset,
                        *len,
                        place.bytes.as_mut_ptr().cast(),
                        &raw mut place.read,
                        &raw mut place.result,
                    );
                }
            }
        }
    }
}

impl Pool {
    /// Reads of an object by one request: all of it is of one moment. There is an answer for each part, in their order.
    ///
    /// # Errors
    /// [`Errno::NO_ENTRY`] if there is no such object, and others.
    pub fn read(&self, object: &CStr, parts: &[ReadPart<'_>]) -> Result<Vec<Answer>, Errno> {
        // Made before the request, so dropped after it.
        let mut places: Vec<Place> = parts.iter().map(Place::new).collect();
        // SAFETY: it takes nothing and returns a request, which is released when `operation` is dropped.
        let mut operation = Operation(unsafe { ffi::rados_create_read_op() });
        let first = places.as_mut_ptr();
        for (at, part) in parts.iter().enumerate() {
            // SAFETY: there are as many places as parts.
            let place = unsafe { first.add(at) };
            // SAFETY: the places are not touched below until the request has ended.
            unsafe { operation.add(part, place) };
        }
        let (op, io, object) = (operation.0, self.io(), object.as_ptr());
        // SAFETY: the request is sent once; the context lives as long as `self`, which is borrowed until the call has ended; the name ends
        // with a zero, and is copied.
        let done = unsafe { ffi::rados_read_op_operate(op, io, object, 0) };
        drop(operation);
        Errno::check(done)?;
        let answers = parts.iter().zip(places);
        let answers = answers.map(|(part, place)| place.answer(part));
        answers.collect()
    }
}
