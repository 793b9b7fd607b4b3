//! The numbers Chromium gives to databases, object stores, indexes, scopes, blobs and versions of
//! records, as checked newtypes.
//!
//! Ranges: `docs/FORMAT.md`, 3.1. Id 0 is not an id: it stands for metadata in a key prefix.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};
use crate::primitive::var_int;
use crate::reader::Reader;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $min:expr, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            /// The smallest valid id.
            pub const MIN: Self = Self($min);
            /// The greatest valid id.
            pub const MAX: Self = Self($max);

            /// The id, or `None` if the number is out of range.
            #[must_use]
            pub const fn new(id: i64) -> Option<Self> {
                if Self::MIN.0 <= id && id <= Self::MAX.0 { Some(Self(id)) } else { None }
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> i64 {
                self.0
            }

            /// The id, or an error that says which number stood at `offset`.
            pub(crate) fn checked(id: i64, offset: usize) -> Result<Self> {
                let found = id.cast_unsigned();
                Self::new(id).ok_or(Error::new(ErrorKind::Invalid { found }, offset, $what))
            }

            /// Reads the id from a VarInt.
            pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
                let offset = reader.offset();
                Self::checked(var_int::read(reader, $what)?, offset)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A database of an origin: 1 to 2^63-2.
    DatabaseId, "database id", 1, i64::MAX - 1
);
id!(
    /// An object store of a database: 1 to 2^63-2.
    ObjectStoreId, "object store id", 1, i64::MAX - 1
);
id!(
    /// An index of an object store: 30 to 2^31-2. Chromium hands out ids from 31 on.
    IndexId, "index id", 30, i32::MAX as i64 - 1
);
id!(
    /// A scope of the undo log: 0 to 2^63-1, counted anew at every opening of the store.
    ScopeId, "scope number", 0, i64::MAX
);
id!(
    /// A blob of a database: 2 to 2^63-1. Names its file.
    BlobNumber, "blob number", 2, i64::MAX
);
id!(
    /// The version of a record: 0 to 2^63-1. The first record written to an object store gets 2.
    RecordVersion, "record version", 0, i64::MAX
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_in_range_can_be_made() {
        assert_eq!(DatabaseId::new(0), None);
        assert_eq!(DatabaseId::new(-1), None);
        assert_eq!(DatabaseId::new(1), Some(DatabaseId::MIN));
        assert_eq!(DatabaseId::new(i64::MAX), None);
        assert_eq!(DatabaseId::new(1 << 35).map(DatabaseId::get), Some(1 << 35));
        assert_eq!(ObjectStoreId::new(0), None);
        assert_eq!(
            ObjectStoreId::new(1 << 39).map(ObjectStoreId::get),
            Some(1 << 39)
        );
        for reserved in -1..30 {
            assert_eq!(IndexId::new(reserved), None);
        }
        assert_eq!(IndexId::new(30), Some(IndexId::MIN));
        assert_eq!(IndexId::new((1 << 31) - 2), Some(IndexId::MAX));
        assert_eq!(IndexId::new((1 << 31) - 1), None);
        assert_eq!(IndexId::new(1 << 37), None);
        assert_eq!(ScopeId::new(-1), None);
        assert_eq!(ScopeId::new(0), Some(ScopeId::MIN));
    }
}
