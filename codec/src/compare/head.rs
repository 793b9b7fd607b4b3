//! A number in the comparator's order: what decides most comparisons without the keys.
//!
//! A row's fields, in the order in which they count, are written one after the other as bits that order like the field and
//! of which none begin like another's; the first 128 bits are the head. It ends early (with zeros) where fields are not
//! worth it, and with ones at a field that cannot be read, because such keys come last. Not a format: heads are never
//! stored.

use crate::idb_key::{TAG_ARRAY, TAG_BINARY, TAG_DATE, TAG_MAX, TAG_MIN, TAG_NUMBER, TAG_STRING};
use crate::prefix::{KeyPrefix, PrefixKind};

use crate::pairwise;

/// Rows with a smaller head are less under [`compare`](super::compare()); of rows with the same head nothing is known. Rows
/// that are equal have the same head.
///
/// Never panics, allocates nothing, and looks at no more of a row than its front.
///
/// ```
/// use larder_codec::{compare, row_head};
/// let one = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
/// let two = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0x00, 0x40];
/// assert!(row_head(&one) < row_head(&two));
/// assert!(compare(&one, &two).is_lt());
/// ```
#[must_use]
pub fn row_head(row: &[u8]) -> u128 {
    let mut head = Head {
        upper: 0,
        lower: 0,
        left: 128,
    };
    // It is complete at the end of what counts, or before.
    let _ = head.push_row(row);
    u128::from(head.upper) << 64 | u128::from(head.lower)
}

/// Bits of a double behind its exponent.
const MANTISSA_LEN: u32 = f64::MANTISSA_DIGITS - 1;
const MANTISSA: u64 = (1 << MANTISSA_LEN) - 1;

/// Why a head goes no further.
struct Complete;

/// The bits so far, from the top.
struct Head {
    upper: u64,
    lower: u64,
    left: u32,
}

impl Head {
    /// Adds the lower `width` bits of a number that has no others, or as many of them as there is room for.
    #[inline]
    fn push(&mut self, number: u64, width: u32) -> Result<(), Complete> {
        // Most heads end before the upper half is full.
        match self.left.checked_sub(64 + width) {
            Some(shift) => {
                self.left -= width;
                self.upper |= number << shift;
                Ok(())
            }
            None => self.push_over(number, width),
        }
    }

    /// Pushes a number like [`push`](Self::push), where its bits go beyond the upper half.
    fn push_over(&mut self, number: u64, width: u32) -> Result<(), Complete> {
        let room = width.min(self.left);
        self.left -= room;
        let kept = u128::from(number) >> (width - room);
        self.set(kept << self.left);
        match self.left {
            0 => Err(Complete),
            _ => Ok(()),
        }
    }

    fn set(&mut self, bits: u128) {
        self.upper |= (bits >> 64) as u64;
        self.lower |= bits as u64;
    }

    /// Ends it behind all that begin alike.
    #[cold]
    fn fill(&mut self) -> Complete {
        self.set(u128::MAX.checked_shr(128 - self.left).unwrap_or(0));
        Complete
    }

    /// What was read, or the end.
    #[inline]
    fn readable<T>(&mut self, field: Option<T>) -> Result<T, Complete> {
        field.ok_or_else(|| self.fill())
    }

    /// A number of which most are small.
    #[inline]
    fn push_number(&mut self, number: u64) -> Result<(), Complete> {
        match number {
            0..8 => self.push(number, 4),
            8..72 => self.push((0b10 << 6) | (number - 8), 8),
            72..4168 => self.push((0b110 << 12) | (number - 72), 15),
            _ => {
                self.push(0b111, 3)?;
                self.push(number, 64)
            }
        }
    }

    #[inline]
    fn push_prefix(&mut self, prefix: &KeyPrefix) -> Result<(), Complete> {
        if prefix.database | prefix.object_store < 8 {
            // As the two numbers one by one.
            self.push(prefix.database << 4 | prefix.object_store, 8)?;
        } else {
            self.push_number(prefix.database)?;
            self.push_number(prefix.object_store)?;
        }
        self.push_number(prefix.index.into())
    }

    fn push_row(&mut self, row: &[u8]) -> Result<(), Complete> {
        let parsed = KeyPrefix::parse_any_length(row);
        let (prefix, len_bytes) = self.readable(parsed)?;
        self.push_prefix(&prefix)?;
        let rest = row.get(len_bytes..).unwrap_or_default();
        match prefix.kind() {
            PrefixKind::Data | PrefixKind::Exists | PrefixKind::ExternalObject => {
                self.push_user_key(rest)?;
                Ok(())
            }
            PrefixKind::IndexData => {
                let rest = self.push_user_key(rest)?;
                self.push_index_tail(rest)
            }
            PrefixKind::Global | PrefixKind::Database => {
                let kind = self.readable(rest.first())?;
                self.push((*kind).into(), 8)
            }
            PrefixKind::Unassigned => Ok(()),
        }
    }

    /// Sequence number and primary key, of which the latter counts first.
    fn push_index_tail(&mut self, rest: &[u8]) -> Result<(), Complete> {
        let rest = match rest {
            [] => &[],
            _ => {
                let sequence = pairwise::take_var_int(rest);
                self.readable(sequence)?.1
            }
        };
        self.push_user_key(rest)?;
        Ok(())
    }

