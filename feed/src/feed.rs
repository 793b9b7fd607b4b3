//! The feed of a database: where reading, consumers and clean-up begin.

use std::collections::BTreeSet;

use larder_idb::codec::feed::{self, HistoryKey};
use larder_idb::{
    Connection, CursorDirection, GetAllOptions, JsString, Key, KeyRange, ObjectStore, Transaction,
    TransactionMode, TransactionOptions,
};

use crate::error::{Error, Result};
use crate::lookup::{changes_at, value_at};
use crate::mark::Marks;
use crate::revision::{Revision, number_of, revision, revision_of_version};
use crate::value::Changes;

/// The change feed of a database, by one connection to it. Clones are the same.
#[derive(Debug, Clone)]
pub struct Feed {
    connection: Connection,
}

impl Feed {
    /// The feed of the database that a connection is to.
    ///
    /// # Errors
    /// [`Error::NoFeed`] if it has none: [`Transaction::set_change_feed`] turns it on.
    pub fn of(connection: &Connection) -> Result<Self> {
        match connection.has_change_feed() {
            true => Ok(Self {
                connection: connection.clone(),
            }),
            false => Err(Error::NoFeed),
        }
    }

    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The number of the last revision; 0 if there has been none.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn last(&self) -> Result<u64> {
        last(&self.reading(false)?).await
    }

    /// A transaction that reads the feed beside all object stores, as they are together: what is written meanwhile, it does not see.
    ///
    /// ```
    /// # use futures_executor::block_on;
    /// # use larder_feed::{Feed, ReadOptions};
    /// # use larder_idb::{Database, ObjectStoreParameters, Value};
    /// # let mail = Database::in_memory("mail", 1, |upgrade| {
    /// #     upgrade.transaction.create_object_store("drafts", ObjectStoreParameters::new())?;
    /// #     upgrade.transaction.set_change_feed(true)
    /// # })?
    /// # .wait()?;
    /// # let put = |key: u32| {
    /// #     let writing = mail.write("drafts")?;
    /// #     writing.object_store("drafts")?.put(Value::serialize("Dear Emma")?, Some(key.into()))?.detach();
    /// #     writing.commit()?.wait()
    /// # };
    /// # put(1)?;
    /// let feed = Feed::of(mail.connection())?;
    /// block_on(async {
    ///     let view = feed.view()?;
    ///     let drafts = view.object_store("drafts")?;
    ///     assert_eq!(feed.last_in(&view).await?, 1);
    ///     put(2)?;
    ///     let mut reader = feed.read_from(0, ReadOptions::new());
    ///     assert_eq!(reader.next_in(&view).await?.unwrap().position(), 1);
    ///     assert!(reader.next_in(&view).await?.is_none());
    ///     assert_eq!(drafts.count(..)?.await?, 1);
    ///     Ok::<(), larder_feed::Error>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Connection::transaction`].
    pub fn view(&self) -> Result<Transaction> {
        self.reading(true)
    }

    /// The number of the last revision that a transaction sees: one of [`view`](Self::view), or another that has the feed's object stores in
    /// its scope. What the transaction itself has changed becomes revisions with its commit.
    ///
    /// # Errors
    /// `NotFoundError` for a transaction that is not of the feed; if the database fails.
    pub async fn last_in(&self, transaction: &Transaction) -> Result<u64> {
        last(transaction).await
    }

