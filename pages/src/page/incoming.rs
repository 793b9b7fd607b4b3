//! Pieces and commits on their way in: from another page, or from a cloud.

use super::add_commits::ChangeSource;
use super::pieces::references;
use super::staged::Staged;
use super::{Inner, Page, Pin};
use crate::commit::Commit;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{ObjectIdentifier, Piece, PieceSink, PieceSource, Priority, Reference};
use crate::rows::PieceStatus;
use std::collections::HashMap;

/// Takes pieces and commits that come from elsewhere. What has come stays as long as this is held, and for good once a commit that needs it
/// has been added; a collection takes the rest.
///
/// ```
/// # use larder_leveldb::storage::MemoryFileSystem;
/// # use larder_pages::{ChangeSource, Page, PageOptions, Timestamp};
/// # use std::{path::Path, sync::Arc};
/// # let open = || Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default());
/// let (here, there) = (open()?, open()?);
/// there.connect()?.put(b"apple", &[7; 100], Timestamp(1))?;
/// let commit = there.heads().remove(0);
///
/// let mut incoming = here.incoming();
/// there.outgoing().eager_pieces(&commit, |id, content| incoming.add_pieces(&[(id, content)]))?;
/// incoming.add_commits(&[commit.as_bytes()], ChangeSource::Peer)?;
/// assert_eq!(here.heads(), [commit]);
/// # Ok::<(), larder_pages::Error>(())
/// ```
#[derive(Debug)]
pub struct Incoming {
    page: Page,
    pins: Vec<Pin>,
}

/// Pieces that are to be written together, before those of the page.
struct Together<'a> {
    page: &'a Inner,
    contents: HashMap<ObjectIdentifier, &'a [u8]>,
}

impl PieceSource for Together<'_> {
    fn piece(&self, id: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        match self.contents.get(id) {
            Some(content) => Ok(Some(content.to_vec())),
            None => self.page.piece(id),
        }
    }
}

impl Together<'_> {
    /// What a piece refers to, and of that what is neither here nor among these, though it must be.
    fn look_at(
        &self,
        id: &ObjectIdentifier,
        content: &[u8],
    ) -> Result<(Vec<Reference>, Vec<ObjectIdentifier>)> {
        let references = references(self, Some(self.page.fanout()), id, content)?;
        let mut missing = Vec::new();
        for reference in &references {
            let needed = &reference.identifier;
            if reference.priority == Priority::Eager
                && !self.contents.contains_key(needed)
                && self.page.status(needed)?.is_none()
            {
                missing.push(*needed);
            }
        }
        Ok((references, missing))
    }
}

fn check_name(id: &ObjectIdentifier, content: &[u8]) -> Result<()> {
    match !id.digest.is_inline() && id.digest.is_of(content) {
        true => Ok(()),
        false => Err(Error::corruption(format!(
            "{} bytes that are not piece {:?}",
            content.len(),
            id.digest
        ))),
    }
}

impl Page {
    /// Begins to take what comes from elsewhere: from pages of the same fan-out, which an empty page takes on first
    /// ([`adopt_fanout`](Self::adopt_fanout)). If they differ, a key whose levels differ is found out, one of many.
    pub fn incoming(&self) -> Incoming {
        Incoming {
            page: self.clone(),
            pins: Vec::new(),
        }
    }
}

impl Incoming {
    /// Whether a piece is here. If it is, it stays as what came does.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn has_piece(&mut self, id: &ObjectIdentifier) -> Result<bool> {
        let inner = &self.page.0;
        // Under the lock: what is found here cannot be collected before it is pinned.
        let _writing = inner.writing();
        let is_here = inner.status(id)?.is_some();
        if is_here {
            self.pins.push(Pin::piece(inner, *id));
        }
        Ok(is_here)
    }

    /// What a piece refers to that must be here before it and is not: all but lazy values.
    ///
    /// # Errors
    /// `Corruption` if the content does not have that name or does not decode; `NeedsFetch` if the piece is the root of a tree node that is in
    /// several pieces, of which one is missing; those of the engine.
    pub fn missing_for(
        &self,
        id: &ObjectIdentifier,
        content: &[u8],
    ) -> Result<Vec<ObjectIdentifier>> {
        check_name(id, content)?;
        let alone = Together {
            page: &self.page.0,
            contents: HashMap::new(),
        };
        Ok(alone.look_at(id, content)?.1)
    }

    /// Takes pieces, all or none in one write. What one refers to must be here or stand before it, but for lazy values.
    ///
    /// # Errors
    /// `Corruption` if a content does not have its name or does not decode; `Usage` if what it refers to is not here; those of the engine.
    pub fn add_pieces(&mut self, pieces: &[(ObjectIdentifier, &[u8])]) -> Result<()> {
        let inner = &self.page.0;
        let _writing = inner.writing();
        let mut together = Together {
            page: inner,
            contents: HashMap::with_capacity(pieces.len()),
        };
        let mut staged = Staged::new(inner);
        for (id, content) in pieces {
            check_name(id, content)?;
            let (references, missing) = together.look_at(id, content)?;
            if let Some(missing) = missing.first() {
                return Err(Error::usage(format!(
                    "piece {:?} comes before {:?}, which it refers to",
                    id.digest, missing.digest
                )));
            }
            staged.put(Piece {
                identifier: *id,
                content,
                references: &references,
            })?;
            together.contents.insert(*id, content);
            self.pins.push(Pin::piece(inner, *id));
        }
        inner.write(&mut staged.finish(PieceStatus::Transient))
    }

    /// Takes commits, as [`Page::add_commits`] does. What came for them needs no holding any more.
    ///
    /// # Errors
    /// Those of [`Page::add_commits`].
    pub fn add_commits(&mut self, commits: &[&[u8]], source: ChangeSource) -> Result<Vec<Commit>> {
        let added = self.page.add_commits(commits, source)?;
        self.pins.clear();
        Ok(added)
    }

    /// Takes a lazy value whose pieces have been added: one that an entry of a tree that is here has.
    ///
    /// # Errors
    /// `NeedsFetch` if nothing refers to it, or a piece of it has not been added; `Corruption`; those of the engine.
    pub fn add_lazy_value(&mut self, value: &ObjectIdentifier, source: ChangeSource) -> Result<()> {
        let inner = &self.page.0;
        let _writing = inner.writing();
        let mut has_reference = false;
        inner.each_key(&inner.dialect.references_to(&value.digest), |_| {
            has_reference = true;
            Ok(false)
        })?;
        if !has_reference {
            return Err(Error::new(
                ErrorKind::NeedsFetch,
                format!("nothing on this device refers to piece {:?}", value.digest),
            ));
        }
        if inner.status(value)?.is_none() {
            let what = format!("piece {:?} has not been added", value.digest);
            return Err(Error::new(ErrorKind::NeedsFetch, what));
        }
        let mut staged = Staged::new(inner);
        inner.raise_tree(&mut staged, *value)?;
        inner.write(&mut staged.finish(source.status()))
    }
}
