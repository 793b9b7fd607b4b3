//! Many records or index entries, copied into few pieces of memory: what has been copied is not copied again as more comes. Long
//! values may stay where the engine has them, as long as that does not hold much more memory than they need.

mod pinned;

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::PinnedBytes;
use larder_codec::{Key, RawKey};

use crate::error::Result;
use crate::value::{ExternalObject, StoredValue};
use pinned::Pinned;

/// Records or index entries in the order in which they were visited. Cheap to clone.
///
/// Long values of getAll may lie where the store read them, and then keep at most twice as many bytes as they need in memory.
#[derive(Clone, Default)]
pub struct Records(Arc<Buffer>);

/// Bytes of a piece, but for one with a longer entry alone in it: the first, and the longest. Each is twice as long as the one before.
const PIECE_LEN_MIN: usize = 1 << 9;
const PIECE_LEN_MAX: usize = 1 << 16;

/// What [`Records`] share, while it is filled.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pieces: Vec<Vec<u8>>,
    pinned: Pinned,
    len_bytes: usize,
    places: Vec<Place>,
    /// The objects of those entries that have any, in order.
    objects: Vec<(usize, Vec<ExternalObject>)>,
}

/// Where an entry lies: index key, primary key, value, one behind the other in one piece. Without an index the first is empty.
#[derive(Debug, Clone, Copy)]
struct Place {
    request: usize,
    piece: u32,
    index_key_len: u32,
    primary_key_len: u32,
    start: usize,
    value: ValuePlace,
}

#[derive(Debug, Clone, Copy)]
enum ValuePlace {
    /// Behind the keys, so long.
    InPiece(usize),
    /// Among those that were not copied.
    Pinned(usize),
}

impl Place {
    fn index_key(&self) -> Range<usize> {
        self.start..self.start + self.index_key_len as usize
    }

    fn primary_key(&self) -> Range<usize> {
        let start = self.index_key().end;
        start..start + self.primary_key_len as usize
    }
}

/// One record or index entry.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    records: &'a Records,
    at: usize,
    /// Which of several ranges it answers, counted from 0.
    pub request: usize,
}

