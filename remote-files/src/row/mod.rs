//! The values of the catalogue's rows, each with its reader: `docs/format/remote-files.md`.

mod file;
mod lock;
mod place;
mod session;

pub(crate) use file::{CHUNK_LEN_MAX, Entry, FileRow};
pub(crate) use lock::LockRow;
pub(crate) use place::PlaceRow;
pub(crate) use session::SessionRow;

use crate::error::{Error, Result};

/// The first byte of every row.
const FORMAT: u8 = 1;

/// Reads a row from its start.
struct Reader<'a> {
    what: &'static str,
    whole: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn new(what: &'static str, whole: &'a [u8]) -> Result<Reader<'a>> {
        let mut reader = Reader {
            what,
            whole,
            rest: whole,
        };
        match reader.take::<1>()? {
            [FORMAT] => Ok(reader),
            _ => Err(reader.wrong()),
        }
    }

    fn wrong(&self) -> Error {
        let at = self.whole.len() - self.rest.len();
        let whole = &self.whole[..self.whole.len().min(64)];
        Error::corruption(format!("{whole:02x?} is no {}: byte {at}", self.what))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.wrong())?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take()?))
    }

    /// What is left, as text.
    fn text(mut self) -> Result<String> {
        match std::str::from_utf8(self.rest) {
            Ok(text) => {
                let text = text.to_owned();
                self.rest = &[];
                Ok(text)
            }
            Err(_) => Err(self.wrong()),
        }
    }

    fn end(self) -> Result<()> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn file() -> FileRow {
        FileRow {
            blob: 0x1_0000_0002,
            size: 0x1_2345,
            stored: 0x1_0000,
            modified_us: 1_700_000_000_000_000,
            chunk_len: 0x1_0000,
        }
    }

    /// The vectors of `docs/format/remote-files.md`.
    #[test]
    fn rows_are_those_of_the_format_document() {
        let document = include_str!("../../../docs/format/remote-files.md");
        let lock = LockRow {
            epoch: 1,
            sequence: 3,
            session: Some([0xab; 16]),
            label: "host:7".to_owned(),
        };
        let session = SessionRow {
            duration_ms: 10_000,
            renewals: 5,
            label: "host:7".to_owned(),
        };
        for (what, row) in [
            ("directory row", Entry::Directory.encode()),
            ("file row", Entry::File(file()).encode()),
            ("lock row", lock.encode()),
            (
                "free lock row",
                LockRow {
                    session: None,
                    label: String::new(),
                    ..lock.clone()
                }
                .encode(),
            ),
            ("session row", session.encode()),
            (
                "place row",
                PlaceRow("s3://stores/larder".to_owned()).encode(),
            ),
        ] {
            let line = format!("| {what} | `{}`", hex(&row));
            assert!(document.contains(&line), "{line}");
        }
        assert_eq!(LockRow::decode(&lock.encode()).unwrap(), lock);
        assert_eq!(SessionRow::decode(&session.encode()).unwrap(), session);
        assert_eq!(
            Entry::decode(&Entry::File(file()).encode()).unwrap(),
            Entry::File(file())
        );
    }

    #[test]
    fn a_file_row_that_contradicts_itself_is_damage() {
        for wrong in [
            FileRow {
                stored: file().size + 1,
                ..file()
            },
            FileRow {
                chunk_len: 0,
                ..file()
            },
            FileRow {
                chunk_len: 1 << 20,
                ..file()
            },
            FileRow {
                size: 1 << 63,
                ..file()
            },
        ] {
            assert!(
                Entry::decode(&Entry::File(wrong.clone()).encode()).is_err(),
                "{wrong:?}"
            );
        }
    }

    quickcheck! {
        /// Any bytes decode or are an error, and what decodes has one encoding.
        fn one_row_has_one_encoding(bytes: Vec<u8>, kind: u8) -> bool {
            let mut row = vec![FORMAT, kind % 2];
            row.extend(bytes);
            let lock = LockRow::decode(&row).map(|lock| lock.encode() == row);
            let session = SessionRow::decode(&row).map(|session| session.encode() == row);
            let entry = Entry::decode(&row).map(|entry| entry.encode() == row);
            let place = PlaceRow::decode(&row).map(|place| place.encode() == row);
            place.unwrap_or(true) && lock.unwrap_or(true) && session.unwrap_or(true) && entry.unwrap_or(true)
        }
    }
}
