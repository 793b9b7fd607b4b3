//! Changes laid over a snapshot in memory: what recovery would write, without writing it.
//!
//! A store that was killed in the middle of a transaction holds an undo log (`docs/FORMAT.md`, scopes). A reader must
//! show what Chromium shows after it has replayed that log, and may not write. So the replayed operations are gathered
//! here in order and then frozen into an [`Overlay`]: the keys whose last word is a put or a delete, and the ranges of
//! the snapshot that are hidden.
//!
//! Keys are kept in memory; values above [`INLINE_VALUE_MAX`] bytes are not, only the place of the undo row that holds
//! them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use larder_codec::compare::RowOrder;

/// Values up to this many bytes are kept in memory with their key.
pub(crate) const INLINE_VALUE_MAX: usize = 64;

/// Where the value of a put stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OverlayValue {
    /// Here.
    Inline(Vec<u8>),
    /// In the put task of the undo row with this key.
    InUndoRow(Vec<u8>),
}

/// When an operation is carried out: by its scope, its number in the scope, and the order in which it was gathered. The order
/// in which a store has its rows need not be that of the numbers.
type Place = (usize, u64, usize);

/// One replayed operation.
#[derive(Debug)]
enum Operation {
    Put(OverlayValue),
    Delete,
}

#[derive(Debug)]
struct KeyOperation {
    key: Vec<u8>,
    order: Place,
    operation: Operation,
}

#[derive(Debug)]
struct RangeDelete {
    begin: Vec<u8>,
    end: Vec<u8>,
    order: Place,
}

/// Gathers operations.
#[derive(Debug, Default)]
pub(crate) struct OverlayBuilder {
    rows: RowOrder,
    keys: Vec<KeyOperation>,
    ranges: Vec<RangeDelete>,
    order: Place,
}

impl OverlayBuilder {
    /// For a snapshot whose rows are in this order.
    pub(crate) fn new(rows: RowOrder) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// What is gathered from here on is carried out as this number of this scope.
    pub(crate) fn go_to(&mut self, scope: usize, sequence: u64) {
        (self.order.0, self.order.1) = (scope, sequence);
    }

    pub(crate) fn put(&mut self, key: &[u8], value: OverlayValue) {
        self.push(key, Operation::Put(value));
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.push(key, Operation::Delete);
    }

    /// Deletes from `begin` up to, not including, `end`.
    pub(crate) fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
        if self.rows.compare(begin, end) == Ordering::Less {
            self.ranges.push(RangeDelete {
                begin: begin.to_vec(),
                end: end.to_vec(),
                order: self.order,
            });
            self.order.2 += 1;
        }
    }

    fn push(&mut self, key: &[u8], operation: Operation) {
        self.keys.push(KeyOperation {
            key: key.to_vec(),
            order: self.order,
            operation,
        });
        self.order.2 += 1;
    }

    /// Works out the last word on every key.
    pub(crate) fn build(mut self) -> Overlay {
        let rows = self.rows;
        // Last operation of each key first, so that dedup keeps it.
        self.keys
            .sort_by(|a, b| rows.compare(&a.key, &b.key).then(b.order.cmp(&a.order)));
        self.keys
            .dedup_by(|later, first| rows.compare(&later.key, &first.key) == Ordering::Equal);
        let segments = sweep(rows, &self.ranges);
        let entries = self
            .keys
            .into_iter()
            .map(|entry| {
                let deleted_after = newest_delete(rows, &segments, &entry.key)
                    .is_some_and(|order| order > entry.order);
                let value = match entry.operation {
                    Operation::Put(value) if !deleted_after => Some(value),
                    _ => None,
                };
                (entry.key, value)
            })
            .collect();
        Overlay {
            rows,
            entries,
            hidden: hidden_ranges(&segments),
        }
    }
}

/// A stretch of keys from `begin` to the next segment, and the newest range delete that covers it.
#[derive(Debug)]
struct Segment<'a> {
    begin: &'a [u8],
    newest: Option<Place>,
}

/// Cuts the key space at every end of a range, so that any number of overlapping ranges stays cheap to ask.
fn sweep(rows: RowOrder, ranges: &[RangeDelete]) -> Vec<Segment<'_>> {
    let mut edges: Vec<(&[u8], bool, Place)> = ranges
        .iter()
        .flat_map(|range| {
            [
                (&*range.begin, true, range.order),
                (&*range.end, false, range.order),
            ]
        })
        .collect();
    edges.sort_by(|a, b| rows.compare(a.0, b.0));
    let mut open = BTreeSet::new();
    let mut segments: Vec<Segment<'_>> = Vec::new();
    for (key, opens, order) in edges {
        if opens {
            open.insert(order);
        } else {
            open.remove(&order);
        }
        let newest = open.last().copied();
        match segments.last_mut() {
            Some(last) if rows.compare(last.begin, key) == Ordering::Equal => last.newest = newest,
            _ => segments.push(Segment { begin: key, newest }),
        }
    }
    segments
}

