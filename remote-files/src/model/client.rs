//! A client of the model: both traits.

use super::Model;
use super::gate::{Fate, Gate, Request};
use super::state::{Begun, State};
use crate::blobs::{Blobs, Segment};
use crate::catalogue::{Catalogue, Commit, Outcome, Page, Row, Snapshot, Write};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use crate::segment_key::numbers_of;
use std::ops::Range;
use std::sync::Arc;

/// The catalogue's rows, and the blobs' segments, in the one space of keys that the engine has.
const ROWS: u8 = b'c';
const SEGMENTS: u8 = b's';

/// Bytes of segments in one transaction: FoundationDB's advice is to stay below 1 MB.
const TRANSACTION_LEN: usize = 900_000;

/// A client. Clones are the same process.
#[derive(Clone, Debug)]
pub struct ModelClient {
    model: Model,
    gate: Arc<dyn Gate>,
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "the engine was not reached")
}

fn unknown() -> Error {
    Error::new(ErrorKind::OutcomeUnknown, "the engine's reply did not come")
}

fn row_key(key: &[u8]) -> Vec<u8> {
    [&[ROWS], key].concat()
}

fn segment_key(namespace: &Namespace, blob: u64, offset: u64) -> Vec<u8> {
    [
        &[SEGMENTS],
        &crate::segment_key::segment_key(namespace, blob, offset)[..],
    ]
    .concat()
}

impl ModelClient {
    pub(super) fn new(model: Model, gate: Arc<dyn Gate>) -> ModelClient {
        ModelClient { model, gate }
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        match self.gate.fate(Request::Read) {
            Fate::Served => read(&self.model.state()),
            _ => Err(unavailable()),
        }
    }

    /// A segment that is new is behind all that there are.
    fn check_growth(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        let state = self.model.state();
        let end = segment_key(namespace, blob, u64::MAX);
        for segment in segments {
            let key = segment_key(namespace, blob, segment.offset);
            let page = state.page(state.begin(), &(key.clone()..end.clone()), 1)?;
            if page.rows.first().is_some_and(|row| row.key != key) {
                let what = format!(
                    "blob {blob:#x}: a new segment at {} is before others, and a blob grows at its end",
                    segment.offset
                );
                return Err(Error::new(ErrorKind::Usage, what));
            }
        }
        Ok(())
    }

    /// Lets the gate decide of a change.
    fn send(&self, request: Request, begun: Option<Begun>, commit: &Commit) -> Result<Outcome> {
        let fate = self.gate.fate(request);
        let state = &mut *self.model.state();
        let begun = begun.unwrap_or_else(|| state.begin());
        match fate {
            Fate::Served => state.commit(begun, commit),
            Fate::Unavailable => Err(unavailable()),
            Fate::RequestLost => Err(unknown()),
            Fate::ReplyLost => {
                state.commit(begun, commit).ok();
                Err(unknown())
            }
            Fate::Late(by) => {
                state.delay(by, begun, commit.clone());
                Err(unknown())
            }
        }
    }
}

impl Catalogue for ModelClient {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.read(|state| {
            let begun = state.begin();
            let values = keys.iter().map(|key| state.get(begun, &row_key(key)));
            values
                .map(|value| value.map(|value| value.map(<[u8]>::to_vec)))
                .collect()
        })
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(ModelSnapshot {
            client: self,
            begun: None,
        }))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        let mut prefixed = Commit::default();
        for condition in &commit.conditions {
            prefixed.require(row_key(&condition.key), condition.expected.clone());
        }
        for write in &commit.writes {
            prefixed.writes.push(match write {
                Write::Put(row) => Write::Put(Row {
                    key: row_key(&row.key),
                    value: row.value.clone(),
                }),
                Write::Delete(key) => Write::Delete(row_key(key)),
                Write::DeleteRange(range) => {
                    Write::DeleteRange(row_key(&range.start)..row_key(&range.end))
                }
            });
        }
        if self.gate.fate(Request::BeginCommit) != Fate::Served {
            return Err(unavailable());
        }
        let begun = {
            let state = self.model.state();
            let begun = state.begin();
            if !state.holds(begun, &prefixed)? {
                return Ok(Outcome::Refused);
            }
            begun
        };
        self.send(Request::Commit, Some(begun), &prefixed)
    }
}

#[derive(Debug)]
struct ModelSnapshot<'a> {
    client: &'a ModelClient,
    begun: Option<Begun>,
}

impl Snapshot for ModelSnapshot<'_> {
    fn page(&mut self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Page> {
        let range = row_key(&range.start)..row_key(&range.end);
        self.client.read(|state| {
            let begun = *self.begun.get_or_insert_with(|| state.begin());
            let mut page = state.page(begun, &range, rows_max)?;
            for row in &mut page.rows {
                row.key.remove(0);
            }
            Ok(page)
        })
    }
}

impl Blobs for ModelClient {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        self.check_growth(namespace, blob, segments)?;
        let mut commit = Commit::default();
        let mut len_bytes = 0;
        for segment in segments {
            if len_bytes + segment.bytes.len() > TRANSACTION_LEN && !commit.writes.is_empty() {
                self.send(Request::Append, None, &std::mem::take(&mut commit))?;
                len_bytes = 0;
            }
            commit.put(
                segment_key(namespace, blob, segment.offset),
                segment.bytes.clone(),
            );
            len_bytes += segment.bytes.len();
        }
        self.send(Request::Append, None, &commit).map(drop)
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let range =
            segment_key(namespace, blob, offsets.start)..segment_key(namespace, blob, offsets.end);
        let page = self.read(|state| state.page(state.begin(), &range, usize::MAX))?;
        let segments = page.rows.into_iter().map(|row| {
            Ok(Segment {
                offset: numbers_of(&row.key)?.1,
                bytes: row.value,
            })
        });
        segments.collect()
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        let mut commit = Commit::default();
        let range = segment_key(namespace, blob, 0)..segment_key(namespace, blob, u64::MAX);
        commit.writes.push(Write::DeleteRange(range));
        self.send(Request::Delete, None, &commit).map(drop)
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        let mut numbers: Vec<u64> = Vec::new();
        let mut next = after.map_or(Some(0), |after| after.checked_add(1));
        while let Some(from) = next.filter(|_| numbers.len() < count_max) {
            let range = segment_key(namespace, from, 0)..segment_key(namespace, u64::MAX, u64::MAX);
            let page = self.read(|state| state.page(state.begin(), &range, 1))?;
            let Some(row) = page.rows.first() else {
                break;
            };
            let (blob, _) = numbers_of(&row.key)?;
            numbers.push(blob);
            next = blob.checked_add(1);
        }
        Ok(numbers)
    }
}
