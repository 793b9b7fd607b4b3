//! Which records of a damaged log are where they were written.
//!
//! A page that a disk has put in the wrong place has records with their checksums, and with sequence numbers far from those around it.
//! Sequence numbers ascend through a log without a gap. So the records fall into *runs*, in which each goes on where the one before it ended.
//! Of all ways through the runs on which the numbers ascend, the one with the most entries is the log's *course*: what is not on it is out of
//! place. To take each record that goes on from the last one would not do: one with a number that is too great hides all behind it.

use crate::log::{LogEvent, LogReader, Lost};
use crate::on_damage::OnDamage;
use crate::storage::RandomFile;
use crate::write_batch::BatchReader;
use std::io;
use std::sync::Arc;

/// With more runs in a log than these, everything counts as in its place: this bounds what a hostile one costs.
const RUNS_MAX: usize = 1 << 16;

/// Records that go on from one another.
struct Run {
    /// Where the first and the last record are.
    places: (u64, u64),
    /// The first sequence number, and the one after the last.
    begin: u64,
    end: u64,
    weight: u64,
}

/// Takes records in the order in which they lie.
pub(crate) struct CourseFinder {
    /// Records with a lesser sequence number are not on the course.
    least_sequence: u64,
    runs: Vec<Run>,
    is_full: bool,
}

impl CourseFinder {
    pub(crate) fn new(least_sequence: u64) -> CourseFinder {
        CourseFinder {
            least_sequence,
            runs: Vec::new(),
            is_full: false,
        }
    }

    /// Takes the next record that is a whole batch. `place` is greater than that of the one before.
    pub(crate) fn record(&mut self, place: u64, batch: &BatchReader<'_>) {
        let (begin, count) = (batch.sequence(), u64::from(batch.entry_count()));
        if begin < self.least_sequence {
            return;
        }
        let end = begin.saturating_add(count);
        // An empty batch is one, too.
        let weight = count.max(1);
        let is_full = self.runs.len() == RUNS_MAX;
        match self.runs.last_mut() {
            Some(run) if run.end == begin => {
                run.places.1 = place;
                run.end = end;
                run.weight = run.weight.saturating_add(weight);
            }
            _ if is_full => self.is_full = true,
            _ => self.runs.push(Run {
                places: (place, place),
                begin,
                end,
                weight,
            }),
        }
    }

    /// The course through what was taken.
    pub(crate) fn finish(self) -> Course {
        if self.is_full {
            return Course { on: None };
        }
        let mut ends: Vec<u64> = self.runs.iter().map(|run| run.end).collect();
        ends.sort_unstable();
        ends.dedup();
        // The heaviest way that ends at each of `ends` or before, as a Fenwick tree: its weight, and its last run.
        let mut best: Vec<(u64, Option<usize>)> = vec![(0, None); ends.len() + 1];
        let mut before: Vec<Option<usize>> = Vec::with_capacity(self.runs.len());
        for (number, run) in self.runs.iter().enumerate() {
            let mut at = ends.partition_point(|end| *end <= run.begin);
            let (mut weight, mut last) = (0, None);
            while at > 0 {
                if let Some(&(own, run)) = best.get(at)
                    && own > weight
                {
                    (weight, last) = (own, run);
                }
                at &= at - 1;
            }
            before.push(last);
            let weight = weight.saturating_add(run.weight);
            let mut at = ends.partition_point(|end| *end < run.end) + 1;
            while let Some(own) = best.get_mut(at) {
                if weight > own.0 {
                    *own = (weight, Some(number));
                }
                at += at & at.wrapping_neg();
            }
        }
        let heaviest = best.into_iter().rev().max_by_key(|(weight, _)| *weight);
        let mut at = heaviest.and_then(|(_, last)| last);
        let mut on = Vec::new();
        while let Some(number) = at {
            on.extend(self.runs.get(number).map(|run| run.places));
            at = before.get(number).copied().flatten();
        }
        on.reverse();
        Course { on: Some(on) }
    }
}

/// Where the records are that are in their places.
pub(crate) struct Course {
    /// The first and the last of each run, ascending; `None` if all are.
    on: Option<Vec<(u64, u64)>>,
}