fn newest_delete(rows: RowOrder, segments: &[Segment<'_>], key: &[u8]) -> Option<Place> {
    let after =
        segments.partition_point(|segment| rows.compare(segment.begin, key) != Ordering::Greater);
    segments.get(after.checked_sub(1)?)?.newest
}

fn hidden_ranges(segments: &[Segment<'_>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut hidden = Vec::new();
    let mut begin: Option<&[u8]> = None;
    for segment in segments {
        match (begin, segment.newest) {
            (None, Some(_)) => begin = Some(segment.begin),
            (Some(start), None) => {
                hidden.push((start.to_vec(), segment.begin.to_vec()));
                begin = None;
            }
            _ => {}
        }
    }
    hidden
}

/// What the overlay says of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// Nothing: the snapshot decides.
    Snapshot,
    /// It is not there.
    Absent,
    /// It is there with this value.
    Present(&'a OverlayValue),
}

/// The frozen changes: keys in order, each with its value or `None` for deleted; hidden ranges in order, disjoint.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    rows: RowOrder,
    entries: Vec<(Vec<u8>, Option<OverlayValue>)>,
    hidden: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Overlay {
    /// The order of the rows below.
    pub(crate) fn order(&self) -> RowOrder {
        self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.hidden.is_empty()
    }

    pub(crate) fn verdict(&self, key: &[u8]) -> Verdict<'_> {
        match self.position(key) {
            Ok(at) => match &self.entries[at].1 {
                Some(value) => Verdict::Present(value),
                None => Verdict::Absent,
            },
            Err(_) if self.hidden_range(key).is_some() => Verdict::Absent,
            Err(_) => Verdict::Snapshot,
        }
    }

    /// The hidden range that `key` lies in: a cursor over the snapshot may jump to its end or its beginning.
    pub(crate) fn hidden_range(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        let after = self
            .hidden
            .partition_point(|(begin, _)| self.rows.compare(begin, key) != Ordering::Greater);
        let (begin, end) = self.hidden.get(after.checked_sub(1)?)?;
        (self.rows.compare(key, end) == Ordering::Less).then_some((begin, end))
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entry `at`: its key, and its value unless it says "deleted".
    pub(crate) fn entry(&self, at: usize) -> Option<(&[u8], Option<&OverlayValue>)> {
        let (key, value) = self.entries.get(at)?;
        Some((key, value.as_ref()))
    }

    /// Where `key` stands (`Ok`) or would stand (`Err`).
    pub(crate) fn position(&self, key: &[u8]) -> Result<usize, usize> {
        self.entries
            .binary_search_by(|(have, _)| self.rows.compare(have, key))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// How many rows there may be.
    pub(crate) const ROWS: u8 = 16;

    /// What each row has.
    pub(crate) type Rows = Vec<Option<u8>>;

    /// A data row key of database 1, store 1 with a one-unit string: `n` orders it.
    pub(crate) fn key(n: u8) -> Vec<u8> {
        vec![0, 1, 1, 1, 1, 1, 0, n]
    }

    fn inline(n: u8) -> OverlayValue {
        OverlayValue::Inline(vec![n])
    }

    /// The overlay of some operations, and its naive twin: they are carried out one after the other on the rows.
    pub(crate) fn laid_over(mut rows: Rows, operations: &[(u8, u8, u8)]) -> (Overlay, Rows) {
        let mut builder = OverlayBuilder::default();
        for (step, &(kind, a, b)) in operations.iter().enumerate() {
            let (a, b, step) = (a % ROWS, b % ROWS, step as u8);
            match kind % 3 {
                0 => {
                    builder.put(&key(a), inline(step));
                    rows[usize::from(a)] = Some(step);
                }
                1 => {
                    builder.delete(&key(a));
                    rows[usize::from(a)] = None;
                }
                _ => {
                    builder.delete_range(&key(a), &key(b));
                    (a..b).for_each(|n| rows[usize::from(n)] = None);
                }
            }
        }
        (builder.build(), rows)
    }

    #[test]
    fn the_overlay_says_what_carrying_out_the_operations_in_order_would_leave() {
        fn law(mut operations: Vec<(u8, u8, u8)>) -> bool {
            operations.truncate(200);
            let snapshot = (0..ROWS).map(|_| Some(u8::MAX)).collect();
            let (overlay, rows) = laid_over(snapshot, &operations);
            rows.iter().enumerate().all(|(n, row)| {
                let expected = match row {
                    Some(u8::MAX) => Verdict::Snapshot,
                    None => Verdict::Absent,
                    Some(step) => {
                        return overlay.verdict(&key(n as u8)) == Verdict::Present(&inline(*step));
                    }
                };
                overlay.verdict(&key(n as u8)) == expected
            })
        }
        quickcheck::QuickCheck::new()
            .tests(2000)
            .quickcheck(law as fn(Vec<(u8, u8, u8)>) -> bool);
    }

    #[test]
    fn a_hidden_range_excludes_its_end() {
        let mut builder = OverlayBuilder::default();
        builder.delete_range(&key(2), &key(4));
        builder.delete_range(&key(3), &key(6));
        let overlay = builder.build();
        assert_eq!(overlay.hidden_range(&key(5)), Some((&*key(2), &*key(6))));
        assert_eq!(overlay.hidden_range(&key(6)), None);
        assert_eq!(overlay.hidden_range(&key(1)), None);
    }
}