    /// A revision, if it is retained.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn revision(&self, number: u64) -> Result<Option<Revision>> {
        let transaction = self.reading(true)?;
        let mut found = revision(&transaction, number).await?;
        if let Some(revision) = &mut found {
            revision.value = value_at(&transaction, revision).await?;
        }
        Ok(found)
    }

    /// The numbers of the retained revisions of a record, ascending.
    ///
    /// # Errors
    /// `NotFoundError` if there is no object store of this name; if the database fails.
    pub async fn revisions_of(&self, object_store: &str, key: impl Into<Key>) -> Result<Vec<u64>> {
        let transaction = self.reading(true)?;
        let records = transaction.object_store(object_store)?;
        let number = records.number()?;
        let versions = versions_of(&records, &key.into()).await?;
        let mut numbers = Vec::new();
        for version in versions {
            let found = revision_of_version(&transaction, number, version).await?;
            numbers.extend(found.map(|revision| revision.number()));
        }
        Ok(numbers)
    }

    /// The names of the top-level properties that a modification has changed, by value: first those that the record has since, in their
    /// order, then those that it had before. For a creation they are all that it has; a removal has none. Values that are no plain objects
    /// differ as a whole, which is the name "". `None` if the revision, or what the record was before, is not retained.
    ///
    /// # Errors
    /// If the database fails or a value cannot be read.
    pub async fn changed_properties(&self, number: u64) -> Result<Option<Vec<JsString>>> {
        let transaction = self.reading(true)?;
        let Some(revision) = revision(&transaction, number).await? else {
            return Ok(None);
        };
        let changes = changes_at(&transaction, &revision).await?;
        Ok(changes.map(|changes| match changes {
            Changes::Properties(names) => names,
            Changes::Whole => vec![JsString::from("")],
        }))
    }

    /// A transaction that reads the feed, with the object stores of the data if values are wanted.
    pub(crate) fn reading(&self, with_values: bool) -> Result<Transaction> {
        let mut names: Vec<JsString> = vec![
            feed::REVISIONS.into(),
            feed::HISTORY.into(),
            feed::CONSUMERS.into(),
        ];
        if with_values {
            names.extend(self.connection.object_store_names());
        }
        let options = TransactionOptions::new().reserved(true);
        let mode = TransactionMode::ReadOnly;
        Ok(self.connection.transaction(names, mode, options)?)
    }

    /// A transaction that writes positions, or cleans up.
    pub(crate) fn writing(&self, names: &[&'static str]) -> Result<Transaction> {
        let options = TransactionOptions::new().reserved(true);
        let mode = TransactionMode::ReadWrite;
        Ok(self.connection.transaction(names.to_vec(), mode, options)?)
    }

    /// Up to which revision outdated ones have been cleaned up; 0 if none have been.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn cleaned(&self) -> Result<u64> {
        Ok(Marks::read(&self.reading(false)?).await?.cleaned)
    }
}

/// The versions of the retained revisions of a record: each that ended a value is retained with that, and so is the one before.
pub(crate) async fn versions_of(records: &ObjectStore, key: &Key) -> Result<BTreeSet<i64>> {
    let mut versions = BTreeSet::new();
    let number = Key::Number(records.number()? as f64);
    let history = records.transaction().object_store(feed::HISTORY)?;
    let bounds = [f64::NEG_INFINITY, f64::INFINITY]
        .map(|version| Key::array(vec![number.clone(), key.clone(), version.into()]));
    let [lower, upper] = bounds;
    let range = KeyRange::bound(lower?, upper?, false, false)?;
    let keys = history.get_all_keys(range, GetAllOptions::new())?.await?;
    for entry in &keys {
        let key = HistoryKey::decode_exact(entry.raw_primary_key().as_bytes())?;
        versions.extend([key.since.get(), key.until.get()]);
    }
    versions.extend(records.record_version(key.clone())?.await?);
    Ok(versions)
}

/// The number of the last revision.
pub(crate) async fn last(transaction: &Transaction) -> Result<u64> {
    let options = GetAllOptions::new()
        .count(1)
        .direction(CursorDirection::Prev);
    let revisions = transaction.object_store(feed::REVISIONS)?;
    let found = revisions.get_all_keys(KeyRange::all(), options)?.await?;
    let last = found
        .get(0)
        .map_or(0, |entry| number_of(&entry.primary_key()));
    // The last may have been a removal, which is gone.
    Ok(last.max(Marks::read(transaction).await?.cleaned))
}
