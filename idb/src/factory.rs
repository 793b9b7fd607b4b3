//! The factory: the databases of one origin (specification, 4.3).

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use larder_backing_store::{Maintenance, Repaired, RowsInDoubt};
use larder_codec::{JsString, Key, Origin as OriginName};

use crate::bucket_id::BucketId;
use crate::error::{Error, Result, attempt};
use crate::executor::Job;
use crate::name::Name;
use crate::open_request::{DeleteRequest, OpenRequest, check_version};
use crate::origin::{Access, Origin, Place};
use crate::quota::Estimate;
use crate::request::Request;
use crate::request::completion::Completion;
use crate::request::driver::Driver;
use crate::scheduler::{AllClosed, Databases};
use crate::storage::{Root, Storage, StorageInner};

/// A database that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// Its name.
    pub name: JsString,
    /// Its version, 1 or more.
    pub version: u64,
}

/// The databases of one origin. Clones are handles to the same databases.
#[derive(Clone)]
pub struct Factory {
    databases: Arc<Databases>,
    root: Arc<Root>,
}

impl Storage {
    /// The databases of an origin. An opaque one has none: requests end with `SecurityError`.
    #[must_use]
    pub fn factory(&self, origin: &OriginName) -> Factory {
        self.factory_at(origin, self.inner().place(origin, None))
    }

    /// The databases of an origin in another bucket than its default one in its own site: a named one, or that of a page within
    /// another site's. The bucket's number is that of Chromium's quota database, or the host's own if no browser opens the
    /// store; it stands for the bucket's name and storage key, and belongs to one origin: while that has it open, another one
    /// is refused ([`Conflict`](crate::ErrorKind::Conflict)).
    #[must_use]
    pub fn bucket(&self, origin: &OriginName, id: BucketId) -> Factory {
        self.factory_at(origin, self.inner().place(origin, Some(id)))
    }

    pub(crate) fn factory_at(&self, origin: &OriginName, place: Place) -> Factory {
        Factory::new(
            self.inner().databases(origin, place),
            Arc::clone(self.root()),
        )
    }
}

impl Factory {
    pub(crate) fn new(databases: Arc<Databases>, root: Arc<Root>) -> Self {
        Self { databases, root }
    }

    fn origin(&self) -> &Arc<Origin> {
        &self.databases.origin
    }

    /// What requests are driven by.
    fn driver(&self) -> Arc<dyn Driver> {
        Arc::clone(self.storage()) as _
    }

    fn storage(&self) -> &Arc<StorageInner> {
        &self.root.inner
    }

