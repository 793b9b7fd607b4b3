//! [`BigInt`]: JavaScript's integers of any size, as V8 writes them.
//!
//! On the wire: a varint whose lowest bit is the sign and whose other bits are the number of bytes
//! that follow; then the magnitude, low byte first. Source: V8's value serialiser. No arithmetic is
//! offered, only reading and printing.

use std::fmt;

use super::reader::Reader;
use crate::{Error, ErrorKind, Result};

/// Magnitudes longer than this print in hexadecimal, because decimal takes time that grows with
/// the square of the length.
pub const DECIMAL_LEN_BYTES_MAX: usize = 16 * 1024;

/// A borrowed `BigInt`: exactly the bytes after its tag.
#[derive(Clone, Copy)]
pub struct BigInt<'a> {
    wire: &'a [u8],
}

impl<'a> BigInt<'a> {
    /// Reads one from the front of `reader`. A negative zero is refused, as V8 does.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let start = reader.offset();
        let field = reader.varint_u32("BigInt length")?;
        reader.bytes((field >> 1) as usize, "BigInt digits")?;
        if field == 1 {
            return Err(Error::new(
                ErrorKind::Invalid { found: 1 },
                start,
                "BigInt sign of zero",
            ));
        }
        Ok(Self {
            wire: reader.since(start),
        })
    }

    /// A `BigInt` from bytes as they stand on the wire: length-and-sign varint, then magnitude.
    ///
    /// # Errors
    /// If the bytes are not exactly one `BigInt`.
    pub fn from_wire(wire: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(wire);
        let bigint = Self::read(&mut reader)?;
        reader.expect_end("BigInt")?;
        Ok(bigint)
    }

    fn parts(self) -> (bool, &'a [u8]) {
        let mut reader = Reader::new(self.wire);
        let field = reader.varint_u32("BigInt length").unwrap_or(0);
        (field & 1 == 1, reader.rest())
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.parts().0
    }

    /// The magnitude, low byte first; may have zeros at its high end.
    #[must_use]
    pub fn magnitude_le(self) -> &'a [u8] {
        self.parts().1
    }

    /// The magnitude without zeros at its high end: equal numbers have equal bytes here.
    pub(super) fn significant(self) -> &'a [u8] {
        let magnitude = self.magnitude_le();
        let len = magnitude
            .iter()
            .rposition(|&b| b != 0)
            .map_or(0, |at| at + 1);
        &magnitude[..len]
    }
}

impl PartialEq for BigInt<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.significant(), other.significant());
        a == b && (a.is_empty() || self.is_negative() == other.is_negative())
    }
}

impl Eq for BigInt<'_> {}

/// Decimal; hexadecimal with `0x` beyond [`DECIMAL_LEN_BYTES_MAX`].
impl fmt::Display for BigInt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.significant();
        if magnitude.is_empty() {
            return f.write_str("0");
        }
        if self.is_negative() {
            f.write_str("-")?;
        }
        if magnitude.len() > DECIMAL_LEN_BYTES_MAX {
            f.write_str("0x")?;
            return magnitude
                .iter()
                .rev()
                .enumerate()
                .try_for_each(|(at, byte)| {
                    if at == 0 {
                        write!(f, "{byte:x}")
                    } else {
                        write!(f, "{byte:02x}")
                    }
                });
        }
        let groups = decimal_groups(magnitude);
        let mut groups = groups.iter().rev();
        if let Some(first) = groups.next() {
            write!(f, "{first}")?;
        }
        groups.try_for_each(|group| write!(f, "{group:019}"))
    }
}

impl fmt::Debug for BigInt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}n")
    }
}

/// The magnitude in base 10^19, lowest group first.
fn decimal_groups(magnitude: &[u8]) -> Vec<u64> {
    const GROUP: u128 = 10_000_000_000_000_000_000;
    let mut limbs: Vec<u64> = magnitude
        .chunks(8)
        .map(|chunk| {
            chunk
                .iter()
                .rev()
                .fold(0, |limb, &b| limb << 8 | u64::from(b))
        })
        .collect();
    let mut groups = Vec::with_capacity(limbs.len() + limbs.len() / 64 + 1);
    while !limbs.is_empty() {
        let mut remainder: u64 = 0;
        for limb in limbs.iter_mut().rev() {
            let dividend = u128::from(remainder) << 64 | u128::from(*limb);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the remainder is below 10^19, so quotient and remainder fit 64 bits"
            )]
            {
                *limb = (dividend / GROUP) as u64;
                remainder = (dividend % GROUP) as u64;
            }
        }
        groups.push(remainder);
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(negative: bool, magnitude: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut field = magnitude.len() * 2 + usize::from(negative);
        while field > 127 {
            out.push(field as u8 | 0x80);
            field >>= 7;
        }
        out.push(field as u8);
        out.extend_from_slice(magnitude);
        out
    }

    #[test]
    fn decimal_text_equals_that_of_128_bit_arithmetic() {
        fn holds(high: u64, low: u64, negative: bool) -> bool {
            let magnitude = u128::from(high) << 64 | u128::from(low);
            let bytes = wire(negative && magnitude != 0, &magnitude.to_le_bytes());
            let sign = if negative && magnitude != 0 { "-" } else { "" };
            BigInt::from_wire(&bytes).unwrap().to_string() == format!("{sign}{magnitude}")
        }
        quickcheck::quickcheck(holds as fn(u64, u64, bool) -> bool);
    }

    #[test]
    fn groups_in_the_middle_keep_their_zeros() {
        // 10^38 + 1 needs three groups of nineteen digits, the middle one all zeros.
        let number: u128 = 100_000_000_000_000_000_000_000_000_000_000_000_001;
        let bytes = wire(false, &number.to_le_bytes());
        assert_eq!(
            BigInt::from_wire(&bytes).unwrap().to_string(),
            number.to_string()
        );
    }

    #[test]
    fn a_negative_zero_and_a_short_magnitude_are_refused() {
        let error = BigInt::from_wire(&[1]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Invalid { found: 1 });
        let error = BigInt::from_wire(&[16, 1, 2]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Truncated { missing: 6 });
        assert_eq!(error.offset(), 1);
    }

    #[test]
    fn very_long_ones_print_in_hexadecimal() {
        let mut magnitude = vec![0xab; DECIMAL_LEN_BYTES_MAX + 1];
        magnitude[DECIMAL_LEN_BYTES_MAX] = 1;
        let bytes = wire(true, &magnitude);
        let text = BigInt::from_wire(&bytes).unwrap().to_string();
        assert!(text.starts_with("-0x1abab"), "{}", &text[..12]);
        assert_eq!(text.len(), 4 + DECIMAL_LEN_BYTES_MAX * 2);
    }
}
