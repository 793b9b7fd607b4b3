//! The handle that writes a file.

use super::read::FileSource;
use super::tail::Live;
use super::{Hold, Shared, locked};
use larder_leveldb::storage::WritableFile;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes that are collected before they are added.
const WAITING_LEN_MAX: usize = 64 << 10;

/// A file that is written at its end.
#[derive(Debug)]
pub(super) struct RemoteWritable {
    shared: Arc<Shared>,
    target: Target,
    /// Keeps the blob of the target.
    hold: Hold,
    waiting: Vec<u8>,
}

#[derive(Debug)]
enum Target {
    /// A file of its own.
    Live(Arc<Live>),
    /// A file that was there, of so many bytes, of which nothing was written yet.
    Reopened(FileSource, u64),
}

impl RemoteWritable {
    pub(super) fn live(shared: &Arc<Shared>, live: Arc<Live>) -> RemoteWritable {
        let hold = shared.hold(live.blob);
        RemoteWritable {
            shared: Arc::clone(shared),
            target: Target::Live(live),
            hold,
            waiting: Vec::new(),
        }
    }

    pub(super) fn reopened(
        shared: &Arc<Shared>,
        source: FileSource,
        len_bytes: u64,
    ) -> RemoteWritable {
        let hold = shared.hold(source.blob());
        RemoteWritable {
            shared: Arc::clone(shared),
            target: Target::Reopened(source, len_bytes),
            hold,
            waiting: Vec::new(),
        }
    }

    /// The file under its own number, with so many of its bytes.
    fn become_copy(&mut self, len_bytes: u64) -> io::Result<()> {
        let source = match &self.target {
            Target::Live(live) => FileSource::Live(Arc::clone(live)),
            Target::Reopened(source, _) => source.clone(),
        };
        let live = self.shared.copy_up(&source, source.blob(), len_bytes)?;
        self.hold = self.shared.hold(live.blob);
        self.target = Target::Live(live);
        Ok(())
    }

    /// The file that is written to.
    fn own(&mut self) -> io::Result<Arc<Live>> {
        if let Target::Reopened(_, len_bytes) = &self.target {
            self.become_copy(*len_bytes)?;
        }
        match &self.target {
            Target::Live(live) => Ok(Arc::clone(live)),
            Target::Reopened(..) => Err(io::Error::other("a file was not copied")),
        }
    }

    /// Adds what waits.
    fn push(&mut self) -> io::Result<Option<Arc<Live>>> {
        if self.waiting.is_empty() {
            return Ok(match &self.target {
                Target::Live(live) => Some(Arc::clone(live)),
                Target::Reopened(..) => None,
            });
        }
        let live = self.own()?;
        live.append(&self.shared, &std::mem::take(&mut self.waiting))?;
        Ok(Some(live))
    }
}

impl WritableFile for RemoteWritable {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        match self.waiting.len() > WAITING_LEN_MAX {
            true => self.push().map(drop),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.push()? {
            Some(live) => live.flush(&self.shared),
            None => Ok(()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some(live) = self.push()? {
            live.sync(&self.shared)?;
        }
        // Where that was no commit, the name may still wait for one.
        Ok(self.shared.owner()?.settle()?)
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.push()?;
        let live = self.own()?;
        live.set_modified(time);
        live.flush(&self.shared)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.waiting.clear();
        self.become_copy(len_bytes)
    }
}

impl Drop for RemoteWritable {
    fn drop(&mut self) {
        // `flush` and `sync` return the result. What fails here is tried again by the next tick.
        self.push().ok();
        if let Target::Live(live) = &self.target {
            let is_named = locked(&self.shared.live).contains_key(&live.blob);
            if is_named {
                live.finish(&self.shared).ok();
            }
        }
    }
}