    /// Opens a database, which is made if it is not there. With a version above its own it is upgraded; without one it is
    /// opened as it is, and made with version 1.
    ///
    /// The request ends with `VersionError` if the database has a greater version; `AbortError` if its upgrade is aborted or
    /// the connection is closed meanwhile; and with `UnknownError` if the store cannot be opened:
    /// [`Error::kind`](crate::Error::kind) is [`Conflict`](crate::ErrorKind::Conflict) if another process holds it, which the message names.
    ///
    /// # Errors
    /// `TypeError` if the version is 0 or above 2^53 - 1; `SecurityError` if the origin is opaque; `InvalidStateError` if the storage
    /// is closed.
    pub fn open<'a>(&self, name: impl Into<Name<'a>>, version: Option<u64>) -> Result<OpenRequest> {
        self.open_named(&name.into(), version, false)
    }

    /// Opens a database at the version that it has, with an upgrade: for what is no new version to those that open it, the change feed
    /// turned on or off ([`Transaction::set_change_feed`](crate::Transaction::set_change_feed)). Other connections are notified and waited
    /// for, as in every upgrade. A database that is not there is made, with version 1.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_to_change<'a>(&self, name: impl Into<Name<'a>>) -> Result<OpenRequest> {
        self.open_named(&name.into(), None, true)
    }

    fn open_named(
        &self,
        name: &JsString,
        version: Option<u64>,
        upgrades: bool,
    ) -> Result<OpenRequest> {
        check_version(version)?;
        self.origin().check_name()?;
        if self.storage().is_closed() {
            return Err(Error::storage_closed());
        }
        let database = self.databases.get(name);
        Ok(OpenRequest::enqueue(
            &database,
            version,
            upgrades,
            self.driver(),
        ))
    }

    /// Deletes a database once all connections to it are closed. A database that is not there is no error.
    ///
    /// One that cannot be opened because it is damaged can be deleted, with all that is known to be its own; its version is 0 then
    /// if it cannot be read. The request fails with `UnknownError` if another database has the same id, so that it is unknown
    /// whose the rows are, or the store itself is damaged.
    pub fn delete_database<'a>(&self, name: impl Into<Name<'a>>) -> DeleteRequest {
        self.delete_named(&name.into())
    }

    fn delete_named(&self, name: &JsString) -> DeleteRequest {
        if self.storage().is_closed() {
            return DeleteRequest::failed(Error::storage_closed(), self.driver());
        }
        DeleteRequest::enqueue(&self.databases.get(name), self.driver())
    }

    /// The databases that are there and have a version, by name. Upgrades that have not been committed do not show.
    pub fn databases(&self) -> Request<Vec<DatabaseInfo>> {
        self.ask(list)
    }

    /// Does one step of what is to be done in quiet times, if there is a store: takes away what ended transactions and deleted
    /// databases have left, and now and then index entries that are out of date. Nothing calls this but the host: Chromium
    /// begins two seconds after the last connection has closed, and goes on for a minute at most, as long as the answer is
    /// [`Maintenance::Step`].
    pub fn maintain(&self) -> Request<Maintenance> {
        self.ask(maintain)
    }

    /// What the origin stores, and may store. Counted while its store is open; one that is closed is not opened for it, but its
    /// files are looked at one by one.
    pub fn estimate(&self) -> Request<Estimate> {
        self.ask(|origin| {
            let quota_bytes = origin.quota().limit_bytes();
            let usage = origin.usage()?;
            Ok(Some(Estimate { usage, quota_bytes }))
        })
    }

    /// Gives this origin a quota of its own, for whatever is committed from now on ([`StorageOptions::quota_bytes`] is for
    /// all). It is forgotten with the storage. What is there stays, also if it is more.
    ///
    /// [`StorageOptions::quota_bytes`]: crate::StorageOptions::quota_bytes
    pub fn set_quota_bytes(&self, quota_bytes: u64) {
        self.origin().quota().set_limit_bytes(quota_bytes);
    }

    /// Whether the origin is to stay when room is wanted ([`Storage::evict`](crate::Storage::evict)).
    pub fn persisted(&self) -> Request<bool> {
        self.ask(|origin| Ok(Some(origin.is_persisted()?)))
    }

    /// Marks the origin as persistent, so that it stays when room is wanted, or takes the mark away. The change is durable. The mark is
    /// deleted with the origin. Whether a page may ask for it is the host's business.
    pub fn set_persisted(&self, is_to_stay: bool) -> Request<()> {
        self.ask(move |origin| Ok(Some(origin.set_persisted(is_to_stay)?)))
    }

    /// Does work that needs the origin's store; as long as that is `None`, later once more, when the store has gone that was being
    /// closed.
    fn ask<T: Send + 'static>(
        &self,
        work: impl Fn(&Arc<Origin>) -> Result<Option<T>> + Send + 'static,
    ) -> Request<T> {
        let (request, completion) = Request::of_storage(self.driver());
        push_ask(Arc::clone(self.origin()), completion, work);
        request
    }

    /// Compares two keys, as `indexedDB.cmp()` does.
    #[must_use]
    pub fn cmp(&self, first: &Key, second: &Key) -> Ordering {
        first.cmp(second)
    }

    /// Aborts all transactions of a database, or of all, and closes the connections, which get the event
    /// [`ConnectionEvent::Close`](crate::ConnectionEvent::Close).
    ///
    /// The request ends when they are closed and callbacks that take their events have been called; it does not fail.
    pub fn force_close(&self, name: Option<&JsString>) -> Request<()> {
        let (request, completion) = Request::of_storage(self.driver());
        let end = AllClosed::new(Arc::clone(self.storage().ready()), completion);
        self.databases
            .force_close(name, &Error::forced(), Some(&Arc::new(end)));
        request
    }

    /// Repairs this origin's store, which fails to open because it is damaged: what is whole is written anew, what could not be
    /// read is set aside in the folder `lost` of the store's, and all of it is listed; the result can be shown as it is. Nothing is
    /// deleted that was not read whole. The next request opens the repaired store. Needs room for all rows once more.
    ///
    /// With [`RowsInDoubt::BringBack`] rows come back of which something newer may be lost; they are listed.
    ///
    /// Connections are closed by force before, and get the event [`ConnectionEvent::Close`](crate::ConnectionEvent::Close). Requests
    /// that are made meanwhile wait.
    ///
    /// The request fails with `UnknownError` if there is no store, another process holds it ([`Conflict`](crate::ErrorKind::Conflict)),
    /// or its files cannot be read or written.
    pub fn repair(&self, rows_in_doubt: RowsInDoubt) -> Request<Repaired> {
        self.ask(move |origin| origin.repair(rows_in_doubt))
    }

    /// Closes everything of this origin by force, and then the store, so that others can open it. It is opened again with
    /// the next request that needs it.
    ///
    /// The request fails if the store could not make everything durable.
    pub fn close(&self) -> Request<()> {
        let (request, completion) = Request::of_storage(self.driver());
        let origin = Arc::clone(self.origin());
        let work = Job::of(move |turn| {
            if let Some(callback) = origin.close(completion) {
                turn.call(callback);
            }
        });
        self.storage().ready().push(Arc::new(work));
        request
    }
}

