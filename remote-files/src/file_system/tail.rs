//! A file that this process writes: what of it is stored, what is named, and what is only in memory.
//!
//! Content first, name last: a piece is in the blob, or is part of the very commit, before the row names a size that has it. A
//! piece never crosses the end of a chunk, and a piece that was sent to the blob once is sent again only as it was.

use super::{Shared, locked};
use crate::blobs::{SPAN_LEN_MAX, Segment};
use crate::catalogue::Write;
use crate::content::Extent;
use crate::frame;
use crate::owner::Change;
use crate::row::{Entry, FileRow};
use std::io;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// What is left at the end of a closed file and not longer than this stays in the catalogue.
const INLINE_AT_END_MAX: u64 = 4096;

/// A file that is written. Its blob has no other writer, ever.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) blob: u64,
    chunk_len: u64,
    tail: Mutex<Tail>,
}

#[derive(Debug, Default)]
struct Tail {
    /// The content below this is in the blob.
    stored: u64,
    /// The content from there on.
    bytes: Vec<u8>,
    /// A piece that was sent and maybe written ends here: it is sent again as it was.
    attempted: Option<u64>,
    /// The row's size and its offset in the catalogue.
    named: u64,
    named_stored: u64,
    /// The time of modification that was set, and whether the row has it.
    modified: Option<SystemTime>,
    is_modified_named: bool,
    /// The blob whose name this one takes over with its first commit.
    replaces: Option<u64>,
    /// Since when something that was flushed is not named.
    flushed_at: Option<Duration>,
    is_closed: bool,
}

impl Tail {
    fn len(&self) -> u64 {
        self.stored + self.bytes.len() as u64
    }

    fn is_named(&self) -> bool {
        let has_time = self.modified.is_none() || self.is_modified_named;
        self.len() == self.named
            && self.stored == self.named_stored
            && has_time
            && self.replaces.is_none()
    }
}

impl Live {
    /// An empty file that has its row.
    pub(super) fn new(blob: u64, chunk_len: u32) -> Live {
        Live {
            blob,
            chunk_len: u64::from(chunk_len),
            tail: Mutex::default(),
        }
    }

    /// An empty file that takes the place of another one with its first commit.
    pub(super) fn replacing(blob: u64, chunk_len: u32, replaces: u64) -> Live {
        let live = Live::new(blob, chunk_len);
        locked(&live.tail).replaces = Some(replaces);
        live
    }

    pub(super) fn len(&self) -> u64 {
        locked(&self.tail).len()
    }

    /// The time that was set, if nothing was written since.
    pub(super) fn modified(&self) -> Option<SystemTime> {
        locked(&self.tail).modified
    }

    /// Copies from what is in memory; or says what has to be read from the blob.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Extent> {
        let tail = locked(&self.tail);
        let Some(at) = offset.checked_sub(tail.stored) else {
            return Err(Extent {
                blob: self.blob,
                size: tail.stored,
                stored: tail.stored,
                chunk_len: self.chunk_len,
            });
        };
        let rest = usize::try_from(at).ok().and_then(|at| tail.bytes.get(at..));
        let rest = rest.unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    /// Adds bytes. They go to the blob when there are as many as one call may have.
    pub(super) fn append(&self, shared: &Shared, bytes: &[u8]) -> io::Result<()> {
        let tail = &mut *locked(&self.tail);
        tail.bytes.extend_from_slice(bytes);
        tail.modified = None;
        // Full calls alone: what is left over would be a call of its own, and an object of its own where blobs are objects.
        while tail.bytes.len() as u64 >= SPAN_LEN_MAX && self.store_some(shared, tail, false)? {}
        Ok(())
    }

    /// What was added is to survive this process, in a while.
    pub(super) fn flush(&self, shared: &Shared) -> io::Result<()> {
        let tail = &mut *locked(&self.tail);
        if tail.is_named() {
            return Ok(());
        }
        let now = shared.cluster.now();
        let since = *tail.flushed_at.get_or_insert(now);
        let is_long = tail.bytes.len() as u64 >= SPAN_LEN_MAX;
        match is_long || now.saturating_sub(since) >= shared.options.flush_delay {
            true => self.name(shared, tail),
            false => Ok(()),
        }
    }

    /// Whether something that was flushed has waited long enough.
    pub(super) fn is_due(&self, shared: &Shared) -> bool {
        let tail = locked(&self.tail);
        let now = shared.cluster.now();
        let is_late = |since: Duration| now.saturating_sub(since) >= shared.options.flush_delay;
        tail.flushed_at.is_some_and(is_late)
    }

    /// What was added survives this process and its machine when this returns.
    pub(super) fn sync(&self, shared: &Shared) -> io::Result<()> {
        let tail = &mut *locked(&self.tail);
        match tail.is_named() {
            true => Ok(()),
            false => self.name(shared, tail),
        }
    }

    /// Whether its handle is gone.
    pub(super) fn is_closed(&self) -> bool {
        locked(&self.tail).is_closed
    }

    pub(super) fn set_modified(&self, time: SystemTime) {
        let tail = &mut *locked(&self.tail);
        tail.modified = Some(time);
        tail.is_modified_named = false;
    }

