//! The reference: one database in plain maps, and cursors that look for their next entry among all entries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use larder_backing_store::CursorDirection;
use larder_codec::Key;

/// A key generator that is above this is used up.
const GENERATOR_MAX: i64 = 1 << 53;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Database {
    pub(crate) version: Option<i64>,
    pub(crate) max_store: i64,
    pub(crate) stores: BTreeMap<i64, Store>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Store {
    pub(crate) name: String,
    pub(crate) auto_increment: bool,
    pub(crate) generator: i64,
    pub(crate) last_version: i64,
    pub(crate) max_index: i64,
    pub(crate) records: BTreeMap<Key, Record>,
    pub(crate) indexes: BTreeMap<i64, Index>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) version: i64,
    pub(crate) value: Vec<u8>,
    /// The contents of its blobs.
    pub(crate) objects: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) unique: bool,
    /// Index key and primary key.
    pub(crate) entries: BTreeSet<(Key, Key)>,
}

/// A constraint is broken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Add,
    Put,
    Update,
}

pub(crate) type Range = (Bound<Key>, Bound<Key>);

pub(crate) fn contains((lower, upper): &Range, key: &Key) -> bool {
    let above = match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    };
    above
        && match upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        }
}

impl Store {
    pub(crate) fn new(name: String, auto_increment: bool) -> Self {
        Self {
            name,
            auto_increment,
            generator: 1,
            last_version: 1,
            max_index: 30,
            records: BTreeMap::new(),
            indexes: BTreeMap::new(),
        }
    }

    /// A put of a given key, or of a generated one; its index keys as (index, key).
    pub(crate) fn put(
        &mut self,
        key: Option<&Key>,
        value: &[u8],
        mode: Mode,
        index_keys: &[(i64, Key)],
        objects: &[Vec<u8>],
    ) -> Result<Option<i64>, Refused> {
        let generated = key.is_none().then_some(self.generator);
        if generated.is_some_and(|number| number > GENERATOR_MAX) {
            return Err(Refused);
        }
        let key = match (key, generated) {
            (Some(key), _) => key.clone(),
            (None, number) => Key::Number(number.unwrap() as f64),
        };
        if mode == Mode::Add && self.records.contains_key(&key) {
            return Err(Refused);
        }
        self.check_unique(&key, index_keys)?;
        self.remove(&key);
        self.last_version += 1;
        let record = Record {
            version: self.last_version,
            value: value.to_vec(),
            objects: objects.to_vec(),
        };
        self.records.insert(key.clone(), record);
        self.insert_index_keys(&key, index_keys);
        if let (Key::Number(number), true) = (&key, self.auto_increment && mode != Mode::Update) {
            let next = number.min(GENERATOR_MAX as f64).floor() + 1.0;
            if generated.is_some() || next > self.generator as f64 {
                self.generator = if *number >= GENERATOR_MAX as f64 {
                    GENERATOR_MAX + 1
                } else {
                    next as i64
                };
            }
        }
        Ok(generated)
    }

    pub(crate) fn check_unique(&self, key: &Key, index_keys: &[(i64, Key)]) -> Result<(), Refused> {
        let is_taken = |(id, index_key): &(i64, Key)| {
            let index = &self.indexes[id];
            index.unique
                && index
                    .entries
                    .iter()
                    .any(|(have, primary_key)| have == index_key && primary_key != key)
        };
        if index_keys.iter().any(is_taken) {
            return Err(Refused);
        }
        Ok(())
    }

    pub(crate) fn insert_index_keys(&mut self, key: &Key, index_keys: &[(i64, Key)]) {
        for (id, index_key) in index_keys {
            let index = self.indexes.get_mut(id).unwrap();
            index.entries.insert((index_key.clone(), key.clone()));
        }
    }

    fn remove(&mut self, key: &Key) {
        self.records.remove(key);
        for index in self.indexes.values_mut() {
            index.entries.retain(|(_, primary_key)| primary_key != key);
        }
    }

    pub(crate) fn delete(&mut self, range: &Range) {
        let keys: Vec<Key> = self.records.keys().cloned().collect();
        for key in keys.iter().filter(|key| contains(range, key)) {
            self.remove(key);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.delete(&(Bound::Unbounded, Bound::Unbounded));
    }

    /// All entries of an index, or of the records as if they were one, by (key, primary key).
    pub(crate) fn entries(&self, index: Option<i64>) -> Vec<(Key, Key)> {
        match index {
            Some(id) => self.indexes[&id].entries.iter().cloned().collect(),
            None => {
                let pair = |key: &Key| (key.clone(), key.clone());
                self.records.keys().map(pair).collect()
            }
        }
    }
}

/// A cursor that has its position and no other state.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    pub(crate) range: Range,
    pub(crate) direction: CursorDirection,
    pub(crate) at: Option<(Key, Key)>,
    pub(crate) ended: bool,
}

impl Cursor {
    /// The next entry, at or behind the target if there is one.
    pub(crate) fn go(
        &mut self,
        entries: &[(Key, Key)],
        target: Option<&(Key, Option<Key>)>,
    ) -> Option<(Key, Key)> {
        if self.ended {
            return None;
        }
        let forward = self.direction.is_forward();
        let is_behind = |entry: &(Key, Key)| match &self.at {
            None => true,
            Some(at) if self.direction.is_unique() && forward => entry.0 > at.0,
            Some(at) if self.direction.is_unique() => entry.0 < at.0,
            Some(at) if forward => entry > at,
            Some(at) => entry < at,
        };
        let reaches = |entry: &(Key, Key)| match target {
            None => true,
            Some((key, None)) if forward => entry.0 >= *key,
            Some((key, None)) => entry.0 <= *key,
            Some((key, Some(primary_key))) => {
                let target = (key.clone(), primary_key.clone());
                if forward {
                    *entry >= target
                } else {
                    *entry <= target
                }
            }
        };
        let mut left = entries
            .iter()
            .filter(|entry| contains(&self.range, &entry.0) && is_behind(entry) && reaches(entry));
        let mut found = if forward {
            left.next()
        } else {
            left.next_back()
        };
        if self.direction == CursorDirection::PrevUnique
            && let Some(last) = found
        {
            found = entries.iter().find(|entry| entry.0 == last.0);
        }
        self.at = found.cloned();
        self.ended = found.is_none();
        self.at.clone()
    }
}
