//! The sortable key coding: bytes whose plain order is the order of keys (`docs/FORMAT.md`, 2.4).
//!
//! Chromium uses it in its SQLite store, never in LevelDB files. This is its newest form; the older
//! forms of strings and binaries are not read.

use crate::error::{Error, ErrorKind, Result};
use crate::idb_key::{Key, KeyArray, KeyPart, LEVEL_MAX, RawKey};
use crate::js_string::JsString;
use crate::reader::{Reader, decode_exact_with, decode_with};

const NUMBER: u8 = 0x10;
const DATE: u8 = 0x20;
const STRING: u8 = 0x30;
const BINARY: u8 = 0x40;
const ARRAY: u8 = 0x50;
/// Ends strings, arrays and the empty binary; below everything that can stand in its place.
const END: u8 = 0;

/// The greatest unit written as one byte, its value plus 1.
const ONE_BYTE_MAX: u16 = 0x7e;
/// The greatest unit written as two bytes, big-endian with the top bit set.
const TWO_BYTES_MAX: u16 = 0x3fff;
/// Stands before the two bytes of a greater unit.
const THREE_BYTES: u8 = 0xff;

const CHUNK_LEN_BYTES: usize = 8;
const DOUBLE_LEN_BYTES: usize = 8;
/// Stands before each chunk of a binary; greater than any final count.
const CHUNK: u8 = 9;

const SIGN: u64 = 1 << 63;

/// Appends the sortable form of a key.
///
/// -0 is written as 0. NaN, which is no key, is written as one NaN above all numbers, and does not
/// decode.
///
/// ```
/// use larder_codec::{Key, sortable};
/// let sorted = |key: Key| {
///     let mut bytes = Vec::new();
///     sortable::encode(&key, &mut bytes);
///     bytes
/// };
/// assert_eq!(sorted("a".into()), [0x30, 0x62, 0x00]);
/// assert!(sorted(Key::Number(-2.0)) < sorted(Key::Number(-1.0)));
/// assert!(sorted(Key::Number(1e300)) < sorted(Key::Date(0.0)));
/// ```
pub fn encode(key: &Key, out: &mut Vec<u8>) {
    // Iterators over the elements still to be written, one per open array.
    let mut open: Vec<std::slice::Iter<'_, Key>> = Vec::new();
    let mut next = Some(key);
    loop {
        match next {
            Some(Key::Number(number)) => encode_double(NUMBER, *number, out),
            Some(Key::Date(milliseconds)) => encode_double(DATE, *milliseconds, out),
            Some(Key::String(string)) => encode_units(string.units().iter().copied(), out),
            Some(Key::Binary(bytes)) => encode_binary(bytes, out),
            Some(Key::Array(array)) => {
                out.push(ARRAY);
                open.push(array.iter());
            }
            None => {
                open.pop();
                out.push(END);
            }
        }
        let Some(elements) = open.last_mut() else {
            return;
        };
        next = elements.next();
    }
}

/// Appends the sortable form of a key that is not taken apart, as [`encode`] does.
///
/// ```
/// use larder_codec::{Key, RawKey, sortable};
/// let (mut bytes, mut sorted) = (Vec::new(), Vec::new());
/// Key::from("a").encode(&mut bytes);
/// sortable::encode_raw(RawKey::decode_exact(&bytes)?, &mut sorted);
/// assert_eq!(sorted, [0x30, 0x62, 0x00]);
/// # Ok::<(), larder_codec::Error>(())
/// ```
pub fn encode_raw(key: RawKey<'_>, out: &mut Vec<u8>) {
    // How many elements are still to come, one number per open array.
    let mut open: Vec<u64> = Vec::new();
    for part in key.parts() {
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        match part {
            KeyPart::Number(number) => encode_double(NUMBER, number, out),
            KeyPart::Date(milliseconds) => encode_double(DATE, milliseconds, out),
            KeyPart::String(string) => encode_units(string.units(), out),
            KeyPart::Binary(bytes) => encode_binary(bytes, out),
            KeyPart::Array { len } => {
                out.push(ARRAY);
                open.push(len);
            }
        }
        while open.pop_if(|left| *left == 0).is_some() {
            out.push(END);
        }
    }
}

