//! Keys of the catalogue's rows: `docs/format/remote-files.md`. Their byte order is the order of what they stand for.

use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::place::Place;
use std::ops::Range;

const SESSION: u8 = 0x01;
const NAMESPACE: u8 = 0x02;

const FILE: u8 = 0x01;
const CONTENT: u8 = 0x02;
const PLACE: u8 = 0x03;
const LOCK: u8 = 0x04;
const PENDING: u8 = 0x05;

/// The row of a session.
pub(crate) fn session(nonce: &[u8; 16]) -> Vec<u8> {
    [&[SESSION], &nonce[..]].concat()
}

fn wrong(key: &[u8]) -> Error {
    Error::corruption(format!("{key:02x?} is no key of a catalogue's row"))
}

/// The rows of all namespaces whose names come after one.
pub(crate) fn namespaces_after(name: Option<&Namespace>) -> Range<Vec<u8>> {
    let start = match name {
        // The byte after the one that ends a name.
        Some(name) => [&[NAMESPACE], name.as_str().as_bytes(), &[0x01]].concat(),
        None => vec![NAMESPACE],
    };
    start..vec![NAMESPACE + 1]
}

/// The namespace that a row belongs to.
pub(crate) fn namespace_of(key: &[u8]) -> Result<Namespace> {
    let name = match key.split_first() {
        Some((&NAMESPACE, rest)) => rest.split(|&byte| byte == 0).next(),
        _ => None,
    };
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    Namespace::new(name.ok_or_else(|| wrong(key))?).map_err(|_| wrong(key))
}

/// The keys of one namespace.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: Vec<u8>,
}

impl Keys {
    pub(crate) fn new(namespace: &Namespace) -> Keys {
        Keys {
            prefix: [&[NAMESPACE], namespace.as_str().as_bytes(), &[0]].concat(),
        }
    }

    fn with(&self, tag: u8, rest: &[&[u8]]) -> Vec<u8> {
        let mut key = self.prefix.clone();
        key.push(tag);
        for part in rest {
            key.extend_from_slice(part);
        }
        key
    }

    /// Where the content lies, if that is elsewhere than the catalogue.
    pub(crate) fn content_place(&self) -> Vec<u8> {
        self.with(PLACE, &[])
    }

    /// The lock.
    pub(crate) fn lock(&self) -> Vec<u8> {
        self.with(LOCK, &[])
    }

    /// The row of a file or directory.
    pub(crate) fn file(&self, place: &Place) -> Vec<u8> {
        self.with(FILE, &[place.dir(), &[0], place.name()])
    }

    /// The rows of a directory's files and directories, by the directory's path.
    pub(crate) fn files_in(&self, dir: &[u8]) -> Range<Vec<u8>> {
        self.with(FILE, &[dir, &[0]])..self.with(FILE, &[dir, &[1]])
    }

    /// The rows of all files and directories.
    pub(crate) fn files(&self) -> Range<Vec<u8>> {
        self.with(FILE, &[])..self.with(FILE + 1, &[])
    }

    /// Everything of the namespace: files, content, its place, the lock, and what is to be deleted, in this order.
    pub(crate) fn all(&self) -> Range<Vec<u8>> {
        self.with(FILE, &[])..self.with(PENDING + 1, &[])
    }

    /// The rows of content, of all blobs.
    pub(crate) fn all_content(&self) -> Range<Vec<u8>> {
        self.with(CONTENT, &[])..self.with(CONTENT + 1, &[])
    }

    /// The blob of a piece.
    pub(crate) fn blob_of(&self, key: &[u8]) -> Result<u64> {
        let rest = key.get(..key.len().saturating_sub(8));
        let bytes = rest
            .and_then(|rest| rest.last_chunk())
            .ok_or_else(|| wrong(key))?;
        Ok(u64::from_be_bytes(*bytes))
    }

    /// The file or directory of a row.
    pub(crate) fn place_of(&self, key: &[u8]) -> Result<Place> {
        let rest = key.strip_prefix(&*self.prefix).ok_or_else(|| wrong(key))?;
        match rest.split_first() {
            Some((&FILE, path)) => Place::of_key(path).ok_or_else(|| wrong(key)),
            _ => Err(wrong(key)),
        }
    }