impl Buffer {
    /// With room for so many entries of as many bytes as those of `before` have on an average.
    pub(crate) fn like(before: &Self, entries: usize) -> Self {
        let average = before.len_bytes / before.len().max(1);
        let len = average.saturating_mul(entries);
        Self {
            pieces: vec![Vec::with_capacity(len.min(PIECE_LEN_MAX))],
            places: Vec::with_capacity(entries),
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Adds an entry. For a record `index_key` is empty. The value is appended by `value`, which returns the external
    /// objects; `value_len` says how long it will most likely be.
    pub(crate) fn push(
        &mut self,
        request: usize,
        (index_key, primary_key): (&[u8], &[u8]),
        value_len: usize,
        value: impl FnOnce(&mut Vec<u8>) -> Result<Vec<ExternalObject>>,
    ) -> Result<()> {
        let len = index_key.len() + primary_key.len() + value_len;
        let (number, piece) = self.piece_for(len);
        let start = piece.len();
        piece.extend_from_slice(index_key);
        piece.extend_from_slice(primary_key);
        let value_start = piece.len();
        let objects = value(piece).inspect_err(|_| piece.truncate(start))?;
        let len = piece.len() - start;
        if !objects.is_empty() {
            self.objects.push((self.places.len(), objects));
        }
        self.len_bytes += len;
        self.places.push(Place {
            request,
            piece: number as u32,
            // A row's key has 32 bits for its length on disk.
            index_key_len: index_key.len() as u32,
            primary_key_len: primary_key.len() as u32,
            start,
            value: ValuePlace::InPiece(start + len - value_start),
        });
        Ok(())
    }

    /// Whether values may still be pinned: until they hold much more memory than they need.
    pub(crate) const fn may_pin(&self) -> bool {
        self.pinned.is_open()
    }

    /// Adds an entry without external objects, whose value stays where it is.
    pub(crate) fn push_pinned(
        &mut self,
        request: usize,
        keys: (&[u8], &[u8]),
        value: PinnedBytes,
    ) -> Result<()> {
        self.push(request, keys, 0, |_| Ok(Vec::new()))?;
        self.len_bytes += value.len();
        if let Some(place) = self.places.last_mut() {
            place.value = ValuePlace::Pinned(self.pinned.push(value));
        }
        Ok(())
    }

    /// A piece with room for so many bytes, and its number.
    fn piece_for(&mut self, len: usize) -> (usize, &mut Vec<u8>) {
        let (room, last_len) = match self.pieces.last() {
            Some(last) => (last.capacity() - last.len(), last.capacity()),
            None => (0, 0),
        };
        if room < len || self.pieces.is_empty() {
            let next_len = (2 * last_len).clamp(PIECE_LEN_MIN, PIECE_LEN_MAX);
            self.pieces.push(Vec::with_capacity(next_len.max(len)));
        }
        let number = self.pieces.len() - 1;
        (number, &mut self.pieces[number])
    }

    fn bytes(&self, piece: u32, range: Range<usize>) -> &[u8] {
        let piece = self.pieces.get(piece as usize);
        piece.and_then(|piece| piece.get(range)).unwrap_or_default()
    }

    /// The bytes of index key (empty if there is no index) and primary key.
    pub(crate) fn key_bytes(&self, at: usize) -> (&[u8], &[u8]) {
        self.places.get(at).map_or((&[], &[]), |place| {
            (
                self.bytes(place.piece, place.index_key()),
                self.bytes(place.piece, place.primary_key()),
            )
        })
    }

    /// The bytes of the key in whose order the entries are.
    pub(crate) fn key(&self, at: usize) -> &[u8] {
        match self.key_bytes(at) {
            (&[], primary_key) => primary_key,
            (index_key, _) => index_key,
        }
    }

    pub(crate) fn value(&self, at: usize) -> &[u8] {
        self.places.get(at).map_or(&[], |place| match place.value {
            ValuePlace::Pinned(at) => self.pinned.get(at),
            ValuePlace::InPiece(len) => {
                let start = place.primary_key().end;
                self.bytes(place.piece, start..start + len)
            }
        })
    }

    pub(crate) fn objects(&self, at: usize) -> &[ExternalObject] {
        match self.objects.binary_search_by_key(&at, |(entry, _)| *entry) {
            Ok(found) => self.objects.get(found).map_or(&[], |(_, objects)| objects),
            Err(_) => &[],
        }
    }
}

impl Records {
    pub(crate) fn new(mut buffer: Buffer) -> Self {
        buffer.pinned.settle();
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
    pub fn iter(&self) -> RecordsIter<'_> {
        RecordsIter {
            records: self,
            places: 0..self.len(),
        }
    }

    /// One entry.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Record<'_>> {
        (at < self.len()).then(|| self.entry(at))
    }

    pub(crate) fn entry(&self, at: usize) -> Record<'_> {
        Record {
            records: self,
            at,
            request: self.0.places.get(at).map_or(0, |place| place.request),
        }
    }

    pub(crate) fn value_at(&self, at: usize) -> &[u8] {
        self.0.value(at)
    }

    pub(crate) fn objects_at(&self, at: usize) -> &[ExternalObject] {
        self.0.objects(at)
    }
}

impl<'a> IntoIterator for &'a Records {
    type Item = Record<'a>;
    type IntoIter = RecordsIter<'a>;

    fn into_iter(self) -> RecordsIter<'a> {
        self.iter()
    }
}

/// The entries of [`Records`].
#[derive(Debug, Clone)]
pub struct RecordsIter<'a> {
    records: &'a Records,
    places: Range<usize>,
}