impl Course {
    /// That of a log from a place on, of records with this sequence number or a later one. What is lost is not on it.
    ///
    /// # Errors
    /// What the file gives, but for errors with which its damage is skipped.
    pub(super) fn of(
        file: &Arc<dyn RandomFile>,
        from: u64,
        least_sequence: u64,
    ) -> io::Result<Course> {
        let mut finder = CourseFinder::new(least_sequence);
        let mut reader = LogReader::new(Arc::clone(file))?;
        loop {
            match reader.next_event() {
                LogEvent::Record | LogEvent::Recovered(_) if reader.record_offset() >= from => {
                    if let Some(batch) = whole_batch(reader.record()) {
                        finder.record(reader.record_offset(), &batch);
                    }
                }
                LogEvent::Lost(Lost {
                    source: Some(error),
                    ..
                }) if OnDamage::Skip.fails_on(Some(&error)) => return Err(error),
                LogEvent::End => return Ok(finder.finish()),
                _ => {}
            }
        }
    }

    /// Whether the record at a place is on it.
    pub(crate) fn has(&self, place: u64) -> bool {
        let Some(on) = &self.on else {
            return true;
        };
        let after = on.partition_point(|(first, _)| *first <= place);
        let run = after.checked_sub(1).and_then(|at| on.get(at));
        run.is_some_and(|(_, last)| place <= *last)
    }
}

/// A batch that is one in every way.
pub(crate) fn whole_batch(bytes: &[u8]) -> Option<BatchReader<'_>> {
    let batch = BatchReader::new(bytes).ok()?;
    batch.clone().all(|entry| entry.is_ok()).then_some(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_batch::BatchWriter;
    use quickcheck::quickcheck;

    /// The numbers of the records that are on the course, each given by its sequence number and how many entries it has.
    fn course(records: &[(u64, u8)], least: u64) -> Vec<usize> {
        let mut finder = CourseFinder::new(least);
        for (place, (sequence, count)) in records.iter().enumerate() {
            let mut batch = BatchWriter::new();
            for _ in 0..*count {
                batch.delete(b"k");
            }
            let bytes = batch.finish(*sequence).to_vec();
            finder.record(place as u64, &whole_batch(&bytes).unwrap());
        }
        let course = finder.finish();
        let all = 0..records.len();
        all.filter(|place| course.has(*place as u64)).collect()
    }

    #[test]
    fn records_in_their_order_are_all_on_it_whatever_is_missing_between() {
        let records = [(1, 3), (4, 0), (4, 1), (5, 2), (90, 1), (91, 0), (200, 1)];
        assert_eq!(course(&records, 0), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(course(&records, 90), [4, 5, 6]);
        assert_eq!(course(&[], 0), [0; 0]);
    }

    #[test]
    fn what_comes_too_early_or_too_late_is_not_on_it() {
        let late = [
            (1, 3),
            (4, 5),
            (60, 2),
            (62, 2),
            (12, 5),
            (17, 40),
            (57, 10),
        ];
        assert_eq!(course(&late, 0), [0, 1, 4, 5, 6]);
        let early = [(1, 3), (4, 5), (20, 30), (2, 1), (3, 6), (50, 1)];
        assert_eq!(course(&early, 0), [0, 1, 2, 5]);
        // The first record of all.
        assert_eq!(course(&[(60, 2), (5, 5), (10, 5)], 0), [1, 2]);
    }

    quickcheck! {
        fn it_ascends_and_no_other_way_has_more_entries(numbers: Vec<(u8, u8)>) -> bool {
            let mut records: Vec<(u64, u8)> = Vec::new();
            for (at, count) in numbers.into_iter().take(9) {
                let at = u64::from(at % 16);
                // Each a run of its own.
                if records.last().is_none_or(|(begin, count)| begin + u64::from(*count) != at) {
                    records.push((at, count % 6 + 1));
                }
            }
            let ascends = |on: &[usize]| {
                on.windows(2).all(|pair| {
                    let ((begin, count), (next, _)) = (records[pair[0]], records[pair[1]]);
                    begin + u64::from(count) <= next
                })
            };
            let weight = |on: &[usize]| on.iter().map(|at| u64::from(records[*at].1)).sum::<u64>();
            let on = course(&records, 0);
            let ways = (0..1_usize << records.len())
                .map(|bits| (0..records.len()).filter(|at| bits >> at & 1 == 1).collect::<Vec<_>>());
            let most = ways.filter(|way| ascends(way)).map(|way| weight(&way)).max();
            ascends(&on) && Some(weight(&on)) == most
        }
    }
}
