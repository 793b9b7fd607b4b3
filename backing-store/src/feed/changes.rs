//! What a transaction has changed, in the order in which it did: what its commit makes revisions of.

use std::ops::Range;

use larder_codec::value::{ChangedObjectStore, JsStr, RevisionKind, RevisionRow, RevisionsRow};
use larder_codec::{DataVersion, JsString, ObjectStoreId, RawKey, RecordVersion, feed};

use crate::error::{Error, Result};

/// One change of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) object_store_id: ObjectStoreId,
    pub(crate) object_store_name: &'a JsString,
    pub(crate) key: RawKey<'a>,
    pub(crate) kind: RevisionKind,
    pub(crate) version: RecordVersion,
    pub(crate) before: Option<RecordVersion>,
}

/// The changes of a transaction. In memory a change takes its key and about forty bytes, until the commit.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    noted: Vec<Noted>,
    /// The object stores, by the names that they had at the time.
    object_stores: Vec<(ObjectStoreId, JsString)>,
    keys: Vec<u8>,
    pub(crate) is_from_source: bool,
    /// The number behind which they come, if that is not the last revision's.
    pub(crate) behind: Option<u64>,
}

#[derive(Debug)]
struct Noted {
    object_store: usize,
    kind: RevisionKind,
    version: RecordVersion,
    before: Option<RecordVersion>,
    key_end: usize,
}

/// So many revisions are one record at most. With more, clean-up that takes one of them away would write more anew.
const REVISIONS_MAX: usize = 32;
/// Keys of so many bytes end a record.
const KEYS_LEN_MAX: usize = 4 << 10;

/// The records of a transaction's revisions, before these have numbers.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    bytes: Vec<u8>,
    records: Vec<PreparedRecord>,
    /// Keys of the index.
    ends: Vec<Range<usize>>,
    pub(super) behind: Option<u64>,
}

#[derive(Debug)]
struct PreparedRecord {
    count: usize,
    value: Range<usize>,
    ends: Range<usize>,
}

/// A record of revisions that has no number yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordToNumber<'a> {
    /// How many revisions it has.
    pub(super) count: usize,
    pub(super) value: &'a [u8],
    prepared: &'a Prepared,
    ends: &'a Range<usize>,
}

impl<'a> RecordToNumber<'a> {
    /// Its keys in the index.
    pub(super) fn ends(&self) -> impl Iterator<Item = &'a [u8]> {
        let prepared = self.prepared;
        let ends = prepared.ends.get(self.ends.clone()).unwrap_or_default();
        ends.iter().map(|end| prepared.part(end))
    }
}

impl Prepared {
    fn part(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    pub(super) fn records(&self) -> impl Iterator<Item = RecordToNumber<'_>> {
        self.records.iter().map(|record| RecordToNumber {
            count: record.count,
            value: self.part(&record.value),
            prepared: self,
            ends: &record.ends,
        })
    }
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty() && self.behind.is_none()
    }

    pub(crate) fn note(&mut self, change: &Change<'_>) {
        let is_its = |(id, name): &(ObjectStoreId, JsString)| {
            *id == change.object_store_id && name == change.object_store_name
        };
        let object_store = match self.object_stores.iter().rposition(is_its) {
            Some(at) => at,
            None => {
                let name = change.object_store_name.clone();
                self.object_stores.push((change.object_store_id, name));
                self.object_stores.len() - 1
            }
        };
        self.keys.extend_from_slice(change.key.as_bytes());
        self.noted.push(Noted {
            object_store,
            kind: change.kind,
            version: change.version,
            before: change.before,
            key_end: self.keys.len(),
        });
    }

    /// Makes the values, for a store of this data version. The last one says when the transaction was committed.
    pub(super) fn prepare(&self, version: DataVersion, committed_at_ms: f64) -> Result<Prepared> {
        let mut prepared = Prepared {
            bytes: Vec::with_capacity(self.keys.len() + self.noted.len() * 40),
            behind: self.behind,
            ..Prepared::default()
        };
        // With the names as values have them.
        let stores = self.object_stores.iter().map(|(id, name)| {
            let units = name.units().iter().copied();
            (*id, units.flat_map(u16::to_le_bytes).collect())
        });
        let stores: Vec<_> = stores.collect();
        let (mut rest, mut key_start) = (&*self.noted, 0);
        while let Some((record, behind)) = self.split(rest, key_start) {
            let is_last = behind.is_empty();
            let row = RevisionsRow {
                object_stores: Vec::new(),
                is_from_source: self.is_from_source,
                committed_at_ms: is_last.then_some(committed_at_ms),
            };
            key_start =
                self.prepare_record(record, key_start, &stores, row, version, &mut prepared)?;
            rest = behind;
        }
        Ok(prepared)
    }

    /// The changes that the next record has, and those behind it. In one record an object store has one name.
    fn split<'a>(
        &self,
        noted: &'a [Noted],
        key_start: usize,
    ) -> Option<(&'a [Noted], &'a [Noted])> {
        let first = noted.first()?;
        let id = |at: usize| self.object_stores.get(at).map(|(id, _)| *id);
        let mut names = vec![first.object_store];
        let goes_on = |change: &Noted| {
            if change.key_end - key_start > KEYS_LEN_MAX {
                return false;
            }
            if names.contains(&change.object_store) {
                return true;
            }
            let is_renamed = names.iter().any(|at| id(*at) == id(change.object_store));
            names.push(change.object_store);
            !is_renamed
        };
        let others = noted.iter().skip(1).take(REVISIONS_MAX - 1);
        let len = 1 + others.map(goes_on).take_while(|goes_on| *goes_on).count();
        noted.split_at_checked(len)
    }

    /// Makes one record, and returns where the keys behind it begin.
    fn prepare_record<'a>(
        &self,
        noted: &[Noted],
        mut key_start: usize,
        object_stores: &'a [(ObjectStoreId, Vec<u8>)],
        mut row: RevisionsRow<'a>,
        version: DataVersion,
        prepared: &mut Prepared,
    ) -> Result<usize> {
        let mut revisions = Vec::with_capacity(noted.len());
        for (at, change) in noted.iter().enumerate() {
            let Some((id, name)) = object_stores.get(change.object_store) else {
                continue;
            };
            let key = self.keys.get(key_start..change.key_end).unwrap_or_default();
            key_start = change.key_end;
            let stores = &mut row.object_stores;
            match stores.iter_mut().find(|store| store.id == *id) {
                Some(store) => store.version = change.version,
                None => stores.push(ChangedObjectStore {
                    id: *id,
                    name: JsStr::Utf16Le(name),
                    version: change.version,
                }),
            }
            revisions.push(RevisionRow {
                back: (noted.len() - 1 - at) as u32,
                kind: change.kind,
                object_store_id: *id,
                version: change.version,
                before: change.before,
                key: RawKey::decode_exact(key)
                    .map_err(|error| Error::row(key, "key of a change", error))?,
            });
        }
        let out = &mut prepared.bytes;
        let start = out.len();
        row.encode(revisions.into_iter(), version, out);
        let value = start..out.len();
        let first_end = prepared.ends.len();
        for store in &row.object_stores {
            let start = out.len();
            feed::encode_version(store.id, store.version, out);
            prepared.ends.push(start..out.len());
        }
        prepared.records.push(PreparedRecord {
            count: noted.len(),
            value,
            ends: first_end..prepared.ends.len(),
        });
        Ok(key_start)
    }
}