impl<'a> Iterator for RecordsIter<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        self.places.next().map(|at| self.records.entry(at))
    }

    fn nth(&mut self, n: usize) -> Option<Record<'a>> {
        self.places.nth(n).map(|at| self.records.entry(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl DoubleEndedIterator for RecordsIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.places.next_back().map(|at| self.records.entry(at))
    }
}

impl ExactSizeIterator for RecordsIter<'_> {}

impl FusedIterator for RecordsIter<'_> {}

impl<'a> Record<'a> {
    /// The index key if an index was asked, else the primary key.
    #[must_use]
    pub fn key(&self) -> Key {
        self.raw_key().to_key()
    }

    /// The key in its encoded bytes.
    #[must_use]
    pub fn raw_key(&self) -> RawKey<'a> {
        checked(self.records.0.key(self.at))
    }

    /// The record's key.
    #[must_use]
    pub fn primary_key(&self) -> Key {
        self.raw_primary_key().to_key()
    }

    /// The record's key in its encoded bytes.
    #[must_use]
    pub fn raw_primary_key(&self) -> RawKey<'a> {
        checked(self.records.0.key_bytes(self.at).1)
    }

    /// The bytes of the record's value, as [`StoredValue::bytes`]; empty if only keys were asked for. The method `deserialize` (feature
    /// `serde`) makes a Rust type of them.
    #[must_use]
    pub fn value(&self) -> &'a [u8] {
        self.records.0.value(self.at)
    }

    /// The value's blobs, files and handles.
    #[must_use]
    pub fn objects(&self) -> &'a [ExternalObject] {
        self.records.0.objects(self.at)
    }

    /// The value on its own, as [`get`](crate::ObjectStore::get) gives it: for a caller that keeps it when the other records are gone.
    #[must_use]
    pub fn stored_value(&self) -> StoredValue {
        StoredValue::one_of(self.records.clone(), self.at)
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

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", &self.key())
            .field("primary_key", &self.primary_key())
            .field("value_len_bytes", &self.value().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use larder_fixtures::random::Random;

    use super::*;
    use crate::error::{Error, ErrorName};

    #[test]
    fn entries_stay_whole_whatever_length_was_expected_and_nothing_is_left_of_those_that_fail() {
        let seed = 20_261_122;
        let mut random = Random::new(seed);
        let mut buffer = Buffer::default();
        let mut naive = Vec::new();
        let mut len_bytes = 0;
        for n in 0..4000_usize {
            let mut bytes = |max: u64| {
                let len = random.below(max) as usize;
                (0..len).map(|at| (n + at) as u8).collect::<Vec<u8>>()
            };
            let keys = (bytes(10), bytes(20));
            let value = match n % 500 {
                7 => bytes(3 << 20),
                _ => bytes(1200),
            };
            let expected = match n % 3 {
                0 => 0,
                1 => value.len(),
                _ => value.len() / 2 + 50,
            };
            let fails = n % 11 == 3;
            let pushed = buffer.push(n, (&keys.0, &keys.1), expected, |out| {
                out.extend_from_slice(&value);
                match fails {
                    true => Err(Error::new(ErrorName::UnknownError, "seen")),
                    false => Ok(Vec::new()),
                }
            });
            assert_eq!(pushed.is_err(), fails);
            if !fails {
                len_bytes += keys.0.len() + keys.1.len() + value.len();
                naive.push((n, keys, value));
            }
        }
        assert_eq!((buffer.len(), buffer.len_bytes()), (naive.len(), len_bytes));
        for (at, (request, keys, value)) in naive.iter().enumerate() {
            assert_eq!(buffer.places[at].request, *request, "seed {seed}");
            assert_eq!(
                buffer.key_bytes(at),
                (&keys.0[..], &keys.1[..]),
                "seed {seed}"
            );
            assert!(buffer.value(at) == value, "{at} of seed {seed}");
        }
        let held: usize = buffer.pieces.iter().map(Vec::len).sum();
        assert_eq!(held, len_bytes, "of those that failed nothing is left");
        assert!(buffer.pieces.len() < 100, "{}", buffer.pieces.len());
    }
}
