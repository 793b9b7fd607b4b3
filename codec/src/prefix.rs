//! KeyPrefix: the three numbers that open every stored key (`docs/FORMAT.md`, section 3).
//!
//! This module does not judge the numbers: which kind of key they announce is [`PrefixKind`], what
//! an id may be is in [`crate::ids`].

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{ErrorKind, Result};
use crate::ids::{DatabaseId, IndexId, ObjectStoreId};
use crate::primitive::int;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// Index number of the rows that hold records.
pub const DATA_INDEX: u32 = 1;
/// Index number of the rows that say which records exist.
pub const EXISTS_INDEX: u32 = 2;
/// Index number of the rows that list a record's external objects.
pub const EXTERNAL_OBJECT_INDEX: u32 = 3;
/// Index number that ends the range of external object rows; never stored.
pub const AFTER_EXTERNAL_OBJECTS_INDEX: u32 = 4;

/// «database, object store, index»; 0 stands for metadata.
///
/// One byte of lengths (database: top three bits, object store: next three, index: last two, each
/// less one), then the three numbers, little-endian, as short as can be.
///
/// ```
/// use larder_codec::KeyPrefix;
/// let prefix = KeyPrefix { database: 300, object_store: 1, index: 31 };
/// let mut bytes = Vec::new();
/// prefix.encode(&mut bytes);
/// assert_eq!(bytes, [0x20, 0x2c, 0x01, 0x01, 0x1f]);
/// assert_eq!(KeyPrefix::decode_exact(&bytes), Ok(prefix));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPrefix {
    /// Database id, or 0 for global metadata.
    pub database: u64,
    /// Object store id, or 0 for database metadata.
    pub object_store: u64,
    /// Index id, or 1, 2, 3 for an object store's own tables, or 0.
    pub index: u32,
}

/// What kind of key a prefix announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixKind {
    /// Database 0: metadata of the whole store, whatever the other two numbers are.
    Global,
    /// Object store 0: metadata of a database.
    Database,
    /// Index 1: records.
    Data,
    /// Index 2: which records exist.
    Exists,
    /// Index 3: external objects.
    ExternalObject,
    /// Index 30 or more: entries of an index.
    IndexData,
    /// Any other index number: nothing is stored there.
    Unassigned,
}

impl KeyPrefix {
    /// The prefix of all global metadata.
    pub const GLOBAL: Self = Self {
        database: 0,
        object_store: 0,
        index: 0,
    };

    /// The prefix of a database's metadata.
    #[must_use]
    pub const fn of_database(database: DatabaseId) -> Self {
        Self {
            database: database.get().cast_unsigned(),
            object_store: 0,
            index: 0,
        }
    }

    /// The prefix of one of an object store's own tables (`index` is one of this module's constants).
    #[must_use]
    pub const fn of_object_store(
        database: DatabaseId,
        object_store: ObjectStoreId,
        index: u32,
    ) -> Self {
        Self {
            database: database.get().cast_unsigned(),
            object_store: object_store.get().cast_unsigned(),
            index,
        }
    }

    /// The prefix of an index's entries.
    #[must_use]
    pub const fn of_index(
        database: DatabaseId,
        object_store: ObjectStoreId,
        index: IndexId,
    ) -> Self {
        // An IndexId is below 2^31.
        Self::of_object_store(database, object_store, index.get() as u32)
    }

    /// Which kind of key the numbers announce.
    #[must_use]
    pub const fn kind(&self) -> PrefixKind {
        match self {
            Self { database: 0, .. } => PrefixKind::Global,
            Self {
                object_store: 0, ..
            } => PrefixKind::Database,
            Self { index, .. } => match *index {
                DATA_INDEX => PrefixKind::Data,
                EXISTS_INDEX => PrefixKind::Exists,
                EXTERNAL_OBJECT_INDEX => PrefixKind::ExternalObject,
                30.. => PrefixKind::IndexData,
                _ => PrefixKind::Unassigned,
            },
        }
    }

