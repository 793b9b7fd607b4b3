//! The front door: one database in a folder or in memory, for a program that has no origins.

use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::SystemClock;
use larder_codec::Origin;

use crate::connection::Connection;
use crate::error::Result;
use crate::execution::{TransactionMode, TransactionOptions};
use crate::name::{Name, Scope};
use crate::open_request::Upgrade;
use crate::options::{Scheduling, StorageOptions};
use crate::request::Request;
use crate::storage::Storage;
use crate::transaction::Transaction;

/// A database that is open, with the storage that it lies in. Clones are handles to the same database.
///
/// It stands beside the long way, [`Storage`], [`Factory`](crate::Factory) and [`Connection`], and gives the same handles: go on with
/// [`connection`](Self::connection) for events and durability, with [`storage`](Self::storage) for other databases, usage, repair or
/// an end that is waited for. Whatever can be chosen is chosen in [`StorageOptions`]; here all of it has its default: two threads
/// execute requests, transactions are relaxed, and there is no quota; but for one choice: a transaction that writes does not wait for
/// older ones that only read ([`Scheduling::SnapshotReaders`]).
///
/// ```
/// use larder_idb::{Database, ObjectStoreParameters, Value};
///
/// let library = Database::in_memory("library", 1, |upgrade| {
///     let by_title = ObjectStoreParameters::new().key_path("title");
///     upgrade.transaction.create_object_store("books", by_title)?;
///     Ok(())
/// })?;
/// let library = library.wait()?;
///
/// let writing = library.write("books")?;
/// let books = writing.object_store("books")?;
/// books.put(Value::serialize(&serde_json::json!({ "title": "Emma" }))?, None)?.detach();
/// writing.commit()?.wait()?;
///
/// let reading = library.read("books")?;
/// assert!(reading.object_store("books")?.get("Emma")?.wait()?.is_some());
/// # Ok::<(), larder_idb::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Database {
    connection: Connection,
    storage: Storage,
}

impl Database {
    /// Opens a database in a folder; both are made if they are not there. If the database is new, or its version is below `version`
    /// (1 to 2^53 - 1), `upgrade` makes it what it is to be: its changes are committed together or not at all
    /// ([`OpenRequest::with_upgrade`](crate::OpenRequest::with_upgrade)).
    ///
    /// The request can be waited for or awaited. It fails with `VersionError` if the database has a greater version, with `AbortError`
    /// if the upgrade fails, and with `UnknownError` if the store cannot be opened, of the kind
    /// [`Conflict`](crate::ErrorKind::Conflict) if another process has it open.
    ///
    /// The databases of a folder are those of the origin `file://`, in `file__0.indexeddb.leveldb` and `file__0.indexeddb.blob`:
    /// Chromium shows them to any page of a local file if the folder is a profile's `IndexedDB`. One folder is opened once at a time:
    /// further databases in it by [`Storage::factory`] of [`storage`](Self::storage).
    ///
    /// ```no_run
    /// # use larder_idb::{Database, ObjectStoreParameters, Result};
    /// # async fn open() -> Result<()> {
    /// let opening = Database::open("/var/lib/library", "library", 2, |upgrade| {
    ///     let parameters = || ObjectStoreParameters::new().auto_increment(true);
    ///     if upgrade.old_version < 1 {
    ///         upgrade.transaction.create_object_store("books", parameters())?;
    ///     }
    ///     if upgrade.old_version < 2 {
    ///         upgrade.transaction.create_object_store("loans", parameters())?;
    ///     }
    ///     Ok(())
    /// })?;
    /// let library = opening.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `TypeError` if the version is 0 or above 2^53 - 1; `UnknownError` if a thread cannot be started.
    pub fn open<'a>(
        folder: impl Into<PathBuf>,
        name: impl Into<Name<'a>>,
        version: u64,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
    ) -> Result<Request<Self>> {
        Self::open_in(StorageOptions::on_disk(folder), name, version, upgrade)
    }

    /// Makes a database in memory, as [`open`](Self::open) does in a folder. It is gone with its last handle.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn in_memory<'a>(
        name: impl Into<Name<'a>>,
        version: u64,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
    ) -> Result<Request<Self>> {
        Self::open_in(
            StorageOptions::in_memory(Arc::new(SystemClock)),
            name,
            version,
            upgrade,
        )
    }

    fn open_in<'a>(
        mut options: StorageOptions,
        name: impl Into<Name<'a>>,
        version: u64,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
    ) -> Result<Request<Self>> {
        // A handle to a reading transaction that has not gone yet, a variable of the same name for one, must not stop a writer.
        options.scheduling = Scheduling::SnapshotReaders;
        let storage = Storage::new(options)?;
        let request = storage.factory(&Origin::file()).open(name, Some(version))?;
        Ok(request.open_as(upgrade, |result| match result {
            Ok(connection) => Ok(Self {
                connection,
                storage,
            }),
            Err(error) => {
                // Before the error is there, so that the folder can be opened again at once.
                let _ = storage.close();
                Err(error)
            }
        }))
    }

    /// Begins a transaction that reads these object stores: [`Connection::transaction`] with
    /// [`ReadOnly`](TransactionMode::ReadOnly). It sees them as they are when its turn comes, whatever is written meanwhile, and
    /// ends when its last handle goes. It holds up no transaction that writes.
    ///
    /// # Errors
    /// `NotFoundError` if there is no object store of one of the names; `InvalidAccessError` if there are no names;
    /// `InvalidStateError` once the connection is to be closed.
    pub fn read<'a>(&self, scope: impl Into<Scope<'a>>) -> Result<Transaction> {
        self.begin(scope.into(), TransactionMode::ReadOnly)
    }

    /// Begins a transaction that reads and writes these object stores: [`Connection::transaction`] with
    /// [`ReadWrite`](TransactionMode::ReadWrite). Others that write one of them wait for its end, which a variable that is
    /// still there puts off: commit it, or drop its handles. What it has written is there for
    /// good after [`Transaction::commit`]; without that, nothing is.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn write<'a>(&self, scope: impl Into<Scope<'a>>) -> Result<Transaction> {
        self.begin(scope.into(), TransactionMode::ReadWrite)
    }

    fn begin(&self, scope: Scope<'_>, mode: TransactionMode) -> Result<Transaction> {
        self.connection
            .transaction(scope, mode, TransactionOptions::new())
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The storage of the folder.
    #[must_use]
    pub const fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Closes the storage, with all that is open in it ([`Storage::close`]): transactions that have not been committed are aborted, and
    /// the folder can be opened by others. Letting go of the last handle to the database and to anything of it does that too, and
    /// does not report errors.
    ///
    /// # Errors
    /// The first that closing a store met with.
    pub fn close(self) -> Result<()> {
        self.storage.close()
    }
}
