//! Databases, object stores and indexes, beside those of the same name.

use larder_backing_store::{
    DatabaseMetadata, Error, ErrorKind, IndexMetadata, KEY_GENERATOR_MAX, KeyRange,
    ObjectStoreMetadata,
};
use larder_codec::JsString;

use super::properties::{PropertyChange, Shown};
use super::{Change, Comparison, Difference};
use crate::display::{Quoted, ShownKeyPath};
use crate::scan::Stop;

/// What is in one of two lists, or in both.
type Pair<'m, T> = (Option<&'m T>, Option<&'m T>);

impl Comparison<'_> {
    pub(super) fn databases(&mut self) -> Result<(), Stop> {
        let mut lists = [Vec::new(), Vec::new()];
        for side in [0, 1] {
            let mut problems = Vec::new();
            let all = self.stores[side].databases(&mut problems)?;
            for problem in problems {
                self.problem(side, problem)?;
            }
            let renamed = self.options.with_database.as_ref().filter(|_| side == 1);
            let wanted = renamed.or(self.options.database.as_ref());
            let is_wanted = |database: &DatabaseMetadata| {
                database.version.is_some() && wanted.is_none_or(|name| database.name == *name)
            };
            lists[side] = all.into_iter().filter(is_wanted).collect();
        }
        self.is_there(&lists)?;
        let [one, other] = &lists;
        let renamed = self.options.with_database.is_some();
        let pairs = match (&**one, &**other) {
            ([one], [other]) if renamed => vec![(Some(one), Some(other))],
            _ => pairs(one.iter(), other.iter(), |database| &database.name),
        };
        for pair in pairs {
            match pair {
                (Some(one), Some(other)) => self.database(one, other)?,
                (Some(database), None) => self.lone_database(0, database)?,
                (None, Some(database)) => self.lone_database(1, database)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// A misspelt name must not look like two stores that are equal.
    fn is_there(&self, lists: &[Vec<DatabaseMetadata>; 2]) -> Result<(), Error> {
        let no = |what: &str, name: &JsString| {
            Err(Error::new(
                ErrorKind::Usage,
                format!("no {what} {} in either", Quoted(name)),
            ))
        };
        let mut all = lists.iter().flatten();
        match (&self.options.database, &self.options.object_store) {
            (Some(name), _) if lists.iter().all(Vec::is_empty) => no("database", name),
            (_, Some(name)) => {
                let has = |database: &DatabaseMetadata| {
                    database
                        .object_stores
                        .iter()
                        .any(|store| store.name == *name)
                };
                match all.any(has) {
                    true => Ok(()),
                    false => no("object store", name),
                }
            }
            _ => Ok(()),
        }
    }

    fn wanted<'m>(&self, database: &'m DatabaseMetadata) -> Vec<&'m ObjectStoreMetadata> {
        let wanted = self.options.object_store.as_ref();
        let stores = database.object_stores.iter();
        stores
            .filter(|store| wanted.is_none_or(|name| store.name == *name))
            .collect()
    }

    fn lone_database(&mut self, side: usize, database: &DatabaseMetadata) -> Result<(), Stop> {
        let mut records = 0;
        for object_store in self.wanted(database) {
            records += self.count(side, database, object_store)?;
        }
        let difference = Difference {
            records: Some(records),
            ..of(side_change(side), database)
        };
        Ok(self.report(&difference)?)
    }

    fn count(
        &mut self,
        side: usize,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> Result<u64, Stop> {
        match self.stores[side].count(database.id, object_store.id, &KeyRange::ALL) {
            Ok(count) => Ok(count),
            Err(error) => self.problem(side, error).map(|()| 0),
        }
    }

    fn database(&mut self, one: &DatabaseMetadata, other: &DatabaseMetadata) -> Result<(), Stop> {
        let version = |database: &DatabaseMetadata| database.version.unwrap_or(0).to_string();
        if one.version != other.version && self.options.object_store.is_none() {
            let difference = Difference {
                properties: vec![changed("version", "number", version(one), version(other))],
                ..of(Change::Changed, one)
            };
            self.report(&difference)?;
        }
        let stores = [self.wanted(one), self.wanted(other)];
        let [of_one, of_other] = &stores;
        let pairs = pairs(of_one.iter().copied(), of_other.iter().copied(), |store| {
            &store.name
        });
        for pair in pairs {
            match pair {
                (Some(of_one), Some(of_other)) => {
                    self.object_store([one, other], [of_one, of_other])?;
                }
                (Some(object_store), None) => self.lone_store(0, one, one, object_store)?,
                (None, Some(object_store)) => self.lone_store(1, one, other, object_store)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn lone_store(
        &mut self,
        side: usize,
        named: &DatabaseMetadata,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> Result<(), Stop> {
        let difference = Difference {
            object_store: Some(&object_store.name),
            records: Some(self.count(side, database, object_store)?),
            ..of(side_change(side), named)
        };
        Ok(self.report(&difference)?)
    }

    fn object_store(
        &mut self,
        databases: [&DatabaseMetadata; 2],
        stores: [&ObjectStoreMetadata; 2],
    ) -> Result<(), Stop> {
        let [one, other] = stores;
        let mut properties = Vec::new();
        if one.key_path != other.key_path {
            let path = |store: &ObjectStoreMetadata| ShownKeyPath(&store.key_path).to_string();
            properties.push(changed("keyPath", "key path", path(one), path(other)));
        }
        if one.auto_increment != other.auto_increment {
            let flag = |store: &ObjectStoreMetadata| store.auto_increment.to_string();
            properties.push(changed("autoIncrement", "boolean", flag(one), flag(other)));
        } else if one.auto_increment {
            let next = [0, 1].map(|side| self.next_key(side, databases[side], stores[side]));
            let [next_of_one, next_of_other] = next;
            let (next_of_one, next_of_other) = (next_of_one?, next_of_other?);
            if next_of_one != next_of_other {
                properties.push(changed("nextKey", "number", next_of_one, next_of_other));
            }
        }
        if !properties.is_empty() {
            let difference = Difference {
                object_store: Some(&one.name),
                properties,
                ..of(Change::Changed, databases[0])
            };
            self.report(&difference)?;
        }
        let name = |index: &IndexMetadata| index.name.clone();
        let pairs = pairs(one.indexes.iter(), other.indexes.iter(), |index| {
            &index.name
        });
        for (of_one, of_other) in pairs {
            let (change, properties) = match (of_one, of_other) {
                (Some(of_one), Some(of_other)) => {
                    (Change::Changed, index_changes(of_one, of_other))
                }
                (Some(_), None) => (Change::Removed, Vec::new()),
                _ => (Change::Added, Vec::new()),
            };
            if change == Change::Changed && properties.is_empty() {
                continue;
            }
            let index = of_one.or(of_other).map(name);
            let difference = Difference {
                object_store: Some(&one.name),
                index: index.as_ref(),
                properties,
                ..of(change, databases[0])
            };
            self.report(&difference)?;
        }
        self.records(databases, stores)
    }

    /// The key that the generator gives next, as a text.
    fn next_key(
        &mut self,
        side: usize,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> Result<String, Stop> {
        match self.stores[side].key_generator(database.id, object_store.id) {
            Ok(next) if next > KEY_GENERATOR_MAX => Ok("none left".to_owned()),
            Ok(next) => Ok(next.to_string()),
            Err(error) => self.problem(side, error).map(|()| "unreadable".to_owned()),
        }
    }
}

fn index_changes(one: &IndexMetadata, other: &IndexMetadata) -> Vec<PropertyChange> {
    let mut properties = Vec::new();
    if one.key_path != other.key_path {
        let path = |index: &IndexMetadata| ShownKeyPath(&index.key_path).to_string();
        properties.push(changed("keyPath", "key path", path(one), path(other)));
    }
    for (name, of_one, of_other) in [
        ("unique", one.unique, other.unique),
        ("multiEntry", one.multi_entry, other.multi_entry),
    ] {
        if of_one != of_other {
            let (of_one, of_other) = (of_one.to_string(), of_other.to_string());
            properties.push(changed(name, "boolean", of_one, of_other));
        }
    }
    properties
}

fn changed(path: &str, kind: &'static str, one: String, other: String) -> PropertyChange {
    PropertyChange {
        path: path.to_owned(),
        change: Change::Changed,
        from: Some(Shown { kind, text: one }),
        to: Some(Shown { kind, text: other }),
    }
}

const fn side_change(side: usize) -> Change {
    match side {
        0 => Change::Removed,
        _ => Change::Added,
    }
}

/// A difference of a whole database.
pub(super) fn of(change: Change, database: &DatabaseMetadata) -> Difference<'_> {
    Difference {
        change,
        database: &database.name,
        object_store: None,
        index: None,
        key: None,
        records: None,
        properties: Vec::new(),
        more: 0,
    }
}

/// Pairs of the same name, in order of name. Of several of one name the first is the partner of the first.
fn pairs<'m, T>(
    one: impl Iterator<Item = &'m T>,
    other: impl Iterator<Item = &'m T>,
    name: impl Fn(&T) -> &JsString,
) -> Vec<Pair<'m, T>> {
    let sorted = |mut list: Vec<&'m T>| {
        list.sort_by(|a, b| name(a).cmp(name(b)));
        list.into_iter().peekable()
    };
    let (mut one, mut other) = (sorted(one.collect()), sorted(other.collect()));
    let mut pairs = Vec::new();
    loop {
        let order = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) => name(a).cmp(name(b)),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return pairs,
        };
        pairs.push((
            one.next_if(|_| order.is_le()),
            other.next_if(|_| order.is_ge()),
        ));
    }
}
