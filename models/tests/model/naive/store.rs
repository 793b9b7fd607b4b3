//! Object stores and indexes with their records (specification, 2.1 to 2.3, 2.6) and the operations on them (6.1, 6.2, 6.4 to
//! 6.6).
//!
//! Lists in order, copied whole wherever an operation must be undone.

use std::cmp::Ordering;

use super::Exception;
use super::key::{self, Key, Range};
use super::key_generator::KeyGenerator;
use super::key_path::{self, Extracted, KeyPath};
use super::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Store {
    /// Never the same for two stores, so that handles know theirs after renames.
    pub(crate) id: usize,
    pub(crate) name: Vec<u16>,
    pub(crate) key_path: Option<KeyPath>,
    pub(crate) generator: Option<KeyGenerator>,
    /// In key order.
    pub(crate) records: Vec<(Key, Value)>,
    pub(crate) indexes: Vec<Index>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Index {
    pub(crate) id: usize,
    pub(crate) name: Vec<u16>,
    pub(crate) key_path: KeyPath,
    pub(crate) unique: bool,
    pub(crate) multi_entry: bool,
    /// Keys and primary keys, in order of both.
    pub(crate) records: Vec<(Key, Key)>,
}

/// A record as requests see it: of an object store, `key` and `primary_key` are the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) key: Key,
    pub(crate) primary_key: Key,
    pub(crate) value: Value,
}

impl Index {
    /// "Store a record into an object store", the part for one index.
    pub(crate) fn add(&mut self, primary_key: &Key, value: &Value) -> Result<(), Exception> {
        let extracted = key_path::extract(value, &self.key_path, self.multi_entry);
        let Extracted::Key(index_key) = extracted else {
            return Ok(());
        };
        let keys = match index_key {
            Key::Array(keys) if self.multi_entry => keys,
            key => vec![key],
        };
        if self.unique {
            for key in &keys {
                if self.records.iter().any(|(there, _)| there == key) {
                    return Err("ConstraintError");
                }
            }
        }
        for key in keys {
            self.records.push((key, primary_key.clone()));
        }
        self.records
            .sort_by(|a, b| key::compare(&a.0, &b.0).then_with(|| key::compare(&a.1, &b.1)));
        Ok(())
    }
}

impl Store {
    /// "Store a record into an object store". On failure nothing is changed, the key generator neither (2.11: what it became is
    /// part of the operation).
    pub(crate) fn put(
        &mut self,
        value: Value,
        key: Option<Key>,
        no_overwrite: bool,
    ) -> Result<Key, Exception> {
        let before = self.clone();
        let result = self.put_or_leave_half(value, key, no_overwrite);
        if result.is_err() {
            *self = before;
        }
        result
    }

    fn put_or_leave_half(
        &mut self,
        mut value: Value,
        key: Option<Key>,
        no_overwrite: bool,
    ) -> Result<Key, Exception> {
        let key = match (&mut self.generator, key) {
            (Some(generator), None) => {
                let key = Key::Number(generator.generate().ok_or("ConstraintError")?);
                if let Some(path) = &self.key_path {
                    key_path::inject(&mut value, path, &key);
                }
                key
            }
            (Some(generator), Some(key)) => {
                generator.see(&key);
                key
            }
            (None, Some(key)) => key,
            (None, None) => unreachable!("refused before"),
        };
        if self.records.iter().any(|(there, _)| *there == key) {
            if no_overwrite {
                return Err("ConstraintError");
            }
            self.delete(&Range::only(key.clone()));
        }
        let at = (self.records.iter())
            .position(|(there, _)| key::compare(there, &key) == Ordering::Greater)
            .unwrap_or(self.records.len());
        self.records.insert(at, (key.clone(), value.clone()));
        for index in &mut self.indexes {
            index.add(&key, &value)?;
        }
        Ok(key)
    }

    /// "Delete records from an object store".
    pub(crate) fn delete(&mut self, range: &Range) {
        self.records.retain(|(key, _)| !range.includes(key));
        for index in &mut self.indexes {
            index.records.retain(|(_, key)| !range.includes(key));
        }
    }

    /// "Clear an object store". The key generator stays.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        for index in &mut self.indexes {
            index.records.clear();
        }
    }

    /// Fills an index of this store that was just made.
    pub(crate) fn fill(&self, index: &mut Index) -> Result<(), Exception> {
        for (key, value) in &self.records {
            index.add(key, value)?;
        }
        Ok(())
    }

    /// All records of the store, or as one of its indexes lists them; `None` if the index is gone.
    pub(crate) fn list(&self, index: Option<usize>) -> Option<Vec<Record>> {
        let Some(index) = index else {
            let all = self.records.iter().map(|(key, value)| Record {
                key: key.clone(),
                primary_key: key.clone(),
                value: value.clone(),
            });
            return Some(all.collect());
        };
        let index = self.indexes.iter().find(|there| there.id == index)?;
        let all = index.records.iter().map(|(key, primary_key)| {
            let referenced = self.records.iter().find(|(key, _)| key == primary_key);
            Record {
                key: key.clone(),
                primary_key: primary_key.clone(),
                value: referenced.map_or(Value::Undefined, |(_, value)| value.clone()),
            }
        });
        Some(all.collect())
    }
}
