//! What must hold for hostile stores, little as it is: no panic; an end, after a number of steps that what is there bounds; what is
//! JSON stays JSON; what was committed is there when the store is opened again; what was repaired opens.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{
    CursorDirection, ErrorKind, IdbComparator, OpenOptions, Result, RowsInDoubt, Store, repair,
};
use larder_leveldb::{Db, Iter, OnDamage, Options};

use super::hostile_files;
use crate::base::Base;
use crate::files::Files;
use crate::reading::DIR;
use crate::{store_directory, store_writing};

/// A store of these choices: read in every way, written to, repaired.
pub fn hostile_store(data: &[u8]) {
    let files = hostile_files(data);
    for on_damage in [OnDamage::Skip, OnDamage::Fail] {
        let entries = engine(&files, on_damage);
        reads(&files, on_damage, entries);
    }
    store_writing::write_to(&files.mount());
    repaired(&files);
}

/// So many searches are tried: each may have to pass over all that is damaged.
const SOUGHT_MAX: usize = 8;

/// Steps that are taken, against those that may be.
struct Budget {
    left: Cell<usize>,
}

impl Budget {
    /// So many for each entry of the files, and some for each of the few things that there always are.
    fn new(each: usize, entries: usize) -> Budget {
        let left = Cell::new(each * (entries + 1000));
        Budget { left }
    }

    fn step(&self) {
        let left = self.left.get().checked_sub(1);
        self.left
            .set(left.expect("what is there is walked over in a few steps for each entry"));
    }
}

/// All entries and rows, forward and backward, and where searches lead to. How many entries there are.
fn engine(files: &Files, on_damage: OnDamage) -> usize {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.on_damage = on_damage;
    let opened = Db::open_read_only(files.mount(), Path::new(DIR), options);
    let Ok(db) = opened else { return 0 };
    let snapshot = db.snapshot();
    let mut entries = snapshot.entries();
    let mut count = 0;
    let mut keys = Vec::new();
    while entries.advance().unwrap_or(false) {
        count += 1;
        if count % 64 == 1 && keys.len() < SOUGHT_MAX {
            keys.push(entries.key().to_vec());
        }
    }
    let budget = Budget::new(4, count);
    let mut iter = snapshot.iter();
    let mut moved = iter.seek_to_first();
    while moved.is_ok() && iter.valid() {
        budget.step();
        let _ = iter.value();
        moved = iter.next();
    }
    let mut moved = iter.seek_to_last();
    while moved.is_ok() && iter.valid() {
        budget.step();
        moved = iter.prev();
    }
    for key in keys {
        let _ = snapshot.get(&key);
        for seek in [Iter::seek, Iter::seek_for_prev] {
            if seek(&mut iter, &key).is_ok() && iter.next().is_ok() {
                let _ = iter.prev();
            }
        }
    }
    count
}

/// What every database, object store and index shows, in all directions, and the document of all.
fn reads(files: &Files, on_damage: OnDamage, entries: usize) {
    let options = OpenOptions {
        on_damage,
        ..OpenOptions::default()
    };
    let Ok(store) = Store::open_read_only(files.mount(), Base::paths(), options) else {
        return;
    };
    let budget = Budget::new(50, entries);
    let databases = store.databases(&mut Vec::new()).unwrap_or_default();
    for database in &databases {
        for object_store in &database.object_stores {
            for direction in [
                CursorDirection::Next,
                CursorDirection::Prev,
                CursorDirection::NextUnique,
                CursorDirection::PrevUnique,
            ] {
                let mut cursor = store.records(database.id, object_store.id, direction);
                walk(&budget, || cursor.next());
                for index in &object_store.indexes {
                    let (database, object_store, index) = (database.id, object_store.id, index.id);
                    let mut cursor = store.index_entries(database, object_store, index, direction);
                    walk(&budget, || cursor.next());
                }
            }
        }
    }
    if on_damage == OnDamage::Skip {
        store_directory::document(&store);
    }
}

/// To the end, over rows that cannot be read.
fn walk(budget: &Budget, mut next: impl FnMut() -> Result<bool>) {
    loop {
        budget.step();
        match next() {
            Ok(true) => {}
            Err(error) if error.kind() == ErrorKind::Corruption => {}
            Ok(false) | Err(_) => return,
        }
    }
}

/// What repair has written anew opens for writing and is read without damage.
fn repaired(files: &Files) {
    let fs = files.mount();
    if repair(fs.clone(), &Base::paths(), RowsInDoubt::BringBack).is_err() {
        return;
    }
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open_read_only(fs, Path::new(DIR), options).expect("what was repaired opens");
    let mut iter = db.snapshot().iter();
    iter.seek_to_first().expect("what was repaired reads");
    while iter.valid() {
        iter.value().expect("what was repaired reads");
        iter.next().expect("what was repaired reads");
    }
}
