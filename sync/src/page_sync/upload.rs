//! From the page to the cloud.

use super::{DEVICE, DEVICES, Direction, KEYS, PageSync, SyncState};
use crate::cloud::Put;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Last;
use crate::segment::SegmentWriter;
use larder_pages::{Commit, CommitId, ObjectIdentifier};

/// So many commits come with their pieces before the next.
const GROUP_COMMITS: usize = 1000;
/// Commits that follow so many pieces go before the next, since a device that takes them has the names of a group's pieces in memory.
const GROUP_PIECES: u64 = 16_384;

/// What went to the cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Segments that were put.
    pub segments: u64,
    /// Commits in them.
    pub commits: u64,
    /// Pieces in them.
    pub pieces: u64,
}

/// An upload under way.
struct Run {
    writer: SegmentWriter,
    done: Uploaded,
}

impl Run {
    /// So many pieces have been pushed.
    fn pieces(&self) -> u64 {
        self.done.pieces + self.writer.header.pieces.len() as u64
    }
}

impl PageSync {
    /// Puts what the cloud has not. As long as the page has several heads nothing is put: they are to be merged first.
    ///
    /// # Errors
    /// Those of [`download`](Self::download). What was put by then stays, and the next call goes on.
    pub fn upload(&mut self) -> Result<Uploaded> {
        self.status
            .change(|status| status.upload = SyncState::InProgress);
        let is_one = self.page.heads().len() == 1;
        let done = match is_one {
            true => self.upload_all(),
            false => Ok(Uploaded::default()),
        };
        let state = match &done {
            Err(error) => SyncState::Error(error.clone()),
            Ok(_) if is_one => SyncState::Idle,
            Ok(_) => SyncState::Pending,
        };
        self.ended(Direction::Upload, state);
        done
    }

    fn upload_all(&mut self) -> Result<Uploaded> {
        if self.page.is_synced()? {
            return Ok(Uploaded::default());
        }
        self.check_last(self.device, self.position.of(self.device))?;
        self.take_own()?;
        let commits = self.page.unsynced_commits()?;
        self.register()?;
        let mut run = Run {
            writer: self.writer(),
            done: Uploaded::default(),
        };
        let mut left = &commits[..];
        while !left.is_empty() {
            let count = self.upload_group(left, &mut run)?;
            left = left.get(count..).unwrap_or_default();
        }
        self.upload_loose(&mut run)?;
        Ok(run.done)
    }

    /// Puts the names of the key and of this device where the others look for them.
    fn register(&mut self) -> Result<()> {
        if self.page.sync_metadata(DEVICE)?.is_none() {
            self.take_name(self.device)?;
        }
        if self.position.of(self.device) == Last::NONE {
            self.check_key()?;
            self.cloud.put(&format!("{KEYS}/{}", self.key_name), &[])?;
            let name = format!("{}/{DEVICES}/{}", self.folder, self.device);
            self.cloud.put(&name, &[])?;
        }
        Ok(())
    }

    fn writer(&self) -> SegmentWriter {
        let last = self.position.of(self.device);
        let place = self.place(self.device, last.number + 1);
        let fanout = self.page.fanout();
        SegmentWriter::new(place, fanout, last, self.seen(), self.segment_max)
    }

    /// Puts the first of these commits: how many.
    fn upload_group(&mut self, ids: &[CommitId], run: &mut Run) -> Result<usize> {
        let mut outgoing = self.page.outgoing();
        let (mut commits, mut lazy) = (Vec::new(), Vec::new());
        let (start, mut count) = (run.pieces(), 0);
        for id in ids.iter().take(GROUP_COMMITS) {
            count += 1;
            if let Some(commit) = self.page.commit_by_id(*id)? {
                self.check_tree(&commit)?;
                lazy.extend(self.walk(run, false, |each| outgoing.eager_pieces(&commit, each))?);
                commits.push(commit);
            }
            if run.pieces() - start >= GROUP_PIECES {
                break;
            }
        }
        if !lazy.is_empty() {
            self.flush(run)?;
        }
        for value in lazy {
            self.walk(run, true, |each| outgoing.lazy_pieces(value, each))?;
        }
        for commit in &commits {
            run.writer.push_commit(commit.id(), commit.as_bytes());
        }
        self.flush(run)?;
        Ok(count)
    }

