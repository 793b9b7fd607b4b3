//! A page, on a LevelDB of its own: commits, and the pieces that they need.
//!
//! One writer at a time ([`Inner::writing`]); readers wait for none, since what a commit needs does not change. What is in use is pinned
//! in memory ([`State`]), and goes by [`Page::collect`] only.

mod add_commits;
mod collect;
mod collectable;
mod commit_ids;
mod condition;
mod connection;
mod fanout;
mod incoming;
mod journal;
mod live;
mod options;
mod outgoing;
mod piece_counts;
mod pieces;
mod prune;
mod pull;
mod snapshot;
mod staged;
mod sync_state;
mod value;
mod watcher;

pub use add_commits::ChangeSource;
pub use collect::Collected;
pub use collectable::Collectable;
pub use commit_ids::CommitIds;
pub use connection::Connection;
pub use incoming::Incoming;
pub use journal::Journal;
pub use options::{CollectPolicy, KEY_LEN_MAX, PageOptions, PrunePolicy};
pub use outgoing::Outgoing;
pub use piece_counts::PieceCounts;
pub use pull::Pulled;
pub use snapshot::{ListLimits, Listed, ListedEntry, Snapshot};
pub use value::{PieceReader, ValueReference};
pub use watcher::{PageChange, PageChangeState, Watcher};

use crate::commit::{Commit, CommitId, Timestamp};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{ObjectIdentifier, PieceSource};
use crate::rows::{ALL_STATUSES, Dialect, PieceStatus, RowKind, end_of};
use crate::tree::{Fanout, NodeCache, Tree};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Iter, OnDamage};
pub(crate) use live::Pin;
use live::State;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A page of entries with its history, open. Clones are the same page; it closes with the last of them.
///
/// ```
/// use larder_leveldb::storage::MemoryFileSystem;
/// use larder_pages::{Page, PageOptions, Timestamp};
/// use std::{path::Path, sync::Arc};
///
/// let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
/// let mut journal = page.begin()?;
/// journal.put(b"apple", b"red")?;
/// let commit = page.commit(journal, Timestamp(1))?;
/// assert_eq!(page.snapshot(&commit, b"").get(b"apple")?.as_deref(), Some(&b"red"[..]));
/// assert_eq!(page.heads(), [commit]);
/// # Ok::<(), larder_pages::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Page(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) db: Db,
    pub(crate) dialect: Dialect,
    pub(crate) options: PageOptions,
    fanout: Mutex<Fanout>,
    /// Why heads are not among those of the state.
    unreadable_heads: Vec<Error>,
    writing: Mutex<()>,
    state: Mutex<State>,
    pub(crate) nodes: NodeCache,
}

pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Page {
    /// Opens the page in a folder, or makes one; the folder above must be there.
    ///
    /// # Errors
    /// `Unsupported` if its rows are in the dialect of single bytes, which is only read; those of the engine.
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path, options: PageOptions) -> Result<Page> {
        let mut db_options = options.db.clone();
        db_options.create_if_missing = true;
        let db = Db::open(fs, dir, db_options)?;
        let (dialect, heads) = read_heads(&db)?;
        let heads = heads.into_iter().collect::<Result<Vec<_>>>()?;
        if dialect == Dialect::Bytes {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the rows of this page are named by single bytes: open it with `Page::open_read_only`",
            ));
        }
        let is_new = heads.is_empty();
        let fanout = match (fanout::read(&db)?, is_new) {
            (Some(fanout), _) => fanout,
            (None, true) => options.fanout,
            (None, false) => Fanout::Of256,
        };
        let page = Page::new(db, dialect, (options, fanout), heads, Vec::new());
        if is_new {
            let mut batch = BatchWriter::new();
            fanout::stage(&mut batch, fanout);
            batch.put(&dialect.head(CommitId::FIRST), &0_i64.to_le_bytes());
            page.0.db.write(&mut batch, page.0.options.durability)?;
            page.0.state().set_heads(&[], Commit::first());
        }
        Ok(page)
    }

    /// Opens the page in a folder for reading, in either dialect, and changes nothing there. It may be open elsewhere.
    ///
    /// If [`PageOptions::db`](crate::PageOptions) has `OnDamage::Skip`, a head that cannot be read is left out of [`heads`](Self::heads):
    /// [`unreadable_heads`](Self::unreadable_heads) says why.
    ///
    /// # Errors
    /// Those of the engine; `Corruption` if a head cannot be read, without `OnDamage::Skip`.
    pub fn open_read_only(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        options: PageOptions,
    ) -> Result<Page> {
        let db = Db::open_read_only(fs, dir, options.db.clone())?;
        let (dialect, found) = read_heads(&db)?;
        let (mut heads, mut unreadable) = (Vec::new(), Vec::new());
        for head in found {
            match head {
                Ok(head) => heads.push(head),
                Err(error) if options.db.on_damage == OnDamage::Skip => unreadable.push(error),
                Err(error) => return Err(error),
            }
        }
        let fanout = fanout::read(&db)?.unwrap_or(Fanout::Of256);
        Ok(Page::new(db, dialect, (options, fanout), heads, unreadable))
    }

    fn new(
        db: Db,
        dialect: Dialect,
        (options, fanout): (PageOptions, Fanout),
        heads: Vec<Commit>,
        unreadable_heads: Vec<Error>,
    ) -> Page {
        let mut state = State::default();
        heads
            .into_iter()
            .for_each(|head| state.set_heads(&[], head));
        Page(Arc::new(Inner {
            db,
            dialect,
            options,
            fanout: Mutex::new(fanout),
            unreadable_heads,
            writing: Mutex::default(),
            state: Mutex::new(state),
            nodes: NodeCache::default(),
        }))
    }

    /// How the rows are named.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// The commits that no other came of, oldest first: one, or several while devices have not been merged.
    pub fn heads(&self) -> Vec<Commit> {
        self.0.state().heads()
    }

    /// A commit; `None` if it is not here.
    ///
    /// # Errors
    /// `Corruption`, those of the engine.
    pub fn commit_by_id(&self, id: CommitId) -> Result<Option<Commit>> {
        self.0.commit(id)
    }

    /// The merge commits of two commits, by their names.
    ///
    /// # Errors
    /// `Corruption`, those of the engine.
    pub fn merges_of(&self, one: CommitId, other: CommitId) -> Result<Vec<CommitId>> {
        let prefix = self.0.dialect.merges_of([one.min(other), one.max(other)]);
        let mut ids = Vec::new();
        self.0.each_key(&prefix, |rest| {
            ids.push(CommitId::decode(rest)?);
            Ok(true)
        })?;
        Ok(ids)
    }

    /// How far a piece has come; `None` if it is not here.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn piece_status(&self, id: &ObjectIdentifier) -> Result<Option<PieceStatus>> {
        self.0.status(id)
    }

    /// What a commit holds, as a tree.
    pub fn tree(&self, commit: &Commit) -> Tree<'_> {
        self.0.tree(commit.root())
    }

    /// What the store of the page has done, in numbers, and what it is made of.
    pub fn statistics(&self) -> larder_leveldb::Statistics {
        self.0.db.statistics()
    }

    /// Closes the page if this is its last handle: whether it was.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn close(self) -> Result<bool> {
        match Arc::into_inner(self.0) {
            None => Ok(false),
            Some(inner) => {
                inner.db.close()?;
                Ok(true)
            }
        }
    }
}

