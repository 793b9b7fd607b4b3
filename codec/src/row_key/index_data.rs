//! Keys of an index's entries: «database, object store, index, index key, sequence number, primary
//! key» (`docs/FORMAT.md`, 4.7).

use crate::error::Result;
use crate::idb_key::RawKey;
use crate::ids::{DatabaseId, IndexId, ObjectStoreId};
use crate::prefix::KeyPrefix;
use crate::primitive::var_int;
use crate::reader::Reader;

/// The key of an entry of an index.
///
/// Chromium writes sequence number 0 and the primary key. In the oldest stores the primary key, or
/// both, are missing; then the primary key stands only in the row's value.
///
/// In the order of keys the primary key counts before the sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexDataKey<'a> {
    /// The database.
    pub database_id: DatabaseId,
    /// The object store.
    pub object_store_id: ObjectStoreId,
    /// The index.
    pub index_id: IndexId,
    /// The key under which the index has the record.
    pub index_key: RawKey<'a>,
    tail: Tail<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail<'a> {
    Empty,
    Sequence(i64),
    SequenceAndPrimaryKey(i64, RawKey<'a>),
}

impl<'a> IndexDataKey<'a> {
    /// An entry as written today: with sequence number 0.
    #[must_use]
    pub const fn new(
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        index_key: RawKey<'a>,
        primary_key: RawKey<'a>,
    ) -> Self {
        Self {
            database_id,
            object_store_id,
            index_id,
            index_key,
            tail: Tail::SequenceAndPrimaryKey(0, primary_key),
        }
    }

    /// The entry with another sequence number, by which entries of one index key and one primary key are ordered. Nothing changes where a form has none.
    ///
    /// ```
    /// use larder_codec::{RowKey, compare};
    ///
    /// // Database 1, object store 1, index 30: the record "b" under the key "a".
    /// let first = [0, 1, 1, 30, 1, 1, 0, b'a', 0, 1, 1, 0, b'b'];
    /// let mut last = Vec::new();
    /// if let RowKey::IndexData(entry) = RowKey::decode_exact(&first)? {
    ///     entry.with_sequence(i64::MAX).encode(&mut last);
    /// }
    /// assert!(compare(&first, &last).is_lt());
    /// // Before the same key's next record.
    /// assert!(compare(&last, &[0, 1, 1, 30, 1, 1, 0, b'a', 0, 1, 1, 0, b'c']).is_lt());
    /// # Ok::<(), larder_codec::Error>(())
    /// ```
    #[must_use]
    pub const fn with_sequence(mut self, number: i64) -> Self {
        match &mut self.tail {
            Tail::Empty => {}
            Tail::Sequence(sequence) | Tail::SequenceAndPrimaryKey(sequence, _) => {
                *sequence = number;
            }
        }
        self
    }

    /// The sequence number; missing in the oldest form. Not negative in any store, but not checked.
    #[must_use]
    pub const fn sequence(&self) -> Option<i64> {
        match self.tail {
            Tail::Empty => None,
            Tail::Sequence(sequence) | Tail::SequenceAndPrimaryKey(sequence, _) => Some(sequence),
        }
    }

    /// The primary key; missing in the two older forms.
    #[must_use]
    pub const fn primary_key(&self) -> Option<RawKey<'a>> {
        match self.tail {
            Tail::Empty | Tail::Sequence(_) => None,
            Tail::SequenceAndPrimaryKey(_, primary_key) => Some(primary_key),
        }
    }

    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        KeyPrefix::of_index(self.database_id, self.object_store_id, self.index_id).encode(out);
        self.index_key.encode(out);
        if let Some(sequence) = self.sequence() {
            var_int::encode(sequence, out);
        }
        if let Some(primary_key) = self.primary_key() {
            primary_key.encode(out);
        }
    }
}

/// Reads what follows the prefix.
pub(super) fn read<'a>(prefix: KeyPrefix, reader: &mut Reader<'a>) -> Result<IndexDataKey<'a>> {
    Ok(IndexDataKey {
        database_id: prefix.database_id()?,
        object_store_id: prefix.object_store_id()?,
        index_id: prefix.index_id()?,
        index_key: RawKey::read(reader)?,
        tail: read_tail(reader)?,
    })
}

fn read_tail<'a>(reader: &mut Reader<'a>) -> Result<Tail<'a>> {
    if reader.is_empty() {
        return Ok(Tail::Empty);
    }
    let sequence = var_int::read(reader, "sequence number")?;
    if reader.is_empty() {
        return Ok(Tail::Sequence(sequence));
    }
    Ok(Tail::SequenceAndPrimaryKey(sequence, RawKey::read(reader)?))
}
