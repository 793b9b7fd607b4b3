//! The names of a page's commits.

use super::Page;
use crate::commit::CommitId;
use crate::error::{Error, Result};
use crate::rows::RowKind;
use larder_leveldb::Iter;

/// The names of commits, ascending, as their rows have them: the commits themselves are not read. An error is the last item, but a key that is no
/// name is one error, and the names behind it follow. The first commit has no row, and is not among them.
#[derive(Debug)]
#[must_use]
pub struct CommitIds {
    /// `None` once it has ended.
    rows: Option<Iter>,
    /// What comes last: why the next row cannot be read.
    failed: Option<Error>,
    prefix_len: usize,
}

impl Page {
    /// The names of the commits that begin with these bytes; with none, of all. What is damaged may be missing.
    ///
    /// ```
    /// # use larder_leveldb::storage::MemoryFileSystem;
    /// # use larder_pages::{Page, PageOptions, Result, Timestamp};
    /// # use std::{path::Path, sync::Arc};
    /// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
    /// page.connect()?.put(b"apple", b"red", Timestamp(1))?;
    /// let head = page.heads()[0].id();
    /// let found = page.commit_ids(&head.0[..2])?.collect::<Result<Vec<_>>>()?;
    /// assert_eq!(found, [head]);
    /// # Ok::<(), larder_pages::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the engine.
    pub fn commit_ids(&self, start: &[u8]) -> Result<CommitIds> {
        let dialect = self.0.dialect;
        let prefix = dialect.key(RowKind::Commits, &[start]);
        Ok(CommitIds {
            rows: Some(super::rows(&self.0.db, &prefix)?),
            failed: None,
            prefix_len: dialect.prefix(RowKind::Commits).len(),
        })
    }
}

impl Iterator for CommitIds {
    type Item = Result<CommitId>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(rows) = &mut self.rows else {
            return self.failed.take().map(Err);
        };
        if !rows.valid() {
            return None;
        }
        let id = CommitId::decode(&rows.key()[self.prefix_len..]);
        if let Err(error) = rows.next() {
            self.rows = None;
            self.failed = Some(error.into());
        }
        Some(id)
    }
}
