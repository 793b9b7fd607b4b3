//! A scope's metadata: what it holds locked, and whether it is committed (`docs/FORMAT.md`, 7.2).

use super::wire::{self, Field};
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// The value of [`crate::row_key::ScopesKey::ScopeMetadata`].
///
/// Field 1, repeated: a lock. Field 2: clean-up tasks are not to be done.
///
/// ```
/// use larder_codec::scopes::ScopeMetadata;
/// assert!(ScopeMetadata::decode_exact(&[])?.is_committed());
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScopeMetadata<'a> {
    /// The locks that the scope holds while it is not committed.
    pub locks: Vec<ScopeLock<'a>>,
    /// The scope was undone: its clean-up tasks must be deleted without being done.
    pub ignore_cleanup_tasks: bool,
}

/// A lock. Partition 0 holds databases, partition 1 object stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeLock<'a> {
    /// The partition ("level" before Chromium 109).
    pub partition: i64,
    /// What is locked.
    pub key: LockKey<'a>,
}

/// What a lock covers, in the forms of the ages of Chromium.
///
/// As bytes both are one message: the older one has field 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKey<'a> {
    /// Since 109. Object store: database id and store id, 8 bytes each, big-endian. Database: its id
    /// as 8 bytes, big-endian (seen in 110), or its name in UTF-8 (seen in 131 and 156).
    Key(&'a [u8]),
    /// Before 109.
    Range {
        /// First key.
        begin: &'a [u8],
        /// End, excluded.
        end: &'a [u8],
    },
}

impl<'a> ScopeMetadata<'a> {
    /// Whether the scope is committed: it holds no locks. Otherwise it must be undone.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        self.locks.is_empty()
    }

    /// Appends the message. That of a committed scope is empty.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for lock in &self.locks {
            wire::write_message(1, |out| lock.encode(out), out);
        }
        wire::write_number(2, i64::from(self.ignore_cleanup_tasks), out);
    }

    /// The message that is the whole of `input`.
    ///
    /// # Errors
    /// On bytes that are no such message.
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(input);
        let (mut locks, mut ignore) = (Vec::new(), None);
        while !reader.is_empty() {
            let at_field = reader;
            match wire::read_field(&mut reader)? {
                (1, Field::Bytes(lock)) => {
                    let base = reader.offset().saturating_sub(lock.len());
                    locks.push(ScopeLock::decode_exact(lock).map_err(|error| error.shifted(base))?);
                }
                (2, Field::Varint(number)) => {
                    wire::set_once(&mut ignore, number != 0, at_field, "scope clean-up mode")?;
                }
                (found @ 1..=2, _) => {
                    return Err(at_field.error(ErrorKind::Invalid { found }, "scope metadata"));
                }
                _ => {}
            }
        }
        Ok(Self {
            locks,
            ignore_cleanup_tasks: ignore.unwrap_or(false),
        })
    }
}

impl<'a> ScopeLock<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::write_number(1, self.partition, out);
        wire::write_message(2, |out| self.key.encode(out), out);
    }

    fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(input);
        let (mut partition, mut key) = (None, None);
        while !reader.is_empty() {
            let at_field = reader;
            match wire::read_field(&mut reader)? {
                (1, Field::Varint(number)) => {
                    wire::set_once(&mut partition, number, at_field, "lock partition")?;
                }
                (2, Field::Bytes(message)) => {
                    let base = reader.offset().saturating_sub(message.len());
                    let read = LockKey::decode_exact(message).map_err(|e| e.shifted(base))?;
                    wire::set_once(&mut key, read, at_field, "lock key")?;
                }
                (found @ 1..=2, _) => {
                    return Err(at_field.error(ErrorKind::Invalid { found }, "lock"));
                }
                _ => {}
            }
        }
        Ok(Self {
            partition: partition.unwrap_or(0),
            key: key.unwrap_or(LockKey::Key(&[])),
        })
    }
}

