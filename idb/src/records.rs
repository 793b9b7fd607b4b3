//! Many records or index entries, copied into one piece of memory.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use larder_codec::value::Payload;
use larder_codec::{IdbKey, RawKey};
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::value::{ExternalObject, StoredValue, deserialize};

/// Records or index entries in the order in which they were visited. Cheap to clone.
#[derive(Clone, Default)]
pub struct Records(Arc<Buffer>);

/// What [`Records`] share, while it is filled.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// Of those entries that have external objects, in order.
    objects: Vec<(usize, Vec<ExternalObject>)>,
}

/// Where an entry lies: index key, primary key, value, one behind the other. Without an index the first is empty.
#[derive(Debug, Clone, Copy)]
struct Place {
    request: usize,
    start: usize,
    primary_key: usize,
    value: usize,
    end: usize,
}

/// One record or index entry.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    records: &'a Records,
    at: usize,
    /// Which of several ranges it answers, counted from 0.
    pub request: usize,
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an entry. Of a record `index_key` is empty. The value is appended by `value`, which tells the external
    /// objects.
    pub(crate) fn push(
        &mut self,
        request: usize,
        index_key: &[u8],
        primary_key: &[u8],
        value: impl FnOnce(&mut Vec<u8>) -> Result<Vec<ExternalObject>>,
    ) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(index_key);
        self.bytes.extend_from_slice(primary_key);
        let value_start = self.bytes.len();
        let objects = value(&mut self.bytes).inspect_err(|_| self.bytes.truncate(start))?;
        if !objects.is_empty() {
            self.objects.push((self.places.len(), objects));
        }
        self.places.push(Place {
            request,
            start,
            primary_key: start + index_key.len(),
            value: value_start,
            end: self.bytes.len(),
        });
        Ok(())
    }

    fn place(&self, at: usize) -> Place {
        self.places.get(at).copied().unwrap_or(Place {
            request: 0,
            start: 0,
            primary_key: 0,
            value: 0,
            end: 0,
        })
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// The bytes of index key (empty if there is no index) and primary key.
    pub(crate) fn key_bytes(&self, at: usize) -> (&[u8], &[u8]) {
        let place = self.place(at);
        (
            self.bytes(place.start..place.primary_key),
            self.bytes(place.primary_key..place.value),
        )
    }

    /// The bytes of the key in whose order the entries are.
    pub(crate) fn key(&self, at: usize) -> &[u8] {
        match self.key_bytes(at) {
            (&[], primary_key) => primary_key,
            (index_key, _) => index_key,
        }
    }

    pub(crate) fn value(&self, at: usize) -> &[u8] {
        let place = self.place(at);
        self.bytes(place.value..place.end)
    }

    pub(crate) fn objects(&self, at: usize) -> &[ExternalObject] {
        match self.objects.binary_search_by_key(&at, |(entry, _)| *entry) {
            Ok(found) => self.objects.get(found).map_or(&[], |(_, objects)| objects),
            Err(_) => &[],
        }
    }
}

impl Records {
    pub(crate) fn new(buffer: Buffer) -> Self {
        Self(Arc::new(buffer))
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.0
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// The entries, in the order of the visit.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + DoubleEndedIterator {
        (0..self.len()).map(|at| self.entry(at))
    }

    /// One entry.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Entry<'_>> {
        (at < self.len()).then(|| self.entry(at))
    }

    pub(crate) fn entry(&self, at: usize) -> Entry<'_> {
        Entry {
            records: self,
            at,
            request: self.0.place(at).request,
        }
    }

    pub(crate) fn value_at(&self, at: usize) -> &[u8] {
        self.0.value(at)
    }

    pub(crate) fn objects_at(&self, at: usize) -> &[ExternalObject] {
        self.0.objects(at)
    }
}

impl<'a> Entry<'a> {
    /// The index key if an index was asked, else the primary key.
    #[must_use]
    pub fn key(&self) -> IdbKey {
        self.raw_key().to_key()
    }

    /// The same in its bytes.
    #[must_use]
    pub fn raw_key(&self) -> RawKey<'a> {
        checked(self.records.0.key(self.at))
    }

    /// The record's key.
    #[must_use]
    pub fn primary_key(&self) -> IdbKey {
        self.raw_primary_key().to_key()
    }

    /// The same in its bytes.
    #[must_use]
    pub fn raw_primary_key(&self) -> RawKey<'a> {
        checked(self.records.0.key_bytes(self.at).1)
    }

    /// The bytes of the record's value, as [`StoredValue::bytes`]; empty if only keys were asked for.
    #[must_use]
    pub fn value(&self) -> &'a [u8] {
        self.records.0.value(self.at)
    }

    /// The value's blobs, files and handles.
    #[must_use]
    pub fn objects(&self) -> &'a [ExternalObject] {
        self.records.0.objects(self.at)
    }

    /// The value on its own.
    #[must_use]
    pub fn stored_value(&self) -> StoredValue {
        StoredValue::one_of(self.records.clone(), self.at)
    }

    /// As [`StoredValue::deserialize`].
    ///
    /// # Errors
    /// As there.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        deserialize(&Payload::read(self.value())?)
    }
}

#[expect(
    clippy::expect_used,
    reason = "cursors put only keys here that they have checked"
)]
fn checked(bytes: &[u8]) -> RawKey<'_> {
    RawKey::decode_exact(bytes).expect("an entry's keys decode")
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("key", &self.key())
            .field("primary_key", &self.primary_key())
            .field("value_len_bytes", &self.value().len())
            .finish()
    }
}
