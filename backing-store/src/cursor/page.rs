//! A bounded piece of what a cursor visits, copied: for callers that hand over many entries at a time.

use std::ops::Range;

use larder_codec::{RawKey, RecordVersion};

/// When a page is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageLimits {
    /// The greatest number of entries.
    pub entries_max: usize,
    /// Keys and values of so many bytes end the page. The last entry may exceed it, so that a large one gets through.
    pub bytes_max: usize,
}

impl PageLimits {
    /// A thousand entries, or 1 MiB.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries_max: 1000,
            bytes_max: 1 << 20,
        }
    }

    /// At most so many entries.
    #[must_use]
    pub const fn entries_max(mut self, count: usize) -> Self {
        self.entries_max = count;
        self
    }

    /// Full with so many bytes of keys and values.
    #[must_use]
    pub const fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }
}

/// A thousand entries, or 1 MiB.
impl Default for PageLimits {
    fn default() -> Self {
        Self::new()
    }
}

/// Entries, one behind the other in one piece of memory, which is kept when the page is filled again.
#[derive(Debug, Clone, Default)]
pub struct Page {
    bytes: Vec<u8>,
    entries: Vec<Place>,
}

#[derive(Debug, Clone)]
struct Place {
    request: usize,
    /// Empty for a record, whose key is the primary key.
    index_key: Range<usize>,
    primary_key: Range<usize>,
    value: Range<usize>,
    version: Option<RecordVersion>,
}

/// One entry of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageEntry<'a> {
    /// Which of several requests it answers; 0 if there was one.
    pub request: usize,
    /// The bytes of the index key, or of the primary key again if no index was asked.
    pub key: &'a [u8],
    /// The bytes of the primary key.
    pub primary_key: &'a [u8],
    /// The record's version.
    pub version: Option<RecordVersion>,
    /// The record's value without the version.
    pub value: &'a [u8],
}

impl PageEntry<'_> {
    /// The key, decoded.
    ///
    /// # Errors
    /// None for entries that a cursor has put here.
    pub fn raw_key(&self) -> larder_codec::Result<RawKey<'_>> {
        RawKey::decode_exact(self.key)
    }
}

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The entries, in the order of the visit.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = PageEntry<'_>> {
        self.entries.iter().map(|place| self.entry(place))
    }

    fn entry(&self, place: &Place) -> PageEntry<'_> {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let primary_key = bytes(&place.primary_key);
        PageEntry {
            request: place.request,
            key: match bytes(&place.index_key) {
                [] => primary_key,
                index_key => index_key,
            },
            primary_key,
            version: place.version,
            value: bytes(&place.value),
        }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    pub(crate) fn has_room(&self, limits: PageLimits) -> bool {
        self.entries.len() < limits.entries_max && self.bytes.len() < limits.bytes_max
    }

    pub(crate) fn push(
        &mut self,
        request: usize,
        index_key: Option<&[u8]>,
        primary_key: &[u8],
        version: Option<RecordVersion>,
        value: &[u8],
    ) {
        let mut add = |bytes: &[u8]| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(bytes);
            start..self.bytes.len()
        };
        let place = Place {
            request,
            index_key: add(index_key.unwrap_or_default()),
            primary_key: add(primary_key),
            value: add(value),
            version,
        };
        self.entries.push(place);
    }
}
