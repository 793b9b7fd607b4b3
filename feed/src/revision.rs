//! Revisions, as a reader gets them.

use larder_idb::codec::feed;
use larder_idb::codec::value::{Payload, RevisionKind, RevisionRow, RevisionsReader};
use larder_idb::codec::{ObjectStoreId, RawKey, RecordVersion};
use larder_idb::{GetAllOptions, JsString, Key, KeyRange, Record, Transaction};

use crate::error::Result;
use crate::value::RevisionValue;

/// One change of one record.
#[derive(Debug, Clone)]
pub struct Revision {
    pub(crate) number: u64,
    pub(crate) row: RevisionRow<()>,
    is_from_source: bool,
    committed_at_ms: Option<f64>,
    name: JsString,
    key: Vec<u8>,
    pub(crate) value: Option<RevisionValue>,
}

/// The number in a key of the feed's.
pub(crate) fn number_of(key: &Key) -> u64 {
    match key {
        Key::Number(number) => *number as u64,
        _ => 0,
    }
}

/// Reads the revisions of a record of the feed's that `wanted` says to, by their numbers.
pub(crate) fn read_all(
    record: &Record<'_>,
    wanted: impl Fn(u64, &RevisionRow<()>) -> bool,
    revisions: &mut Vec<Revision>,
) -> Result<()> {
    let last = number_of(&record.primary_key());
    let mut reader = RevisionsReader::new(&Payload::read(record.value())?)?;
    let mut names: Vec<(ObjectStoreId, JsString)> = Vec::new();
    let mut key = Vec::new();
    while let Some(row) = reader.next(&mut key)? {
        let number = last.saturating_sub(u64::from(row.back));
        let row = row.with_key(());
        if !wanted(number, &row) {
            continue;
        }
        let (id, shared) = (row.object_store_id, reader.row());
        let name = match names.iter().find(|(of, _)| *of == id) {
            Some((_, name)) => name.clone(),
            None => {
                let mut stores = shared.object_stores.iter();
                let found = stores.find(|store| store.id == id);
                let units = found.map(|store| store.name.units().collect());
                let name = JsString::from_units(units.unwrap_or_default());
                names.push((id, name.clone()));
                name
            }
        };
        revisions.push(Revision {
            number,
            row,
            is_from_source: shared.is_from_source,
            committed_at_ms: shared.committed_at_ms.filter(|_| row.back == 0),
            name,
            key: key.clone(),
            value: None,
        });
    }
    Ok(())
}

/// A revision, if it is retained.
pub(crate) async fn revision(transaction: &Transaction, number: u64) -> Result<Option<Revision>> {
    let revisions = transaction.object_store(feed::REVISIONS)?;
    let range = KeyRange::lower_bound(number as f64, false);
    let options = GetAllOptions::new().count(1);
    let found = revisions.get_all(range, options)?.await?;
    let mut read = Vec::new();
    if let Some(record) = found.get(0) {
        read_all(&record, |of, _| of == number, &mut read)?;
    }
    Ok(read.pop())
}

/// The revisions that `wanted` says to, of the record that has those of an object store with this version, or the next there is.
pub(crate) async fn revisions_at(
    transaction: &Transaction,
    object_store: i64,
    version: i64,
    wanted: impl Fn(u64, &RevisionRow<()>) -> bool,
) -> Result<Vec<Revision>> {
    let revisions = transaction.object_store(feed::REVISIONS)?;
    let by_version = revisions.index(feed::BY_VERSION)?;
    let lower = version_key(object_store, version as f64)?;
    let upper = version_key(object_store, f64::INFINITY)?;
    let range = KeyRange::bound(lower, upper, false, false)?;
    let options = GetAllOptions::new().count(1);
    let found = by_version.get_all(range, options)?.await?;
    let mut read = Vec::new();
    if let Some(record) = found.get(0) {
        let is_of_store = |row: &RevisionRow<()>| row.object_store_id.get() == object_store;
        read_all(
            &record,
            |of, row| is_of_store(row) && wanted(of, row),
            &mut read,
        )?;
    }
    Ok(read)
}

/// A key of the index by version.
pub(crate) fn version_key(object_store: i64, version: f64) -> Result<Key> {
    let elements = vec![Key::Number(object_store as f64), Key::Number(version)];
    Ok(Key::array(elements)?)
}

/// The revision that gave a record of an object store this version, if it is retained.
pub(crate) async fn revision_of_version(
    transaction: &Transaction,
    object_store: i64,
    version: i64,
) -> Result<Option<Revision>> {
    let is_it = |_, row: &RevisionRow<()>| row.version.get() == version;
    let mut found = revisions_at(transaction, object_store, version, is_it).await?;
    Ok(found.pop())
}

impl Revision {
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
        self.raw_key().to_key()
    }

    /// The record's primary key in its encoded bytes.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a revision is made with bytes that are a key's"
    )]
    pub fn raw_key(&self) -> RawKey<'_> {
        RawKey::decode_exact(&self.key).expect("a revision's key decodes")
    }

    pub(crate) const fn version(&self) -> RecordVersion {
        self.row.version
    }

    /// The version that the record had before.
    pub(crate) const fn before(&self) -> Option<RecordVersion> {
        self.row.before
    }

    /// Whether the change came from the source that the database is a copy of
    /// ([`TransactionOptions::from_source`](larder_idb::TransactionOptions::from_source)).
    #[must_use]
    pub const fn is_from_source(&self) -> bool {
        self.is_from_source
    }

    /// In the last revision of a transaction: when it was committed, in milliseconds since 1970 UTC.
    #[must_use]
    pub const fn committed_at_ms(&self) -> Option<f64> {
        self.committed_at_ms
    }

    /// The record's value at this revision, if values were asked for ([`ReadOptions::values`](crate::ReadOptions::values)) and it is retained.
    /// A removal has none.
    #[must_use]
    pub const fn value(&self) -> Option<&RevisionValue> {
        self.value.as_ref()
    }
}