    /// A commit whose tree this device has given up cannot be uploaded.
    fn check_tree(&self, commit: &Commit) -> Result<()> {
        let root = commit.root();
        match root.digest.is_inline() || self.page.piece_status(&root)?.is_some() {
            true => Ok(()),
            false => {
                let what = format!(
                    "commit {:?} is to be uploaded, and its tree is not on this device any more",
                    commit.id()
                );
                let kind = larder_pages::ErrorKind::NeedsFetch;
                Err(larder_pages::Error::new(kind, what).into())
            }
        }
    }

    /// Takes the pieces of a walk into segments.
    fn walk<T>(
        &mut self,
        run: &mut Run,
        is_lazy: bool,
        walk: impl FnOnce(
            &mut dyn FnMut(ObjectIdentifier, &[u8]) -> larder_pages::Result<()>,
        ) -> larder_pages::Result<T>,
    ) -> Result<T> {
        let mut failed = None;
        let mut each = |id: ObjectIdentifier, content: &[u8]| {
            let pushed = self.push(run, id, content, is_lazy);
            pushed.map_err(|error| {
                failed = Some(error);
                larder_pages::Error::new(larder_pages::ErrorKind::Usage, "the upload has failed")
            })
        };
        let done = walk(&mut each);
        match failed {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }

    fn push(
        &mut self,
        run: &mut Run,
        id: ObjectIdentifier,
        content: &[u8],
        is_lazy: bool,
    ) -> Result<()> {
        run.writer.push_piece(&self.seal, id, content, is_lazy)?;
        match run.writer.is_full() {
            true => self.flush(run),
            false => Ok(()),
        }
    }

    /// Pieces that came from a peer for commits that are synced: lazy values.
    fn upload_loose(&mut self, run: &mut Run) -> Result<()> {
        let mut after = None;
        loop {
            let pieces = self.page.unsynced_pieces(after.as_ref(), 1000)?;
            let Some(last) = pieces.last() else {
                return self.flush(run);
            };
            for id in &pieces {
                use larder_pages::PieceSource;
                if let Some(content) = self.page.piece(id)? {
                    self.push(run, *id, &content, true)?;
                }
            }
            after = Some(*last);
        }
    }

    /// Puts the segment that is being made, if there is something in it, and begins the next.
    fn flush(&mut self, run: &mut Run) -> Result<()> {
        if run.writer.is_empty() {
            return Ok(());
        }
        let (bytes, last) = run.writer.finish(&self.seal)?;
        let name = format!("{}/{}", self.folder, run.writer.header.place.name());
        if self.cloud.put(&name, &bytes)? == Put::Taken {
            let there = self.cloud.read(&name, 0..bytes.len() as u64 + 1)?;
            // It may be what was put before this process could write that down.
            if there.as_deref() != Some(&bytes[..]) {
                return self.rename_device();
            }
        }
        let pieces: Vec<ObjectIdentifier> = run
            .writer
            .header
            .pieces
            .iter()
            .map(|piece| piece.id)
            .collect();
        self.position.0.insert(self.device, last);
        self.page.mark_synced(&pieces, &run.writer.commits)?;
        self.save_position(&self.position)?;
        let commits = run.writer.commits.len() as u64;
        run.done.segments += 1;
        run.done.commits += commits;
        run.done.pieces += pieces.len() as u64;
        self.status.change(|status| {
            status.progress.commits_out += commits;
            status.progress.pieces_out += pieces.len() as u64;
            status.progress.bytes_out += bytes.len() as u64;
        });
        run.writer = self.writer();
        Ok(())
    }

    /// Another device has this one's name, since its page is a copy of this one's. This one takes another, and begins its segments anew.
    fn rename_device(&mut self) -> Result<()> {
        if self.device == self.fresh {
            let what = "another device has the name that this one was given: give it a random one";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        self.take_name(self.fresh)?;
        let what = "another device had this one's name, and it has a new one: try again";
        Err(Error::new(ErrorKind::Unavailable, what))
    }
}
