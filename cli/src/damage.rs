//! Damage in a person's terms: which database, object store and key, and how much of it there is in all.
//!
//! One missing table makes hundreds of rows doubtful. The first few of a kind are named, the rest are counted.

use std::collections::HashMap;

use larder_backing_store::{Error, RowNames, Store};
use larder_leveldb::Damage;
use serde::Serialize;

use crate::display::Size;
use crate::report::Report;

/// So many problems of one kind in one place are named, unless all are wanted.
const NAMED_MAX: u64 = 10;

/// So many kinds of problems are counted apart in one store; beyond them each problem is reported.
const KINDS_MAX: usize = 10_000;

/// What one store's damage comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Total {
    /// Damaged places in LevelDB's files; a missing file is one.
    places: usize,
    /// Bytes of those files that cannot be used.
    bytes: u64,
    /// Rows, values and blobs that could not be read.
    unreadable: u64,
    /// How often an older row was not shown because what is lost may have overwritten or deleted it.
    withheld: u64,
}

impl Total {
    /// Damage in a store's files, and so many rows besides that could not be read.
    pub(crate) fn of(damage: &[Damage], unreadable: u64) -> Self {
        Self {
            places: damage.len(),
            bytes: damage.iter().map(|damage| damage.len_bytes).sum(),
            unreadable,
            withheld: damage.iter().map(|damage| damage.withheld).sum(),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.places > 0 {
            let count = count(self.places as u64, "place", "places");
            parts.push(match self.bytes {
                0 => format!("{count} in LevelDB's files"),
                bytes => format!("{count} in LevelDB's files ({})", Size(bytes)),
            });
        }
        if self.unreadable > 0 {
            let what = count(self.unreadable, "row or value", "rows or values");
            parts.push(format!("{what} could not be read"));
        }
        if self.withheld > 0 {
            let times = count(self.withheld, "time", "times");
            parts.push(format!("older rows withheld {times}"));
        }
        parts.join(", ")
    }
}

fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// The problems of one store as they come: named, or counted.
pub(crate) struct Tally {
    /// The store's folder.
    store: String,
    names: RowNames,
    named_max: u64,
    /// How many of each kind there were, by place and problem.
    kinds: HashMap<(String, String), u64>,
    /// The kinds in the order in which they came.
    order: Vec<(String, String)>,
    unreadable: u64,
}

impl Tally {
    pub(crate) fn new(store: &Store, names: RowNames, all: bool) -> Self {
        Self {
            store: store.paths().leveldb.display().to_string(),
            names,
            named_max: if all { u64::MAX } else { NAMED_MAX },
            kinds: HashMap::new(),
            order: Vec::new(),
            unreadable: 0,
        }
    }

    /// A row that could not be read.
    pub(crate) fn error(&mut self, report: &mut Report, error: &Error) {
        match error.key() {
            Some(key) => self.row(report, key, &error.without_row().to_string()),
            None => {
                self.unreadable += 1;
                report.damage(&self.store, error);
            }
        }
    }

    /// A row of which something cannot be decoded.
    pub(crate) fn row(&mut self, report: &mut Report, row: &[u8], what: &str) {
        let place = self.names.place(row);
        self.problem(report, place.place, &place.row, what);
    }

    /// Something of a row, which lies at `place`.
    pub(crate) fn problem(&mut self, report: &mut Report, place: String, row: &str, what: &str) {
        self.unreadable += 1;
        let text = format!("{place}, {row}: {what}");
        let kind = (place, what.to_owned());
        if let Some(count) = self.kinds.get_mut(&kind) {
            *count += 1;
            if *count > self.named_max {
                return;
            }
        } else if self.kinds.len() < KINDS_MAX {
            self.order.push(kind.clone());
            self.kinds.insert(kind, 1);
        }
        report.damage(&self.store, text);
    }

    pub(crate) fn total(&self, store: &Store) -> Total {
        Total::of(&store.damage(), self.unreadable)
    }

    /// Reports what was only counted, the damaged places of files, which are known when everything has been read, and the total.
    pub(crate) fn finish(self, report: &mut Report, store: &Store) {
        let total = self.total(store);
        for kind in &self.order {
            let more = self.kinds[kind].saturating_sub(self.named_max);
            if more > 0 {
                let (place, what) = kind;
                report.damage(
                    &self.store,
                    format_args!("{place}: {more} more: {what} (--verbose names all)"),
                );
            }
        }
        for damage in store.damage() {
            report.damage(&self.store, self.names.damage(&damage));
        }
        if !total.is_none() {
            report.damage(&self.store, format_args!("in all: {}", total.text()));
        }
    }
}