    /// Whether a writer makes such a prefix: metadata prefixes have zeros in the places after.
    pub(crate) const fn is_writable(&self) -> bool {
        match self.kind() {
            PrefixKind::Global => self.object_store == 0 && self.index == 0,
            PrefixKind::Database => self.index == 0,
            _ => true,
        }
    }

    /// The database id, checked.
    ///
    /// # Errors
    /// If the number is 0 or 2^63-1 or more. The offset is that of the prefix.
    pub fn database_id(&self) -> Result<DatabaseId> {
        DatabaseId::checked(self.database.cast_signed(), 0)
    }

    /// The object store id, checked.
    ///
    /// # Errors
    /// If the number is 0 or 2^63-1 or more. The offset is that of the prefix.
    pub fn object_store_id(&self) -> Result<ObjectStoreId> {
        ObjectStoreId::checked(self.object_store.cast_signed(), 0)
    }

    /// The index id, checked.
    ///
    /// # Errors
    /// If the number is below 30 or 2^31-1 or more. The offset is that of the prefix.
    pub fn index_id(&self) -> Result<IndexId> {
        IndexId::checked(i64::from(self.index), 0)
    }

    /// Appends 4 to 21 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let database = int::encoded_len_bytes(self.database);
        let object_store = int::encoded_len_bytes(self.object_store);
        let index = int::encoded_len_bytes(u64::from(self.index));
        // Lengths are 1 to 8, 1 to 8 and 1 to 4, so all fields fit their bits.
        out.push(((database - 1) << 5 | (object_store - 1) << 2 | (index - 1)) as u8);
        int::encode_unsigned(self.database, out);
        int::encode_unsigned(self.object_store, out);
        int::encode_unsigned(u64::from(self.index), out);
    }

    /// Takes a prefix.
    ///
    /// # Errors
    /// On too few bytes, and on a number written with more bytes than it needs: Chromium would read
    /// that and never writes it.
    pub fn decode(input: &[u8]) -> Result<(Self, &[u8])> {
        decode_with(input, Self::read)
    }

    /// The prefix that is the whole of `input`.
    ///
    /// # Errors
    /// As [`KeyPrefix::decode`], and on left-over bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        decode_exact_with(input, "key prefix", Self::read)
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let at_start = *reader;
        let Some((prefix, len_bytes)) = Self::parse_any_length(reader.rest()) else {
            let missing = reader.rest().first().map_or(4, |lengths| {
                total_len_bytes(*lengths).saturating_sub(reader.len_bytes()) as u64
            });
            return Err(reader.error(ErrorKind::Truncated { missing }, "key prefix"));
        };
        if len_bytes != prefix.encoded_len_bytes() {
            let found = reader.rest().first().copied().map_or(0, u64::from);
            return Err(at_start.error(ErrorKind::Invalid { found }, "key prefix lengths"));
        }
        reader.take(len_bytes, "key prefix")?;
        Ok(prefix)
    }

    /// The prefix at the front of `input` and its length in bytes, whether or not its numbers are
    /// as short as can be; `None` if bytes are missing. What the comparator sees.
    #[inline]
    pub(crate) fn parse_any_length(input: &[u8]) -> Option<(Self, usize)> {
        // Nearly all prefixes: three numbers of one byte.
        if let [0, database, object_store, index, ..] = *input {
            let prefix = Self {
                database: database.into(),
                object_store: object_store.into(),
                index: index.into(),
            };
            return Some((prefix, 4));
        }
        let (&lengths, rest) = input.split_first()?;
        let (database, object_store, index) = field_lens_bytes(lengths);
        let (database, rest) = rest.split_at_checked(database)?;
        let (object_store, rest) = rest.split_at_checked(object_store)?;
        let (index, rest) = rest.split_at_checked(index)?;
        let prefix = Self {
            database: LittleEndian::read_uint(database, database.len()),
            object_store: LittleEndian::read_uint(object_store, object_store.len()),
            // At most four bytes were taken.
            index: LittleEndian::read_uint(index, index.len()) as u32,
        };
        Some((prefix, input.len() - rest.len()))
    }

    fn encoded_len_bytes(&self) -> usize {
        1 + int::encoded_len_bytes(self.database)
            + int::encoded_len_bytes(self.object_store)
            + int::encoded_len_bytes(u64::from(self.index))
    }
}

