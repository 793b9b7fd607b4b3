//! Revisions, as a reader gets them.

use larder_idb::codec::value::{Payload, Revision as Row, RevisionKind};
use larder_idb::codec::{RawKey, RecordVersion};
use larder_idb::{JsString, Key, Record};

use crate::error::Result;
use crate::value::RevisionValue;

/// One change of one record.
#[derive(Debug, Clone)]
pub struct Revision {
    pub(crate) number: u64,
    pub(crate) row: Row<()>,
    pub(crate) name: JsString,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<RevisionValue>,
}

impl Revision {
    /// Reads a record of the feed's.
    pub(crate) fn read(record: &Record<'_>) -> Result<Self> {
        let number = match record.raw_primary_key().to_key() {
            Key::Number(number) => number as u64,
            _ => 0,
        };
        let payload = Payload::read(record.value())?;
        let mut key = Vec::new();
        let row = Row::decode(&payload, &mut key)?;
        Ok(Self {
            number,
            name: JsString::from_units(row.object_store_name.units().collect()),
            row: Row {
                object_store_id: row.object_store_id,
                object_store_name: (),
                kind: row.kind,
                version: row.version,
                is_from_source: row.is_from_source,
                committed_at_ms: row.committed_at_ms,
            },
            key,
            value: None,
        })
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// What happened to the record.
    #[must_use]
    pub const fn kind(&self) -> RevisionKind {
        self.row.kind
    }

    /// The name of the record's object store, at that time.
    #[must_use]
    pub const fn object_store_name(&self) -> &JsString {
        &self.name
    }

    /// The number of the object store, which it keeps when it gets another name, and no other gets.
    #[must_use]
    pub const fn object_store_id(&self) -> i64 {
        self.row.object_store_id.get()
    }

    /// The record's primary key.
    #[must_use]
    pub fn key(&self) -> Key {
        self.raw_key().map_or(Key::Number(0.0), |key| key.to_key())
    }

    pub(crate) fn raw_key(&self) -> Result<RawKey<'_>> {
        Ok(RawKey::decode_exact(&self.key)?)
    }

    pub(crate) const fn version(&self) -> RecordVersion {
        self.row.version
    }

    /// Whether the change came from the source that the database is a copy of
    /// ([`TransactionOptions::from_source`](larder_idb::TransactionOptions::from_source)).
    #[must_use]
    pub const fn is_from_source(&self) -> bool {
        self.row.is_from_source
    }

    /// In the last revision of a transaction: when it was committed, in milliseconds since 1970 UTC.
    #[must_use]
    pub const fn committed_at_ms(&self) -> Option<f64> {
        self.row.committed_at_ms
    }

    /// The record's value at this revision, if values were asked for ([`ReadOptions::values`](crate::ReadOptions::values)) and it is retained.
    /// A removal has none.
    #[must_use]
    pub const fn value(&self) -> Option<&RevisionValue> {
        self.value.as_ref()
    }
}
