//! A cursor over the parts.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, RowIter};
use larder_codec::compare;

use crate::database::{Found, Page};
use crate::parts::{Content, Part};
use crate::place::Place;

/// Rows asked for at a time at most. The first question asks for one, which is all that a look-up needs, and the next ones for more and more.
const ROWS_AT_A_TIME: usize = 128;
const GROWTH: usize = 8;

/// Keys that are kept at most of what lies behind a damaged place.
const KEPT_BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Cursor {
    parts: Arc<Vec<Part>>,
    forward: bool,
    /// The part it is in; none behind the last, or before the first.
    part: Option<usize>,
    inside: Inside,
    is_valid: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    brings_records: bool,
    /// The row of the record that the entry leads to, if it came with it.
    record: Vec<u8>,
    has_record: bool,
}

/// Where in its part.
#[derive(Debug)]
enum Inside {
    /// In rows in memory: the number of the next one.
    Rows(Option<usize>),
    Table {
        /// What comes next.
        ahead: VecDeque<Found>,
        /// Where to ask on from, and whether what is there is meant, too; none if nothing is left.
        from: Option<(Place, bool)>,
        count: usize,
    },
}

impl Cursor {
    pub(crate) fn new(parts: Arc<Vec<Part>>) -> Self {
        Self {
            parts,
            forward: true,
            part: None,
            inside: Inside::Rows(None),
            is_valid: false,
            key: Vec::new(),
            value: Vec::new(),
            brings_records: false,
            record: Vec::new(),
            has_record: false,
        }
    }

    /// To the first row at or beyond `key`, in the direction.
    fn position(&mut self, key: &[u8], forward: bool) -> Result<(), Error> {
        self.forward = forward;
        self.is_valid = false;
        let parts = Arc::clone(&self.parts);
        // Parts are disjoint and in order.
        self.part = match forward {
            true => Some(parts.partition_point(|part| compare(&part.high, key).is_lt())),
            false => parts
                .partition_point(|part| compare(&part.low, key).is_le())
                .checked_sub(1),
        };
        let Some(part) = self.part.and_then(|at| parts.get(at)) else {
            self.part = None;
            return Ok(());
        };
        let is_outside = match forward {
            true => compare(key, &part.low).is_le(),
            false => compare(key, &part.high).is_ge(),
        };
        if is_outside {
            self.enter(part);
        } else {
            self.inside = match &part.content {
                Content::Rows(rows) => Inside::Rows(match forward {
                    true => Some(rows.partition_point(|(row, _)| compare(row, key).is_lt())),
                    false => rows
                        .partition_point(|(row, _)| compare(row, key).is_le())
                        .checked_sub(1),
                }),
                Content::Table(table) => Inside::at(table.place(key)?, true),
            };
        }
        self.advance()
    }

    /// To the part's first row, in the direction, which is read by the next step.
    fn enter(&mut self, part: &Part) {
        self.inside = match &part.content {
            Content::Rows(rows) if self.forward => {
                Inside::Rows(Some(0).filter(|_| !rows.is_empty()))
            }
            Content::Rows(rows) => Inside::Rows(rows.len().checked_sub(1)),
            Content::Table(_) if self.forward => Inside::at(Place::First, true),
            Content::Table(_) => Inside::at(Place::Last, true),
        };
    }

    /// To the next row in the direction.
    fn advance(&mut self) -> Result<(), Error> {
        self.is_valid = false;
        let parts = Arc::clone(&self.parts);
        while let Some(part) = self.part.and_then(|at| parts.get(at)) {
            if self.advance_in(part)? {
                self.is_valid = true;
                return Ok(());
            }
            self.part = self.part.and_then(|at| match self.forward {
                true => at.checked_add(1),
                false => at.checked_sub(1),
            });
            if let Some(part) = self.part.and_then(|at| parts.get(at)) {
                self.enter(part);
            }
        }
        self.part = None;
        Ok(())
    }