impl<'a> LockKey<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Key(key) => wire::write_bytes_unless_empty(1, key, out),
            Self::Range { begin, end } => {
                wire::write_bytes_unless_empty(1, begin, out);
                // Written even if empty: it makes the message a range.
                wire::write_bytes(2, end, out);
            }
        }
    }

    fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let (first, end) = wire::read_two_bytes_fields(input, "lock key")?;
        let begin = first.unwrap_or_default();
        Ok(match end {
            Some(end) => Self::Range { begin, end },
            None => Self::Key(begin),
        })
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::testing::{bytes_of, damage, properties};

    /// Stands for a lock: partition, key or begin, end.
    type OwnedLock = (i64, Vec<u8>, Option<Vec<u8>>);

    fn borrowed(locks: &[OwnedLock], ignore_cleanup_tasks: bool) -> ScopeMetadata<'_> {
        let locks = locks.iter().map(|(partition, first, end)| ScopeLock {
            partition: *partition,
            key: match end {
                Some(end) => LockKey::Range { begin: first, end },
                None => LockKey::Key(first),
            },
        });
        ScopeMetadata {
            locks: locks.collect(),
            ignore_cleanup_tasks,
        }
    }

    #[derive(Debug, Clone)]
    struct NearlyMetadata(Vec<u8>);

    impl Arbitrary for NearlyMetadata {
        fn arbitrary(g: &mut Gen) -> Self {
            let locks = Vec::arbitrary(g);
            let whole = bytes_of(|out| borrowed(&locks, true).encode(out));
            Self(damage(g, whole))
        }
    }

    #[test]
    fn the_three_ages_differ_in_their_locks() {
        // Seen in a store of Chromium 110: a database by id, an object store.
        let by_id = b"\x0a\x0c\x12\x0a\x0a\x08\0\0\0\0\0\0\0\x01";
        // Seen in a store of Chromium 156: a database by name.
        let by_name = b"\x0a\x08\x12\x06\x0a\x04kill";
        let store = b"\x0a\x16\x08\x01\x12\x12\x0a\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02";
        // The form before 109, from its published definition: level 1, a range.
        let range = b"\x0a\x0a\x08\x01\x12\x06\x0a\x01a\x12\x01b";
        let store_key = &store[8..];
        let (begin, end) = (&b"a"[..], &b"b"[..]);
        for (bytes, partition, key) in [
            (&by_id[..], 0, LockKey::Key(&by_id[6..])),
            (by_name, 0, LockKey::Key(b"kill")),
            (store, 1, LockKey::Key(store_key)),
            (range, 1, LockKey::Range { begin, end }),
        ] {
            let metadata = ScopeMetadata::decode_exact(bytes).unwrap();
            assert_eq!(metadata.locks, [ScopeLock { partition, key }]);
            assert!(!metadata.is_committed());
            assert_eq!(bytes_of(|out| metadata.encode(out)), bytes);
        }
    }

    #[test]
    fn a_scope_without_locks_is_committed_whether_or_not_it_was_undone() {
        assert!(ScopeMetadata::decode_exact(&[]).unwrap().is_committed());
        let undone = ScopeMetadata::decode_exact(&[0x10, 1]).unwrap();
        assert!(undone.is_committed() && undone.ignore_cleanup_tasks);
        assert_eq!(bytes_of(|out| undone.encode(out)), [0x10, 1]);
    }

    properties! {
        fn every_metadata_round_trips(locks: Vec<OwnedLock>, ignore: bool) -> bool {
            let metadata = borrowed(&locks, ignore);
            ScopeMetadata::decode_exact(&bytes_of(|out| metadata.encode(out))) == Ok(metadata)
        }

        fn any_input_decodes_to_what_its_encoding_decodes_to_or_errs(input: NearlyMetadata) -> bool {
            let NearlyMetadata(input) = input;
            match ScopeMetadata::decode_exact(&input) {
                Ok(metadata) => {
                    ScopeMetadata::decode_exact(&bytes_of(|out| metadata.encode(out))) == Ok(metadata)
                }
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