fn push_ask<T: Send + 'static>(
    origin: Arc<Origin>,
    completion: Completion<T>,
    work: impl Fn(&Arc<Origin>) -> Result<Option<T>> + Send + 'static,
) {
    let ready = Arc::clone(origin.ready());
    ready.push(Arc::new(Job::of(move |turn| {
        let result = match origin.awaits_deletion() {
            true => Ok(None),
            false => attempt(|| work(&origin)),
        };
        let result = match result {
            Ok(None) => {
                let again = Arc::clone(&origin);
                let go_on = Box::new(move || push_ask(again, completion, work));
                return origin.await_store(go_on);
            }
            Ok(Some(done)) => Ok(done),
            Err(error) => {
                origin.note_loss(&error);
                Err(error)
            }
        };
        if let Some(callback) = completion.complete(result) {
            turn.call(callback);
        }
    })));
}

fn maintain(origin: &Arc<Origin>) -> Result<Option<Maintenance>> {
    let store = match origin.store(false)? {
        Access::Open(store) => store,
        Access::Missing => return Ok(Some(Maintenance::Idle)),
        Access::Going => return Ok(None),
    };
    if origin.is_read_only() {
        return Ok(Some(Maintenance::Idle));
    }
    let done = attempt(|| Ok(store.backing().writer()?.maintain()?));
    let done = done.inspect_err(|error| origin.note_store_error(&store, error))?;
    Ok(Some(done))
}

fn list(origin: &Arc<Origin>) -> Result<Option<Vec<DatabaseInfo>>> {
    let store = match origin.store(false)? {
        Access::Open(store) => store,
        Access::Missing => return Ok(Some(Vec::new())),
        Access::Going => return Ok(None),
    };
    let mut problems = Vec::new();
    let read = store.backing().read();
    let own = origin.name.row_text();
    let mut databases = Vec::new();
    for database in read.database_names(&mut problems)? {
        let version = read.version(database.id, &mut problems)?;
        if let Some(version) = version.and_then(|version| u64::try_from(version).ok())
            && database.origin == own
        {
            let name = database.name;
            databases.push(DatabaseInfo { name, version });
        }
    }
    match problems.into_iter().next() {
        Some(problem) => Err(problem.into()),
        None => Ok(Some(databases)),
    }
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory")
            .field("origin", &self.origin().name.identifier())
            .finish_non_exhaustive()
    }
}
