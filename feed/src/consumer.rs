//! Consumers: names with positions, kept in the database.

use larder_idb::codec::feed;
use larder_idb::{
    GetAllOptions, Key, KeyRange, StoredValue, Transaction, TransactionMode, TransactionOptions,
    Value,
};

use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::mark::{Marks, list, numbers};
use crate::read::{ReadOptions, Reader};

/// A consumer of the feed: its position is in the database, and clean-up keeps what it has not acknowledged.
#[derive(Debug, Clone)]
pub struct Consumer {
    feed: Feed,
    name: String,
}

/// The position of a consumer, and the clean-up from which that counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) position: u64,
    pub(crate) since: u64,
}

impl Feed {
    /// The consumer of a name, which is made if it is not there. A new one begins before all revisions.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn consumer(&self, name: &str) -> Result<Consumer> {
        let consumer = Consumer {
            feed: self.clone(),
            name: name.to_owned(),
        };
        let transaction = self.writing(&[feed::CONSUMERS])?;
        if consumer.place_in(&transaction).await?.is_none() {
            consumer.put(&transaction, 0, Marks::read(&transaction).await?.cleaned)?;
        }
        transaction.commit()?.await?;
        Ok(consumer)
    }

    /// The names and positions of all consumers.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn consumers(&self) -> Result<Vec<(String, u64)>> {
        let places = places(&self.reading(false)?).await?;
        Ok(places
            .into_iter()
            .map(|(name, place)| (name, place.position))
            .collect())
    }

    /// Removes a consumer: clean-up keeps nothing for it any more. Whether there was one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn remove_consumer(&self, name: &str) -> Result<bool> {
        let transaction = self.writing(&[feed::CONSUMERS])?;
        let consumers = transaction.object_store(feed::CONSUMERS)?;
        let is_there = consumers.get_key(name)?.await?.is_some();
        consumers.delete(name)?.await?;
        transaction.commit()?.await?;
        Ok(is_there)
    }
}

/// All consumers.
pub(crate) async fn places(transaction: &Transaction) -> Result<Vec<(String, Place)>> {
    let consumers = transaction.object_store(feed::CONSUMERS)?;
    // Numbers, as that of clean-up, come before all texts.
    let range = KeyRange::lower_bound("", false);
    let found = consumers.get_all(range, GetAllOptions::new())?.await?;
    let mut places = Vec::new();
    for record in &found {
        let Key::String(name) = record.primary_key() else {
            continue;
        };
        let [position, since] = numbers(record.value())?;
        places.push((name.to_string_lossy(), Place { position, since }));
    }
    Ok(places)
}

impl Consumer {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position that was acknowledged last.
    ///
    /// # Errors
    /// [`Error::NoConsumer`] if it was removed; if the database fails.
    pub async fn position(&self) -> Result<u64> {
        let transaction = self.feed.reading(false)?;
        let place = self.place_in(&transaction).await?;
        Ok(place.ok_or_else(|| self.gone())?.position)
    }

    /// Reads from the position that was acknowledged last.
    ///
    /// # Errors
    /// Those of [`position`](Self::position).
    pub async fn read(&self, options: ReadOptions) -> Result<Reader> {
        let transaction = self.feed.reading(false)?;
        let place = self.place_in(&transaction).await?;
        let place = place.ok_or_else(|| self.gone())?;
        let mut reader = self.feed.read_from(place.position, options);
        reader.since = Some(place.since);
        Ok(reader)
    }

    /// Acknowledges a position, in a transaction of its own.
    ///
    /// # Errors
    /// [`Error::NoConsumer`] if it was removed; if the database fails.
    pub async fn acknowledge(&self, position: u64) -> Result<()> {
        let transaction = self.feed.writing(&[feed::CONSUMERS])?;
        self.acknowledge_in(&transaction, position).await?;
        Ok(transaction.commit()?.await?)
    }

    /// Acknowledges a position in a transaction of the consumer's, which writes to the same database what the consumer has made of the
    /// revisions: both are committed or neither, so that each revision counts once. The transaction is made by
    /// [`transaction`](Self::transaction).
    ///
    /// # Errors
    /// [`Error::NoConsumer`] if it was removed; `NotFoundError` for another transaction; if the database fails.
    pub async fn acknowledge_in(&self, transaction: &Transaction, position: u64) -> Result<()> {
        let place = self.place_in(transaction).await?;
        let place = place.ok_or_else(|| self.gone())?;
        let note = self.note_in(transaction).await?;
        self.put_noted(transaction, position, place.since, note.as_deref())
    }

