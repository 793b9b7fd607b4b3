//! What a transaction has done so far, counted as it goes.

/// Counts of one transaction, up to the last of its operations that has been executed. Rows that are read ahead for a cursor count
/// when they are read. Requests that failed count as such, and what they did before that if it stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Operations that were executed.
    pub requests: u64,
    /// Records or index entries that were handed out.
    pub records_read: u64,
    /// Keys of those, in bytes as they are stored.
    pub key_bytes_read: u64,
    /// Values of those, in bytes as they are stored.
    pub value_bytes_read: u64,
    /// Records that were put.
    pub records_written: u64,
    /// Primary keys of those, in bytes as they are stored.
    pub key_bytes_written: u64,
    /// Values of those, in bytes as they were given.
    pub value_bytes_written: u64,
    /// Index keys that were put.
    pub index_keys_written: u64,
    /// Records that were deleted: by range, by a cursor, or with all others of their object store. Not those that a put took
    /// the place of, nor those that went with an object store or a database.
    pub records_deleted: u64,
    /// Bytes of rows, keys and values together, that were written before the commit, since they were more than
    /// [`StorageOptions::transaction_memory_bytes`](crate::StorageOptions::transaction_memory_bytes): index entries and whatever
    /// else belongs to a record included. 0 of a transaction that fits into memory.
    pub spilled_bytes: u64,
}

impl Statistics {
    pub(crate) const COUNTS: usize = 10;

    pub(crate) const fn to_array(self) -> [u64; Self::COUNTS] {
        [
            self.requests,
            self.records_read,
            self.key_bytes_read,
            self.value_bytes_read,
            self.records_written,
            self.key_bytes_written,
            self.value_bytes_written,
            self.index_keys_written,
            self.records_deleted,
            self.spilled_bytes,
        ]
    }

    pub(crate) const fn from_array(counts: [u64; Self::COUNTS]) -> Self {
        let [
            requests,
            records_read,
            key_bytes_read,
            value_bytes_read,
            records_written,
            key_bytes_written,
            value_bytes_written,
            index_keys_written,
            records_deleted,
            spilled_bytes,
        ] = counts;
        Self {
            requests,
            records_read,
            key_bytes_read,
            value_bytes_read,
            records_written,
            key_bytes_written,
            value_bytes_written,
            index_keys_written,
            records_deleted,
            spilled_bytes,
        }
    }
}
