//! [`Follower`]: reading a feed for a host's scripts, and turning feeds on for them.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use larder_idb::{Error as DatabaseError, ErrorName, Factory, JsString};

use crate::consumer::Consumer;
use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::read::{Batch, ReadOptions, Reader};

/// Where a [`Follower`] begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// Behind the revision of this number; 0 is the beginning.
    Position(u64),
    /// Where the consumer of this name has acknowledged; it is made if it is not there.
    Consumer(String),
}

/// A [`Reader`] that begins when it is first asked, and borrows nothing between: what a host's scripts have in hand. It is asked for one thing at a time; a call that
/// comes while another is under way, or after one that was dropped, begins where the last that ended had come to.
///
/// ```
/// # use larder_feed::{Feed, Follower, ReadOptions, Start};
/// # use larder_idb::{Database, ObjectStoreParameters, Value};
/// # let opening = Database::in_memory("notes", 1, |upgrade| {
/// #     upgrade.transaction.set_change_feed(true)?;
/// #     upgrade.transaction.create_object_store("notes", ObjectStoreParameters::new()).map(drop)
/// # })?;
/// # let database = opening.wait()?;
/// # let writing = database.write("notes")?;
/// # writing.object_store("notes")?.put(Value::serialize("milk")?, Some(1.into()))?.detach();
/// # writing.commit()?.wait()?;
/// # let feed = Feed::of(database.connection())?;
/// # futures_executor::block_on(async {
/// let follower = Follower::new(feed, Start::Consumer("backup".into()), ReadOptions::new());
/// while let Some(batch) = follower.next(false).await? {
///     // Each change is dealt with.
///     follower.acknowledge(batch.position()).await?;
/// }
/// # Ok::<(), larder_feed::Error>(())
/// # })?;
/// # Ok::<(), larder_feed::Error>(())
/// ```
pub struct Follower {
    feed: Feed,
    start: Start,
    options: ReadOptions,
    /// How far it has come, in case its reader goes with a call that is dropped.
    position: Mutex<Option<u64>>,
    /// `None` before it has begun, and while it reads.
    reader: Mutex<Option<Reader>>,
    /// That which it reads for, once it has begun.
    consumer: Mutex<Option<Consumer>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Follower {
    /// One that has not begun.
    #[must_use]
    pub fn new(feed: Feed, start: Start, options: ReadOptions) -> Self {
        Self {
            feed,
            start,
            options,
            position: Mutex::default(),
            reader: Mutex::default(),
            consumer: Mutex::default(),
        }
    }

    /// The next transactions. With `is_live` it waits for what comes; without, it gives `None` behind the last that there is.
    ///
    /// # Errors
    /// Those of [`Reader::next`], and of [`Feed::consumer`] if it begins with this.
    pub async fn next(&self, is_live: bool) -> Result<Option<Batch>> {
        let reader = locked(&self.reader).take();
        let mut reader = match reader {
            Some(reader) => reader,
            None => self.begin().await?,
        };
        let batch = match is_live {
            true => Some(reader.next_live().await?),
            false => reader.next().await?,
        };
        if let Some(batch) = &batch {
            *locked(&self.position) = Some(batch.position());
        }
        *locked(&self.reader) = Some(reader);
        Ok(batch)
    }

    async fn begin(&self) -> Result<Reader> {
        let position = *locked(&self.position);
        if let Some(position) = position {
            return Ok(self.feed.read_from(position, self.options.clone()));
        }
        match &self.start {
            Start::Position(position) => Ok(self.feed.read_from(*position, self.options.clone())),
            Start::Consumer(name) => {
                let consumer = self.feed.consumer(name).await?;
                *locked(&self.consumer) = Some(consumer.clone());
                consumer.read(self.options.clone()).await
            }
        }
    }

    /// Notes for the consumer that everything up to this revision has been dealt with. Without a consumer it does nothing.
    ///
    /// # Errors
    /// Those of [`Consumer::acknowledge`].
    pub async fn acknowledge(&self, position: u64) -> Result<()> {
        let consumer = locked(&self.consumer).clone();
        match consumer {
            None => Ok(()),
            Some(consumer) => consumer.acknowledge(position).await,
        }
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

/// As a script sees it: what is not there is a `NotFoundError`, a feed that is not as the reader needs it an `InvalidStateError`.
impl From<Error> for DatabaseError {
    fn from(error: Error) -> Self {
        let name = match error {
            Error::Database(error) => return error,
            Error::NoFeed | Error::NoConsumer { .. } => ErrorName::NotFoundError,
            _ => ErrorName::InvalidStateError,
        };
        Self::new(name, error.to_string())
    }
}

/// Turns the feed of a database on or off, in an upgrade of no new version: connections that are open to it get `versionchange`, and are waited for.
///
/// # Errors
/// `NotFoundError` if there is no database of this name; those of opening and of the upgrade.
pub async fn set_change_feed(
    factory: Factory,
    name: JsString,
    is_on: bool,
) -> larder_idb::Result<()> {
    let databases = factory.databases().await?;
    if !databases.iter().any(|database| database.name == name) {
        let what = "there is no database of this name: open it first";
        return Err(DatabaseError::new(ErrorName::NotFoundError, what));
    }
    let opening = factory.open_to_change(&name)?;
    let upgraded = opening.with_upgrade(move |upgrade| upgrade.transaction.set_change_feed(is_on));
    upgraded.await?.close();
    Ok(())
}
