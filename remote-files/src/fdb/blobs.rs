//! The rows under `s` and `b` as blobs: segments, and which blobs there are.
//!
//! Each transaction that writes segments sets the blob's row, too, and the one that deletes them deletes it. So what lists these rows misses no blob, and
//! reads no segment.

use super::{FoundationDb, REPLY_ROWS_MAX, errors, next, rows_of};
use crate::blobs::{Blobs, Segment};
use crate::error::{ErrorKind, Result};
use crate::namespace::Namespace;
use std::ops::Range;

/// Bytes of a transaction, with what is counted besides segments. FoundationDB advises less than 1 MB.
const TRANSACTION_LEN: usize = 900_000;
/// What a segment adds beside its bytes: its key, three times, of a name of the usual length.
const SEGMENT_EXTRA_LEN: usize = 300;

/// A read is of so many parts at most, which are asked for at once, each of so many offsets at least. A server's reply has 80 KB of values: one of these.
const PARTS_MAX: u64 = 16;
const PART_LEN: u64 = 65_536;

/// The parts of a range of offsets.
fn parts(offsets: &Range<u64>) -> Vec<Range<u64>> {
    let span = offsets.end.saturating_sub(offsets.start);
    let len = span.div_ceil(PARTS_MAX).max(PART_LEN);
    let starts = (0..span.div_ceil(len)).map(|part| offsets.start + part * len);
    starts
        .map(|start| start..start.saturating_add(len).min(offsets.end))
        .collect()
}

/// Segments by transactions, each with one at least.
fn transactions(segments: &[Segment]) -> Vec<&[Segment]> {
    let mut groups = Vec::new();
    let mut rest = segments;
    while !rest.is_empty() {
        let mut len = 0;
        let fitting = rest.iter().take_while(|segment| {
            len += segment.bytes.len() + SEGMENT_EXTRA_LEN;
            len <= TRANSACTION_LEN
        });
        let (now, later) = rest.split_at(fitting.count().max(1));
        groups.push(now);
        rest = later;
    }
    groups
}

/// What several commits that were sent at once came to: part of them may be made.
fn together(results: Vec<Result<()>>) -> Result<()> {
    let is_one = results.len() == 1;
    let failed = results.into_iter().find_map(Result::err);
    match failed {
        None => Ok(()),
        // Nothing was changed by this one.
        Some(error) if error.kind() == ErrorKind::Unavailable && !is_one => {
            Err(error.of_kind(ErrorKind::OutcomeUnknown))
        }
        Some(error) => Err(error),
    }
}

impl Blobs for FoundationDb {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        let room = &self.shared.room;
        let mut made = Vec::new();
        for group in transactions(segments) {
            let transaction = self.begin()?;
            transaction.set(&room.blob(namespace, blob), &[]);
            for segment in group {
                let key = room.segment(namespace, blob, segment.offset);
                transaction.set(&key, &segment.bytes);
            }
            made.push(transaction);
        }
        // All or nothing is sent: what is sent may be made.
        let sent: Vec<_> = made.into_iter().map(|one| one.commit()).collect();
        let results = sent
            .into_iter()
            .map(|one| self.wait(one, errors::of_commit).map(drop));
        together(results.collect())
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let room = &self.shared.room;
        let transaction = self.begin()?;
        let asked = parts(&offsets).into_iter().map(|part| {
            let keys =
                room.segment(namespace, blob, part.start)..room.segment(namespace, blob, part.end);
            let found = transaction.get_range(&rows_of(keys.clone(), REPLY_ROWS_MAX), 1, true);
            (keys.end, found)
        });
        let asked: Vec<_> = asked.collect();
        let mut segments = Vec::new();
        for (end, found) in asked {
            let mut found = self.wait(found, errors::of)?;
            loop {
                for row in &found {
                    segments.push(Segment {
                        offset: room.offset_of(namespace, blob, row.key())?,
                        bytes: row.value().to_vec(),
                    });
                }
                let Some(start) = next(found.last().map(|row| row.key()), found.more())? else {
                    break;
                };
                let rest = rows_of(start..end.clone(), REPLY_ROWS_MAX);
                found = self.wait(transaction.get_range(&rest, 1, true), errors::of)?;
            }
        }
        Ok(segments)
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        let room = &self.shared.room;
        let transaction = self.begin()?;
        let keys = room.segments(namespace, blob);
        transaction.clear_range(&keys.start, &keys.end);
        transaction.clear(&room.blob(namespace, blob));
        self.wait(transaction.commit(), errors::of_commit).map(drop)
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        let room = &self.shared.room;
        let mut keys = room.blobs_after(namespace, after);
        while numbers.len() < count_max {
            // Each page has its own time.
            let transaction = self.begin()?;
            let rows = rows_of(keys.clone(), count_max - numbers.len());
            let found = self.wait(transaction.get_range(&rows, 1, true), errors::of)?;
            for row in &found {
                numbers.push(room.number_of(namespace, row.key())?);
            }
            match next(found.last().map(|row| row.key()), found.more())? {
                Some(start) => keys.start = start,
                None => break,
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn parts_cover_a_range_without_gaps() {
        for offsets in [
            0..0,
            7..7,
            0..1,
            5..65_541,
            65_536..(1 << 20) + 65_536,
            0..u64::MAX,
            u64::MAX - 1..u64::MAX,
        ] {
            let parts = parts(&offsets);
            assert!(parts.len() as u64 <= PARTS_MAX, "{offsets:?}");
            let mut at = offsets.start;
            for part in &parts {
                assert!(part.start == at && part.end > at, "{parts:?}");
                at = part.end;
            }
            assert_eq!(at, offsets.end.max(offsets.start), "{parts:?}");
        }
        assert_eq!(parts(&(0..1 << 20)).len(), 16);
    }

    #[test]
    fn transactions_are_of_the_size_that_is_advised() {
        let segment = |len: usize| Segment {
            offset: 0,
            bytes: vec![0; len],
        };
        let of = |lens: &[usize]| {
            let segments: Vec<Segment> = lens.iter().map(|len| segment(*len)).collect();
            let groups = transactions(&segments).into_iter();
            groups.map(<[Segment]>::len).collect::<Vec<usize>>()
        };
        assert_eq!(of(&[]), [0; 0]);
        assert_eq!(of(&[65_540; 16]), [13, 3]);
        assert_eq!(of(&[2_000_000, 1, 2]), [1, 2]);
        assert_eq!(of(&[2; 4000]), [2980, 1020]);
    }

    #[test]
    fn part_of_what_was_sent_at_once_may_be_made() {
        let error = |kind| Err(Error::new(kind, ""));
        let kind = |results| together(results).map_err(|error| error.kind());
        assert_eq!(kind(vec![]), Ok(()));
        let unavailable = || error(ErrorKind::Unavailable);
        assert_eq!(kind(vec![unavailable()]), Err(ErrorKind::Unavailable));
        let unknown = Err(ErrorKind::OutcomeUnknown);
        assert_eq!(kind(vec![Ok(()), unavailable()]), unknown);
        let large = vec![error(ErrorKind::TooLarge), Ok(())];
        assert_eq!(kind(large), Err(ErrorKind::TooLarge));
    }
}
