//! A connection to a cluster: the two traits, the clock, and how long an operation is tried again.

use crate::blobs::{Blobs, Cut, Segment};
use crate::catalogue::{Catalogue, Commit, Outcome, PAGE_ROWS_MAX, Row};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::key;
use crate::namespace::Namespace;
use crate::statistics::{Counters, Statistics};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long the first pause before another attempt is; each next one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// So many requests at once for what was not asked for yet. PostgreSQL's client has eight connections, and leases are to be renewed by one of them.
const FETCHES_MAX: usize = 6;

/// A connection to a cluster. Clones are the same.
#[derive(Clone, Debug)]
pub struct Cluster {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    catalogue: Arc<dyn Catalogue>,
    blobs: Arc<dyn Blobs>,
    clock: Arc<dyn Clock>,
    patience: Duration,
    counters: Counters,
    /// Requests for what was not asked for yet.
    fetches: AtomicUsize,
}

/// A request for what was not asked for yet: for as long as it lasts.
#[derive(Debug)]
pub(crate) struct FetchPermit(Cluster);

impl Drop for FetchPermit {
    fn drop(&mut self) {
        self.0.inner.fetches.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What an [`exchange`](Cluster::exchange) came to.
pub(crate) enum Exchange {
    Made,
    /// The row has this in place of what was required.
    Refused(Option<Vec<u8>>),
}

impl Cluster {
    /// Over a catalogue and blobs, which may be of one engine or of two. What the engine could not do for the moment is tried again
    /// for `patience`, in pauses that grow.
    pub fn new(
        catalogue: Arc<dyn Catalogue>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
        patience: Duration,
    ) -> Cluster {
        Cluster {
            inner: Arc::new(Inner {
                catalogue,
                blobs,
                clock,
                patience,
                counters: Counters::default(),
                fetches: AtomicUsize::new(0),
            }),
        }
    }

    /// The catalogue, for what lies beside the namespaces of files.
    pub fn catalogue(&self) -> Arc<dyn Catalogue> {
        self.inner.catalogue.clone()
    }

    /// Where content lies, if that is elsewhere than the catalogue.
    pub(crate) fn content_place(&self) -> Option<&str> {
        self.inner.blobs.place()
    }

    /// What was asked of the engine since the connection was made.
    pub fn statistics(&self) -> Statistics {
        self.inner.counters.statistics()
    }

    /// The namespaces that there are, in the order of their names. Each costs a round trip.
    ///
    /// # Errors
    /// The engine's.
    pub fn namespaces(&self) -> Result<Vec<Namespace>> {
        let mut names: Vec<Namespace> = Vec::new();
        loop {
            let range = key::namespaces_after(names.last());
            let Some(row) = self.rows_at_most(&range, 1)?.pop() else {
                return Ok(names);
            };
            names.push(key::namespace_of(&row.key)?);
        }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    pub(crate) fn now(&self) -> Duration {
        self.inner.clock.monotonic()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// One request: its time is counted, and it is an event of `tracing` where that feature is on.
    fn request<T>(&self, what: &'static str, send: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = self.now();
        let result = send();
        let time = self.now().saturating_sub(began);
        self.inner.counters.took(time);
        #[cfg(feature = "tracing")]
        match &result {
            Ok(_) => tracing::trace!(target: "larder_remote_files", request = what, ?time),
            Err(error) => {
                tracing::debug!(target: "larder_remote_files", request = what, ?time, kind = ?error.kind(), %error);
            }
        }
        #[cfg(not(feature = "tracing"))]
        let _ = what;
        result
    }

    /// Tries again what may pass, as long as there is patience.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        let mut pauses = Pauses::new(self);
        loop {
            match attempt() {
                Err(error) if error.may_pass() && pauses.another() => {}
                done => return done,
            }
        }
    }

    /// Values of rows, at one revision.
    pub(crate) fn get<const N: usize>(&self, keys: [Vec<u8>; N]) -> Result<[Option<Vec<u8>>; N]> {
        let values = self.patiently(|| {
            self.inner.counters.reads.add(1);
            self.request("get", || self.inner.catalogue.get(&keys))
        })?;
        values.try_into().map_err(|_| {
            Error::corruption("the engine returned another number of rows than were asked for")
        })
    }

    /// All rows of a range, at one revision.
    pub(crate) fn rows(&self, range: &Range<Vec<u8>>) -> Result<Vec<Row>> {
        self.rows_at_most(range, usize::MAX)
    }

    fn rows_at_most(&self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Vec<Row>> {
        self.patiently(|| {
            let mut snapshot = self.inner.catalogue.snapshot()?;
            let (mut rows, mut rest) = (Vec::<Row>::new(), range.clone());
            loop {
                self.inner.counters.reads.add(1);
                let count = (rows_max - rows.len()).min(PAGE_ROWS_MAX);
                let page = self.request("page", || snapshot.page(&rest, count))?;
                rows.extend(page.rows);
                match rows.last() {
                    Some(last) if page.has_more && rows.len() < rows_max => {
                        rest.start = [&last.key[..], &[0]].concat();
                    }
                    _ => return Ok(rows),
                }
            }
        })
    }

    /// The rows of a namespace, at one revision: all but those of content, of which there are those that the first page has.
    pub(crate) fn look(&self, keys: &key::Keys) -> Result<Vec<Row>> {
        let (all, content) = (keys.all(), keys.all_content());
        self.patiently(|| {
            let mut snapshot = self.inner.catalogue.snapshot()?;
            let (mut rows, mut rest) = (Vec::<Row>::new(), all.clone());
            loop {
                self.inner.counters.reads.add(1);
                let page = self.request("page", || snapshot.page(&rest, PAGE_ROWS_MAX))?;
                rows.extend(page.rows);
                let Some(last) = rows.last().filter(|_| page.has_more) else {
                    return Ok(rows);
                };
                rest.start = [&last.key[..], &[0]].concat();
                if content.contains(&rest.start) {
                    rest.start.clone_from(&content.end);
                }
            }
        })
    }

    /// Makes a commit that requires the row `key` to be `current` and makes `next` of it: once, however often it has to be sent. No
    /// other commit ever writes `next` there, so that the row itself shows what became of a commit whose reply did not come.
    ///
    /// # Errors
    /// `OutcomeUnknown` if that cannot be found out within the patience. After any other error the commit is not made, and never
    /// will be.
    pub(crate) fn exchange(
        &self,
        key: &[u8],
        current: Option<&[u8]>,
        next: &[u8],
        mut commit: Commit,
    ) -> Result<Exchange> {
        commit.require(key.to_vec(), current.map(<[u8]>::to_vec));
        commit.put(key.to_vec(), next.to_vec());
        if !commit.fits() {
            let what = format!(
                "a commit of {} rows and {} bytes is larger than engines take",
                commit.writes.len(),
                commit.len_bytes()
            );
            return Err(Error::new(ErrorKind::TooLarge, what));
        }
        let counters = &self.inner.counters;
        let mut pauses = Pauses::new(self);
        let mut is_unknown = false;
        loop {
            counters.commits.add(1);
            counters.commit_bytes.add(commit.len_bytes() as u64);
            let error = match self.request("commit", || self.inner.catalogue.commit(&commit)) {
                Ok(Outcome::Committed) => return Ok(Exchange::Made),
                Ok(Outcome::Refused) => match self.get([key.to_vec()]) {
                    Ok([Some(found)]) if found == next => return Ok(Exchange::Made),
                    Ok([found]) if found.as_deref() != current => {
                        counters.conflicts.add(1);
                        return Ok(Exchange::Refused(found));
                    }
                    // Another condition of the commit did not hold.
                    Ok([found]) if !is_unknown => return Ok(Exchange::Refused(found)),
                    Ok(_) => Error::new(
                        ErrorKind::OutcomeUnknown,
                        "a commit was refused while it was under way",
                    ),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            is_unknown |= error.kind() == ErrorKind::OutcomeUnknown;
            if !(error.may_pass() && pauses.another()) {
                return Err(match is_unknown {
                    true => error.of_kind(ErrorKind::OutcomeUnknown),
                    false => error,
                });
            }
        }
    }

    /// Sends a commit whose outcome does not matter.
    pub(crate) fn commit_once(&self, commit: &Commit) {
        self.inner.counters.commits.add(1);
        self.request("commit", || self.inner.catalogue.commit(commit))
            .ok();
    }

    /// Writes segments of a blob.
    pub(crate) fn append(
        &self,
        namespace: &Namespace,
        blob: u64,
        segments: &[Segment],
    ) -> Result<()> {
        let len_bytes: usize = segments.iter().map(|segment| segment.bytes.len()).sum();
        self.patiently(|| {
            self.inner.counters.blob_writes.add(1);
            self.inner.counters.blob_write_bytes.add(len_bytes as u64);
            self.request("append", || {
                self.inner.blobs.append(namespace, blob, segments)
            })
        })
    }

    /// The segments between two offsets of a blob that is cut in some way or probably so.
    pub(crate) fn segments(
        &self,
        namespace: &Namespace,
        blob: u64,
        offsets: Range<u64>,
        cut: Option<Cut>,
    ) -> Result<Vec<Segment>> {
        self.patiently(|| self.segments_once(namespace, blob, offsets.clone(), cut))
    }

    /// What [`segments`](Cluster::segments) gives, by one request, which is not made again.
    pub(crate) fn segments_once(
        &self,
        namespace: &Namespace,
        blob: u64,
        offsets: Range<u64>,
        cut: Option<Cut>,
    ) -> Result<Vec<Segment>> {
        let counters = &self.inner.counters;
        counters.blob_reads.add(1);
        let blobs = &self.inner.blobs;
        let read = || match cut {
            Some(cut) => blobs.read_as_cut(namespace, blob, offsets, &cut),
            None => blobs.read(namespace, blob, offsets),
        };
        let segments = self.request("read", read)?;
        let len_bytes: usize = segments.iter().map(|segment| segment.bytes.len()).sum();
        counters.blob_read_bytes.add(len_bytes as u64);
        Ok(segments)
    }

    /// Permits a request for what was not asked for yet, unless there are enough of them.
    pub(crate) fn permit_fetch(&self) -> Option<FetchPermit> {
        let fetches = &self.inner.fetches;
        let one_more = |fetches| (fetches < FETCHES_MAX).then_some(fetches + 1);
        let permitted = fetches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        permitted.ok().map(|_| FetchPermit(self.clone()))
    }

    pub(crate) fn delete_blob(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        self.patiently(|| {
            self.inner.counters.blob_deletes.add(1);
            self.request("delete", || self.inner.blobs.delete(namespace, blob))
        })
    }

    pub(crate) fn blobs_after(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        self.patiently(|| {
            self.request("list", || {
                self.inner.blobs.list(namespace, after, count_max)
            })
        })
    }
}

/// The pauses of one operation.
struct Pauses<'a> {
    cluster: &'a Cluster,
    end: Duration,
    next: Duration,
}

impl<'a> Pauses<'a> {
    fn new(cluster: &'a Cluster) -> Pauses<'a> {
        Pauses {
            cluster,
            end: cluster.now().saturating_add(cluster.inner.patience),
            next: PAUSE_MIN,
        }
    }

    /// Waits before another attempt; false: there is no time for one.
    fn another(&mut self) -> bool {
        if self.cluster.now().saturating_add(self.next) > self.end {
            return false;
        }
        self.cluster.inner.counters.retries.add(1);
        self.cluster.clock().wait(self.next);
        self.next = (self.next * 2).min(PAUSE_MAX);
        true
    }
}
