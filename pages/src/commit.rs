//! Commits: a tree of entries, when, and what it came of.
//!
//! FlatBuffers table `CommitStorage { timestamp: long; generation: ulong; root_node_id: ObjectIdentifierStorage; parents: [IdStorage]; salt:
//! [ubyte] }`, `IdStorage` being a struct of 32 bytes. `salt` is a later field: it is passed over, and never written. The id of a commit is
//! the hash of these bytes, which are kept as they came.

use crate::error::{Error, Result};
use crate::flatbuffer::{Malformed, Table, Writer};
use crate::object::file_index::{identifier_vtable, read_identifier, write_identifier};
use crate::object::{ObjectIdentifier, sha256_with_length};
use crate::tree::Tree;
use std::fmt;

/// The name of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(pub [u8; 32]);

impl CommitId {
    /// The commit that every page begins with: nothing in it, and no row for it.
    pub const FIRST: CommitId = CommitId([0; 32]);

    pub(crate) fn decode(bytes: &[u8]) -> Result<CommitId> {
        let id = bytes.try_into().map(CommitId);
        id.map_err(|_| Error::corruption(format!("a commit id of {} bytes", bytes.len())))
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Nanoseconds since the beginning of 1970. The host passes them in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// A commit. Two with the same content are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    id: CommitId,
    timestamp: Timestamp,
    generation: u64,
    root: ObjectIdentifier,
    parents: Vec<CommitId>,
    bytes: Vec<u8>,
}

const MESSAGE: &str = "a commit";

impl Commit {
    /// The commit that every page begins with.
    pub fn first() -> Commit {
        Commit {
            id: CommitId::FIRST,
            timestamp: Timestamp(0),
            generation: 0,
            root: Tree::empty_root(),
            parents: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// A commit on one parent or two. Of two it has the later time, whatever `timestamp` says, so that each device makes the same.
    pub(crate) fn on(parents: &[&Commit], root: ObjectIdentifier, timestamp: Timestamp) -> Commit {
        let generations = parents.iter().map(|parent| parent.generation);
        let generation = 1 + generations.max().unwrap_or(0);
        let latest = parents.iter().map(|parent| parent.timestamp).max();
        let timestamp = match parents.len() {
            0 | 1 => timestamp,
            _ => latest.unwrap_or(timestamp),
        };
        let mut ids: Vec<CommitId> = parents.iter().map(|parent| parent.id).collect();
        ids.sort_unstable();
        let bytes = encode(timestamp, generation, &root, &ids);
        Commit {
            id: CommitId(sha256_with_length(&bytes)),
            timestamp,
            generation,
            root,
            parents: ids,
            bytes,
        }
    }

    /// Reads a commit.
    ///
    /// # Errors
    /// `Corruption` if these bytes are none: one or two parents that ascend, a generation above 0.
    pub fn decode(bytes: &[u8]) -> Result<Commit> {
        let malformed = |error: Malformed| error.within(MESSAGE);
        let root = Table::root(bytes).map_err(malformed)?;
        let parents = root.structs(3, 32).map_err(malformed)?.chunks_exact(32);
        let parents = parents.map(CommitId::decode).collect::<Result<Vec<_>>>()?;
        let generation = root.u64(1).map_err(malformed)?;
        let is_ordered = parents.is_sorted_by(|a, b| a < b);
        if !(1..=2).contains(&parents.len()) || !is_ordered || generation == 0 {
            return Err(Error::corruption(format!(
                "{MESSAGE} of generation {generation} with the parents {parents:?}"
            )));
        }
        Ok(Commit {
            id: CommitId(sha256_with_length(bytes)),
            timestamp: Timestamp(root.u64(0).map_err(malformed)?.cast_signed()),
            generation,
            root: read_identifier(&root, 2, MESSAGE)?,
            parents,
            bytes: bytes.to_vec(),
        })
    }

    /// Its name.
    pub fn id(&self) -> CommitId {
        self.id
    }

    /// When it was made; of a merge, when the later of its parents was.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The length of the longest way from the first commit.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The root of its tree.
    pub fn root(&self) -> ObjectIdentifier {
        self.root
    }

    /// What it came of: one, or two of a merge; none of the first. They ascend.
    pub fn parents(&self) -> &[CommitId] {
        &self.parents
    }

    /// Its bytes, whose hash is its name. Of the first there are none.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it has two parents.
    pub fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }

    /// The order of heads: by time, then by name.
    pub(crate) fn time_order(&self) -> (Timestamp, CommitId) {
        (self.timestamp, self.id)
    }
}

fn encode(
    timestamp: Timestamp,
    generation: u64,
    root_node: &ObjectIdentifier,
    parents: &[CommitId],
) -> Vec<u8> {
    let (mut writer, root) = Writer::new(192);
    let vtable = writer.vtable(28, &[4, 12, 20, 24]);
    let identifier_vtable = identifier_vtable(&mut writer);
    writer.set_to_u64(root);
    writer.table_of_u64(vtable);
    writer.u64(timestamp.0.cast_unsigned());
    writer.u64(generation);
    let (node, ids) = (writer.slot(), writer.slot());
    writer.set(node);
    write_identifier(&mut writer, identifier_vtable, root_node);
    let bytes: Vec<u8> = parents.iter().flat_map(|id| id.0).collect();
    writer.set(ids);
    writer.structs(parents.len(), &bytes);
    writer.finish()
}
