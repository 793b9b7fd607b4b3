//! Blob journals: lists of blobs to be deleted (`docs/FORMAT.md`, 6.3).

use crate::error::{ErrorKind, Result};
use crate::ids::{BlobNumber, DatabaseId};
use crate::primitive::var_int;
use crate::reader::{Reader, decode_exact_with};

/// Stands in a journal in place of a blob number.
const ALL_BLOBS: i64 = 1;

/// A journal: the value of the rows [`crate::row_key::GlobalKey::RecoveryBlobJournal`] and
/// `ActiveBlobJournal`. An empty journal is an empty value, or no row.
///
/// ```
/// use larder_codec::blob_journal::{BlobJournal, BlobJournalEntry, JournalBlobs};
/// let journal = BlobJournal::decode_exact(&[1, 2, 3, 1])?;
/// assert_eq!(journal.entries.len(), 2);
/// assert_eq!(journal.entries[1].blobs, JournalBlobs::All);
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlobJournal {
    /// The entries, in the order of the bytes.
    pub entries: Vec<BlobJournalEntry>,
}

/// One entry of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobJournalEntry {
    /// The database that the blobs belong to.
    pub database_id: DatabaseId,
    /// Which of its blobs.
    pub blobs: JournalBlobs,
}

/// What an entry covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JournalBlobs {
    /// All blobs: the database was deleted.
    All,
    /// One blob.
    One(BlobNumber),
}

impl BlobJournal {
    /// Appends pairs of VarInts: database id, then blob number or 1 for all.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for entry in &self.entries {
            var_int::encode(entry.database_id.get(), out);
            let number = match entry.blobs {
                JournalBlobs::All => ALL_BLOBS,
                JournalBlobs::One(number) => number.get(),
            };
            var_int::encode(number, out);
        }
    }

    /// The journal that is the whole of `input`.
    ///
    /// # Errors
    /// On half a pair, a database id out of range, or a blob number below 1.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        decode_exact_with(input, "blob journal", |reader| {
            let mut entries = Vec::new();
            while !reader.is_empty() {
                entries.push(BlobJournalEntry::read(reader)?);
            }
            Ok(Self { entries })
        })
    }
}

impl BlobJournalEntry {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let database_id = DatabaseId::read(reader)?;
        let at_number = *reader;
        let blobs = match var_int::read(reader, "blob number")? {
            ALL_BLOBS => JournalBlobs::All,
            number => JournalBlobs::One(BlobNumber::new(number).ok_or_else(|| {
                let found = number.cast_unsigned();
                at_number.error(ErrorKind::Invalid { found }, "blob number")
            })?),
        };
        Ok(Self { database_id, blobs })
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::testing::{below, bytes_of, damage, properties};

    impl Arbitrary for BlobJournal {
        fn arbitrary(g: &mut Gen) -> Self {
            let entries = (0..below(g, 5)).map(|_| BlobJournalEntry {
                database_id: DatabaseId::arbitrary(g),
                blobs: match below(g, 3) {
                    0 => JournalBlobs::All,
                    _ => JournalBlobs::One(BlobNumber::arbitrary(g)),
                },
            });
            Self {
                entries: entries.collect(),
            }
        }
    }

    #[derive(Debug, Clone)]
    struct NearlyJournal(Vec<u8>);

    impl Arbitrary for NearlyJournal {
        fn arbitrary(g: &mut Gen) -> Self {
            let journal = BlobJournal::arbitrary(g);
            Self(damage(g, bytes_of(|out| journal.encode(out))))
        }
    }

    #[test]
    fn database_0_blob_0_and_half_a_pair_are_refused() {
        assert_eq!(BlobJournal::decode_exact(&[]), Ok(BlobJournal::default()));
        for bytes in [&[0, 2][..], &[1, 0], &[1], &[1, 2, 1], &[1, 0x80, 0]] {
            assert!(BlobJournal::decode_exact(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(
            BlobJournal::decode_exact(&[1, 2, 3, 0])
                .unwrap_err()
                .offset(),
            3
        );
    }

    properties! {
        fn every_journal_round_trips(journal: BlobJournal) -> bool {
            BlobJournal::decode_exact(&bytes_of(|out| journal.encode(out))) == Ok(journal)
        }

        fn any_input_decodes_to_the_one_journal_with_that_encoding_or_errs(input: NearlyJournal) -> bool {
            let NearlyJournal(input) = input;
            match BlobJournal::decode_exact(&input) {
                Ok(journal) => bytes_of(|out| journal.encode(out)) == input,
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
