//! The cursor that every value decoder reads through.
//!
//! Numbers as V8 and Blink write them inside values: varints of 32 and 64 bits, little-endian doubles, length-prefixed
//! UTF-8. Of tags it has those of strings only. Every read is bounds-checked and says where it failed; nothing is allocated.

use byteorder::{ByteOrder, LittleEndian};

use super::js_str::JsStr;
use super::tag::v8 as tag;
use crate::{Error, ErrorKind, Result};

/// A position in borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

/// An error of `kind` about `what` at `offset`.
pub(super) fn error<T>(kind: ErrorKind, offset: usize, what: &'static str) -> Result<T> {
    Err(Error::new(kind, offset, what))
}

/// The error for a number that is not allowed here.
pub(super) fn invalid<T>(found: u64, offset: usize, what: &'static str) -> Result<T> {
    error(ErrorKind::Invalid { found }, offset, what)
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// A reader of `bytes[start..]` whose offsets count from the start of `bytes`.
    pub(super) fn starting_at(bytes: &'a [u8], start: usize) -> Self {
        Self {
            bytes,
            offset: start.min(bytes.len()),
        }
    }

    #[inline]
    pub(super) const fn offset(&self) -> usize {
        self.offset
    }

    #[inline]
    pub(super) const fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    /// The bytes read since `start`.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start.min(self.offset)..self.offset]
    }

    /// The next byte, which stays.
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    /// The byte at an offset, wherever that is.
    pub(super) fn byte_at(&self, offset: usize) -> Option<u8> {
        self.bytes.get(offset).copied()
    }

    /// Reads again from an offset that was passed.
    pub(super) fn go_back_to(&mut self, offset: usize) {
        self.offset = self.offset.min(offset);
    }

    #[inline]
    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8> {
        match self.peek() {
            Some(byte) => {
                self.offset += 1;
                Ok(byte)
            }
            None => error(ErrorKind::Truncated { missing: 1 }, self.offset, what),
        }
    }

    #[inline]
    pub(super) fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.rest().split_at_checked(len) {
            Some((head, _)) => {
                self.offset += len;
                Ok(head)
            }
            None => error(
                ErrorKind::Truncated {
                    missing: (len - self.remaining()) as u64,
                },
                self.offset,
                what,
            ),
        }
    }

    /// An unsigned LEB128 number of 32 bits: at most five bytes, no lost bits. Padded forms are
    /// taken, as V8 takes them.
    #[inline]
    pub(super) fn varint_u32(&mut self, what: &'static str) -> Result<u32> {
        if let Some(byte @ 0..=0x7f) = self.peek() {
            self.offset += 1;
            return Ok(u32::from(byte));
        }
        let start = self.offset;
        let wide = self.varint(5, what)?;
        u32::try_from(wide).or_else(|_| invalid(wide, start, what))
    }

    /// A signed number of 32 bits, zigzag.
    #[inline]
    pub(super) fn zigzag(&mut self, what: &'static str) -> Result<i32> {
        let zigzag = self.varint_u32(what)?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// An unsigned LEB128 number of 64 bits: at most ten bytes, no lost bits.
    pub(super) fn varint_u64(&mut self, what: &'static str) -> Result<u64> {
        self.varint(10, what)
    }

    fn varint(&mut self, len_max: u32, what: &'static str) -> Result<u64> {
        let start = self.offset;
        let mut value: u64 = 0;
        for at in 0..len_max {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7f);
            let shift = at * 7;
            if (bits << shift) >> shift != bits {
                return invalid(u64::from(byte), start, what);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        invalid(value, start, what)
    }

    #[inline]
    pub(super) fn f64(&mut self, what: &'static str) -> Result<f64> {
        Ok(LittleEndian::read_f64(self.bytes(8, what)?))
    }

    /// Blink's string: varint length in bytes, then well-formed UTF-8 (Blink refuses others).
    pub(super) fn utf8(&mut self, what: &'static str) -> Result<JsStr<'a>> {
        let len = self.varint_u32(what)?;
        let start = self.offset;
        let bytes = self.bytes(len as usize, what)?;
        match std::str::from_utf8(bytes) {
            Ok(_) => Ok(JsStr::Utf8(bytes)),
            Err(broken) => {
                let at = broken.valid_up_to();
                invalid(u64::from(bytes[at]), start + at, what)
            }
        }
    }

    /// What is behind the tag of a string of V8's, which stands at `at`.
    #[inline]
    pub(super) fn string(&mut self, tag: u8, at: usize) -> Result<JsStr<'a>> {
        let len = self.varint_u32("string length")?;
        let bytes = self.bytes(len as usize, "string")?;
        match tag {
            tag::ONE_BYTE_STRING => Ok(JsStr::Latin1(bytes)),
            tag::TWO_BYTE_STRING => match JsStr::from_utf16_le(bytes) {
                Some(string) => Ok(string),
                None => invalid(u64::from(len), at, "two-byte string length"),
            },
            tag::UTF8_STRING => Ok(JsStr::Utf8(bytes)),
            tag => error(ErrorKind::UnknownTag { tag }, at, "string"),
        }
    }

    /// A varint that must be 0 or 1.
    pub(super) fn bool32(&mut self, what: &'static str) -> Result<bool> {
        let start = self.offset;
        match self.varint_u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => invalid(u64::from(other), start, what),
        }
    }

    /// Refuses anything that is left.
    pub(super) fn expect_end(&self, what: &'static str) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            extra => error(
                ErrorKind::Trailing {
                    extra: extra as u64,
                },
                self.offset,
                what,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_refuse_what_does_not_fit() {
        let read = |bytes: &[u8]| {
            Reader::new(bytes)
                .varint_u32("n")
                .map_err(|e| e.kind().clone())
        };
        assert_eq!(read(&[0xac, 0x02]), Ok(300));
        assert_eq!(read(&[0x80, 0x00]), Ok(0));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
        assert_eq!(
            read(&[0xff, 0xff, 0xff, 0xff, 0x1f]),
            Err(ErrorKind::Invalid {
                found: 0x1_ffff_ffff
            })
        );
        assert!(matches!(
            read(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]),
            Err(ErrorKind::Invalid { .. })
        ));
        assert_eq!(read(&[0x80]), Err(ErrorKind::Truncated { missing: 1 }));
        let wide = |bytes: &[u8]| Reader::new(bytes).varint_u64("n").ok();
        let top = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(wide(&top), Some(u64::MAX));
        let above = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(wide(&above), None);
    }

    #[test]
    fn short_reads_say_how_much_is_missing_and_stay_put() {
        let mut reader = Reader::new(&[1, 2, 3]);
        let error = reader.bytes(5, "five").unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Truncated { missing: 2 });
        assert_eq!(reader.offset(), 0);
        assert_eq!(reader.rest(), [1, 2, 3]);
    }

    #[test]
    fn blink_strings_must_be_well_formed_utf8() {
        let mut reader = Reader::new(&[3, b'a', 0xed, 0xa0]);
        let error = reader.utf8("name").unwrap_err();
        assert_eq!(
            (error.offset(), error.kind()),
            (2, &ErrorKind::Invalid { found: 0xed })
        );
    }
}
