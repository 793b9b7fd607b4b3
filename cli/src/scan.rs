//! One store on its way through a command: what is asked of it, and where problems go.

use std::fmt;
use std::io;

use larder_backing_store::{
    DatabaseMetadata, Error, ErrorKind, ObjectStoreMetadata, RowNames, Store,
};
use larder_codec::{JsString, RawKey};

use crate::damage::{Tally, Total};
use crate::display::{Quoted, ShownKey};
use crate::progress::Progress;
use crate::record::is_missing_file;
use crate::report::Report;

/// Why a command cannot go on with a store.
#[derive(Debug)]
pub enum Stop {
    /// The output is gone: the whole command ends.
    Output(io::Error),
    /// The store cannot be read on.
    Store(Error),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "output: {error}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Stop {}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Which databases and object stores are wanted.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only databases of this name.
    pub database: Option<JsString>,
    /// Only object stores of this name.
    pub object_store: Option<JsString>,
}

impl Selection {
    /// Whether a store has something of these names that Chromium would show.
    pub(crate) fn is_in(&self, databases: &[DatabaseMetadata]) -> bool {
        if self.database.is_none() && self.object_store.is_none() {
            return true;
        }
        databases
            .iter()
            .filter(|database| database.version.is_some())
            .filter(|database| {
                self.database
                    .as_ref()
                    .is_none_or(|name| database.name == *name)
            })
            .any(|database| match &self.object_store {
                Some(name) => database
                    .object_stores
                    .iter()
                    .any(|store| store.name == *name),
                None => true,
            })
    }

    /// What is wanted, for people; `None` if that is everything.
    pub(crate) fn describe(&self) -> Option<String> {
        let database = self
            .database
            .as_ref()
            .map(|name| format!("database {}", Quoted(name)));
        let store = self
            .object_store
            .as_ref()
            .map(|name| format!("object store {}", Quoted(name)));
        match (store, database) {
            (Some(store), Some(database)) => Some(format!("{store} in a {database}")),
            (one, other) => one.or(other),
        }
    }
}

/// A store being read by a command.
pub struct Scan<'a> {
    /// The store.
    pub store: &'a Store,
    /// What is wanted of it.
    pub selection: &'a Selection,
    /// Where problems go.
    pub report: &'a mut Report,
    /// What has been read.
    pub progress: &'a mut Progress,
    /// The store's problems so far.
    pub(crate) tally: Tally,
}

impl<'a> Scan<'a> {
    /// A scan of this store, which names the first damaged rows of a kind.
    pub fn new(
        store: &'a Store,
        selection: &'a Selection,
        report: &'a mut Report,
        progress: &'a mut Progress,
    ) -> Self {
        let tally = Tally::new(store, RowNames::of(store), false);
        Self {
            store,
            selection,
            report,
            progress,
            tally,
        }
    }

    /// The databases that are wanted. Metadata rows that could not be read are reported.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn databases(&mut self) -> Result<Vec<DatabaseMetadata>, Stop> {
        let mut problems = Vec::new();
        let mut databases = self.store.databases(&mut problems)?;
        for problem in &problems {
            self.damage(problem);
        }
        if let Some(name) = &self.selection.database {
            databases.retain(|database| database.name == *name);
        }
        Ok(databases)
    }

    /// The object stores of a database that are wanted.
    pub fn object_stores<'d>(
        &self,
        database: &'d DatabaseMetadata,
    ) -> impl Iterator<Item = &'d ObjectStoreMetadata> + use<'d> {
        let wanted = self.selection.object_store.clone();
        database
            .object_stores
            .iter()
            .filter(move |store| wanted.as_ref().is_none_or(|name| store.name == *name))
    }

    /// Moves a cursor on. Rows that cannot be read are reported and passed over.
    ///
    /// # Errors
    /// If the store cannot be read on.
    pub fn advance(&mut self, mut next: impl FnMut() -> Result<bool, Error>) -> Result<bool, Stop> {
        loop {
            match next() {
                Ok(more) => {
                    self.progress.tick();
                    return Ok(more);
                }
                Err(error) if error.kind() == ErrorKind::Corruption => self.damage(&error),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reports a damaged row.
    pub fn damage(&mut self, error: &Error) {
        self.tally.error(self.report, error);
    }

    /// What the store's damage comes to, as far as it has been read.
    pub(crate) fn total(&self) -> Total {
        self.tally.total(self.store)
    }

    /// Reports a row of which something cannot be decoded.
    pub(crate) fn row_damage(&mut self, row: &[u8], problem: &str) {
        self.tally.row(self.report, row, problem);
    }

    /// Reports a value, or a blob of it, that cannot be read. A missing file is no damage while a program has the store open, which
    /// may have deleted the record since.
    pub fn value_damage(
        &mut self,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
        key: RawKey<'_>,
        problem: &(dyn std::error::Error + 'static),
    ) {
        let place = format!(
            "database {}, object store {}",
            Quoted(&database.name),
            Quoted(&object_store.name)
        );
        let row = format!("key {}", ShownKey(key));
        if self.store.lock_holder().is_some() && is_missing_file(problem) {
            let note = format!(
                "{place}, {row}: {problem}: deleted since, by the program that has the store open"
            );
            let folder = self.store.paths().leveldb.display();
            self.report.note(folder, note);
            return;
        }
        self.tally
            .problem(self.report, place, &row, &problem.to_string());
    }
}
