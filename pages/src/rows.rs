//! Keys of rows, in two dialects: the names that Ledger's document has, which are written, and the bytes of its last program, which are read.
//! `docs/format/pages.md`, "Rows of a page".

use crate::commit::CommitId;
use crate::error::{Error, Result};
use crate::object::{ObjectDigest, ObjectIdentifier, Priority};

/// How rows are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// By names: `commits/…`. This is what is written.
    Names,
    /// By single bytes, as Ledger's last version has them. Such a page is read only.
    Bytes,
}

/// How far a piece has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PieceStatus {
    /// It was written for a journal that is not committed, or is to be looked at by the next collection.
    Transient,
    /// It is in a commit, and only on this device.
    Local,
    /// It is in the cloud, too.
    Synced,
}

/// A kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Heads,
    Merges,
    Commits,
    Objects,
    References,
    UnsyncedCommits,
    Status(PieceStatus),
    SyncMetadata,
}

pub(crate) const ALL_STATUSES: [PieceStatus; 3] = [
    PieceStatus::Transient,
    PieceStatus::Local,
    PieceStatus::Synced,
];

/// The key of the row that a page has if its fan-out is not 256. Ledger has none.
pub(crate) const FANOUT: &[u8] = b"fanout";

impl RowKind {
    const fn prefix(self, dialect: Dialect) -> &'static [u8] {
        let (name, byte): (&[u8], &[u8]) = match self {
            RowKind::Heads => (b"heads/", b" "),
            RowKind::Merges => (b"merges/", b"!"),
            RowKind::Commits => (b"commits/", b"\""),
            RowKind::Objects => (b"objects/", b"#"),
            RowKind::References => (b"refcounts/", b"$"),
            RowKind::UnsyncedCommits => (b"unsynced/commits/", b"%"),
            RowKind::Status(PieceStatus::Transient) => (b"transient/objects/", b"&"),
            RowKind::Status(PieceStatus::Local) => (b"local/objects/", b"'"),
            RowKind::Status(PieceStatus::Synced) => (b"synced/objects/", b"("),
            RowKind::SyncMetadata => (b"sync_metadata/", b")"),
        };
        match dialect {
            Dialect::Names => name,
            Dialect::Bytes => byte,
        }
    }
}

/// What a reference row refers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceSource {
    Object(ObjectDigest, Priority),
    Commit(CommitId),
}

impl Dialect {
    /// The start of all keys of a kind.
    pub(crate) fn prefix(self, kind: RowKind) -> &'static [u8] {
        kind.prefix(self)
    }

    pub(crate) fn key(self, kind: RowKind, parts: &[&[u8]]) -> Vec<u8> {
        let prefix = kind.prefix(self);
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut key = Vec::with_capacity(prefix.len() + len);
        key.extend_from_slice(prefix);
        parts.iter().for_each(|part| key.extend_from_slice(part));
        key
    }

    pub(crate) fn head(self, id: CommitId) -> Vec<u8> {
        self.key(RowKind::Heads, &[&id.0])
    }

    pub(crate) fn commit(self, id: CommitId) -> Vec<u8> {
        self.key(RowKind::Commits, &[&id.0])
    }

    pub(crate) fn unsynced_commit(self, id: CommitId) -> Vec<u8> {
        self.key(RowKind::UnsyncedCommits, &[&id.0])
    }

    /// The parents ascend.
    pub(crate) fn merge(self, parents: [CommitId; 2], id: CommitId) -> Vec<u8> {
        let mut key = self.merges_of(parents);
        key.extend_from_slice(&id.0);
        key
    }

    pub(crate) fn merges_of(self, [first, second]: [CommitId; 2]) -> Vec<u8> {
        self.key(RowKind::Merges, &[&first.0, b"/", &second.0, b"/"])
    }

    pub(crate) fn object(self, digest: &ObjectDigest) -> Vec<u8> {
        self.key(RowKind::Objects, &[digest.as_bytes()])
    }

    pub(crate) fn status(self, status: PieceStatus, id: &ObjectIdentifier) -> Vec<u8> {
        self.key(RowKind::Status(status), &[&id.encode()])
    }

    /// The start of the keys of all references to a piece.
    pub(crate) fn references_to(self, destination: &ObjectDigest) -> Vec<u8> {
        match self {
            Dialect::Names => self.key(RowKind::References, &[destination.as_bytes(), b"/"]),
            Dialect::Bytes => self.key(RowKind::References, &[destination.as_bytes()]),
        }
    }

    const fn source_marks(self) -> (&'static [u8], &'static [u8], &'static [u8]) {
        match self {
            Dialect::Names => (b"object/eager/", b"object/lazy/", b"commit/"),
            Dialect::Bytes => (b"  ", b" !", b"!"),
        }
    }

    pub(crate) fn reference(self, destination: &ObjectDigest, source: ReferenceSource) -> Vec<u8> {
        let (eager, lazy, commit) = self.source_marks();
        let mut key = self.references_to(destination);
        let (mark, source): (_, &[u8]) = match &source {
            ReferenceSource::Object(digest, Priority::Eager) => (eager, digest.as_bytes()),
            ReferenceSource::Object(digest, Priority::Lazy) => (lazy, digest.as_bytes()),
            ReferenceSource::Commit(id) => (commit, &id.0),
        };
        key.extend_from_slice(mark);
        key.extend_from_slice(source);
        key
    }

    /// The source in the key of a reference, behind [`references_to`](Self::references_to).
    pub(crate) fn reference_source(self, rest: &[u8]) -> Result<ReferenceSource> {
        let (eager, lazy, commit) = self.source_marks();
        if let Some(id) = rest.strip_prefix(commit) {
            return Ok(ReferenceSource::Commit(CommitId::decode(id)?));
        }
        let (digest, priority) = match (rest.strip_prefix(eager), rest.strip_prefix(lazy)) {
            (Some(digest), _) => (digest, Priority::Eager),
            (_, Some(digest)) => (digest, Priority::Lazy),
            _ => {
                let key = rest.escape_ascii();
                return Err(Error::corruption(format!(
                    "a reference row ends with {key}"
                )));
            }
        };
        Ok(ReferenceSource::Object(
            ObjectDigest::decode(digest)?,
            priority,
        ))
    }
}

