//! Checks a store: everything that its rows say of each other, and everything that Chromium relies on when it opens it.
//!
//! [`verify`] walks twice over the LevelDB. The first walk is over all entries of all files (`files`): checksums, keys,
//! levels. The second is over the rows as recovery leaves them (`rows`), one object store after the other, with sums in
//! place of lists: what a record's rows say is added up on one side and what other rows say of it on the other, and only where the
//! sums differ the rows are compared one by one (`records`, `indexes`). So memory does not grow with the store.
//!
//! Nothing is written. What a value means to its page is not checked.

mod blobs;
mod command;
mod files;
mod finding;
mod indexes;
mod metadata;
mod records;
mod rows;
mod sum;
mod text;

pub(crate) use command::Verify;
pub(crate) use indexes::ExpectedKeys;
pub(crate) use sum::Sum;

pub use finding::{Check, Finding, Findings, Severity};
pub(crate) use indexes::is_there;
pub(crate) use records::lacks_objects;

use std::fmt::Display;

use larder_backing_store::{DatabaseMetadata, Error, ObjectStoreMetadata, RowNames, Store};
use larder_codec::{DatabaseId, IndexId, ObjectStoreId};
use serde::Serialize;

use finding::Place;

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub struct VerifyOptions {
    /// Also decode every value, evaluate every key path, compare indexes with records both ways and read every blob.
    pub full: bool,
    /// So many findings of one kind are listed; the others are counted.
    pub listed_max: u64,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            full: true,
            listed_max: 10,
        }
    }
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Databases with a name.
    pub databases: u64,
    /// Their object stores.
    pub object_stores: u64,
    /// Entries of LevelDB's files, the overwritten and the deleted among them.
    pub entries: u64,
    /// Rows that are visible.
    pub rows: u64,
    /// Records.
    pub records: u64,
    /// Values that were decoded; none without [`VerifyOptions::full`].
    pub values: u64,
    /// Rows of indexes.
    pub index_rows: u64,
    /// Rows of indexes whose records were overwritten or deleted; 0 where they were not looked for.
    pub stale_index_rows: u64,
    /// Blobs and files that records refer to.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Verdict {
    /// How much was looked at.
    pub counts: Counts,
    /// What was found.
    pub findings: Findings,
}

impl Verdict {
    /// Whether nothing is wrong. Notes may be there.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.faults() == 0
    }
}

/// Checks a store, which must be open with [`OnDamage::Skip`](larder_leveldb::OnDamage::Skip) if damage is to be listed. `tick`
/// is called for each row; its error ends it.
///
/// # Errors
/// If the store cannot be read on. What is damaged is a finding, not an error.
pub fn verify(
    store: &Store,
    options: VerifyOptions,
    tick: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Verdict, Error> {
    let mut problems = Vec::new();
    let databases = store.databases(&mut problems)?;
    let mut checker = Checker {
        store,
        names: RowNames::of(store),
        databases: &databases,
        options,
        verdict: Verdict::default(),
        tick,
    };
    checker.verdict.findings = Findings::new(options.listed_max);
    for problem in &problems {
        checker.error(Check::Metadata, problem);
    }
    checker.recovery();
    checker.entries()?;
    let numbers = checker.rows()?;
    checker.metadata(&numbers);
    checker.blobs(&numbers)?;
    // Last, because reading is what finds damage.
    checker.files();
    Ok(checker.verdict)
}

/// A store being checked.
struct Checker<'a> {
    store: &'a Store,
    names: RowNames,
    databases: &'a [DatabaseMetadata],
    options: VerifyOptions,
    verdict: Verdict,
    tick: &'a mut dyn FnMut() -> Result<(), Error>,
}

impl<'a> Checker<'a> {
    fn database(&self, id: DatabaseId) -> Option<&'a DatabaseMetadata> {
        self.databases.iter().find(|database| database.id == id)
    }

    fn object_store(
        &self,
        database: DatabaseId,
        id: ObjectStoreId,
    ) -> Option<&'a ObjectStoreMetadata> {
        let mut stores = self.database(database)?.object_stores.iter();
        stores.find(|store| store.id == id)
    }

    /// Something is wrong with a row.
    fn row(&mut self, check: Check, row: &[u8], problem: impl Display) {
        let place = self.names.place(row);
        let place = Place::of_row(place);
        self.fault(check, place, problem);
    }

    /// A row that could not be read.
    fn error(&mut self, check: Check, error: &Error) {
        match error.key() {
            Some(key) => self.row(check, key, error.without_row()),
            None => self.fault(check, Place::store(), error),
        }
    }

    fn fault(&mut self, check: Check, place: Place, problem: impl Display) {
        let problem = problem.to_string();
        let findings = &mut self.verdict.findings;
        findings.add(Severity::Fault, check, place, problem);
    }

    fn note(&mut self, check: Check, place: Place, problem: impl Display) {
        let problem = problem.to_string();
        let findings = &mut self.verdict.findings;
        findings.add(Severity::Note, check, place, problem);
    }
}

/// Which object store, in a walk over all.
type StoreId = (DatabaseId, ObjectStoreId);

/// Which index.
type FullIndexId = (DatabaseId, ObjectStoreId, IndexId);
