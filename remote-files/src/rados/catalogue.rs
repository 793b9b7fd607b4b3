//! The `omap` of one object as a catalogue.
//!
//! The cluster compares a key that is missing as if its value were empty. So each value has a byte before it, and what is empty is missing.

use super::snapshot::RadosSnapshot;
use super::{Rados, key, rows};
use crate::catalogue::{Catalogue, Commit, Outcome, Snapshot, Write};
use crate::error::{Error, Result};
use larder_librados::{ReadPart, WritePart};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::ops::Range;

/// The object.
pub(super) const OBJECT: &CStr = c"catalogue";
/// What is before each value.
const PRESENT: u8 = 1;

fn encode(value: &[u8]) -> Vec<u8> {
    [&[PRESENT], value].concat()
}

/// The value of a row.
pub(super) fn value(mut stored: Vec<u8>) -> Result<Vec<u8>> {
    match stored.first() {
        Some(&PRESENT) => {
            stored.remove(0);
            Ok(stored)
        }
        _ => Err(Error::corruption(
            "a row in RADOS has not the byte 01 first",
        )),
    }
}

/// A commit with keys and values as the object has them.
#[derive(Default)]
struct Request {
    required: Vec<(Vec<u8>, Vec<u8>)>,
    unset_ranges: Vec<Range<Vec<u8>>>,
    unset: Vec<Vec<u8>>,
    set: Vec<(Vec<u8>, Vec<u8>)>,
    /// What of the catalogue it changes.
    buckets: BTreeSet<u8>,
}

impl Request {
    fn new(commit: &Commit) -> Request {
        let mut request = Request::default();
        for condition in &commit.conditions {
            let expected = condition.expected.as_deref().map_or(Vec::new(), encode);
            request.required.push((key::row(&condition.key), expected));
        }
        for write in &commit.writes {
            match write {
                Write::Put(row) => {
                    request.buckets.insert(key::bucket(&row.key));
                    request.set.push((key::row(&row.key), encode(&row.value)));
                }
                Write::Delete(deleted) => {
                    request.buckets.insert(key::bucket(deleted));
                    request.unset.push(key::row(deleted));
                }
                Write::DeleteRange(range) if range.start < range.end => {
                    request.buckets.extend(key::buckets(range));
                    request.unset_ranges.push(key::range(range));
                }
                Write::DeleteRange(_) => {}
            }
        }
        request
    }

    /// The buckets' next version.
    fn versions(&self, version: [u8; 16]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let keys = self.buckets.iter().map(|bucket| key::version(*bucket));
        keys.map(move |key| (key.to_vec(), version.to_vec()))
    }
}

impl Catalogue for Rados {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<Vec<u8>> = keys.iter().map(|one| key::row(one)).collect();
        let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let Some(mut answers) = self.read(OBJECT, &[ReadPart::Values(&asked)])? else {
            return Ok(vec![None; keys.len()]);
        };
        let (found, _) = rows(answers.pop())?;
        let values = keys.iter().map(|key| {
            let at = found.binary_search_by(|(found, _)| found.cmp(key));
            let stored = at.ok().and_then(|at| found.get(at));
            stored.map(|(_, stored)| value(stored.clone())).transpose()
        });
        values.collect()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(RadosSnapshot::new(self)))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        let mut request = Request::new(commit);
        let versions: Vec<_> = request.versions(self.version()).collect();
        request.set.extend(versions);
        // The object is made with its first commit: one that has conditions would be refused without it.
        let mut parts = vec![WritePart::Create];
        let required = request.required.iter();
        parts.extend(required.map(|(key, value)| WritePart::Require(key, value)));
        let ranges = request.unset_ranges.iter();
        parts.extend(ranges.map(|keys| WritePart::UnsetRange(&keys.start, &keys.end)));
        let unset: Vec<&[u8]> = request.unset.iter().map(Vec::as_slice).collect();
        parts.push(WritePart::Unset(&unset));
        let set = request
            .set
            .iter()
            .map(|(key, value)| (&key[..], &value[..]));
        let set: Vec<(&[u8], &[u8])> = set.collect();
        parts.push(WritePart::Set(&set));
        match self.change(OBJECT, &parts)? {
            true => Ok(Outcome::Committed),
            false => Ok(Outcome::Refused),
        }
    }
}
