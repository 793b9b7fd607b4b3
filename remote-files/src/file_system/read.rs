//! The handles that read a file.

use super::course::{Course, Sent};
use super::tail::Live;
use super::{Hold, Shared};
use crate::catalogue::Row;
use crate::content::{Extent, Source};
use crate::content_place;
use larder_leveldb::storage::{RandomFile, SequentialFile};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

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
            self.send_ahead(extent, number, course);
            return Ok(chunk);
        }
        self.cluster.counters().cache_misses.add(1);
        // What has failed is asked for again: if it fails then, too, the error is what the caller gets.
        if let Some((chunks, Ok(content))) = course.land(number)
            && let Some(chunk) = self.keep_chunks(extent, &chunks, &content, number)
            && chunk.len() >= len
        {
            self.send_ahead(extent, number, course);
            return Ok(chunk);
        }
        let ahead = match number {
            0 => course.ahead(number).max(course.carried(&self.scan_ahead)),
            _ => course.ahead(number),
        };
        // Half of the cache at most: what is read ahead must still be there when it is asked for.
        let fitting = self.chunks_ahead_max(extent).min(extent.chunks_max());
        let end = number.saturating_add(ahead.clamp(1, fitting.max(1)));
        // What was written in bulk is in calls of so many chunks from the file's beginning, each an object where blobs are objects: one that is read is not read
        // together with a part of the next.
        let of_one_call = extent.chunks_max();
        let end = end.min(extent.end_of_call(number));
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
        course.begins(ahead, chunks.end, ahead >= of_one_call);
        course.carry(&self.scan_ahead);
        self.send_ahead(extent, number, course);
        let content = self.source().read(extent, chunks.clone())?;
        let chunk = self.keep_chunks(extent, &chunks, &content, number);
        chunk.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Puts chunks into the cache: this one of them.
    fn keep_chunks(
        &self,
        extent: &Extent,
        chunks: &Range<u64>,
        content: &[u8],
        number: u64,
    ) -> Option<Arc<[u8]>> {
        let mut wanted = None;
        for (at, bytes) in chunks
            .clone()
            .zip(content.chunks(extent.chunk_len as usize))
        {
            let chunk: Arc<[u8]> = bytes.into();
            self.cache.put(extent.blob, at, Arc::clone(&chunk));
            if at == number {
                wanted = Some(chunk);
            }
        }
        wanted
    }

    /// How many chunks may be fetched before they are asked for.
    fn chunks_ahead_max(&self, extent: &Extent) -> u64 {
        self.options.cache_len_max as u64 / extent.chunk_len / 2
    }

    /// Sends for the calls behind this chunk's, if the file is read in order: as many as may be on their way at once.
    fn send_ahead(&self, extent: &Extent, number: u64, course: &Course) {
        let of_one_call = extent.chunks_max();
        let fitting = self.chunks_ahead_max(extent) / of_one_call;
        let at_once = (self.options.fetches_at_once as u64).min(fitting);
        if at_once <= 1 {
            return;
        }
        let until = (number / of_one_call).saturating_add(at_once);
        let until = until.saturating_mul(of_one_call).min(extent.chunk_count());
        course.send(until, |next| {
            let mut end = extent.end_of_call(next).min(extent.chunk_count());
            let after = end;
            // A table's end was read when it was opened.
            while end > next && self.cache.has(extent.blob, end - 1) {
                end -= 1;
            }
            let sent = (next < end).then(|| self.fetch(*extent, next..end));
            (after, sent)
        });
    }

    /// Fetches chunks on a thread of its own. It comes to an end by itself: the engine's client gives up what takes too long.
    fn fetch(&self, extent: Extent, chunks: Range<u64>) -> io::Result<Sent> {
        let cluster = self.cluster.clone();
        let namespace = self.namespace.clone();
        let keys = self.keys.clone();
        let asked = chunks.clone();
        let read = move || {
            let source = Source {
                cluster: &cluster,
                namespace: &namespace,
                keys: &keys,
            };
            source.read(&extent, asked)
        };
        let thread = thread::Builder::new().name("larder fetch".to_owned());
        Ok((chunks, thread.spawn(read)?))
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