    /// A piece of a blob's content that lies in the catalogue.
    pub(crate) fn content(&self, blob: u64, offset: u64) -> Vec<u8> {
        self.with(CONTENT, &[&blob.to_be_bytes(), &offset.to_be_bytes()])
    }

    /// The pieces of a blob between two offsets.
    pub(crate) fn content_in(&self, blob: u64, offsets: Range<u64>) -> Range<Vec<u8>> {
        self.content(blob, offsets.start)..self.content(blob, offsets.end)
    }

    /// The pieces of a blob.
    pub(crate) fn content_of(&self, blob: u64) -> Range<Vec<u8>> {
        // An offset is at most i64::MAX, which is below eight bytes of 0xff.
        self.content(blob, 0)..self.content(blob, u64::MAX)
    }

    /// The offset of a piece.
    pub(crate) fn offset_of(&self, key: &[u8]) -> Result<u64> {
        let bytes = key.last_chunk().ok_or_else(|| wrong(key))?;
        Ok(u64::from_be_bytes(*bytes))
    }

    /// The row that says that a blob is to be deleted.
    pub(crate) fn pending(&self, blob: u64) -> Vec<u8> {
        self.with(PENDING, &[&blob.to_be_bytes()])
    }

    /// All of those.
    pub(crate) fn all_pending(&self) -> Range<Vec<u8>> {
        self.with(PENDING, &[])..self.with(PENDING + 1, &[])
    }

    /// The blob in the key of such a row.
    pub(crate) fn pending_of(&self, key: &[u8]) -> Result<u64> {
        let bytes = key.last_chunk().ok_or_else(|| wrong(key))?;
        Ok(u64::from_be_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn keys(name: &str) -> Keys {
        Keys::new(&Namespace::new(name).unwrap())
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The vectors of `docs/format/remote-files.md`.
    #[test]
    fn keys_are_those_of_the_format_document() {
        let document = include_str!("../../docs/format/remote-files.md");
        let keys = keys("ns");
        let place = Place::of(Path::new("db/CURRENT")).unwrap().unwrap();
        for (what, key) in [
            ("session", session(&[0xab; 16])),
            ("file", keys.file(&place)),
            ("content", keys.content(0x1_0000_0002, 0x1_0000)),
            ("place", keys.content_place()),
            ("lock", keys.lock()),
            ("pending", keys.pending(0x1_0000_0002)),
        ] {
            let line = format!("| {what} | `{}`", hex(&key));
            assert!(document.contains(&line), "{line}");
        }
    }

    #[test]
    fn no_row_of_one_namespace_lies_in_a_range_of_another() {
        let names = ["a", "a/", "a1", "ab", "b", "a\u{a0}", "z"];
        for one in names {
            for other in names.into_iter().filter(|other| *other != one) {
                let (one, other) = (keys(one), keys(other));
                let all = one.with(0, &[])..one.with(0xff, &[]);
                let place = Place::of(Path::new("x")).unwrap().unwrap();
                assert!(all.contains(&one.file(&place)) && all.contains(&one.lock()));
                assert!(!all.contains(&other.file(&place)) && !all.contains(&other.lock()));
            }
        }
    }

    #[test]
    fn the_next_namespace_is_found_behind_all_rows_of_one() {
        let name = Namespace::new("a").unwrap();
        let rest = namespaces_after(Some(&name));
        let place = Place::of(Path::new("\u{10ffff}/x")).unwrap().unwrap();
        assert!(!rest.contains(&Keys::new(&name).file(&place)));
        for other in ["a/", "aa", "a "] {
            assert!(rest.contains(&keys(other).lock()), "{other}");
        }
        assert_eq!(namespace_of(&keys("a/").lock()).unwrap().as_str(), "a/");
        assert!(namespace_of(&[2, 0xff, 0]).is_err() && namespace_of(&[2]).is_err());
    }

    #[test]
    fn a_directory_has_its_own_names_and_those_of_no_other() {
        let keys = keys("n");
        let place = |path: &str| Place::of(Path::new(path)).unwrap().unwrap();
        let range = keys.files_in(b"d");
        for (path, is_in) in [
            ("d/a", true),
            ("d/z/z", false),
            ("d", false),
            ("dd/a", false),
            ("e", false),
        ] {
            assert_eq!(range.contains(&keys.file(&place(path))), is_in, "{path}");
            assert_eq!(
                keys.place_of(&keys.file(&place(path))).unwrap(),
                place(path)
            );
        }
    }
}