    /// To the part's next row; whether there is one.
    fn advance_in(&mut self, part: &Part) -> Result<bool, Error> {
        self.has_record = false;
        match (&mut self.inside, &part.content) {
            (Inside::Rows(at), Content::Rows(rows)) => {
                let Some((key, value)) = at.and_then(|at| rows.get(at)) else {
                    return Ok(false);
                };
                self.key.clone_from(key);
                self.value.clone_from(value);
                *at = at.and_then(|at| match self.forward {
                    true => at.checked_add(1),
                    false => at.checked_sub(1),
                });
                Ok(true)
            }
            (Inside::Table { ahead, from, count }, Content::Table(table)) => {
                if ahead.is_empty() {
                    let Some((place, included)) = from.take() else {
                        return Ok(false);
                    };
                    let way = (included, self.forward);
                    match table.rows(&place, way, *count, self.brings_records) {
                        Ok(found) => {
                            let Page {
                                rows: found,
                                is_last,
                            } = found;
                            check_order(&place, &found, self.forward)
                                .map_err(|error| table.lost(error))?;
                            *from = found
                                .last()
                                .filter(|_| !is_last)
                                .map(|found| (found.place(), false));
                            *count = (*count * GROWTH).min(ROWS_AT_A_TIME);
                            *ahead = found.into();
                        }
                        Err(error) if error.kind() == ErrorKind::Corruption => {
                            *ahead = rest(table, &place, self.forward);
                            return Err(table.lost(error));
                        }
                        Err(error) => return Err(error),
                    }
                }
                let Some(found) = ahead.pop_front() else {
                    return Ok(false);
                };
                table.make(&found, &mut self.key, &mut self.value)?;
                self.has_record = table.record_of(&found, &mut self.record);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn step(&mut self, forward: bool) -> Result<(), Error> {
        if self.forward != forward {
            if !self.is_valid {
                return Ok(());
            }
            let key = self.key.clone();
            self.position(&key, forward)?;
        }
        self.advance()
    }
}

impl Inside {
    fn at(place: Place, included: bool) -> Self {
        Self::Table {
            ahead: VecDeque::new(),
            from: Some((place, included)),
            count: 1,
        }
    }
}

impl Found {
    fn place(&self) -> Place {
        Place::At(self.key.clone(), self.record_key.clone())
    }

    fn keys(&self) -> (&[u8], &[u8]) {
        (&self.key, &self.record_key)
    }
}

/// Rows must ascend from the place on, or descend: a damaged file may go round in circles.
fn check_order(place: &Place, found: &[Found], forward: bool) -> Result<(), Error> {
    let mut last = match place {
        Place::At(key, record_key) => Some((&**key, &**record_key)),
        Place::First | Place::Last | Place::Before(_) | Place::Behind(_) => None,
    };
    for (n, found) in found.iter().enumerate() {
        let keys = found.keys();
        let order = last.map_or(Ordering::Greater, |last| keys.cmp(&last));
        let order = if forward || last.is_none() {
            order
        } else {
            order.reverse()
        };
        if order == Ordering::Less || (order == Ordering::Equal && n > 0) {
            return Err(Error::new(
                ErrorKind::Corruption,
                "rows that are not in the order of their keys",
            ));
        }
        last = Some(keys);
    }
    Ok(())
}

/// What lies behind a damaged place, found from the other end, as far as that can be read and kept.
fn rest(table: &crate::parts::Table, place: &Place, forward: bool) -> VecDeque<Found> {
    let mut rest = VecDeque::new();
    let mut kept = 0;
    let mut from = (if forward { Place::Last } else { Place::First }, true);
    // One by one: of several together, all would be lost with the last.
    while kept < KEPT_BYTES_MAX
        && let Ok(found) = table.rows(&from.0, (from.1, !forward), 1, false)
        && let Some(mut found) = found.rows.into_iter().next()
    {
        // Many are kept: each value is read again.
        found.value = None;
        let is_new = match place {
            Place::At(key, record_key) => {
                let order = found.keys().cmp(&(key, record_key));
                if forward {
                    order.is_gt()
                } else {
                    order.is_lt()
                }
            }
            Place::Before(key) | Place::Behind(key) => {
                let order = found.key.cmp(key);
                if forward {
                    order.is_gt()
                } else {
                    order.is_lt()
                }
            }
            Place::First | Place::Last => true,
        };
        if !is_new || check_order(&from.0, std::slice::from_ref(&found), !forward).is_err() {
            break;
        }
        kept += found.key.len() + found.record_key.len() + size_of::<Found>();
        from = (found.place(), false);
        rest.push_front(found);
    }
    rest
}

impl RowIter for Cursor {
    fn seek(&mut self, key: &[u8]) -> Result<(), Error> {
        self.position(key, true)
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<(), Error> {
        self.position(key, false)
    }

    fn next(&mut self) -> Result<(), Error> {
        self.step(true)
    }

    fn prev(&mut self) -> Result<(), Error> {
        self.step(false)
    }

    fn valid(&self) -> bool {
        self.is_valid
    }

    fn key(&self) -> &[u8] {
        if self.is_valid { &self.key } else { &[] }
    }

    fn value(&self) -> &[u8] {
        if self.is_valid { &self.value } else { &[] }
    }

    fn bring_records(&mut self) {
        self.brings_records = true;
    }

    fn record(&self) -> Option<&[u8]> {
        (self.is_valid && self.has_record).then_some(&*self.record)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use larder_backing_store::RowSource;
    use larder_codec::KeyPrefix;
    use larder_codec::row_key::RecordTable;
    use larder_codec::versioned::IndexRow;
    use larder_fixtures::random::Random;
    use larder_leveldb::storage::{DiskFileSystem, FileSystem};

    use super::*;

    #[test]
    fn moves_of_every_kind_lead_where_they_do_in_a_list() {
        let fixture = larder_fixtures::get("s156-odd").open();
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let (rows, _, _) = crate::open::read(&fs, &fixture.sqlite(), Path::new("")).unwrap();
        let mut cursor = rows.iter();
        let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        cursor.seek(&[0; 5]).unwrap();
        while cursor.valid() {
            all.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.next().unwrap();
        }
        assert!(all.len() > 200, "{}", all.len());
        let seed = std::env::var("LARDER_SEED").map_or(1, |seed| seed.parse().unwrap());
        let mut random = Random::new(seed);
        let mut at: Option<usize> = None;
        for step in 0..4000 {
            let target = random.index(all.len());
            match random.below(8) {
                0 => {
                    cursor.seek(&all[target].0).unwrap();
                    at = Some(target);
                }
                1 => {
                    cursor.seek_for_prev(&all[target].0).unwrap();
                    at = Some(target);
                }
                2..5 => {
                    cursor.next().unwrap();
                    at = at.map(|at| at + 1).filter(|at| *at < all.len());
                }
                _ => {
                    cursor.prev().unwrap();
                    at = at.and_then(|at| at.checked_sub(1));
                }
            }
            let found = cursor.valid().then(|| (cursor.key(), cursor.value()));
            let expected = at.map(|at| (&*all[at].0, &*all[at].1));
            assert_eq!(found, expected, "seed {seed}, step {step}");
        }
    }

    /// The store whose records come along with entries gives for each what a get of the record's row gives.
    #[test]
    fn records_that_come_along_are_those_that_a_get_gives() {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let (mut with, mut without) = (0, 0);
        for name in ["s156-lite", "s156-odd", "s156-migrated"] {
            let fixture = larder_fixtures::get(name).open();
            let (rows, _, _) = crate::open::read(&fs, &fixture.sqlite(), Path::new("")).unwrap();
            let mut cursor = rows.iter();
            cursor.bring_records();
            cursor.seek(&[0; 5]).unwrap();
            let mut expected = Vec::new();
            while cursor.valid() {
                let (prefix, _) = KeyPrefix::decode(cursor.key()).unwrap();
                let record = cursor.record().map(<[u8]>::to_vec);
                let is_entry = prefix.index >= 30;
                assert!(is_entry || record.is_none(), "{prefix:?}");
                if is_entry {
                    let entry = IndexRow::decode_exact(cursor.value()).unwrap();
                    let (database, store) = (prefix.database_id(), prefix.object_store_id());
                    let mut key = Vec::new();
                    let table = RecordTable::Data.index_number();
                    KeyPrefix::of_object_store(database.unwrap(), store.unwrap(), table)
                        .encode(&mut key);
                    entry.primary_key.encode(&mut key);
                    let is_there = rows.get_into(&key, &mut expected).unwrap();
                    match record {
                        Some(record) => {
                            assert!(is_there && record == expected, "{name}: {prefix:?}");
                            with += 1;
                        }
                        None => without += 1,
                    }
                }
                cursor.next().unwrap();
            }
        }
        assert!(with > 50 && without == 0, "{with} {without}");
    }
}
