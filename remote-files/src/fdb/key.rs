//! Keys: a room, the kind of a row, and the row's own key. Their byte order is that of what they stand for.
//!
//! A room is an element of FoundationDB's tuple layer, text: `02`, its bytes, `00`. So no room's keys begin with those of another one, and other programs
//! that keep to that layer have none of them.

use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use crate::segment_key::segment_key;
use std::ops::Range;

/// The tuple layer's mark of text.
const TEXT: u8 = 0x02;
/// Rows of the catalogue, segments, and the blobs that there are.
const ROWS: u8 = b'r';
const SEGMENTS: u8 = b's';
const BLOBS: u8 = b'b';

/// How many bytes its name may have.
const NAME_LEN_MAX: usize = 255;

/// What all keys begin with.
#[derive(Debug)]
pub(super) struct Room {
    prefix: Vec<u8>,
}

impl Room {
    /// The room of a name.
    pub(super) fn new(name: &str) -> Result<Room> {
        let is_good =
            !name.is_empty() && name.len() <= NAME_LEN_MAX && !name.contains(char::is_control);
        match is_good {
            true => Ok(Room {
                prefix: [&[TEXT], name.as_bytes(), &[0]].concat(),
            }),
            false => {
                let what = format!(
                    "{name:?} is no name of a room: 1 to {NAME_LEN_MAX} bytes without control characters"
                );
                Err(Error::new(ErrorKind::Usage, what))
            }
        }
    }

    fn key(&self, kind: u8, rest: &[u8]) -> Vec<u8> {
        [&self.prefix[..], &[kind], rest].concat()
    }

    /// A row of the catalogue.
    pub(super) fn row(&self, key: &[u8]) -> Vec<u8> {
        self.key(ROWS, key)
    }

    /// Rows of the catalogue.
    pub(super) fn rows(&self, range: &Range<Vec<u8>>) -> Range<Vec<u8>> {
        self.row(&range.start)..self.row(&range.end)
    }

    /// The catalogue's own key of a row.
    pub(super) fn of_row<'a>(&self, key: &'a [u8]) -> Result<&'a [u8]> {
        let rest = key.strip_prefix(&self.prefix[..]);
        let rest = rest.and_then(|rest| rest.strip_prefix(&[ROWS]));
        rest.ok_or_else(|| Error::corruption(format!("{key:02x?} is no key of this room")))
    }

    /// A segment of a blob.
    pub(super) fn segment(&self, namespace: &Namespace, blob: u64, offset: u64) -> Vec<u8> {
        self.key(SEGMENTS, &segment_key(namespace, blob, offset))
    }

    /// The offset of a segment of a blob, of its key.
    pub(super) fn offset_of(&self, namespace: &Namespace, blob: u64, key: &[u8]) -> Result<u64> {
        let first = self.segment(namespace, blob, 0);
        let prefix = first.get(..first.len() - 8).unwrap_or_default();
        number(key, prefix)
    }

    /// All segments of a blob.
    pub(super) fn segments(&self, namespace: &Namespace, blob: u64) -> Range<Vec<u8>> {
        let last = self.segment(namespace, blob, u64::MAX);
        self.segment(namespace, blob, 0)..[&last[..], &[0]].concat()
    }

    /// A blob.
    pub(super) fn blob(&self, namespace: &Namespace, blob: u64) -> Vec<u8> {
        [&self.blobs(namespace)[..], &blob.to_be_bytes()].concat()
    }

    /// What the rows of a namespace's blobs begin with.
    fn blobs(&self, namespace: &Namespace) -> Vec<u8> {
        self.key(BLOBS, &[namespace.as_str().as_bytes(), &[0]].concat())
    }

    /// The number of a blob, of its key.
    pub(super) fn number_of(&self, namespace: &Namespace, key: &[u8]) -> Result<u64> {
        number(key, &self.blobs(namespace))
    }

    /// The blobs of a namespace that come after one.
    pub(super) fn blobs_after(&self, namespace: &Namespace, after: Option<u64>) -> Range<Vec<u8>> {
        let name = namespace.as_str().as_bytes();
        let start = match after {
            Some(after) => [&self.blob(namespace, after)[..], &[0]].concat(),
            None => self.blobs(namespace),
        };
        // The byte after the one that ends a name.
        start..self.key(BLOBS, &[name, &[1]].concat())
    }
}

/// The number of 8 bytes that a key is behind a prefix.
fn number(key: &[u8], prefix: &[u8]) -> Result<u64> {
    let rest = key.strip_prefix(prefix);
    let number = rest.and_then(|rest| rest.try_into().ok());
    let wrong = || Error::corruption(format!("{key:02x?} is no key of a blob or a segment"));
    Ok(u64::from_be_bytes(number.ok_or_else(wrong)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_and_kinds_have_nothing_in_common() {
        let (one, other) = (Room::new("a").unwrap(), Room::new("ar").unwrap());
        assert_eq!(one.row(b"key"), b"\x02a\0rkey");
        assert_eq!(one.of_row(&one.row(b"key")).unwrap(), b"key");
        assert!(one.of_row(&other.row(b"key")).is_err());
        let (name, longer) = (Namespace::new("n").unwrap(), Namespace::new("n2").unwrap());
        let all = one.segments(&name, 7);
        assert!(all.contains(&one.segment(&name, 7, u64::MAX)));
        for outside in [
            one.segment(&name, 8, 0),
            one.segment(&longer, 7, 0),
            other.segment(&name, 7, 0),
            one.blob(&name, 7),
        ] {
            assert!(!all.contains(&outside), "{outside:02x?}");
        }
        let blobs = one.blobs_after(&name, Some(7));
        assert!(blobs.contains(&one.blob(&name, 8)) && !blobs.contains(&one.blob(&name, 7)));
        assert!(blobs.contains(&one.blob(&name, u64::MAX)));
        assert!(!blobs.contains(&one.blob(&longer, 8)));
        assert!(one.blobs_after(&name, None).contains(&one.blob(&name, 0)));
        let key = one.blob(&name, 258);
        assert_eq!(one.number_of(&name, &key).unwrap(), 258);
        assert!(one.number_of(&name, &key[..key.len() - 1]).is_err());
        assert!(one.number_of(&longer, &key).is_err());
        let key = one.segment(&name, 7, 258);
        assert_eq!(one.offset_of(&name, 7, &key).unwrap(), 258);
        assert!(one.offset_of(&name, 7, &[&key[..], &[0]].concat()).is_err());
        assert!(one.offset_of(&name, 8, &key).is_err());
    }

    #[test]
    fn a_room_has_a_name() {
        for name in ["", "a\0b", "a\n", &"x".repeat(256)] {
            let error = Room::new(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{name:?}");
        }
        Room::new("übung 7/a").unwrap();
    }
}
