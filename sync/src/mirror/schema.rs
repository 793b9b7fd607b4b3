//! The schema of a database, as a page has it: version, object stores, indexes.

use std::collections::BTreeMap;

use larder_idb::{IndexParameters, JsString, KeyPath, ObjectStoreParameters, Transaction};
use larder_pages::{Commit, Journal, Page};

use super::bytes::{Bytes, put_key_path, put_number, put_string};
use super::entry_key::{SCHEMA, of_object_store};
use super::error::{Error, Result};

/// No object store's schema has more bytes.
const ENTRY_LEN_MAX: u64 = 16 << 20;

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Index {
    name: JsString,
    key_path: KeyPath,
    unique: bool,
    multi_entry: bool,
}

/// An object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreSchema {
    key_path: KeyPath,
    pub(super) auto_increment: bool,
    /// By name.
    indexes: Vec<Index>,
}

/// The schema of a database of some version; version 0 is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) version: u64,
    pub(super) object_stores: BTreeMap<JsString, StoreSchema>,
}

impl StoreSchema {
    pub(super) fn has_indexes(&self) -> bool {
        !self.indexes.is_empty()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_key_path(&self.key_path, &mut out);
        out.push(self.auto_increment.into());
        put_number(self.indexes.len() as u64, &mut out);
        for index in &self.indexes {
            put_string(&index.name, &mut out);
            put_key_path(&index.key_path, &mut out);
            out.push(index.unique.into());
            out.push(index.multi_entry.into());
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut bytes = Bytes(bytes);
        let (key_path, auto_increment) = (bytes.key_path()?, bytes.flag()?);
        let mut indexes = Vec::new();
        for _ in 0..bytes.number()? {
            indexes.push(Index {
                name: bytes.string()?,
                key_path: bytes.key_path()?,
                unique: bytes.flag()?,
                multi_entry: bytes.flag()?,
            });
        }
        bytes.end()?;
        Ok(Self {
            key_path,
            auto_increment,
            indexes,
        })
    }

    /// What differs first.
    fn difference(&self, other: &Self) -> Option<String> {
        if self.key_path != other.key_path {
            return Some("its key path".to_owned());
        }
        if self.auto_increment != other.auto_increment {
            return Some("its key generator".to_owned());
        }
        let differs = |index: &&Index| !other.indexes.contains(index);
        let lacks = |index: &&Index| !self.indexes.contains(index);
        let first = self.indexes.iter().find(differs);
        let first = first.or_else(|| other.indexes.iter().find(lacks));
        first.map(|index| format!("its index {:?}", index.name.to_string_lossy()))
    }
}

impl Schema {
    /// The schema of the database that a transaction of all object stores reads.
    pub(super) fn of_database(view: &Transaction) -> Result<Self> {
        let connection = view.connection();
        let mut object_stores = BTreeMap::new();
        for name in connection.object_store_names() {
            let object_store = view.object_store(&name)?;
            let mut indexes = Vec::new();
            for name in object_store.index_names() {
                let index = object_store.index(&name)?;
                indexes.push(Index {
                    key_path: index.key_path().clone(),
                    unique: index.unique(),
                    multi_entry: index.multi_entry(),
                    name,
                });
            }
            let schema = StoreSchema {
                key_path: object_store.key_path().clone(),
                auto_increment: object_store.auto_increment(),
                indexes,
            };
            object_stores.insert(name, schema);
        }
        Ok(Self {
            version: connection.version(),
            object_stores,
        })
    }

    /// The schema that a commit holds.
    pub(super) fn of_commit(page: &Page, commit: &Commit) -> Result<Self> {
        let snapshot = page.snapshot(commit, &[SCHEMA]);
        let mut schema = Self::default();
        for entry in snapshot.entries(&[SCHEMA])? {
            let entry = entry?;
            let (key, mut reader) = (&entry.key, super::record::open(page, &entry)?);
            if reader.len() > ENTRY_LEN_MAX {
                let what = format!("a schema's entry of {} bytes", reader.len());
                return Err(Error::malformed(what));
            }
            let value = reader.read_range(0, ENTRY_LEN_MAX)?;
            if *key == [SCHEMA] {
                let mut bytes = Bytes(&value);
                schema.version = bytes.number()?;
                bytes.end()?;
                continue;
            }
            let name = larder_idb::codec::sortable::decode_exact(&key[1..]);
            let Ok(larder_idb::Key::String(name)) = name else {
                let what = format!("the schema's key {}", key.escape_ascii());
                return Err(Error::malformed(what));
            };
            let decoded = StoreSchema::decode(&value)?;
            schema.object_stores.insert(name, decoded);
        }
        Ok(schema)
    }

    /// Puts it into a journal in the place of another.
    pub(super) fn write(&self, old: &Self, journal: &mut Journal) -> Result<()> {
        let mut version = Vec::new();
        put_number(self.version, &mut version);
        journal.put(&[SCHEMA], &version)?;
        for name in old.object_stores.keys() {
            if !self.object_stores.contains_key(name) {
                journal.delete(&of_object_store(name)?)?;
            }
        }
        for (name, object_store) in &self.object_stores {
            journal.put(&of_object_store(name)?, &object_store.encode())?;
        }
        Ok(())
    }

    /// That another of the same version is alike.
    pub(super) fn check_alike(&self, other: &Self) -> Result<()> {
        if self.version != other.version || self == other {
            return Ok(());
        }
        let names = self.object_stores.keys().chain(other.object_stores.keys());
        let mut differences = names.filter_map(|name| {
            let of = |schema: &Self| schema.object_stores.get(name).cloned();
            let what = match (of(self), of(other)) {
                (Some(one), Some(other)) => one.difference(&other)?,
                _ => "one of them has no such".to_owned(),
            };
            Some(format!("object store {:?}: {what}", name.to_string_lossy()))
        });
        let what = differences.next().unwrap_or_default();
        Err(Error::SchemaDiffers {
            version: self.version,
            what,
        })
    }

    /// Makes the object stores and indexes in a new database.
    pub(super) fn create(&self, transaction: &Transaction) -> larder_idb::Result<()> {
        for (name, schema) in &self.object_stores {
            let parameters = ObjectStoreParameters::new()
                .key_path(schema.key_path.clone())
                .auto_increment(schema.auto_increment);
            let object_store = transaction.create_object_store(name, parameters)?;
            for index in &schema.indexes {
                let parameters = IndexParameters::new()
                    .unique(index.unique)
                    .multi_entry(index.multi_entry);
                object_store.create_index(&index.name, index.key_path.clone(), parameters)?;
            }
        }
        Ok(())
    }
}
