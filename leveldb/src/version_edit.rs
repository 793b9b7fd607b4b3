//! Version edits: the records of a MANIFEST.
//!
//! A sequence of tagged fields: 1 comparator name (string), 2 log number, 3 next file number, 4 last sequence number
//! (varints), 5 compaction pointer (level, internal key), 6 deleted file (level, number), 7 new file (level, number, length,
//! smallest and largest internal key), 9 previous log number. LevelDB's `db/version_edit.cc`. Tag 8 was once used and is
//! refused, as by C++ LevelDB.

use crate::internal_key;
use crate::varint::{decode_slice, decode_varint, encode_slice, encode_varint};

/// Levels of a store: 0 to 6.
pub const LEVELS: usize = 7;

/// A table added to a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The level, below [`LEVELS`].
    pub level: usize,
    /// The file number.
    pub number: u64,
    /// The file's length in bytes.
    pub len_bytes: u64,
    /// Its first internal key.
    pub smallest: Vec<u8>,
    /// Its last internal key.
    pub largest: Vec<u8>,
}

/// A change of the set of live files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The comparator's name.
    pub comparator: Option<Vec<u8>>,
    /// Logs below this number are no longer needed.
    pub log_number: Option<u64>,
    /// A log that is needed besides those; zero for none. Not written since 2011 other than as zero.
    pub prev_log_number: Option<u64>,
    /// The number the next file takes.
    pub next_file_number: Option<u64>,
    /// The greatest sequence number in the tables.
    pub last_sequence: Option<u64>,
    /// Where the next compaction of a level begins.
    pub compact_pointers: Vec<(usize, Vec<u8>)>,
    /// Tables taken from a level.
    pub deleted_files: Vec<(usize, u64)>,
    /// Tables added.
    pub new_files: Vec<NewFile>,
}

/// Why an edit cannot be read: what is wrong, and the offset of the field in the edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditError {
    /// In bytes.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl VersionEdit {
    /// Appends the edit.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let number = |tag: u64, value: Option<u64>, out: &mut Vec<u8>| {
            if let Some(value) = value {
                encode_varint(out, tag);
                encode_varint(out, value);
            }
        };
        if let Some(name) = &self.comparator {
            encode_varint(out, 1);
            encode_slice(out, name);
        }
        number(2, self.log_number, out);
        number(9, self.prev_log_number, out);
        number(3, self.next_file_number, out);
        number(4, self.last_sequence, out);
        for (level, key) in &self.compact_pointers {
            encode_varint(out, 5);
            encode_varint(out, *level as u64);
            encode_slice(out, key);
        }
        for &(level, number) in &self.deleted_files {
            encode_varint(out, 6);
            encode_varint(out, level as u64);
            encode_varint(out, number);
        }
        for file in &self.new_files {
            encode_varint(out, 7);
            encode_varint(out, file.level as u64);
            encode_varint(out, file.number);
            encode_varint(out, file.len_bytes);
            encode_slice(out, &file.smallest);
            encode_slice(out, &file.largest);
        }
    }

    /// Reads an edit, to the end of `bytes`. A field that may be there once and comes twice counts as its last form.
    pub fn decode_exact(bytes: &[u8]) -> Result<VersionEdit, EditError> {
        let mut edit = VersionEdit::default();
        let mut fields = Fields { rest: bytes };
        while !fields.rest.is_empty() {
            let offset = bytes.len() - fields.rest.len();
            edit.read_field(&mut fields)
                .map_err(|what| EditError { offset, what })?;
        }
        Ok(edit)
    }

    fn read_field(&mut self, fields: &mut Fields<'_>) -> Result<(), &'static str> {
        match fields.number()? {
            1 => self.comparator = Some(fields.slice()?.to_vec()),
            2 => self.log_number = Some(fields.number()?),
            3 => self.next_file_number = Some(fields.number()?),
            4 => self.last_sequence = Some(fields.number()?),
            5 => self.compact_pointers.push((fields.level()?, fields.key()?)),
            6 => self.deleted_files.push((fields.level()?, fields.number()?)),
            7 => self.new_files.push(NewFile {
                level: fields.level()?,
                number: fields.number()?,
                len_bytes: fields.number()?,
                smallest: fields.key()?,
                largest: fields.key()?,
            }),
            9 => self.prev_log_number = Some(fields.number()?),
            _ => return Err("version edit has an unknown field"),
        }
        Ok(())
    }
}

struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn number(&mut self) -> Result<u64, &'static str> {
        let (value, used) = decode_varint(self.rest).ok_or("version edit has a bad number")?;
        self.rest = &self.rest[used..];
        Ok(value)
    }

    fn slice(&mut self) -> Result<&'a [u8], &'static str> {
        let (slice, rest) = decode_slice(self.rest).ok_or("version edit has a bad string")?;
        self.rest = rest;
        Ok(slice)
    }

    fn level(&mut self) -> Result<usize, &'static str> {
        match self.number()? {
            level if level < LEVELS as u64 => Ok(level as usize),
            _ => Err("version edit names a level above 6"),
        }
    }

    fn key(&mut self) -> Result<Vec<u8>, &'static str> {
        let key = self.slice()?;
        if key.len() < internal_key::TAG_LEN {
            return Err("version edit has a bad internal key");
        }
        Ok(key.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, quickcheck};

    fn key(g: &mut Gen) -> Vec<u8> {
        let mut key = Vec::arbitrary(g);
        key.extend_from_slice(&[1; 8]);
        key
    }

    impl Arbitrary for VersionEdit {
        fn arbitrary(g: &mut Gen) -> VersionEdit {
            let level = |g: &mut Gen| usize::arbitrary(g) % LEVELS;
            let mut edit = VersionEdit {
                comparator: Arbitrary::arbitrary(g),
                log_number: Arbitrary::arbitrary(g),
                prev_log_number: Arbitrary::arbitrary(g),
                next_file_number: Arbitrary::arbitrary(g),
                last_sequence: Arbitrary::arbitrary(g),
                ..VersionEdit::default()
            };
            for _ in 0..u8::arbitrary(g) % 4 {
                edit.compact_pointers.push((level(g), key(g)));
                edit.deleted_files.push((level(g), u64::arbitrary(g)));
                edit.new_files.push(NewFile {
                    level: level(g),
                    number: u64::arbitrary(g),
                    len_bytes: u64::arbitrary(g),
                    smallest: key(g),
                    largest: key(g),
                });
            }
            edit
        }
    }

    quickcheck! {
        fn an_edit_reads_back(edit: VersionEdit) -> bool {
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            VersionEdit::decode_exact(&bytes) == Ok(edit)
        }

        fn any_bytes_are_an_edit_or_refused(bytes: Vec<u8>) -> bool {
            VersionEdit::decode_exact(&bytes).map_or_else(|error| error.offset < bytes.len(), |_| true)
        }
    }

    #[test]
    fn the_first_edit_of_a_new_chromium_store_reads() {
        let bytes = b"\x01\x08idb_cmp1\x02\x00\x03\x02\x04\x00";
        let edit = VersionEdit::decode_exact(bytes).unwrap();
        assert_eq!(edit.comparator.as_deref(), Some(&b"idb_cmp1"[..]));
        assert_eq!(
            (edit.log_number, edit.next_file_number, edit.last_sequence),
            (Some(0), Some(2), Some(0))
        );
    }

    #[test]
    fn unknown_fields_and_levels_and_short_keys_are_refused() {
        for bytes in [
            &[8, 1][..],
            &[10, 1],
            &[6, 7, 1],
            &[7, 0, 1, 1, 3, 1, 1, 1, 8, 1, 1, 1, 1, 1, 1, 1, 1],
            &[2],
        ] {
            assert!(VersionEdit::decode_exact(bytes).is_err(), "{bytes:?}");
        }
    }
}
