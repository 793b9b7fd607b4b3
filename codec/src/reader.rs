//! A place in an input: returns bytes from the front, and counts the offset for errors.
//!
//! Every decoder of this crate is a `read` function over a [`Reader`]; the public `decode` and `decode_exact` are thin
//! wrappers. Not public: callers see slices.

use crate::error::{Error, ErrorKind, Result};

/// The unread part of an input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    total_bytes: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(input: &'a [u8]) -> Self {
        Self {
            rest: input,
            total_bytes: input.len(),
        }
    }

    /// Bytes already read, which is the offset of the next byte.
    pub(crate) const fn offset(&self) -> usize {
        // `rest` is always a tail of the input, so this never goes below zero.
        self.total_bytes.saturating_sub(self.rest.len())
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) const fn len_bytes(&self) -> usize {
        self.rest.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error at the place reached so far.
    pub(crate) const fn error(&self, kind: ErrorKind, what: &'static str) -> Error {
        Error::new(kind, self.offset(), what)
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8> {
        let Some((&first, rest)) = self.rest.split_first() else {
            return Err(self.error(ErrorKind::Truncated { missing: 1 }, what));
        };
        self.rest = rest;
        Ok(first)
    }

    pub(crate) fn take(&mut self, len_bytes: usize, what: &'static str) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len_bytes) else {
            let missing = len_bytes.saturating_sub(self.rest.len()) as u64;
            return Err(self.error(ErrorKind::Truncated { missing }, what));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Fails if anything is left.
    pub(crate) fn finish(&self, what: &'static str) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let extra = self.rest.len() as u64;
        Err(self.error(ErrorKind::Trailing { extra }, what))
    }
}

/// Runs `read` on `input`: the value and what it left over.
pub(crate) fn decode_with<'a, T>(
    input: &'a [u8],
    read: impl FnOnce(&mut Reader<'a>) -> Result<T>,
) -> Result<(T, &'a [u8])> {
    let mut reader = Reader::new(input);
    let value = read(&mut reader)?;
    Ok((value, reader.rest()))
}

/// Runs `read` on `input` and refuses left-over bytes, naming `what` in the error.
pub(crate) fn decode_exact_with<'a, T>(
    input: &'a [u8],
    what: &'static str,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T>,
) -> Result<T> {
    let mut reader = Reader::new(input);
    let value = read(&mut reader)?;
    reader.finish(what)?;
    Ok(value)
}
