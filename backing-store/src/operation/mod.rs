//! What a put, a clear, a new index do with rows: the operations of a transaction that writes, row by row as Chromium's
//! backing store does them (`LDB/backing_store.cc`, `IDB/instance/index_writer.cc`).
//!
//! Key paths, clones and events are not here: callers evaluate key paths and hand over keys.

mod clean_feed;
mod clear;
mod index;
mod object_store;
mod others;
mod put;
mod read;
mod state;
mod tracked;
mod tracking;

pub use clean_feed::FeedCleaned;
pub use index::IndexParameters;
pub use object_store::ObjectStoreParameters;
pub use put::{IndexKeys, Put, PutKey, PutMode};

use larder_codec::DatabaseId;
use larder_codec::primitive::var_int;
use larder_codec::row_key::{DatabaseField, DatabaseKey};

use crate::error::{Error, ErrorKind, Result};
use crate::scope::Scope;
use crate::transaction::WriteTransaction;

impl WriteTransaction {
    /// Gives the database a version, 1 or more. Only in a version change.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for another number or in another transaction; if the row cannot be written.
    pub fn set_version(&mut self, version: i64) -> Result<()> {
        let database_id = self.version_change()?;
        if version < 1 {
            let what = "a database's version is 1 or more";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let field = DatabaseField::UserVersion;
        DatabaseKey { database_id, field }.encode(&mut key);
        var_int::encode(version, &mut value);
        // A transaction that only deletes has to write it, too.
        self.put_small_row(&key, &value)
    }

    /// The database whose metadata may be changed.
    fn version_change(&self) -> Result<DatabaseId> {
        match self.scope() {
            Scope::VersionChange(database_id) => Ok(*database_id),
            Scope::Stores(..) => {
                let what = "this transaction may not change metadata: begin a version change";
                Err(Error::new(ErrorKind::Usage, what))
            }
        }
    }
}