fn encode_double(tag: u8, value: f64, out: &mut Vec<u8>) {
    let value = if value.is_nan() {
        f64::NAN.abs()
    } else {
        value + 0.0
    };
    let bits = value.to_bits();
    // Positive numbers go above the negative ones, whose magnitude counts backwards.
    let sorted = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    out.push(tag);
    out.extend_from_slice(&sorted.to_be_bytes());
}

fn encode_units(units: impl Iterator<Item = u16>, out: &mut Vec<u8>) {
    out.push(STRING);
    for unit in units {
        let [high, low] = unit.to_be_bytes();
        if unit <= ONE_BYTE_MAX {
            out.push(low + 1);
        } else if unit <= TWO_BYTES_MAX {
            out.extend_from_slice(&[0x80 | high, low]);
        } else {
            out.extend_from_slice(&[THREE_BYTES, high, low]);
        }
    }
    out.push(END);
}

fn encode_binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(BINARY);
    let mut last_len = END;
    for chunk in bytes.chunks(CHUNK_LEN_BYTES) {
        let mut padded = [0; CHUNK_LEN_BYTES];
        for (to, from) in padded.iter_mut().zip(chunk) {
            *to = *from;
        }
        out.push(CHUNK);
        out.extend_from_slice(&padded);
        // At most eight.
        last_len = chunk.len() as u8;
    }
    out.push(last_len);
}

/// Takes one key.
///
/// # Errors
/// On any bytes that [`encode`] does not write: an unknown type byte, NaN, -0, a unit in a longer
/// form than needed, padding that is not zero, an array that is not closed or too deep.
pub fn decode(input: &[u8]) -> Result<(Key, &[u8])> {
    decode_with(input, read)
}

/// The key that is the whole of `input`.
///
/// # Errors
/// As [`decode`], and on left-over bytes.
pub fn decode_exact(input: &[u8]) -> Result<Key> {
    decode_exact_with(input, "sortable key", read)
}

/// Appends the key that is the whole of `input` in the coding of LevelDB's rows ([`Key::encode`]).
///
/// # Errors
/// As [`decode_exact`].
///
/// ```
/// use larder_codec::sortable;
/// let mut bytes = Vec::new();
/// sortable::recode_exact(&[0x30, 0x62, 0x00], &mut bytes)?;
/// assert_eq!(bytes, [1, 1, 0, b'a']);
/// # Ok::<(), larder_codec::Error>(())
/// ```
pub fn recode_exact(input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    // Nearly all keys are numbers: they need not be made first.
    if let Some((&NUMBER, double)) = input.split_first()
        && double.len() == DOUBLE_LEN_BYTES
    {
        Key::Number(read_double(&mut Reader::new(double))?).encode(out);
        return Ok(());
    }
    decode_exact(input)?.encode(out);
    Ok(())
}

fn read(reader: &mut Reader<'_>) -> Result<Key> {
    // Elements read so far, one entry per open array.
    let mut open: Vec<Vec<Key>> = Vec::new();
    loop {
        let at_tag = *reader;
        let done = match reader.byte("sortable key type")? {
            END if !open.is_empty() => {
                Key::Array(KeyArray::from_bytes(open.pop().unwrap_or_default())?)
            }
            // An array at level n is the n+1st that is open.
            _ if open.len() > LEVEL_MAX => {
                let limit = LEVEL_MAX as u64;
                return Err(at_tag.error(ErrorKind::LimitExceeded { limit }, "key nesting"));
            }
            NUMBER => Key::Number(read_double(reader)?),
            DATE => Key::Date(read_double(reader)?),
            STRING => Key::String(read_string(reader)?),
            BINARY => Key::Binary(read_binary(reader)?),
            ARRAY => {
                open.push(Vec::new());
                continue;
            }
            tag => return Err(at_tag.error(ErrorKind::UnknownTag { tag }, "sortable key type")),
        };
        match open.last_mut() {
            Some(elements) => elements.push(done),
            None => return Ok(done),
        }
    }
}

fn read_double(reader: &mut Reader<'_>) -> Result<f64> {
    let at_start = *reader;
    let mut bytes = [0; DOUBLE_LEN_BYTES];
    bytes.copy_from_slice(reader.take(DOUBLE_LEN_BYTES, "sortable number")?);
    let sorted = u64::from_be_bytes(bytes);
    let bits = if sorted & SIGN == 0 {
        !sorted
    } else {
        sorted ^ SIGN
    };
    let value = f64::from_bits(bits);
    if value.is_nan() || bits == SIGN {
        let found = sorted;
        return Err(at_start.error(ErrorKind::Invalid { found }, "sortable number"));
    }
    Ok(value)
}

