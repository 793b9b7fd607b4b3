//! Values: bytes as Blink and V8 serialise them, and the external objects that they refer to.
//!
//! The bytes are `larder_codec::value`'s matter. What a host puts is a [`Value`], what it reads a [`StoredValue`]: never
//! compressed, never in a blob, and with its key in it if that was generated. On disk it is all three (Chromium wraps
//! large values and keeps generated keys out of them); the rooms above do not see that.

mod external_object;
mod fit;
mod foreign;
pub(crate) mod records;
#[cfg(feature = "serde")]
mod serde;

pub use external_object::ExternalObject;
pub(crate) use external_object::InFile;
pub(crate) use foreign::NamedKeys;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_codec::DataVersion;
use larder_codec::value::{Decoder, Encoder, Needs, Payload, Tree};

use crate::error::{Error, Result};
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
    /// The keys that the host has found, if the value is another engine's: no key path can look into it.
    pub(crate) index_keys: Option<NamedKeys>,
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

    /// A value that was written with [`larder_codec::value::Builder`] or the like, which reported the version that it needs, and nothing has
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

    /// A value with external objects. It refers to blobs and files by their places among themselves, and so to handles.
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

    /// The value as a tree. To read many, keep a [`Decoder`] instead.
    ///
    /// # Errors
    /// If the bytes do not decode.
    pub fn tree(&self) -> Result<Tree<'_>> {
        Ok(Decoder::new().decode(&self.payload()?)?)
    }
}

impl fmt::Debug for StoredValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredValue")
            .field("len_bytes", &self.bytes().len())
            .field("objects", &self.objects())
            .finish()
    }
}
