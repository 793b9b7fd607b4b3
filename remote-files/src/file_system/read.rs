//! The handles that read a file.

use super::course::Course;
use super::tail::Live;
use super::{Hold, Shared};
use crate::blobs::Cut;
use crate::cache::ChunkCache;
use crate::catalogue::Row;
use crate::content::{Extent, Source};
use crate::content_place;
use larder_leveldb::storage::{RandomFile, SequentialFile};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
        let until = offset.saturating_add(buffer.len() as u64).min(extent.size);
        let until = until.div_ceil(extent.chunk_len);
        let chunk = shared.chunk(&extent, number..until, course)?;
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

    /// The first of the chunks that a reader asks for, from the cache or from the engine: with the others, as a block of a table lies in two at times, and with
    /// those that follow if the file is read in order.
    fn chunk(&self, extent: &Extent, asked: Range<u64>, course: &Course) -> io::Result<Arc<[u8]>> {
        let number = asked.start;
        let len = extent.len_of(number);
        let cached = || self.cache.get(extent.blob, number, len);
        let found = cached();
        let is_hit = found.is_some();
        // What has not come with its thread is asked for here.
        let found = found.or_else(|| {
            self.fetches.wait(extent.blob, number);
            cached()
        });
        let counters = self.cluster.counters();
        match is_hit {
            true => counters.cache_hits.add(1),
            false => counters.cache_misses.add(1),
        }
        if let Some(chunk) = found {
            self.go_on(extent, number, course);
            return Ok(chunk);
        }
        let of_one_call = extent.chunks_max();
        let fetch = course.fetch(&asked, of_one_call, &self.scan_ahead);
        // Half of the cache at most: what is read ahead must still be there when it is asked for.
        let fitting = self.chunks_ahead_max(extent).min(of_one_call);
        let ahead = fetch.ahead.max(asked.end - number);
        let end = number.saturating_add(ahead.clamp(1, fitting.max(1)));
        // What was written in bulk is in calls of so many chunks from the file's beginning, each an object where blobs are objects: one that is read is not read
        // together with a part of the next.
        let count = extent.chunk_count();
        let end = end.min(extent.end_of_call(number)).min(count);
        let missing = self.missing(extent, number..end);
        // A table is read from its end, and its index lies there: a short last chunk comes with the one before it.
        let is_short_end = end >= count && (len as u64) < extent.chunk_len;
        let is_alone = ahead <= 1 && number > 0 && fitting > 1;
        let chunks = match is_short_end && is_alone {
            true => number - 1..missing.end,
            false => missing,
        };
        if !self.is_placed.load(Ordering::Relaxed) {
            content_place::of_reading(&self.cluster, &self.keys, &self.namespace)?;
            self.is_placed.store(true, Ordering::Relaxed);
        }
        if fetch.is_run {
            let last = (end >= count).then_some(chunks.end - 1);
            course.goes_on(fetch, end, of_one_call, last);
        }
        self.go_on(extent, number, course);
        let cut = course.supposed_cut(extent);
        let content = self.source().read(extent, chunks.clone(), cut);
        if content.is_err() && fetch.is_run {
            course.fails();
        }
        let content = content?;
        let chunk = keep_chunks(&self.cache, extent, &chunks, &content, number);
        chunk.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// How many chunks may be fetched before they are asked for.
    fn chunks_ahead_max(&self, extent: &Extent) -> u64 {
        self.options.cache_len_max as u64 / extent.chunk_len / 2
    }

    /// These chunks without those at their end that are in memory; the first one is meant in any case.
    fn missing(&self, extent: &Extent, chunks: Range<u64>) -> Range<u64> {
        let mut end = chunks.end;
        let is_kept = |number: u64| self.cache.has(extent.blob, number, extent.len_of(number));
        while end > chunks.start + 1 && is_kept(end - 1) {
            end -= 1;
        }
        chunks.start..end
    }

    /// A file is read that has come to this chunk: if that is in order, sends for the calls behind its own, as many as may be under way for a file.
    fn go_on(&self, extent: &Extent, number: u64, course: &Course) {
        course.reads(number, &self.scan_ahead);
        let of_one_call = extent.chunks_max();
        // What lies in the catalogue is little, and asked for when it is needed.
        let count = extent.chunks_in_blob();
        let until = (number / of_one_call)
            .saturating_add(self.options.fetches_at_once as u64)
            .saturating_mul(of_one_call)
            .min(count);
        if self.options.fetches_at_once <= 1 || !course.is_behind(number, until) {
            return;
        }
        course.send(until, count, |next| {
            let after = extent.end_of_call(next).min(count);
            let missing = self.missing(extent, next..after);
            let last = missing.end - 1;
            let cut = course.supposed_cut(extent);
            self.send(*extent, missing, cut).then_some((after, last))
        });
    }

    /// Fetches chunks on a thread, unless too many are under way; whether they will come.
    fn send(&self, extent: Extent, chunks: Range<u64>, cut: Option<Cut>) -> bool {
        // Half of the cache at most, over all files.
        let parts_max = self.chunks_ahead_max(&extent) / extent.chunks_max();
        let Some(permit) = self.cluster.permit_fetch() else {
            return false;
        };
        let (cluster, namespace) = (self.cluster.clone(), self.namespace.clone());
        let (keys, cache) = (self.keys.clone(), Arc::clone(&self.cache));
        let part = (extent.blob, chunks.clone());
        self.fetches.send(part, parts_max, move || {
            let source = Source {
                cluster: &cluster,
                namespace: &namespace,
                keys: &keys,
            };
            if let Ok(content) = source.read_once(&extent, chunks.clone(), cut) {
                keep_chunks(&cache, &extent, &chunks, &content, chunks.start);
            }
            drop(permit);
        })
    }
}

/// Puts chunks into the cache: this one of them, which the cache may have no room for.
fn keep_chunks(
    cache: &ChunkCache,
    extent: &Extent,
    chunks: &Range<u64>,
    content: &[u8],
    number: u64,
) -> Option<Arc<[u8]>> {
    let mut wanted = None;
    let parts = content.chunks(extent.chunk_len as usize);
    for (at, bytes) in chunks.clone().zip(parts) {
        let chunk: Arc<[u8]> = bytes.into();
        if at == number {
            wanted = Some(Arc::clone(&chunk));
        }
        cache.put(extent.blob, at, chunk);
    }
    wanted
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