    /// Acknowledges a position as [`acknowledge_in`](Self::acknowledge_in) does, with a note: bytes of the consumer's own, in place of those
    /// that were noted before. Acknowledging without a note keeps them.
    ///
    /// It is for a consumer whose own state is elsewhere: what both need to find one another again after a crash is committed with the
    /// position.
    ///
    /// ```
    /// # use futures_executor::block_on;
    /// # use larder_feed::Feed;
    /// # use larder_idb::{Database, ObjectStoreParameters};
    /// # let mail = Database::in_memory("mail", 1, |upgrade| {
    /// #     upgrade.transaction.create_object_store("drafts", ObjectStoreParameters::new())?;
    /// #     upgrade.transaction.set_change_feed(true)
    /// # })?
    /// # .wait()?;
    /// let feed = Feed::of(mail.connection())?;
    /// block_on(async {
    ///     let consumer = feed.consumer("copy").await?;
    ///     assert_eq!(consumer.note().await?, None);
    ///     let transaction = consumer.transaction(&["drafts"])?;
    ///     consumer.acknowledge_noting_in(&transaction, 0, b"state 7").await?;
    ///     transaction.commit()?.await?;
    ///     assert_eq!(consumer.note().await?.as_deref(), Some(&b"state 7"[..]));
    ///     Ok::<(), larder_feed::Error>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`acknowledge_in`](Self::acknowledge_in).
    pub async fn acknowledge_noting_in(
        &self,
        transaction: &Transaction,
        position: u64,
        note: &[u8],
    ) -> Result<()> {
        let place = self.place_in(transaction).await?;
        let place = place.ok_or_else(|| self.gone())?;
        self.put_noted(transaction, position, place.since, Some(note))
    }

    /// What was noted last ([`acknowledge_noting_in`](Self::acknowledge_noting_in)); `None` if nothing ever was, or the consumer has begun anew.
    ///
    /// # Errors
    /// [`Error::NoConsumer`] if it was removed; if the database fails.
    pub async fn note(&self) -> Result<Option<Vec<u8>>> {
        self.note_in(&self.feed.reading(false)?).await
    }

    /// What was noted last, as a transaction sees it ([`Feed::view`]).
    ///
    /// # Errors
    /// Those of [`note`](Self::note).
    pub async fn note_in(&self, transaction: &Transaction) -> Result<Option<Vec<u8>>> {
        let found = self.row_in(transaction).await?;
        let found = found.ok_or_else(|| self.gone())?;
        Ok(feed::read_note(found.bytes(), 2)?)
    }

    /// A transaction that writes these object stores and the consumer's position.
    ///
    /// # Errors
    /// Those of [`Connection::transaction`](larder_idb::Connection::transaction).
    pub fn transaction(&self, object_stores: &[&str]) -> Result<Transaction> {
        let mut names = object_stores.to_vec();
        names.push(feed::CONSUMERS);
        let options = TransactionOptions::new().reserved(true);
        let connection = self.feed.connection();
        Ok(connection.transaction(names, TransactionMode::ReadWrite, options)?)
    }

    /// Begins anew: at 0, from where every record comes as it is now; or at a revision at which the consumer has looked at the whole
    /// database ([`Feed::at`]).
    ///
    /// # Errors
    /// [`Error::LeftBehind`] if outdated revisions behind it have been cleaned up meanwhile; if the database fails.
    pub async fn restart(&self, position: u64) -> Result<()> {
        let transaction = self.feed.writing(&[feed::CONSUMERS])?;
        let cleaned = Marks::read(&transaction).await?.cleaned;
        if position != 0 && position < cleaned {
            return Err(Error::LeftBehind { position, cleaned });
        }
        self.put(&transaction, position, cleaned)?;
        Ok(transaction.commit()?.await?)
    }

    pub(crate) async fn place_in(&self, transaction: &Transaction) -> Result<Option<Place>> {
        let Some(found) = self.row_in(transaction).await? else {
            return Ok(None);
        };
        let [position, since] = numbers(found.bytes())?;
        Ok(Some(Place { position, since }))
    }

    async fn row_in(&self, transaction: &Transaction) -> Result<Option<StoredValue>> {
        let consumers = transaction.object_store(feed::CONSUMERS)?;
        Ok(consumers.get(self.name.as_str())?.await?)
    }

    fn put(&self, transaction: &Transaction, position: u64, since: u64) -> Result<()> {
        self.put_noted(transaction, position, since, None)
    }

    fn put_noted(
        &self,
        transaction: &Transaction,
        position: u64,
        since: u64,
        note: Option<&[u8]>,
    ) -> Result<()> {
        let consumers = transaction.object_store(feed::CONSUMERS)?;
        let key = Key::from(self.name.as_str());
        let value = match note {
            None => list([position, since]),
            Some(note) => {
                let mut bytes = Vec::new();
                let needs = feed::build_noted(&[position, since], note, &mut bytes);
                Value::from_written(bytes, needs)
            }
        };
        consumers.put(value, Some(key))?.detach();
        Ok(())
    }

    fn gone(&self) -> Error {
        Error::NoConsumer {
            name: self.name.clone(),
        }
    }
}
