//! Values: bytes as Blink and V8 serialise them, and the external objects that they refer to.
//!
//! The bytes are `larder_codec::value`'s matter. What a host puts is a [`Value`], what it reads a [`StoredValue`]: never
//! compressed, never in a blob, and with its key in it if that was generated. On disk it is all three (Chromium wraps
//! large values and keeps generated keys out of them); nobody above needs to know.

mod external_object;
mod fit;
mod foreign;
pub(crate) mod records;

pub use external_object::ExternalObject;
pub(crate) use external_object::InFile;
pub(crate) use foreign::NamedKeys;

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_codec::DataVersion;
use larder_codec::value::serde as codec_serde;
use larder_codec::value::{Decoder, Encoder, Needs, Payload, Tree};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorName, Result};
use crate::value::records::Records;

/// A value to be put.
///
/// ```
/// use larder_idb::Value;
/// let value = Value::serialize(&("text", 1.5))?;
/// assert!(value.bytes().starts_with(&[0xff, 0x15]));
/// # Ok::<(), larder_idb::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Value {
    pub(crate) bytes: Vec<u8>,
    pub(crate) objects: Vec<NewExternalObject>,
    /// What the bytes ask of the versions that they are written in; `None` if a host has serialised them.
    pub(crate) needs: Option<Needs>,
    /// The versions to which the store has to be raised for it.
    pub(crate) raise_to: Option<DataVersion>,
    /// Of another engine's, which no key path can look into: the keys that its host has found.
    pub(crate) index_keys: Option<NamedKeys>,
}

/// Values up to this are serialised in memory that is used again, and copied into what they need: a copy is cheaper than memory
/// that grows step by step. In bytes.
const COPIED_LEN_MAX: usize = 1 << 16;

thread_local! {
    /// That memory. Empty while a value is being serialised, whose parts may be values themselves.
    static SERIALIZED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Value {
    /// A value in Blink's envelope, as a browser serialises it: `ff 15 fe …` today. Neither compressed nor a reference to
    /// a blob; whether the header is one and how deep the value is is looked at when it is put, the rest where key paths lead.
    ///
    /// If the store's data version is less than the header's, it is raised where it may be
    /// ([`RaiseDataVersion`](crate::RaiseDataVersion)), else the value is written anew in the store's, and refused if these have
    /// no form for it.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            objects: Vec::new(),
            needs: None,
            raise_to: None,
            index_keys: None,
        }
    }

    /// A value that was written with [`larder_codec::value::Builder`] or the like, which told what it needs, and nothing has
    /// changed since: it goes into stores of other versions without being read.
    #[must_use]
    pub const fn from_written(bytes: Vec<u8>, needs: Needs) -> Self {
        Self {
            bytes,
            objects: Vec::new(),
            needs: Some(needs),
            raise_to: None,
            index_keys: None,
        }
    }

    /// The same with external objects. The value refers to blobs and files by their places among themselves, to handles
    /// likewise.
    #[must_use]
    pub fn with_objects(bytes: Vec<u8>, objects: Vec<NewExternalObject>) -> Self {
        Self::from_bytes(bytes).and_objects(objects)
    }

    /// The value with external objects, to which it refers as [there](Self::with_objects).
    #[must_use]
    pub fn and_objects(mut self, mut objects: Vec<NewExternalObject>) -> Self {
        // As Chromium lists them.
        objects.sort_by_key(|object| object.content().is_none());
        self.objects = objects;
        self
    }

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

    /// A value that was built as a tree.
    #[must_use]
    pub fn from_tree(tree: &Tree<'_>) -> Self {
        let mut bytes = Vec::new();
        let needs = Encoder::new().encode(tree, &mut bytes);
        Self::from_written(bytes, needs)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is behind the header.
    ///
    /// # Errors
    /// `DataCloneError` if the bytes have no header of a value that is as it was serialised.
    pub(crate) fn payload(&self) -> Result<Payload<'_>> {
        Payload::read(&self.bytes).map_err(|error| Error::not_a_value(&error.to_string()))
    }

    /// Its external objects.
    #[must_use]
    pub fn objects(&self) -> &[NewExternalObject] {
        &self.objects
    }
}

/// A value that was read. Cheap to clone if it is one of many; then others that were read with it stay in memory as long as it does: of gets at most
/// 18 KiB, of `getAll` and cursors what they have read at once.
#[derive(Clone)]
pub struct StoredValue(Kind);

#[derive(Clone)]
enum Kind {
    Own {
        /// The value's begin at `start`; before that stand others of the row that it was read from.
        bytes: Vec<u8>,
        start: usize,
        objects: Box<[ExternalObject]>,
    },
    /// What stands there in what was read at once.
    Part(Arc<Vec<u8>>, Range<usize>),
    OneOf(Records, usize),
}

impl StoredValue {
    /// The bytes from `start` on.
    pub(crate) fn new(bytes: Vec<u8>, start: usize, objects: Vec<ExternalObject>) -> Self {
        let objects = objects.into_boxed_slice();
        Self(Kind::Own {
            bytes,
            start,
            objects,
        })
    }

    pub(crate) const fn part_of(bytes: Arc<Vec<u8>>, place: Range<usize>) -> Self {
        Self(Kind::Part(bytes, place))
    }

    pub(crate) const fn one_of(records: Records, at: usize) -> Self {
        Self(Kind::OneOf(records, at))
    }

    /// Its bytes, in Blink's envelope: [`Value::from_bytes`] takes them back.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Own { bytes, start, .. } => bytes.get(*start..).unwrap_or_default(),
            Kind::Part(bytes, place) => bytes.get(place.clone()).unwrap_or_default(),
            Kind::OneOf(records, at) => records.value_at(*at),
        }
    }

    /// Its blobs, files and handles.
    #[must_use]
    pub fn objects(&self) -> &[ExternalObject] {
        match &self.0 {
            Kind::Own { objects, .. } => objects,
            Kind::Part(..) => &[],
            Kind::OneOf(records, at) => records.objects_at(*at),
        }
    }

    /// What [`larder_codec::value::Decoder`] and [`larder_codec::value::Evaluator`] take.
    ///
    /// # Errors
    /// If the header is none.
    pub fn payload(&self) -> Result<Payload<'_>> {
        Ok(Payload::read(self.bytes())?)
    }

    /// The value as a tree. Who reads many keeps a [`Decoder`] instead.
    ///
    /// # Errors
    /// If the bytes do not decode.
    pub fn tree(&self) -> Result<Tree<'_>> {
        Ok(Decoder::new().decode(&self.payload()?)?)
    }

    /// The value as one of Rust's, by way of [`larder_codec::value::serde`].
    ///
    /// # Errors
    /// `DataError` if it is not what `T` asks for; `UnknownError` if its header does not decode.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        deserialize(&self.payload()?)
    }
}

pub(crate) fn deserialize<T: DeserializeOwned>(payload: &Payload<'_>) -> Result<T> {
    codec_serde::from_payload(payload)
        .map_err(|error| Error::new(ErrorName::DataError, error.to_string()))
}

impl fmt::Debug for StoredValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredValue")
            .field("len_bytes", &self.bytes().len())
            .field("objects", &self.objects())
            .finish()
    }
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
