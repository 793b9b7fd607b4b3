//! What checking finds: each problem with the place that it is at, a bounded number of each kind.

use std::collections::HashMap;

use larder_backing_store::RowPlace;
use larder_codec::{JsString, Key, RawKey};
use serde::Serialize;

use crate::display::{Quoted, ShownKey};

/// So many kinds of problems are counted apart; what comes beyond them is only counted.
const KINDS_MAX: usize = 10_000;

/// Whether something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is wrong.
    Fault,
    /// Worth knowing, and nothing is wrong.
    Note,
}

/// What was checked. The names are part of the command's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Checksums and structure of LevelDB's files.
    File,
    /// Which table lies in which level, with which keys.
    Level,
    /// The order of all rows.
    Order,
    /// The undo log, and transactions that a crash has left in it.
    UndoLog,
    /// Keys and values of rows.
    Row,
    /// Versions of the store.
    Version,
    /// Rows of databases, object stores and indexes.
    Metadata,
    /// The origin in the names of databases.
    Origin,
    /// The rows of one record beside each other.
    Record,
    /// Values.
    Value,
    /// Primary keys beside the values that have them.
    KeyPath,
    /// Index rows beside records.
    Index,
    /// Blobs beside rows, files and journals.
    Blob,
}

impl Check {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Level => "level",
            Self::Order => "order",
            Self::UndoLog => "undo-log",
            Self::Row => "row",
            Self::Version => "version",
            Self::Metadata => "metadata",
            Self::Origin => "origin",
            Self::Record => "record",
            Self::Value => "value",
            Self::KeyPath => "key-path",
            Self::Index => "index",
            Self::Blob => "blob",
        }
    }
}

/// One problem. Field names are part of the command's contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Whether something is wrong.
    pub severity: Severity,
    /// What was checked.
    pub check: Check,
    /// The database's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<JsString>,
    /// The object store's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_store: Option<JsString>,
    /// The index's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<JsString>,
    /// The record's primary key, or the entry's index key, for eyes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A file of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// All of that in words; empty if it is the store as a whole.
    pub place: String,
    /// What is found there.
    pub problem: String,
    /// So many more of this kind are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Where something is found.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    database: Option<JsString>,
    object_store: Option<JsString>,
    index: Option<JsString>,
    key: Option<Key>,
    /// Where it is, in words.
    place: String,
    /// Which row of that place it is, in words.
    row: String,
    file: Option<String>,
}

impl Place {
    /// The store as a whole.
    pub(super) fn store() -> Self {
        Self::default()
    }

    /// A file of the store.
    pub(super) fn file(name: impl Into<String>) -> Self {
        Self {
            file: Some(name.into()),
            ..Self::default()
        }
    }

    /// A database.
    pub(super) fn of_database(name: &JsString) -> Self {
        Self {
            database: Some(name.clone()),
            place: format!("database {}", Quoted(name)),
            ..Self::default()
        }
    }

    /// Goes on to an object store of the database.
    pub(super) fn add_object_store(&mut self, name: &JsString) {
        self.place
            .push_str(&format!(", object store {}", Quoted(name)));
        self.object_store = Some(name.clone());
    }

    /// A row.
    pub(super) fn of_row(names: RowPlace) -> Self {
        Self {
            database: names.database,
            object_store: names.object_store,
            index: names.index,
            key: names.key,
            place: names.place,
            row: names.row,
            file: None,
        }
    }

    /// What the row belongs to, without the row.
    pub(super) fn around_row(names: RowPlace) -> Self {
        Self {
            key: None,
            row: String::new(),
            ..Self::of_row(names)
        }
    }
}

/// The findings.
#[derive(Debug, Default)]
pub struct Findings {
    listed_max: u64,
    list: Vec<Finding>,
    /// How many there were of each kind, and which of the list came last.
    kinds: HashMap<(Check, String, String), (u64, usize)>,
    faults: u64,
    notes: u64,
    unlisted: u64,
}

impl Findings {
    pub(super) fn new(listed_max: u64) -> Self {
        Self {
            listed_max,
            ..Self::default()
        }
    }

    /// Those that are listed, in the order in which they were found.
    #[must_use]
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// How many faults there are.
    #[must_use]
    pub const fn faults(&self) -> u64 {
        self.faults
    }

    /// How many notes there are.
    #[must_use]
    pub const fn notes(&self) -> u64 {
        self.notes
    }

    /// How many of all are of so many different kinds that they are only counted.
    #[must_use]
    pub const fn unlisted(&self) -> u64 {
        self.unlisted
    }

    pub(super) fn add(&mut self, severity: Severity, check: Check, place: Place, problem: String) {
        match severity {
            Severity::Fault => self.faults += 1,
            Severity::Note => self.notes += 1,
        }
        let kind = (check, place.place.clone(), problem.clone());
        if let Some((count, last)) = self.kinds.get_mut(&kind) {
            *count += 1;
            if *count > self.listed_max {
                if let Some(last) = self.list.get_mut(*last) {
                    last.more += 1;
                }
                return;
            }
            *last = self.list.len();
        } else if self.kinds.len() < KINDS_MAX {
            self.kinds.insert(kind, (1, self.list.len()));
        } else {
            self.unlisted += 1;
            return;
        }
        let parts = [&place.place, &place.row].into_iter().chain(&place.file);
        let parts: Vec<&str> = parts
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        self.list.push(Finding {
            severity,
            check,
            place: parts.join(", "),
            database: place.database,
            object_store: place.object_store,
            index: place.index,
            key: place.key.as_ref().map(shown_key),
            file: place.file,
            problem,
            more: 0,
        });
    }
}

fn shown_key(key: &Key) -> String {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    RawKey::decode_exact(&bytes)
        .map(|key| ShownKey(key).to_string())
        .unwrap_or_default()
}
