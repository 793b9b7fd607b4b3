//! The handles that read a file.

use super::tail::Live;
use super::{Hold, Shared};
use crate::catalogue::Row;
use crate::content::Extent;
use crate::content_place;
use larder_leveldb::storage::{RandomFile, SequentialFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many chunks the first read of a file spans that is read from its start, and how many times as many each next one: both together are what one call
/// has, of chunks of the usual length.
const FIRST_AHEAD: u64 = 3;
const AHEAD_GROWTH: u64 = 4;

/// Where a file's content comes from.
#[derive(Clone, Debug)]
pub(super) enum FileSource {
    /// This process writes it, or has written it.
    Live(Arc<Live>),
    /// As its row was when it was opened.
    Named(Extent),
}

impl FileSource {
    pub(super) fn blob(&self) -> u64 {
        match self {
            FileSource::Live(live) => live.blob,
            FileSource::Named(extent) => extent.blob,
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            FileSource::Live(live) => live.len(),
            FileSource::Named(extent) => extent.size,
        }
    }

    /// Reads from an offset. If the chunk is not in memory, as many are read at once as the course says.
    pub(super) fn read_at(
        &self,
        shared: &Shared,
        offset: u64,
        buffer: &mut [u8],
        course: &Course,
    ) -> io::Result<usize> {
        let extent = match self {
            FileSource::Live(live) => match live.read_at(offset, buffer) {
                Ok(n) => return Ok(n),
                Err(extent) => extent,
            },
            FileSource::Named(extent) => *extent,
        };
        if offset >= extent.size || buffer.is_empty() {
            return Ok(0);
        }
        let number = offset / extent.chunk_len;
        let chunk = shared.chunk(&extent, number, course)?;
        let rest = &chunk[(offset - number * extent.chunk_len) as usize..];
        // The chunk may have grown since.
        let left = usize::try_from(extent.size - offset).unwrap_or(usize::MAX);
        let n = rest.len().min(buffer.len()).min(left);
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

impl Shared {
    /// Keeps pieces that were read with the names in the cache.
    pub(super) fn keep(&self, rows: &[Row]) {
        let Some(owner) = &self.owner else {
            return;
        };
        let mut pieces: BTreeMap<u64, Vec<&Row>> = BTreeMap::new();
        for row in rows {
            // One that does not decode is damage when it is read.
            if let Ok(blob) = self.keys.blob_of(&row.key) {
                pieces.entry(blob).or_default().push(row);
            }
        }
        for (blob, rows) in pieces {
            let extent = (owner.names().file_of(blob)).map(|(_, row)| Extent::of(row));
            let chunk = extent.and_then(|extent| self.source().last_chunk(&extent, &rows));
            if let Some((number, bytes)) = chunk {
                self.cache.put(blob, number, bytes.into());
            }
        }
    }

    /// A chunk, from the cache or from the engine, with those that follow if the file is read in order.
    fn chunk(&self, extent: &Extent, number: u64, course: &Course) -> io::Result<Arc<[u8]>> {
        let start = number * extent.chunk_len;
        let len = extent.chunk_len.min(extent.size - start) as usize;
        if let Some(chunk) = self.cache.get(extent.blob, number, len) {
            self.cluster.counters().cache_hits.add(1);
            return Ok(chunk);
        }
        self.cluster.counters().cache_misses.add(1);
        let ahead = course.ahead(number);
        // Half of the cache at most: what is read ahead must still be there when it is asked for.
        let fitting =
            (self.options.cache_len_max as u64 / extent.chunk_len / 2).min(extent.chunks_max());
        let end = number.saturating_add(ahead.clamp(1, fitting.max(1)));
        // What was written in bulk is in calls of so many chunks from the file's beginning, each an object where blobs are objects: one that is read is not read
        // together with a part of the next.
        let of_one_call = extent.chunks_max();
        let end = end.min((number / of_one_call + 1).saturating_mul(of_one_call));
        // A table is read from its end, and its index lies there: a short last chunk comes with the one before it.
        let is_short_end = end >= extent.chunk_count() && (len as u64) < extent.chunk_len;
        let is_alone = ahead <= 1 && number > 0 && fitting > 1;
        let from = match is_short_end && is_alone {
            true => number - 1,
            false => number,
        };
        let chunks = from..end.min(extent.chunk_count());
        if !self.is_placed.load(Ordering::Relaxed) {
            content_place::of_reading(&self.cluster, &self.keys, &self.namespace)?;
            self.is_placed.store(true, Ordering::Relaxed);
        }
        let content = self.source().read(extent, chunks.clone())?;
        course.fetched(ahead, chunks.end);
        let mut wanted = None;
        for (i, bytes) in content.chunks(extent.chunk_len as usize).enumerate() {
            let chunk: Arc<[u8]> = bytes.into();
            let at = from + i as u64;
            self.cache.put(extent.blob, at, Arc::clone(&chunk));
            if at == number {
                wanted = Some(chunk);
            }
        }
        wanted.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// How a file was fetched up to now, for how much of it is fetched next.
#[derive(Debug)]
pub(super) struct Course {
    /// Whether it is read from its start to its end.
    is_whole: bool,
    /// The chunk behind those that were fetched last, and how many were asked for.
    end: AtomicU64,
    ahead: AtomicU64,
}

impl Course {
    /// The course of a file that is read from its start to its end.
    pub(super) fn whole() -> Course {
        Course {
            is_whole: true,
            end: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
        }
    }

    /// The course of a file that is read anywhere.
    fn anywhere() -> Course {
        Course {
            is_whole: false,
            end: AtomicU64::new(u64::MAX),
            ahead: AtomicU64::new(0),
        }
    }

    /// How many chunks to fetch if this one is not in memory: more and more as long as each is the one behind the last. What a reader asks for says
    /// less: a scan of a table begins its next part a little before the last one's end.
    fn ahead(&self, number: u64) -> u64 {
        let last = self.ahead.load(Ordering::Relaxed);
        match self.is_whole {
            true if last == 0 => FIRST_AHEAD,
            true => last * AHEAD_GROWTH,
            false if self.end.load(Ordering::Relaxed) == number => last * 2,
            false => 1,
        }
    }

    fn fetched(&self, ahead: u64, end: u64) {
        self.ahead.store(ahead.min(1 << 16), Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }
}

/// A file that is read anywhere.
#[derive(Debug)]
pub(super) struct RemoteRandom {
    source: FileSource,
    hold: Hold,
    course: Course,
}

impl RemoteRandom {
    pub(super) fn new(shared: &Arc<Shared>, source: FileSource) -> RemoteRandom {
        RemoteRandom {
            hold: shared.hold(source.blob()),
            source,
            course: Course::anywhere(),
        }
    }
}

impl RandomFile for RemoteRandom {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.source
            .read_at(&self.hold.shared, offset, buffer, &self.course)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.source.len())
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.source.len() == 0)
    }
}

/// A file that is read from its start.
#[derive(Debug)]
pub(super) struct RemoteSequential {
    source: FileSource,
    hold: Hold,
    at: u64,
    course: Course,
}

impl RemoteSequential {
    pub(super) fn new(shared: &Arc<Shared>, source: FileSource) -> RemoteSequential {
        RemoteSequential {
            hold: shared.hold(source.blob()),
            source,
            at: 0,
            course: Course::whole(),
        }
    }
}

impl SequentialFile for RemoteSequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self
            .source
            .read_at(&self.hold.shared, self.at, buffer, &self.course)?;
        self.at += n as u64;
        Ok(n)
    }
}
