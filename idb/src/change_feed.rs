//! A database's change feed: turned on and off, and commits waited for (`docs/format/feed.md`). What is in it, `larder-feed` reads.

use std::future::poll_fn;
use std::sync::Arc;

use larder_backing_store::FeedCleaned;
use larder_codec::{JsString, Key, feed};

use crate::connection::Connection;
use crate::error::Result;
use crate::execution::{Length, TransactionMode};
use crate::object_store::{
    IndexParameters, ObjectStore, ObjectStoreParameters, check_version_change,
};
use crate::operation;
use crate::request::Request;
use crate::scheduler::Database;
use crate::transaction::Transaction;

impl Transaction {
    /// Turns the change feed of the database on or off, in an upgrade ([`Factory::open_to_change`](crate::Factory::open_to_change) makes
    /// one of no new version). Turned on, each record that is there becomes a revision, and from now on each change of one. Turned off,
    /// the feed is deleted with its consumers. What is so already stays so.
    ///
    /// The feed is in three object stores of the database, `larder.feed.…`, which are hidden from
    /// [`Connection::object_store_names`] and cannot be named but in a transaction that is made with
    /// [`TransactionOptions::reserved`](crate::TransactionOptions::reserved).
    ///
    /// # Errors
    /// `InvalidStateError` if this is no version change, or it has finished; `TransactionInactiveError` if it is committing.
    pub fn set_change_feed(&self, is_on: bool) -> Result<()> {
        check_version_change(self)?;
        if self.schema().has_change_feed() == is_on {
            return Ok(());
        }
        let names = [feed::REVISIONS, feed::HISTORY, feed::CONSUMERS].map(JsString::from);
        if !is_on {
            self.core()
                .submit_unrequested(operation::end_feed, || Ok(()))?;
            return names.iter().try_for_each(|name| self.delete_named(name));
        }
        for name in names {
            // One alone is no feed, but may be in the way.
            if self.schema().object_store(&name).is_some() {
                self.delete_named(&name)?;
            }
            let is_revisions = name == feed::REVISIONS;
            let made = self.create_named(name, ObjectStoreParameters::new())?;
            if is_revisions {
                let each = IndexParameters::new().multi_entry(true);
                made.create_index(feed::BY_VERSION, feed::by_version_path(), each)?;
            }
        }
        self.core()
            .submit_unrequested(operation::begin_feed, || Ok(()))
    }

    /// Takes away which revisions of the change feed up to `up_to` are removals or have a newer one of the same record up to there, and the
    /// values that they had. Looks at those behind `behind`, up to where a step before has come, and at no more than `count`. What bounds
    /// there are, such as the positions of consumers, is the caller's to know: `larder-feed` does.
    ///
    /// # Errors
    /// `TransactionInactiveError` if the transaction is committing or has ended. The request fails if the database has no feed, or the
    /// transaction does not write its object stores.
    pub fn clean_change_feed(
        &self,
        behind: u64,
        up_to: u64,
        count: usize,
    ) -> Result<Request<FeedCleaned>> {
        self.core().submit(Length::Long, move |execution| {
            operation::clean_feed(execution, (behind, up_to), count)
        })
    }

    /// Whether an object store's name is to be found: in an upgrade, which has all in its scope, the change feed's are not.
    pub(crate) fn shows(&self, name: &JsString) -> bool {
        self.mode() != TransactionMode::VersionChange || !feed::is_reserved(name)
    }
}

impl ObjectStore {
    /// The version of a record, if there is one: a number that every put counts up in the object store, which revisions of the change feed
    /// name. Its value is not read.
    ///
    /// # Errors
    /// As those of [`get`](Self::get).
    pub fn record_version(&self, key: impl Into<Key>) -> Result<Request<Option<i64>>> {
        self.check_readable()?;
        let (cell, key) = (Arc::clone(self.cell()), key.into());
        let core = self.transaction().core();
        core.submit(Length::Long, move |execution| {
            operation::record_version(execution, &cell, &key)
        })
    }
}

impl Connection {
    /// Whether the database has a change feed.
    #[must_use]
    pub fn has_change_feed(&self) -> bool {
        self.schema().has_change_feed()
    }

    /// The name of the object store with this number, if there is one. Object stores keep their numbers when they are renamed, and none is
    /// given again.
    #[must_use]
    pub fn object_store_name_of(&self, number: i64) -> Option<JsString> {
        let id = larder_codec::ObjectStoreId::new(number)?;
        self.schema().names_of(&id.into()).pop()
    }

    /// What is committed to the database from now on, by this connection or another of the storage.
    #[must_use]
    pub fn commits(&self) -> Commits {
        let database = Arc::clone(&self.core().database);
        Commits {
            seen: database.commits.count(),
            database,
        }
    }
}

/// Waits for commits to a database ([`Connection::commits`]). Commits that come while nothing waits are noted together, in no memory
/// of their own.
pub struct Commits {
    database: Arc<Database>,
    seen: u64,
}

impl Commits {
    /// Comes when something has been committed since the last time, and when a connection to the database is closed.
    pub async fn next(&mut self) {
        let commits = &self.database.commits;
        self.seen = poll_fn(|context| commits.poll_beyond(self.seen, context.waker())).await;
    }
}

impl std::fmt::Debug for Commits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commits").finish_non_exhaustive()
    }
}