impl PieceSource for Page {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        self.0.piece(identifier)
    }
}

impl PieceSource for Inner {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        Ok(self.db.get(&self.dialect.object(&identifier.digest))?)
    }
}

impl Inner {
    pub(crate) fn tree(&self, root: ObjectIdentifier) -> Tree<'_> {
        Tree::of_fanout(self, root, self.fanout()).with_cache(&self.nodes)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Held while rows are looked at and written that depend on one another.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        locked(&self.writing)
    }

    pub(crate) fn write(&self, batch: &mut BatchWriter) -> Result<()> {
        match batch.entry_count() {
            0 => Ok(()),
            _ => Ok(self.db.write(batch, self.options.durability)?),
        }
    }

    pub(crate) fn commit(&self, id: CommitId) -> Result<Option<Commit>> {
        read_commit(&self.db, self.dialect, id)
    }

    /// The highest status of a piece.
    pub(crate) fn status(&self, id: &ObjectIdentifier) -> Result<Option<PieceStatus>> {
        for status in ALL_STATUSES.into_iter().rev() {
            if self.db.get(&self.dialect.status(status, id))?.is_some() {
                return Ok(Some(status));
            }
        }
        Ok(None)
    }

    /// Calls for what stands behind `prefix` in each key that begins with it, until the call returns false.
    pub(crate) fn each_key(
        &self,
        prefix: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut iter = rows(&self.db, prefix)?;
        while iter.valid() && each(&iter.key()[prefix.len()..])? {
            iter.next()?;
        }
        Ok(())
    }
}

/// On the first row whose key begins with `prefix`, and on no others.
pub(crate) fn rows(db: &Db, prefix: &[u8]) -> Result<Iter> {
    let mut iter = match end_of(prefix) {
        Some(end) => db.iter_within(prefix..&end),
        None => db.iter_within(prefix..),
    };
    iter.seek_to_first()?;
    Ok(iter)
}

fn read_commit(db: &Db, dialect: Dialect, id: CommitId) -> Result<Option<Commit>> {
    if id == CommitId::FIRST {
        return Ok(Some(Commit::first()));
    }
    let Some(bytes) = db.get(&dialect.commit(id))? else {
        return Ok(None);
    };
    let commit = Commit::decode(&bytes)?;
    match commit.id() == id {
        true => Ok(Some(commit)),
        false => Err(Error::corruption(format!(
            "the row of commit {id:?} has commit {:?}",
            commit.id()
        ))),
    }
}

/// The dialect, and the heads in it, or why one cannot be read: a page in single bytes has a key below the letters.
fn read_heads(db: &Db) -> Result<(Dialect, Vec<Result<Commit>>)> {
    let mut iter = db.iter();
    iter.seek_to_first()?;
    let dialect = match iter.key().first() {
        Some(byte) if *byte < b'0' => Dialect::Bytes,
        _ => Dialect::Names,
    };
    let prefix = dialect.prefix(RowKind::Heads);
    let mut iter = rows(db, prefix)?;
    let mut heads = Vec::new();
    while iter.valid() {
        let id = &iter.key()[prefix.len()..];
        heads.push(read_head(db, dialect, id, iter.value()?));
        iter.next()?;
    }
    Ok((dialect, heads))
}

/// The head that a row with this id and value leads to.
fn read_head(db: &Db, dialect: Dialect, id: &[u8], value: &[u8]) -> Result<Commit> {
    let id = CommitId::decode(id)?;
    let head = read_commit(db, dialect, id)?
        .ok_or_else(|| Error::corruption(format!("head {id:?} has no row of its own")))?;
    let timestamp = i64::from_le_bytes(value.try_into().unwrap_or_default());
    match Timestamp(timestamp) == head.timestamp() {
        true => Ok(head),
        false => Err(Error::corruption(format!(
            "head {id:?} was made at {}, and at {timestamp} by its row",
            head.timestamp().0
        ))),
    }
}

#[cfg(test)]
pub(crate) mod tests;
