//! What must hold whenever a store is read, whatever is in its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::{Comparator, Damage, Db, Error, ErrorKind, Iter, OnDamage, Options};

use crate::files::Files;

/// Keys and values in the store's order.
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The folder in which these stores lie.
pub(crate) const DIR: &str = "store";

/// A store's answer with [`OnDamage::Skip`].
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) rows: Rows,
    pub(crate) damage: Vec<Damage>,
    /// Whether [`OnDamage::Fail`] gave the same without an error.
    pub(crate) is_whole: bool,
}

impl Shown {
    /// Whether the store says that what it shows may be outdated.
    pub(crate) fn may_be_outdated(&self) -> bool {
        self.damage.iter().any(|damage| damage.outdated_possible)
    }
}

/// Puts files into the store's folder.
pub(crate) fn store(files: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> Files {
    Files(
        files
            .into_iter()
            .map(|(name, content)| (format!("{DIR}/{name}"), content))
            .collect(),
    )
}

/// Reads the store in [`DIR`] in every way there is, and checks that all ways agree as far as they must. `None` if it is no
/// store, or one of another order.
pub(crate) fn read(files: &Files, comparator: &Arc<dyn Comparator>) -> Option<Shown> {
    let fs = files.mount();
    let strict = open(&fs, comparator, OnDamage::Fail).and_then(|db| {
        let forward = walk(&db, false)?;
        let backward = walk(&db, true)?;
        assert_eq!(
            forward,
            reversed(backward),
            "undamaged, it is the same in both directions"
        );
        Ok(forward)
    });
    let db = match open(&fs, comparator, OnDamage::Skip) {
        Ok(db) => db,
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::NotAStore | ErrorKind::Usage),
                "skipping damage, any store opens: {error}"
            );
            assert!(
                strict.is_err(),
                "both ways of opening agree on what is no store: {error}"
            );
            return None;
        }
    };
    let rows = walk(&db, false)
        .unwrap_or_else(|error| panic!("skipping damage, any store reads: {error}"));
    let backward =
        walk(&db, true).unwrap_or_else(|error| panic!("skipping damage, any store reads: {error}"));
    entries(&db).unwrap_or_else(|error| panic!("skipping damage, any store reads: {error}"));
    let damage = db.damage();
    if damage.is_empty() {
        assert_eq!(
            rows,
            reversed(backward),
            "undamaged, it is the same in both directions"
        );
        points(&db, &rows);
    }
    if let Ok(strict) = &strict {
        assert_eq!(damage, [], "what reads without an error is not damaged");
        assert_eq!(
            *strict, rows,
            "without damage, both ways of opening show the same"
        );
    }
    Some(Shown {
        rows,
        damage,
        is_whole: strict.is_ok(),
    })
}

fn open(
    fs: &Arc<MemoryFileSystem>,
    comparator: &Arc<dyn Comparator>,
    on_damage: OnDamage,
) -> Result<Db, Error> {
    let mut options = Options::new(comparator.clone());
    options.on_damage = on_damage;
    options.log_value_bytes = 4096;
    options.open_tables_max = 2;
    Db::open_read_only(fs.clone(), Path::new(DIR), options)
}

fn walk(db: &Db, backward: bool) -> Result<Rows, Error> {
    let mut iter = db.snapshot().iter();
    let mut rows = Rows::new();
    if backward {
        iter.seek_to_last()?
    } else {
        iter.seek_to_first()?
    }
    while iter.valid() {
        rows.push(current(&iter)?);
        if backward { iter.prev()? } else { iter.next()? }
    }
    Ok(rows)
}

fn current(iter: &Iter) -> Result<(Vec<u8>, Vec<u8>), Error> {
    Ok((iter.key().to_vec(), iter.value()?.to_vec()))
}

fn reversed(mut rows: Rows) -> Rows {
    rows.reverse();
    rows
}

fn entries(db: &Db) -> Result<usize, Error> {
    let mut entries = db.snapshot().entries();
    let mut count = 0;
    while entries.advance()? {
        entries.value()?;
        assert!(!entries.file_name().is_empty(), "every entry is in a file");
        count += 1;
    }
    Ok(count)
}

/// Every row that a walk shows is where a search for it leads to.
fn points(db: &Db, rows: &Rows) {
    const TRIED: usize = 50;
    let snapshot = db.snapshot();
    let mut iter = snapshot.iter();
    for row in rows.iter().step_by((rows.len() / TRIED).max(1)) {
        let (key, value) = row;
        assert_eq!(
            snapshot.get(key).expect("undamaged").as_ref(),
            Some(value),
            "get"
        );
        iter.seek(key).expect("undamaged");
        assert_eq!(current(&iter).as_ref().ok(), Some(row), "seek");
        iter.seek_for_prev(key).expect("undamaged");
        assert_eq!(current(&iter).as_ref().ok(), Some(row), "seek for prev");
    }
}

/// What was written into a store: everything, and what is left of it.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Every key with every value it ever had.
    pub(crate) ever: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// What an undamaged store shows.
    pub(crate) last: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Written {
    /// Notes a write; `None` is a deletion.
    pub(crate) fn note(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        match value {
            Some(value) => {
                self.ever.insert((key.clone(), value.clone()));
                self.last.insert(key, value);
            }
            None => drop(self.last.remove(&key)),
        }
    }

    /// Whether rows are what an undamaged store shows.
    pub(crate) fn is(&self, rows: &Rows) -> bool {
        rows.len() == self.last.len()
            && rows
                .iter()
                .all(|(key, value)| self.last.get(key) == Some(value))
    }

    /// After any damage: nothing is shown that was never written.
    pub(crate) fn check_damaged(&self, shown: &Shown) {
        for row in &shown.rows {
            assert!(
                self.ever.contains(row),
                "never written: {row:02x?}\n{:#?}",
                shown.damage
            );
        }
    }

    /// After one byte was changed: nothing wrong, and nothing missing without a word.
    pub(crate) fn check_one_byte(&self, shown: &Shown) {
        self.check_damaged(shown);
        if shown.may_be_outdated() {
            return;
        }
        for (key, value) in &shown.rows {
            assert_eq!(
                self.last.get(key),
                Some(value),
                "outdated, and not said to be: {:#?}",
                shown.damage
            );
        }
        assert!(
            !shown.damage.is_empty() || self.is(&shown.rows),
            "rows vanished in silence"
        );
        assert!(
            !shown.is_whole || self.is(&shown.rows),
            "wrong, and no error"
        );
    }
}
