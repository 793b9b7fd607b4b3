//! What a transaction has changed, in the order in which it did: what its commit makes revisions of.

use std::ops::Range;

use larder_codec::value::{Revision, RevisionKind};
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
}

/// The changes of a transaction. In memory a change takes its key and about thirty bytes, until the commit.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    noted: Vec<Noted>,
    /// The object stores, by the names that they had at the time.
    object_stores: Vec<(ObjectStoreId, JsString)>,
    keys: Vec<u8>,
    pub(crate) is_from_source: bool,
}

#[derive(Debug)]
struct Noted {
    object_store: usize,
    kind: RevisionKind,
    version: RecordVersion,
    key_end: usize,
}

/// The values and the index keys of a transaction's revisions, before they have numbers.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    bytes: Vec<u8>,
    revisions: Vec<(Range<usize>, Range<usize>)>,
}

impl Prepared {
    /// Value and index key of each.
    pub(super) fn revisions(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let part = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let revisions = self.revisions.iter();
        revisions.map(move |(value, key)| (part(value), part(key)))
    }
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
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
            key_end: self.keys.len(),
        });
    }

    /// Makes the values, for a store of this data version. The last one says when the transaction was committed.
    pub(super) fn prepare(&self, version: DataVersion, committed_at_ms: f64) -> Result<Prepared> {
        let mut prepared = Prepared {
            bytes: Vec::with_capacity(self.keys.len() * 2 + self.noted.len() * 128),
            revisions: Vec::with_capacity(self.noted.len()),
        };
        let out = &mut prepared.bytes;
        let mut key_start = 0;
        for (at, noted) in self.noted.iter().enumerate() {
            let key = self.keys.get(key_start..noted.key_end).unwrap_or_default();
            key_start = noted.key_end;
            let key = RawKey::decode_exact(key)
                .map_err(|error| Error::row(key, "key of a change", error))?;
            let Some((object_store_id, name)) = self.object_stores.get(noted.object_store) else {
                continue;
            };
            let start = out.len();
            Revision {
                object_store_id: *object_store_id,
                object_store_name: name,
                kind: noted.kind,
                version: noted.version,
                is_from_source: self.is_from_source,
                committed_at_ms: (at + 1 == self.noted.len()).then_some(committed_at_ms),
            }
            .encode(key, version, out);
            let value_end = out.len();
            feed::encode_record(*object_store_id, key, out);
            let value = start..value_end;
            prepared.revisions.push((value, value_end..out.len()));
        }
        Ok(prepared)
    }
}