/// The first key behind all that begin with `prefix`; `None` if there is none.
pub(crate) fn end_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let len = prefix.iter().rposition(|byte| *byte < u8::MAX)? + 1;
    let mut end = prefix[..len].to_vec();
    end[len - 1] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ObjectType, PieceType};

    #[test]
    fn rows_are_named_as_the_document_has_them() {
        let digest = |byte| ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &[byte; 40]);
        let (one, two) = (digest(1), digest(2));
        let (a, b, c) = (CommitId([1; 32]), CommitId([2; 32]), CommitId([3; 32]));
        let parts = |parts: &[&[u8]]| parts.concat();
        let (d1, d2) = (one.as_bytes(), two.as_bytes());
        let eager = ReferenceSource::Object(two, Priority::Eager);
        let lazy = ReferenceSource::Object(two, Priority::Lazy);
        let id = ObjectIdentifier {
            digest: one,
            key_index: 5,
        };
        let (names, bytes) = (Dialect::Names, Dialect::Bytes);
        for (key, expected) in [
            (names.commit(a), parts(&[b"commits/", &a.0])),
            (bytes.commit(a), parts(&[b"\x22", &a.0])),
            (names.head(a), parts(&[b"heads/", &a.0])),
            (bytes.head(a), parts(&[b"\x20", &a.0])),
            (
                names.merge([a, b], c),
                parts(&[b"merges/", &a.0, b"/", &b.0, b"/", &c.0]),
            ),
            (
                bytes.merge([a, b], c),
                parts(&[b"\x21", &a.0, b"/", &b.0, b"/", &c.0]),
            ),
            (names.object(&one), parts(&[b"objects/", d1])),
            (bytes.object(&one), parts(&[b"\x23", d1])),
            (
                names.unsynced_commit(a),
                parts(&[b"unsynced/commits/", &a.0]),
            ),
            (bytes.unsynced_commit(a), parts(&[b"\x25", &a.0])),
            (
                names.status(PieceStatus::Transient, &id),
                parts(&[b"transient/objects/", d1, b"\x05\0\0\0"]),
            ),
            (
                bytes.status(PieceStatus::Transient, &id),
                parts(&[b"\x26", d1, b"\x05\0\0\0"]),
            ),
            (
                names.status(PieceStatus::Local, &id),
                parts(&[b"local/objects/", d1, b"\x05\0\0\0"]),
            ),
            (
                bytes.status(PieceStatus::Local, &id),
                parts(&[b"\x27", d1, b"\x05\0\0\0"]),
            ),
            (
                names.status(PieceStatus::Synced, &id),
                parts(&[b"synced/objects/", d1, b"\x05\0\0\0"]),
            ),
            (
                bytes.status(PieceStatus::Synced, &id),
                parts(&[b"\x28", d1, b"\x05\0\0\0"]),
            ),
            (
                names.key(RowKind::SyncMetadata, &[b"t"]),
                b"sync_metadata/t".to_vec(),
            ),
            (bytes.key(RowKind::SyncMetadata, &[b"t"]), b"\x29t".to_vec()),
            (
                names.reference(&one, eager),
                parts(&[b"refcounts/", d1, b"/object/eager/", d2]),
            ),
            (
                bytes.reference(&one, eager),
                parts(&[b"\x24", d1, b"\x20\x20", d2]),
            ),
            (
                names.reference(&one, lazy),
                parts(&[b"refcounts/", d1, b"/object/lazy/", d2]),
            ),
            (
                bytes.reference(&one, lazy),
                parts(&[b"\x24", d1, b"\x20\x21", d2]),
            ),
            (
                names.reference(&one, ReferenceSource::Commit(a)),
                parts(&[b"refcounts/", d1, b"/commit/", &a.0]),
            ),
            (
                bytes.reference(&one, ReferenceSource::Commit(a)),
                parts(&[b"\x24", d1, b"\x21", &a.0]),
            ),
        ] {
            assert_eq!(
                key.escape_ascii().to_string(),
                expected.escape_ascii().to_string()
            );
        }
        for dialect in [names, bytes] {
            for source in [eager, lazy, ReferenceSource::Commit(b)] {
                let key = dialect.reference(&one, source);
                let rest = &key[dialect.references_to(&one).len()..];
                assert_eq!(dialect.reference_source(rest).unwrap(), source);
            }
            assert!(dialect.reference_source(b"object/hazy/").is_err());
        }
    }

    #[test]
    fn the_end_of_a_prefix_is_behind_all_of_it() {
        assert_eq!(end_of(b"a/"), Some(b"a0".to_vec()));
        assert_eq!(end_of(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(end_of(b"\xff"), None);
        assert_eq!(end_of(b""), None);
    }
}
