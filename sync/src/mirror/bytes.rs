//! Numbers, bytes and strings in the entries of a mirror (`docs/format/sync.md`).

use larder_idb::codec::ErrorKind;
use larder_idb::codec::primitive::var_int;
use larder_idb::{JsString, KeyPath};

use super::error::Error;
use crate::bytes::Reader;

/// Why bytes are not what they should be.
#[derive(Debug)]
pub(super) enum Bad {
    /// They end too early.
    Cut,
    /// They mean nothing, however they go on.
    Wrong(String),
}

impl From<Bad> for Error {
    fn from(bad: Bad) -> Self {
        match bad {
            Bad::Cut => Self::malformed("the bytes end too early"),
            Bad::Wrong(what) => Self::malformed(what),
        }
    }
}

type Result<T, E = Bad> = std::result::Result<T, E>;

/// Appends a number below 2^63: seven bits in a byte, the lowest first, the top bit set but in the last.
pub(super) fn put_number(number: u64, out: &mut Vec<u8>) {
    var_int::encode(i64::try_from(number).unwrap_or(i64::MAX), out);
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
        let mut reader = Reader(self.0);
        let taken = reader.take(len).ok_or(Bad::Cut)?;
        self.0 = reader.0;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Bad::Cut)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Bad::Wrong(format!("{other} where yes or no is meant"))),
        }
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let (number, rest) = var_int::decode(self.0).map_err(|error| match error.kind() {
            ErrorKind::Truncated { .. } => Bad::Cut,
            _ => Bad::Wrong(error.to_string()),
        })?;
        self.0 = rest;
        u64::try_from(number).map_err(|_| Bad::Wrong(format!("the number {number}")))
    }

    pub(super) fn len(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| Bad::Cut)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    pub(super) fn string(&mut self) -> Result<JsString> {
        let len = self.len()?.checked_mul(2).ok_or(Bad::Cut)?;
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
            other => return Err(Bad::Wrong(format!("a key path of kind {other}"))),
        })
    }

    pub(super) fn end(self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(Bad::Wrong(format!("{left} bytes behind the end"))),
        }
    }
}
