//! Values of Rust's as IndexedDB's, by way of serde. The feature `serde`. Which type becomes what is [`codec_serde`]'s matter.

use std::cell::Cell;

use larder_codec::value::Payload;
use larder_codec::value::serde as codec_serde;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorName, Result};
use crate::value::records::Record;
use crate::value::{StoredValue, Value};

/// Values up to this are serialised in memory that is used again, and copied into what they need: a copy is cheaper than memory
/// that grows step by step. In bytes.
const COPIED_LEN_MAX: usize = 1 << 16;

thread_local! {
    /// That memory. Empty while a value is being serialised, whose parts may be values themselves.
    static SERIALIZED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Value {
    /// A value of Rust's, by way of [`larder_codec::value::serde`].
    ///
    /// # Errors
    /// `DataCloneError` if it has no form, or more than [`DEPTH_MAX`](codec_serde::DEPTH_MAX) containers are one inside the other.
    pub fn serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let mut buffer = SERIALIZED.take();
        buffer.clear();
        let needs = codec_serde::to_bytes(value, &mut buffer)
            .map_err(|error| Error::new(ErrorName::DataCloneError, error.to_string()))?;
        if buffer.capacity() > COPIED_LEN_MAX {
            return Ok(Self::from_written(buffer, needs));
        }
        let bytes = buffer.as_slice().to_vec();
        SERIALIZED.set(buffer);
        Ok(Self::from_written(bytes, needs))
    }
}

impl StoredValue {
    /// The value as one of Rust's, by way of [`larder_codec::value::serde`].
    ///
    /// # Errors
    /// `DataError` if it is not what `T` asks for; `UnknownError` if its header does not decode.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        deserialize(&self.payload()?)
    }
}

impl Record<'_> {
    /// The value as one of Rust's, without a [`StoredValue`] of its own.
    ///
    /// ```
    /// # use larder_idb::{GetAllOptions, ObjectStore, Result};
    /// #[derive(serde::Deserialize)]
    /// struct Book {
    ///     title: String,
    /// }
    ///
    /// # fn titles(books: &ObjectStore) -> Result<Vec<String>> {
    /// let found = books.index("by author")?.get_all("Austen", GetAllOptions::new())?.wait()?;
    /// found.iter().map(|record| Ok(record.deserialize::<Book>()?.title)).collect()
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`StoredValue::deserialize`].
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        deserialize(&Payload::read(self.value())?)
    }
}

fn deserialize<T: DeserializeOwned>(payload: &Payload<'_>) -> Result<T> {
    codec_serde::from_payload(payload)
        .map_err(|error| Error::new(ErrorName::DataError, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> usize {
        let buffer = SERIALIZED.take();
        let capacity = buffer.capacity();
        SERIALIZED.set(buffer);
        capacity
    }

    fn read<T: DeserializeOwned>(value: Value) -> T {
        StoredValue::new(value.bytes, 0, Vec::new())
            .deserialize()
            .unwrap()
    }

    #[test]
    fn values_of_any_length_are_what_was_serialised_and_large_ones_keep_no_memory() {
        for len in [0, 1, 60_000, COPIED_LEN_MAX, 1 << 20, 5, 70_000, 3] {
            let text: String = ('a'..='z').cycle().take(len).collect();
            assert_eq!(read::<String>(Value::serialize(&text).unwrap()), text);
            assert!(kept() <= COPIED_LEN_MAX, "{len}");
        }
    }

    /// Serialises other values while it is being serialised.
    struct Nested(u32);

    impl Serialize for Nested {
        fn serialize<S: serde::Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
            let inner = match self.0 {
                0 => Value::serialize("inmost"),
                height => Value::serialize(&Self(height - 1)),
            };
            let len = inner.map_err(serde::ser::Error::custom)?.bytes.len();
            (self.0, "x".repeat(len)).serialize(out)
        }
    }

    #[test]
    fn a_value_can_be_serialised_while_another_is() {
        for height in [0, 1, 5, 1] {
            let (found, text): (u32, String) = read(Value::serialize(&Nested(height)).unwrap());
            assert_eq!(found, height);
            assert!(text.bytes().all(|byte| byte == b'x') && !text.is_empty());
        }
    }

    struct Refused;

    impl Serialize for Refused {
        fn serialize<S: serde::Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("refused"))
        }
    }

    #[test]
    fn what_has_no_form_leaves_nothing_for_the_next() {
        let parts = ("begun", Refused);
        let error = Value::serialize(&parts).unwrap_err();
        assert_eq!(error.name(), ErrorName::DataCloneError);
        assert_eq!(read::<u32>(Value::serialize(&7).unwrap()), 7);
    }
}
