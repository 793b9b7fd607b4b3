//! Pages of one revision, of an `omap` that has no versions.
//!
//! The first read takes more rows than are asked for, and the versions of all buckets, in one request. What it took is of that moment, and is returned
//! from memory. What lies beyond is read when it is asked for, with the versions again: if those of its buckets are the same, it is what was there
//! at the first read. If not, the snapshot is gone. Only changes of the same buckets, so hardly those of other namespaces, come in the way.

use super::{Rados, catalogue, key, rows};
use crate::catalogue::{Page, Row, Snapshot};
use crate::error::{Error, ErrorKind, Result};
use larder_librados::ReadPart;
use std::ops::Range;

/// Rows that a read takes more than it is asked for.
const AHEAD: usize = 64;
/// Rows that the cluster returns at once (`osd_max_omap_entries_per_request`).
const ROWS_MAX: usize = 1024;

type Versions = [Option<Vec<u8>>; key::BUCKETS as usize];

#[derive(Debug)]
pub(super) struct RadosSnapshot<'a> {
    rados: &'a Rados,
    /// What the first read found; `None`: it is still to be made.
    versions: Option<Versions>,
    /// What was read last: all rows of a range.
    covered: Range<Vec<u8>>,
    rows: Vec<Row>,
}

impl<'a> RadosSnapshot<'a> {
    pub(super) fn new(rados: &'a Rados) -> RadosSnapshot<'a> {
        RadosSnapshot {
            rados,
            versions: None,
            covered: Vec::new()..Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Reads a range from its start, as far as one request goes.
    fn read(&mut self, range: Range<Vec<u8>>, rows_max: usize) -> Result<()> {
        let (after, prefix) = key::bounds(&range)?;
        let parts = [
            ReadPart::Rows {
                after: &after,
                prefix: &prefix,
                count_max: rows_max.saturating_add(AHEAD).min(ROWS_MAX) as u64,
            },
            ReadPart::Rows {
                after: key::VERSIONS,
                prefix: key::VERSIONS,
                count_max: key::BUCKETS.into(),
            },
        ];
        let answers = self.rados.read(catalogue::OBJECT, &parts)?;
        let (mut found, mut has_more) = (Vec::new(), false);
        let mut versions: Versions = std::array::from_fn(|_| None);
        if let Some(answers) = answers {
            let mut answers = answers.into_iter();
            (found, has_more) = rows(answers.next())?;
            for (key, version) in rows(answers.next())?.0 {
                let bucket = key::bucket_of_version(&key).map(usize::from);
                if let Some(place) = bucket.and_then(|bucket| versions.get_mut(bucket)) {
                    *place = Some(version);
                }
            }
        }
        match &self.versions {
            None => self.versions = Some(versions),
            Some(first) => {
                let is_same = |bucket: u8| {
                    let at = usize::from(bucket);
                    first.get(at) == versions.get(at)
                };
                if !key::buckets(&range).all(is_same) {
                    let what = "the rows have changed since this snapshot's first page, and RADOS keeps no older ones";
                    return Err(Error::new(ErrorKind::SnapshotGone, what));
                }
            }
        }
        self.rows.clear();
        let mut end = None;
        for (key, stored) in found {
            let key = key::decode(&key)?;
            end = Some([&key[..], &[0]].concat());
            if range.contains(&key) {
                let value = catalogue::value(stored)?;
                self.rows.push(Row { key, value });
            }
        }
        let end = end.filter(|end| has_more && *end < range.end);
        self.covered = range.start..end.unwrap_or(range.end);
        Ok(())
    }
}

impl Snapshot for RadosSnapshot<'_> {
    fn page(&mut self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Page> {
        if range.start >= range.end || rows_max == 0 {
            return Ok(Page::default());
        }
        let mut start = range.start.clone();
        loop {
            if self.versions.is_none() || !self.covered.contains(&start) {
                self.read(start.clone()..range.end.clone(), rows_max)?;
            }
            let inside = self.rows.iter();
            let mut inside = inside.filter(|row| range.contains(&row.key) && row.key >= start);
            let rows: Vec<Row> = inside.by_ref().take(rows_max).cloned().collect();
            let is_whole = self.covered.end >= range.end;
            let has_more = !is_whole || inside.next().is_some();
            if is_whole || !rows.is_empty() {
                return Ok(Page { rows, has_more });
            }
            start.clone_from(&self.covered.end);
        }
    }
}