    /// The last commit of a file that is closed: its end goes to the blob, unless it is short.
    pub(super) fn finish(&self, shared: &Shared) -> io::Result<()> {
        let tail = &mut *locked(&self.tail);
        tail.is_closed = true;
        tail.flushed_at.get_or_insert(Duration::ZERO);
        if tail.len() - tail.stored > INLINE_AT_END_MAX {
            self.store(shared, tail, true)?;
        }
        if !tail.is_named() {
            self.name(shared, tail)?;
        }
        tail.flushed_at = None;
        locked(&shared.live).remove(&self.blob);
        Ok(())
    }

    /// Writes whole chunks to the blob, and with `all` the rest, too.
    fn store(&self, shared: &Shared, tail: &mut Tail, all: bool) -> io::Result<()> {
        while self.store_some(shared, tail, all)? {}
        Ok(())
    }

    /// As much of it as one call may have; whether there was something.
    fn store_some(&self, shared: &Shared, tail: &mut Tail, all: bool) -> io::Result<bool> {
        let segments = self.segments(tail, all);
        let Some(last) = segments.last() else {
            return Ok(false);
        };
        let end = last.offset + (last.bytes.len() - frame::FRAME_LEN) as u64;
        // Whatever follows, these pieces are sent again as they are.
        tail.attempted = Some(end);
        shared
            .cluster
            .append(&shared.namespace, self.blob, &segments)?;
        self.note_stored(shared, tail, end);
        Ok(true)
    }

    /// The next pieces for the blob, as many as one call may have.
    fn segments(&self, tail: &Tail, all: bool) -> Vec<Segment> {
        let (mut segments, mut from, mut len_bytes) = (Vec::new(), tail.stored, 0);
        let limit = tail.attempted.unwrap_or(tail.len());
        while from < limit {
            let end_of_chunk = (from / self.chunk_len + 1) * self.chunk_len;
            let end = end_of_chunk.min(limit);
            let is_part = end < end_of_chunk && tail.attempted.is_none();
            let piece = &tail.bytes[(from - tail.stored) as usize..(end - tail.stored) as usize];
            len_bytes += (piece.len() + frame::FRAME_LEN) as u64;
            if (is_part && !all) || (len_bytes > SPAN_LEN_MAX && !segments.is_empty()) {
                break;
            }
            segments.push(Segment {
                offset: from,
                bytes: frame::seal(piece),
            });
            from = end;
        }
        segments
    }

    fn note_stored(&self, shared: &Shared, tail: &mut Tail, end: u64) {
        let mut from = tail.stored;
        while from.is_multiple_of(self.chunk_len) && from + self.chunk_len <= end {
            let at = (from - tail.stored) as usize;
            let chunk = &tail.bytes[at..at + self.chunk_len as usize];
            shared
                .cache
                .put(self.blob, from / self.chunk_len, chunk.into());
            from += self.chunk_len;
        }
        tail.bytes.drain(..(end - tail.stored) as usize);
        tail.stored = end;
        tail.attempted = None;
    }

    /// Stores what is long, and makes the commit that names all of it.
    fn name(&self, shared: &Shared, tail: &mut Tail) -> io::Result<()> {
        // What is written in bulk has whole chunks when it is first named. It is a table, and not added to again.
        let whole = tail.len() - tail.len() % self.chunk_len;
        let is_bulk = tail.named == 0 && whole > 0;
        let rest = tail.len() - tail.named.max(tail.stored).max(whole);
        let is_long = rest > shared.options.inline_len_max as u64;
        self.store(shared, tail, is_long || is_bulk)?;
        let owner = shared.owner()?;
        let named_as = tail.replaces.unwrap_or(self.blob);
        owner.change(|names| {
            let change = match names.file_of(named_as) {
                Some((place, row)) => {
                    let row = self.row(shared, tail, row);
                    let mut change = self.content(shared, tail);
                    change.entries.push((place.clone(), Some(Entry::File(row))));
                    change.doomed.extend(tail.replaces);
                    change
                }
                // It was removed or replaced: what is written to it is nowhere to be found.
                None => Change::default(),
            };
            Ok((change, ()))
        })?;
        tail.named = tail.len();
        tail.named_stored = tail.stored;
        tail.is_modified_named = tail.modified.is_some();
        tail.replaces = None;
        tail.flushed_at = tail.is_closed.then_some(Duration::ZERO);
        Ok(())
    }

    fn row(&self, shared: &Shared, tail: &Tail, before: &FileRow) -> FileRow {
        let has_grown = tail.len() != tail.named;
        let modified = match tail.modified {
            Some(time) => FileRow::micros(time),
            None if has_grown => FileRow::micros(shared.cluster.clock().wall()),
            None => before.modified_us,
        };
        FileRow {
            blob: self.blob,
            size: tail.len(),
            stored: tail.stored,
            modified_us: modified,
            chunk_len: self.chunk_len as u32,
        }
    }

    /// The piece that the commit itself has, and those that lie in the blob now.
    fn content(&self, shared: &Shared, tail: &Tail) -> Change {
        let mut change = Change::default();
        let from = tail.named.max(tail.stored);
        if from < tail.len() {
            let piece = &tail.bytes[(from - tail.stored) as usize..];
            let key = shared.keys.content(self.blob, from);
            change.commit.put(key, frame::seal(piece));
        }
        if tail.named > tail.named_stored && tail.stored > tail.named_stored {
            let moved = shared
                .keys
                .content_in(self.blob, tail.named_stored..tail.stored);
            change.commit.writes.push(Write::DeleteRange(moved));
        }
        change
    }
}
