//! Versioned, content-addressed, mergeable pages of entries on LevelDB.
//!
//! A [`Page`] has commits; a commit has a [`Tree`] of entries, whose root depends on them alone; values are objects, cut into pieces that are
//! named by their content. [`Page::begin`] and [`Page::commit`] change it, [`Snapshot`] reads it, [`Page::merge`] makes one of what devices
//! have changed apart. A [`Repository`] is a folder of pages. Every byte is described in `docs/format/pages.md`.
//!
//! There is no clock, no random number and no thread in here, but the engine's.

mod commit;
mod entry;
mod error;
mod flatbuffer;
#[cfg(test)]
mod format_vectors;
mod merge;
mod object;
mod page;
mod repository;
mod rows;
#[cfg(test)]
mod testing;
mod tree;

pub use commit::{Commit, CommitId, Timestamp};
pub use entry::{Change, Entry};
pub use error::{Error, ErrorKind, Result};
pub use merge::{
    Conflict, ConflictPart, ConflictResolver, MergeOutcome, MergePolicy, MergedValue, Relation,
    relation,
};
pub use object::{
    Cut, CutBits, INLINE_LEN_MAX, ObjectDigest, ObjectIdentifier, ObjectReader, ObjectType,
    ObjectWriter, Piece, PieceSink, PieceSource, PieceType, Priority, Reference, SplitParameters,
    Splitter, WindowSide, sha256_with_length,
};
pub use page::{
    ChangeSource, CollectPolicy, Collectable, Collected, CommitIds, Connection, Incoming, Journal,
    KEY_LEN_MAX, ListLimits, Listed, ListedEntry, Outgoing, Page, PageChange, PageChangeState,
    PageOptions, PieceCounts, PieceReader, PrunePolicy, Pulled, Snapshot, ValueReference, Watcher,
};
pub use repository::{
    EVICTION_AGE, LEDGER_NAME_LEN_MAX, Ledger, OpenPage, PageId, PageUse, Place, Repository,
    RepositoryReader, SERIALIZATION_VERSION, place_of,
};
pub use rows::{Dialect, PieceStatus};
pub use tree::{Diff, Entries, EntryDiff, Fanout, ThreeWay, ThreeWayDiff, Tree};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