fn read_string(reader: &mut Reader<'_>) -> Result<JsString> {
    let mut units = Vec::new();
    loop {
        let at_unit = *reader;
        let unit = match reader.byte("sortable string")? {
            END => return Ok(JsString::from_units(units)),
            one @ 1..=0x7f => u16::from(one) - 1,
            high @ 0x80..=0xbf => {
                let unit = u16::from_be_bytes([high & 0x3f, reader.byte("sortable string")?]);
                check_form(unit > ONE_BYTE_MAX, unit, at_unit)?
            }
            THREE_BYTES => {
                let high = reader.byte("sortable string")?;
                let unit = u16::from_be_bytes([high, reader.byte("sortable string")?]);
                check_form(unit > TWO_BYTES_MAX, unit, at_unit)?
            }
            tag => return Err(at_unit.error(ErrorKind::UnknownTag { tag }, "sortable string")),
        };
        units.push(unit);
    }
}

/// The unit, unless a shorter form would do.
fn check_form(needed: bool, unit: u16, at_unit: Reader<'_>) -> Result<u16> {
    let found = u64::from(unit);
    let error: Error = at_unit.error(ErrorKind::Invalid { found }, "sortable string");
    if needed { Ok(unit) } else { Err(error) }
}

fn read_binary(reader: &mut Reader<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut marker = reader.byte("sortable binary")?;
    if marker == END {
        return Ok(bytes);
    }
    loop {
        let at_chunk = *reader;
        if marker != CHUNK {
            let found = u64::from(marker);
            return Err(at_chunk.error(ErrorKind::Invalid { found }, "sortable binary"));
        }
        let chunk = reader.take(CHUNK_LEN_BYTES, "sortable binary")?;
        marker = reader.byte("sortable binary")?;
        let len = match marker {
            len @ 1..=8 => usize::from(len),
            _ => CHUNK_LEN_BYTES,
        };
        let (real, padding) = chunk.split_at(len);
        bytes.extend_from_slice(real);
        if let Some(&bad) = padding.iter().find(|byte| **byte != 0) {
            let found = u64::from(bad);
            return Err(at_chunk.error(ErrorKind::Invalid { found }, "sortable binary padding"));
        }
        if marker < CHUNK && marker != END {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::idb_key::tests::on_small_stack;
    use crate::testing::{bytes_of, damage, properties};

    fn sorted(key: &Key) -> Vec<u8> {
        bytes_of(|out| encode(key, out))
    }

    #[derive(Debug, Clone)]
    struct NearlySortable(Vec<u8>);

    impl Arbitrary for NearlySortable {
        fn arbitrary(g: &mut Gen) -> Self {
            let whole = sorted(&Key::arbitrary(g));
            Self(damage(g, whole))
        }
    }

    #[test]
    fn each_type_has_its_bytes() {
        let string = |units: &[u16]| Key::String(JsString::from_units(units.to_vec()));
        let array = |elements| Key::array(elements).unwrap();
        let cases: [(Key, &[u8]); 14] = [
            (Key::Number(0.0), &[0x10, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            (Key::Number(1.0), &[0x10, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0]),
            (
                Key::Date(-1.0),
                &[0x20, 0x40, 0x0f, 255, 255, 255, 255, 255, 255],
            ),
            (string(&[]), &[0x30, 0]),
            (string(&[0]), &[0x30, 1, 0]),
            (string(&[0x7e]), &[0x30, 0x7f, 0]),
            (string(&[0x7f]), &[0x30, 0x80, 0x7f, 0]),
            (string(&[0x3fff]), &[0x30, 0xbf, 0xff, 0]),
            (
                string(&[0x4000, 0xd800]),
                &[0x30, 0xff, 0x40, 0, 0xff, 0xd8, 0, 0],
            ),
            (Key::Binary(vec![]), &[0x40, 0]),
            (Key::Binary(vec![7]), &[0x40, 9, 7, 0, 0, 0, 0, 0, 0, 0, 1]),
            (
                Key::Binary(vec![1, 2, 3, 4, 5, 6, 7, 8, 9]),
                &[
                    0x40, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 0, 0, 0, 0, 0, 0, 0, 1,
                ],
            ),
            (array(vec![]), &[0x50, 0]),
            (
                array(vec![string(&[]), array(vec![])]),
                &[0x50, 0x30, 0, 0x50, 0, 0],
            ),
        ];
        for (key, bytes) in cases {
            assert_eq!(sorted(&key), bytes);
            assert_eq!(decode_exact(bytes), Ok(key));
        }
        assert_eq!(sorted(&Key::Number(-0.0)), sorted(&Key::Number(0.0)));
    }

    #[test]
    fn forms_that_are_not_written_are_refused() {
        for bytes in [
            &[][..],
            &[0],
            &[0x11],
            // -0 and NaN
            &[0x10, 0x7f, 255, 255, 255, 255, 255, 255, 255],
            &[0x10, 0xff, 0xf8, 0, 0, 0, 0, 0, 0],
            &[0x10, 0, 7, 0, 0, 0, 0, 0, 0],
            // Longer units than needed, an unused first byte, no end.
            &[0x30, 0x80, 0x7e, 0],
            &[0x30, 0xff, 0x3f, 0xff, 0],
            &[0x30, 0xc0, 0, 0],
            &[0x30, 1],
            // Padding, markers, an end instead of a count.
            &[0x40, 9, 7, 1, 0, 0, 0, 0, 0, 0, 1],
            &[0x40, 8, 7, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0x40, 9, 7, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x40, 9, 7, 0, 0, 0, 0, 0, 0, 0, 10],
            &[0x50],
            &[0x50, 0x50, 0],
            &[0x50, 0, 0],
        ] {
            assert!(decode_exact(bytes).is_err(), "{bytes:?}");
        }
        let nan = sorted(&Key::Number(-f64::NAN));
        assert!(nan > sorted(&Key::Number(f64::INFINITY)) && decode(&nan).is_err());
    }

    #[test]
    fn two_thousand_levels_are_read_and_one_more_is_refused() {
        on_small_stack(|| {
            let nested = |levels: usize| [vec![ARRAY; levels], vec![END; levels]].concat();
            let key = decode_exact(&nested(LEVEL_MAX + 1)).unwrap();
            assert_eq!(key.height(), LEVEL_MAX);
            assert_eq!(sorted(&key), nested(LEVEL_MAX + 1));
            assert!(decode_exact(&nested(LEVEL_MAX + 2)).is_err());
        });
    }

    properties! {
        fn every_key_round_trips_and_every_cut_fails(key: Key) -> bool {
            let bytes = sorted(&key);
            decode_exact(&bytes) == Ok(key)
                && (0..bytes.len()).all(|len| decode(&bytes[..len]).is_err())
        }

        fn keys_that_are_not_taken_apart_have_the_same_form(key: Key) -> bool {
            let bytes = bytes_of(|out| key.encode(out));
            let raw = RawKey::decode_exact(&bytes).unwrap();
            bytes_of(|out| encode_raw(raw, out)) == sorted(&key)
        }

        fn a_form_becomes_the_bytes_of_its_key_or_none(input: NearlySortable) -> bool {
            let NearlySortable(input) = input;
            let mut bytes = Vec::new();
            match (recode_exact(&input, &mut bytes), decode_exact(&input)) {
                (Ok(()), Ok(key)) => bytes == bytes_of(|out| key.encode(out)),
                (Err(error), Err(expected)) => error.kind() == expected.kind(),
                _ => false,
            }
        }

        fn byte_order_is_key_order(a: Key, b: Key) -> bool {
            sorted(&a).cmp(&sorted(&b)) == a.cmp(&b)
        }

        fn byte_order_is_the_comparators_order(a: Key, b: Key) -> bool {
            let (bytes_a, bytes_b) = (bytes_of(|out| a.encode(out)), bytes_of(|out| b.encode(out)));
            sorted(&a).cmp(&sorted(&b)) == crate::compare::compare_user_keys(&bytes_a, &bytes_b)
        }

        fn any_input_decodes_to_the_one_key_with_that_form_or_errs(input: NearlySortable) -> bool {
            let NearlySortable(input) = input;
            match decode(&input) {
                Ok((key, rest)) => [&sorted(&key), rest].concat() == input,
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
