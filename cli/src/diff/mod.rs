//! Compares two stores: databases, object stores and indexes by name, records by key, values by property.
//!
//! [`diff_stores`] walks over the records of both side by side, so memory holds one record of each. Values whose bytes are equal are not
//! decoded. Others are equal if everything that can be said of them is: their canonical form with all bytes and all contents of
//! blobs. Only of those that are not the properties are compared, for eyes.

mod command;
mod properties;
mod records;
mod schema;
mod text;

pub(crate) use command::{Diff, Others};
pub use properties::{PropertyChange, Shown};
pub(crate) use records::digest;

use std::io;

use larder_backing_store::{Error, ErrorKind, Store, StoreOrder};
use larder_codec::{JsString, RawKey};
use serde::Serialize;

use crate::scan::Stop;

/// In which of the two something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only in the first.
    Removed,
    /// Only in the second.
    Added,
    /// In both, and it differs.
    Changed,
}

/// Something that differs: a database; in it an object store; in it an index or a record.
#[derive(Debug)]
pub struct Difference<'d> {
    /// In which of the two it is.
    pub change: Change,
    /// The database's name, in the first store if it is there.
    pub database: &'d JsString,
    /// The object store's name.
    pub object_store: Option<&'d JsString>,
    /// The index's name.
    pub index: Option<&'d JsString>,
    /// The record's primary key.
    pub key: Option<RawKey<'d>>,
    /// How many records a database or an object store has that is only in one of the two.
    pub records: Option<u64>,
    /// What differs of it: at most [`PROPERTIES_MAX`].
    pub properties: Vec<PropertyChange>,
    /// So many more properties differ.
    pub more: u64,
}

/// So many properties of one record are named.
pub const PROPERTIES_MAX: usize = 1000;

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Only databases of this name.
    pub database: Option<JsString>,
    /// That database is compared with the one of this name in the second store.
    pub with_database: Option<JsString>,
    /// Only object stores of this name.
    pub object_store: Option<JsString>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many differences there are.
    pub differences: u64,
    /// How many records are in both.
    pub records: u64,
    /// What could not be read: whether it is of the second store, and what it is.
    pub problems: Vec<(bool, String)>,
}

/// Takes differences as they come.
pub type Sink<'s> = &'s mut dyn FnMut(&Difference<'_>) -> io::Result<()>;

/// Compares two stores, which must be open with [`OnDamage::Skip`](larder_leveldb::OnDamage::Skip) if what is whole of damaged ones is to
/// be compared. `tick` is called for each record.
///
/// # Errors
/// If the output or a store cannot be used any more; `Usage` if one is in the order of signed bytes, or the database or object
/// store that is wanted is in neither.
pub fn diff_stores(
    one: &Store,
    other: &Store,
    options: &DiffOptions,
    sink: Sink<'_>,
    tick: &mut dyn FnMut(),
) -> Result<Compared, Stop> {
    for store in [one, other] {
        if store.order() == StoreOrder::SignedBytes {
            let what = format!(
                "{}: its rows are in the order of signed bytes: compare a copy (larder copy)",
                store.paths().leveldb.display()
            );
            return Err(Error::new(ErrorKind::Usage, what).into());
        }
    }
    let mut comparison = Comparison {
        stores: [one, other],
        options,
        sink,
        tick,
        compared: Compared::default(),
    };
    comparison.databases()?;
    Ok(comparison.compared)
}

/// Two stores being compared.
struct Comparison<'a> {
    stores: [&'a Store; 2],
    options: &'a DiffOptions,
    sink: Sink<'a>,
    tick: &'a mut dyn FnMut(),
    compared: Compared,
}

impl Comparison<'_> {
    fn report(&mut self, difference: &Difference<'_>) -> io::Result<()> {
        self.compared.differences += 1;
        (self.sink)(difference)
    }

    /// What is damaged is a problem, everything else ends the comparison.
    fn problem(&mut self, side: usize, error: Error) -> Result<(), Stop> {
        match error.kind() {
            ErrorKind::Corruption => {
                self.compared.problems.push((side == 1, error.to_string()));
                Ok(())
            }
            _ => Err(error.into()),
        }
    }
}
