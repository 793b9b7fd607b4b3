//! What a transaction has done so far, counted as it goes.

/// The struct and, in the same order, its counts as an array.
macro_rules! counts {
    ($(#[$of_all:meta])+ struct $name:ident { $($(#[$doc:meta])+ $count:ident,)+ }) => {
        $(#[$of_all])+
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])+ pub $count: u64,)+
        }

        impl $name {
            pub(crate) const COUNTS: usize = [$(stringify!($count)),+].len();

            pub(crate) const fn to_array(self) -> [u64; Self::COUNTS] {
                [$(self.$count),+]
            }

            pub(crate) const fn from_array(counts: [u64; Self::COUNTS]) -> Self {
                let [$($count),+] = counts;
                Self { $($count),+ }
            }
        }
    };
}

impl Statistics {
    /// Counts a record or index entry that is handed out.
    #[inline]
    pub(crate) const fn count_read(&mut self, key_bytes: usize, value_bytes: usize) {
        self.records_read += 1;
        self.key_bytes_read += key_bytes as u64;
        self.value_bytes_read += value_bytes as u64;
    }
}

counts! {
    /// Counts of one transaction, up to the last of its operations that has been executed. Rows that are read ahead for a
    /// cursor count when they are read. Requests that failed count as such, and what they did before that if it stays.
    struct Statistics {
        /// Operations that were executed.
        requests,
        /// Records or index entries that were handed out.
        records_read,
        /// Keys of those, in bytes as they are stored.
        key_bytes_read,
        /// Values of those, in bytes as they are stored.
        value_bytes_read,
        /// Records that were put.
        records_written,
        /// Primary keys of those, in bytes as they are stored.
        key_bytes_written,
        /// Values of those, in bytes as they were given.
        value_bytes_written,
        /// Index keys that were put.
        index_keys_written,
        /// Records that were deleted: by range, by a cursor, or with all others of their object store. Not those that a put took
        /// the place of, nor those that went with an object store or a database.
        records_deleted,
        /// Bytes of rows, keys and values together, that were written before the commit, since they were more than
        /// [`StorageOptions::transaction_memory_bytes`](crate::StorageOptions::transaction_memory_bytes): index entries and
        /// whatever else belongs to a record included. 0 of a transaction that fits into memory.
        spilled_bytes,
    }
}
