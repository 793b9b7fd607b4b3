//! A cursor over the parts.

use std::cmp::Ordering;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, OnFirstRow, RowIter};
use larder_codec::compare;

use crate::lookups;
use crate::page::{Found, Page};
use crate::parts::{Content, Part, Table};
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
    /// The value, if it does not lie in the page.
    value: Vec<u8>,
    brings_records: bool,
    /// Rows of the table that it is in.
    page: Page,
    read: Read,
}

/// What the page has of the row on which the cursor stands.
#[derive(Debug, Clone, Copy)]
enum Read {
    /// Not its value.
    Nothing,
    /// It is the row with this number, whose value is the cursor's.
    Value(usize),
    /// It is the row with this number, whose value is that of the record that the entry leads to.
    Record(usize),
}

/// Where in its part.
#[derive(Debug)]
enum Inside {
    /// In rows in memory: the number of the next one.
    Rows(Option<usize>),
    Table {
        /// The number of the page's row that comes next.
        next: usize,
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
            page: Page::default(),
            read: Read::Nothing,
        }
    }

    /// To the first row at or beyond `key`, in the direction.
    fn position(&mut self, key: &[u8], forward: bool) -> Result<(), Error> {
        self.page.clear();
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
        self.page.clear();
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
        self.read = Read::Nothing;
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
            (Inside::Table { next, from, count }, Content::Table(table)) => {
                let page = &mut self.page;
                if *next == page.len() {
                    let Some((place, included)) = from.take() else {
                        return Ok(false);
                    };
                    *next = 0;
                    let way = (included, self.forward);
                    match table.rows(page, &place, way, (*count, self.brings_records)) {
                        Ok(()) => {
                            let checked = check_order(&place, page.rows(), self.forward);
                            checked.map_err(|error| {
                                page.clear();
                                table.lost(error)
                            })?;
                            let last = page.len().checked_sub(1).filter(|_| !page.is_last);
                            let last = last.and_then(|last| page.row(last));
                            *from = last.map(|last| (last.place(), false));
                            *count = (*count * GROWTH).min(ROWS_AT_A_TIME);
                        }
                        Err(error) if error.kind() == ErrorKind::Corruption => {
                            *page = rest(table, &place, self.forward);
                            return Err(table.lost(error));
                        }
                        Err(error) => {
                            page.clear();
                            return Err(error);
                        }
                    }
                }
                let n = *next;
                let Some(found) = page.row(n) else {
                    return Ok(false);
                };
                *next += 1;
                table.make(found, &mut self.key, &mut self.value)?;
                self.read = match found.value {
                    Some(_) if table.is_of_records() => Read::Value(n),
                    Some(_) => Read::Record(n),
                    None => Read::Nothing,
                };
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The value of a row of the page.
    fn read(&self, n: usize) -> Option<&[u8]> {
        self.page.row(n)?.value
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
            next: 0,
            from: Some((place, included)),
            count: 1,
        }
    }
}

impl Found<'_> {
    fn place(&self) -> Place {
        Place::At(self.key.to_vec(), self.record_key.to_vec())
    }
}

/// Rows must ascend from the place on, or descend: a damaged file may go round in circles.
fn check_order<'a>(
    place: &'a Place,
    found: impl Iterator<Item = Found<'a>>,
    forward: bool,
) -> Result<(), Error> {
    let mut last = match place {
        Place::At(key, record_key) => Some((&**key, &**record_key)),
        Place::First | Place::Last | Place::Before(_) | Place::Behind(_) => None,
    };
    for (n, found) in found.enumerate() {
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
fn rest(table: &Table, place: &Place, forward: bool) -> Page {
    let (mut rest, mut one) = (Page::default(), Page::default());
    let mut from = (if forward { Place::Last } else { Place::First }, true);
    // One by one: of several together, all would be lost with the last. Many are kept: each value is read again.
    while rest.len_bytes() + rest.len() * size_of::<Found<'_>>() < KEPT_BYTES_MAX
        && let Ok(()) = table.rows(&mut one, &from.0, (from.1, !forward), (1, false))
        && let Some(found) = one.row(0)
    {
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
        if !is_new || check_order(&from.0, std::iter::once(found), !forward).is_err() {
            break;
        }
        from = (found.place(), false);
        rest.push_keys_of(found);
    }
    rest.reverse();
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
        match self.read {
            _ if !self.is_valid => &[],
            Read::Value(n) => self.read(n).unwrap_or_default(),
            Read::Nothing | Read::Record(_) => &self.value,
        }
    }

    fn bring_records(&mut self) {
        self.brings_records = true;
    }

    fn record(&self) -> Option<&[u8]> {
        match self.read {
            Read::Record(n) if self.is_valid => self.read(n),
            _ => None,
        }
    }

    fn multi_seek(&mut self, prefixes: &mut dyn Iterator<Item = &[u8]>, found: OnFirstRow<'_>) {
        let parts = Arc::clone(&self.parts);
        lookups::multi_seek(prefixes, found, &|_| Some(Arc::clone(&parts)), self);
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