    /// A user key, which may be missing; gives what follows it.
    #[inline(always)]
    fn push_user_key<'k>(&mut self, key: &'k [u8]) -> Result<&'k [u8], Complete> {
        match key {
            [TAG_NUMBER, rest @ ..] => self.push_double((0b01, 2), rest),
            _ => self.push_other_key(key),
        }
    }

    /// Pushes a user key like [`push_user_key`](Self::push_user_key), but for numbers.
    fn push_other_key<'k>(&mut self, key: &'k [u8]) -> Result<&'k [u8], Complete> {
        let Some((&tag, rest)) = key.split_first() else {
            // Before the sentinel, which has the same bits.
            self.push(0b00, 2)?;
            return Err(Complete);
        };
        match tag {
            TAG_DATE => self.push_double((0b100, 3), rest),
            TAG_STRING => {
                self.push(0b101, 3)?;
                self.push_string(rest)
            }
            TAG_BINARY => {
                self.push(0b1100, 4)?;
                self.push_binary(rest)
            }
            TAG_ARRAY => {
                self.push(0b1101, 4)?;
                self.push_array(rest)
            }
            TAG_MIN => {
                self.push(0b00, 2)?;
                Err(Complete)
            }
            TAG_MAX => {
                self.push(0b111, 3)?;
                Ok(rest)
            }
            _ => Err(self.fill()),
        }
    }

    /// `kind` is what a key's type is written as, and how many bits that has.
    #[inline(always)]
    fn push_double<'k>(&mut self, kind: (u64, u32), key: &'k [u8]) -> Result<&'k [u8], Complete> {
        let Some((value, rest)) = pairwise::take_double(key) else {
            self.push(kind.0, kind.1)?;
            return Err(self.fill());
        };
        // Adding zero makes -0 positive.
        self.push_bits(kind, (value + 0.0).to_bits())?;
        Ok(rest)
    }

    /// A double by its bits. Most numbers in keys are whole: those from 1 on take as many bits as they have, and 7 more,
    /// so that what comes after them is in the upper half, too.
    #[inline(always)]
    fn push_bits(&mut self, (kind, kind_len): (u64, u32), bits: u64) -> Result<(), Complete> {
        const ONE: u64 = 1023 << MANTISSA_LEN;
        let exponent = match bits.checked_sub(ONE) {
            Some(above) if bits >> 63 == 0 => (above >> MANTISSA_LEN) as u32,
            _ => {
                self.push(kind, kind_len)?;
                return self.push_less_than_one(bits);
            }
        };
        let exponent_bits = match exponent {
            0..32 => 0b01 << 5 | u64::from(exponent),
            32..64 => 0b10 << 5 | u64::from(exponent - 32),
            _ => {
                self.push(kind << 2 | 0b11, kind_len + 2)?;
                return self.push(bits, 63);
            }
        };
        let fraction_len = MANTISSA_LEN.saturating_sub(exponent);
        let mantissa = bits & MANTISSA;
        let (whole, whole_len) = (mantissa >> fraction_len, MANTISSA_LEN - fraction_len);
        let fraction = mantissa & !(u64::MAX << fraction_len);
        // At most 63 bits together.
        let front = (kind << 7 | exponent_bits) << whole_len | whole;
        self.push(
            front << 1 | u64::from(fraction != 0),
            kind_len + whole_len + 8,
        )?;
        match fraction {
            0 => Ok(()),
            _ => self.push(fraction, fraction_len),
        }
    }

    fn push_less_than_one(&mut self, bits: u64) -> Result<(), Complete> {
        if bits >> 63 == 0 {
            self.push(0b001, 3)?;
            return self.push(bits, 63);
        }
        // Bits of negative numbers grow downwards.
        self.push(0b000, 3)?;
        self.push(!bits, 63)
    }

    /// Seven bits for ASCII's units, the end before them; more for others.
    fn push_string<'k>(&mut self, key: &'k [u8]) -> Result<&'k [u8], Complete> {
        let string = pairwise::take_string(key);
        let (units, rest) = self.readable(string)?;
        for unit in units.chunks_exact(2) {
            match u64::from(unit[0]) << 8 | u64::from(unit[1]) {
                unit @ 0..126 => self.push(unit + 1, 7)?,
                unit => self.push(127 << 16 | unit, 23)?,
            }
        }
        self.push(0, 7)?;
        Ok(rest)
    }

    fn push_binary<'k>(&mut self, key: &'k [u8]) -> Result<&'k [u8], Complete> {
        let binary = pairwise::take_binary(key);
        let (bytes, rest) = self.readable(binary)?;
        for byte in bytes {
            self.push(u64::from(*byte) + 1, 9)?;
        }
        self.push(0, 9)?;
        Ok(rest)
    }

    /// Recursive, but each level takes three bits.
    fn push_array<'k>(&mut self, key: &'k [u8]) -> Result<&'k [u8], Complete> {
        let count = pairwise::take_count(key);
        let (len, mut rest) = self.readable(count)?;
        for _ in 0..len {
            self.push(1, 1)?;
            rest = match rest {
                // Cannot be read: there should be one.
                [] => return Err(self.fill()),
                _ => self.push_user_key(rest)?,
            };
        }
        self.push(0, 1)?;
        Ok(rest)
    }
}
