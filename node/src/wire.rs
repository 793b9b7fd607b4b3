//! The memory that JavaScript and this side share: a request from it, an answer into it.
//!
//! Sixteen words of 32 bits are the head, and the body follows. All numbers are little-endian. Strings are their length in units (32 bits), then units of
//! UTF-16; lists a count, then what is in them. Keys are in Chromium's form (`docs/FORMAT.md`, section 2). `js/engine/wire.js` is the other side.

use larder_codec::{JsString, Key, KeyPath, RawKey};
use larder_idb::{Error, ErrorName, Result};

/// So many words are the head.
pub(crate) const HEAD_WORDS: usize = 16;

/// Where the body begins, in bytes.
pub(crate) const BODY: usize = HEAD_WORDS * 4;

/// A request.
#[derive(Debug)]
pub(crate) struct Ask<'m> {
    head: &'m [u8],
    body: &'m [u8],
}

fn bad() -> Error {
    Error::new(
        ErrorName::UnknownError,
        "internal error: a request that does not decode",
    )
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    for (to, from) in array.iter_mut().zip(bytes) {
        *to = *from;
    }
    array
}

impl<'m> Ask<'m> {
    /// The request that lies in the memory.
    pub(crate) fn read(memory: &'m [u8]) -> Self {
        let (head, body) = memory.split_at_checked(BODY).unwrap_or_default();
        Self { head, body }
    }

    /// A word of the head.
    pub(crate) fn word(&self, at: usize) -> u32 {
        let word = self.head.get(at * 4..).unwrap_or_default();
        u32::from_le_bytes(array(word))
    }

    pub(crate) fn flag(&self, at: usize) -> bool {
        self.word(at) != 0
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'m [u8]> {
        let (bytes, rest) = self.body.split_at_checked(count).ok_or_else(bad)?;
        self.body = rest;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(array(self.bytes(4)?)))
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        self.bytes(1)?.first().copied().ok_or_else(bad)
    }

    pub(crate) fn number(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(array(self.bytes(8)?)))
    }

    /// A length or count of the body's.
    pub(crate) fn count(&mut self) -> Result<usize> {
        usize::try_from(self.u32()?).map_err(|_| bad())
    }

    pub(crate) fn string(&mut self) -> Result<JsString> {
        let count = self.count()?;
        let bytes = self.bytes(count.checked_mul(2).ok_or_else(bad)?)?;
        let units = bytes
            .chunks_exact(2)
            .map(|unit| u16::from_le_bytes(array(unit)));
        Ok(JsString::from_units(units.collect()))
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        Ok(self.string()?.to_string_lossy())
    }

    pub(crate) fn strings(&mut self) -> Result<Vec<JsString>> {
        let count = self.count()?;
        (0..count).map(|_| self.string()).collect()
    }

    pub(crate) fn key(&mut self) -> Result<Key> {
        let (key, rest) = RawKey::decode(self.body).map_err(|_| bad())?;
        self.body = rest;
        Ok(key.to_key())
    }

    /// A key path: a number (none, a string, a list) and strings.
    pub(crate) fn key_path(&mut self) -> Result<KeyPath> {
        Ok(match self.byte()? {
            0 => KeyPath::Null,
            1 => KeyPath::String(self.string()?),
            _ => KeyPath::Array(self.strings()?),
        })
    }
}

/// An answer. What does not fit the memory is only counted.
#[derive(Debug)]
pub(crate) struct Reply<'m> {
    memory: &'m mut [u8],
    at: usize,
}

impl<'m> Reply<'m> {
    /// An answer without a body, in this memory.
    pub(crate) fn into_memory(memory: &'m mut [u8]) -> Self {
        Self { memory, at: BODY }
    }

    /// How many bytes the answer takes.
    pub(crate) fn len(&self) -> usize {
        self.at
    }

    pub(crate) fn fits(&self) -> bool {
        self.at <= self.memory.len()
    }

    /// Takes back what has been written from here on.
    pub(crate) fn cut(&mut self, at: usize) {
        self.at = at;
    }

    /// An answer to script's request or watch of this number, of an engine's.
    pub(crate) fn to(memory: &'m mut [u8], engine: u32, number: u32) -> Self {
        let mut reply = Self::into_memory(memory);
        reply.set(1, engine);
        reply.set(2, number);
        reply
    }

    /// Puts a word into the head.
    pub(crate) fn set(&mut self, word: usize, value: u32) {
        if let Some(place) = self.memory.get_mut(word * 4..word * 4 + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        if let Some(place) = self.memory.get_mut(self.at..end) {
            place.copy_from_slice(bytes);
        }
        self.at = end;
    }

    /// A length or count.
    pub(crate) fn count(&mut self, count: usize) {
        // No list or string is as long: memory has fewer bytes.
        self.bytes(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn string(&mut self, string: &JsString) {
        self.count(string.len_units());
        for unit in string.units() {
            self.bytes(&unit.to_le_bytes());
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.string(&JsString::from(text));
    }

    pub(crate) fn strings(&mut self, strings: &[JsString]) {
        self.count(strings.len());
        for string in strings {
            self.string(string);
        }
    }

    pub(crate) fn key(&mut self, key: RawKey<'_>) {
        // An encoded key is its own bytes.
        self.bytes(key.as_bytes());
    }

    /// A key that is not in its bytes.
    pub(crate) fn own_key(&mut self, key: &Key) {
        match key {
            Key::Number(number) => self.bytes(&Key::encode_number(*number)),
            key => {
                let mut bytes = Vec::new();
                key.encode(&mut bytes);
                self.bytes(&bytes);
            }
        }
    }

    pub(crate) fn key_path(&mut self, path: &KeyPath) {
        match path {
            KeyPath::Null => self.byte(0),
            KeyPath::String(string) => {
                self.byte(1);
                self.string(string);
            }
            KeyPath::Array(strings) => {
                self.byte(2);
                self.strings(strings);
            }
        }
    }
}
