//! A key still in its bytes: checked once, compared and walked without allocating.

use std::cmp::Ordering;
use std::fmt;

use super::part::{self, KeyPart, KeyParts};
use super::{Key, LEVEL_MAX, TAG_DATE, TAG_NUMBER, order};
use crate::error::{ErrorKind, Result};
use crate::pairwise::decided;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// The bytes of exactly one key. Made by decoding, so every key in it decodes.
///
/// Equality and order are those of keys (-0 equals 0); compare [`RawKey::as_bytes`] for identity.
///
/// ```
/// use larder_codec::{Key, RawKey};
/// let bytes = [4, 2, 1, 1, 0, 0x61, 6, 0, 0xff];
/// let (key, rest) = RawKey::decode(&bytes)?;
/// assert_eq!(rest, [0xff]);
/// assert_eq!(key.elements().count(), 2);
/// assert_eq!(key.to_key(), Key::array(vec!["a".into(), Key::Binary(vec![])])?);
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct RawKey<'a> {
    bytes: &'a [u8],
}

impl<'a> RawKey<'a> {
    /// Takes one key, and decodes only as much of it as shows that the whole can be decoded.
    ///
    /// # Errors
    /// Exactly when [`Key::decode`] fails.
    pub fn decode(input: &'a [u8]) -> Result<(Self, &'a [u8])> {
        decode_with(input, Self::read)
    }

    /// The key that is the whole of `input`.
    ///
    /// # Errors
    /// As [`RawKey::decode`], and on left-over bytes.
    #[inline]
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        if is_double(input) {
            return Ok(Self { bytes: input });
        }
        decode_exact_with(input, "key", Self::read)
    }

    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let before = reader.rest();
        if !skip_double(reader) {
            skip(reader)?;
        }
        let len_bytes = before.len().saturating_sub(reader.len_bytes());
        let (bytes, _) = before.split_at(len_bytes);
        Ok(Self { bytes })
    }

    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }

    /// The key's bytes, type byte first.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The key as a tree of its own.
    #[must_use]
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "a RawKey holds one key that was checked by the same reader"
    )]
    pub fn to_key(&self) -> Key {
        Key::decode_exact(self.bytes).expect("a RawKey decodes")
    }

    /// All pieces, array heads included, in the order of the bytes.
    #[must_use]
    pub const fn parts(&self) -> KeyParts<'a> {
        KeyParts::new(self.bytes)
    }

    /// The elements of an array; nothing for other keys.
    ///
    /// Each step passes over one whole element, so that walking down through all levels costs the
    /// square of the depth; [`RawKey::parts`] does not.
    #[must_use]
    pub fn elements(&self) -> KeyElements<'a> {
        let mut reader = Reader::new(self.bytes);
        match part::read(&mut reader, 0) {
            Ok(KeyPart::Array { len }) => KeyElements { reader, left: len },
            _ => KeyElements { reader, left: 0 },
        }
    }

    /// Compares the keys at the front of two byte strings.
    pub(super) fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b) = (a, b);
        decided(order::compare::<false>(&mut a, &mut b))
    }
}

/// Whether the input is the bytes of one number or date, which most keys are.
#[inline]
fn is_double(input: &[u8]) -> bool {
    match input.split_first_chunk::<9>() {
        Some((&[TAG_NUMBER | TAG_DATE, ref double @ ..], [])) => {
            !f64::from_le_bytes(*double).is_nan()
        }
        _ => false,
    }
}

/// Passes over a number or a date, which most keys are; whether there was one.
#[inline]
fn skip_double(reader: &mut Reader<'_>) -> bool {
    let Some((&[TAG_NUMBER | TAG_DATE, ref double @ ..], _)) =
        reader.rest().split_first_chunk::<9>()
    else {
        return false;
    };
    !f64::from_le_bytes(*double).is_nan() && reader.take(9, "key").is_ok()
}

/// Passes over one key, checking it.
fn skip(reader: &mut Reader<'_>) -> Result<()> {
    let at_start = *reader;
    // Keys still to come. Every key takes a byte, so this never needs to exceed what is left.
    let mut pending = 1_u64;
    let mut arrays = 0_usize;
    while pending > 0 {
        pending -= 1;
        if let KeyPart::Array { len } = part::read(reader, 0)? {
            arrays += 1;
            pending = pending.saturating_add(len);
            if pending > reader.len_bytes() as u64 {
                let missing = pending - reader.len_bytes() as u64;
                return Err(reader.error(ErrorKind::Truncated { missing }, "array key"));
            }
        }
    }
    // Fewer arrays than levels cannot nest too deep.
    if arrays > LEVEL_MAX {
        check_levels(at_start)?;
    }
    Ok(())
}

/// Walks one key again, now counting levels.
#[cold]
fn check_levels(mut reader: Reader<'_>) -> Result<()> {
    // Elements missing, one entry per open array; part::read bounds how many there are.
    let mut open: Vec<u64> = Vec::new();
    loop {
        if let KeyPart::Array { len } = part::read(&mut reader, open.len())? {
            open.push(len);
        }
        while let Some(missing) = open.last_mut() {
            if *missing > 0 {
                *missing -= 1;
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            return Ok(());
        }
    }
}

/// The elements of an array key. Made by [`RawKey::elements`].
#[derive(Debug, Clone)]
pub struct KeyElements<'a> {
    reader: Reader<'a>,
    left: u64,
}

impl<'a> Iterator for KeyElements<'a> {
    type Item = RawKey<'a>;

    fn next(&mut self) -> Option<RawKey<'a>> {
        self.left = self.left.checked_sub(1)?;
        RawKey::read(&mut self.reader).ok()
    }
}

impl fmt::Debug for RawKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_key(), f)
    }
}

impl PartialEq for RawKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RawKey<'_> {}

impl PartialOrd for RawKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RawKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        Self::compare_bytes(self.bytes, other.bytes)
    }
}
