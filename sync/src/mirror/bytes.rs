//! Numbers, bytes and strings in the entries of a mirror (`docs/format/sync.md`).

use larder_idb::{JsString, KeyPath};

use super::error::{Error, Result};

/// Appends a number: seven bits in a byte, the lowest first, the top bit set but in the last.
pub(super) fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes behind their length.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends the number of UTF-16 units of a string, and the units, little-endian.
pub(super) fn put_string(string: &JsString, out: &mut Vec<u8>) {
    put_number(string.len_units() as u64, out);
    for unit in string.units() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// Appends a key path: 0, 1 and a string, or 2 and a list of such.
pub(super) fn put_key_path(path: &KeyPath, out: &mut Vec<u8>) {
    match path {
        KeyPath::Null => out.push(0),
        KeyPath::String(path) => {
            out.push(1);
            put_string(path, out);
        }
        KeyPath::Array(paths) => {
            out.push(2);
            put_number(paths.len() as u64, out);
            for path in paths {
                put_string(path, out);
            }
        }
    }
}

/// What is left to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let split = self.0.split_at_checked(len);
        let (taken, rest) = split.ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(cut)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::malformed(format!(
                "{other} where yes or no is meant"
            ))),
        }
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::malformed("a number of more than 64 bits"))
    }

    pub(super) fn len(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| cut())
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    pub(super) fn string(&mut self) -> Result<JsString> {
        let len = self.len()?.checked_mul(2).ok_or_else(cut)?;
        let (units, _) = self.take(len)?.as_chunks();
        Ok(JsString::from_units(
            units.iter().copied().map(u16::from_le_bytes).collect(),
        ))
    }

    pub(super) fn key_path(&mut self) -> Result<KeyPath> {
        Ok(match self.byte()? {
            0 => KeyPath::Null,
            1 => KeyPath::String(self.string()?),
            2 => {
                let mut paths = Vec::new();
                for _ in 0..self.len()? {
                    paths.push(self.string()?);
                }
                KeyPath::Array(paths)
            }
            other => return Err(Error::malformed(format!("a key path of kind {other}"))),
        })
    }

    pub(super) fn end(self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(Error::malformed(format!("{left} bytes behind the end"))),
        }
    }
}

fn cut() -> Error {
    Error::malformed("the bytes end too early")
}