const fn field_lens_bytes(lengths: u8) -> (usize, usize, usize) {
    (
        (lengths >> 5) as usize + 1,
        (lengths >> 2 & 7) as usize + 1,
        (lengths & 3) as usize + 1,
    )
}

const fn total_len_bytes(lengths: u8) -> usize {
    let (database, object_store, index) = field_lens_bytes(lengths);
    1 + database + object_store + index
}

#[cfg(test)]
mod tests {
    use crate::testing::properties;

    use super::*;

    fn encoded(prefix: KeyPrefix) -> Vec<u8> {
        let mut out = Vec::new();
        prefix.encode(&mut out);
        out
    }

    fn prefix(database: u64, object_store: u64, index: u32) -> KeyPrefix {
        KeyPrefix {
            database,
            object_store,
            index,
        }
    }

    #[test]
    fn the_first_byte_holds_the_lengths() {
        assert_eq!(encoded(KeyPrefix::GLOBAL), [0, 0, 0, 0]);
        assert_eq!(encoded(prefix(300, 1, 31)), [0x20, 0x2c, 0x01, 0x01, 0x1f]);
        assert_eq!(encoded(prefix(u64::MAX, u64::MAX, u32::MAX)), [0xff; 21]);
        assert_eq!(
            encoded(prefix(1, 0x010203, 0x0405)),
            [0b0000_1001, 1, 3, 2, 1, 5, 4]
        );
    }

    #[test]
    fn the_numbers_tell_the_kind() {
        for (numbers, kind) in [
            ((0, 7, 31), PrefixKind::Global),
            ((1, 0, 31), PrefixKind::Database),
            ((1, 1, 0), PrefixKind::Unassigned),
            ((1, 1, 1), PrefixKind::Data),
            ((1, 1, 2), PrefixKind::Exists),
            ((1, 1, 3), PrefixKind::ExternalObject),
            ((1, 1, 4), PrefixKind::Unassigned),
            ((1, 1, 29), PrefixKind::Unassigned),
            ((1, 1, 30), PrefixKind::IndexData),
            ((1, 1, u32::MAX), PrefixKind::IndexData),
        ] {
            assert_eq!(prefix(numbers.0, numbers.1, numbers.2).kind(), kind);
        }
    }

    #[test]
    fn a_number_longer_than_needed_is_refused_here_and_read_by_the_comparator() {
        let padded = [0b0010_0000, 1, 0, 2, 3];
        assert!(KeyPrefix::decode(&padded).is_err());
        assert_eq!(
            KeyPrefix::parse_any_length(&padded),
            Some((prefix(1, 2, 3), 5))
        );
    }

    properties! {
        fn every_prefix_round_trips_and_every_cut_fails(a: u64, b: u64, c: u32, shifts: (u8, u8, u8)) -> bool {
            let prefix = prefix(a >> (shifts.0 % 64), b >> (shifts.1 % 64), c >> (shifts.2 % 32));
            let bytes = encoded(prefix);
            KeyPrefix::decode_exact(&bytes) == Ok(prefix)
                && (0..bytes.len()).all(|len| KeyPrefix::decode(&bytes[..len]).is_err())
        }

        fn any_input_decodes_to_the_one_prefix_with_that_encoding_or_errs(input: Vec<u8>) -> bool {
            match KeyPrefix::decode(&input) {
                Ok((prefix, rest)) => [&encoded(prefix), rest].concat() == input,
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
