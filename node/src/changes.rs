//! What script reads of a change feed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_feed::{Batch, Consumer, Feed, ReadOptions, Reader};
use larder_idb::{Error, ErrorName, Factory, JsString, Result};

use crate::futures::Task;
use crate::outcome::Outcome;

/// A reading of a feed.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) reading: Arc<Reading>,
    /// What the request of this number waits for.
    pending: Mutex<Option<(u32, Arc<Task>)>>,
}

#[derive(Debug)]
pub(crate) struct Reading {
    feed: Feed,
    from: From,
    options: ReadOptions,
    /// `None` before it has begun, and while it reads.
    reader: Mutex<Option<Reader>>,
    /// That which it reads for, once it has begun.
    consumer: Mutex<Option<Consumer>>,
}

/// Where it begins.
#[derive(Debug)]
pub(crate) enum From {
    Position(u64),
    Consumer(String),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Changes {
    fn drop(&mut self) {
        // The future has what wakes it, and that the future.
        self.cancel();
    }
}

impl Changes {
    pub(crate) fn new(feed: Feed, from: From, options: ReadOptions) -> Self {
        let reading = Reading {
            feed,
            from,
            options,
            reader: Mutex::default(),
            consumer: Mutex::default(),
        };
        Self {
            reading: Arc::new(reading),
            pending: Mutex::default(),
        }
    }

    /// A request waits for this task.
    pub(crate) fn await_task(&self, request: u32, task: Arc<Task>) {
        *locked(&self.pending) = Some((request, task));
    }

    /// The request that waited, if one did.
    pub(crate) fn cancel(&self) -> Option<u32> {
        let (request, task) = locked(&self.pending).take()?;
        task.cancel().then_some(request)
    }
}

impl Reading {
    /// The next transactions; `None` at the end.
    pub(crate) async fn next(&self, is_live: bool) -> larder_feed::Result<Option<Batch>> {
        let reader = locked(&self.reader).take();
        let mut reader = match (reader, &self.from) {
            (Some(reader), _) => reader,
            (None, From::Position(position)) => {
                self.feed.read_from(*position, self.options.clone())
            }
            (None, From::Consumer(name)) => {
                let consumer = self.feed.consumer(name).await?;
                *locked(&self.consumer) = Some(consumer.clone());
                consumer.read(self.options.clone()).await?
            }
        };
        let batch = match is_live {
            true => Some(reader.next_live().await?),
            false => reader.next().await?,
        };
        *locked(&self.reader) = Some(reader);
        Ok(batch)
    }

    pub(crate) async fn acknowledge(&self, position: u64) -> larder_feed::Result<()> {
        let consumer = locked(&self.consumer).clone();
        match consumer {
            None => Ok(()),
            Some(consumer) => consumer.acknowledge(position).await,
        }
    }
}

/// As script sees it.
pub(crate) fn as_database(error: larder_feed::Error) -> Error {
    let name = match error {
        larder_feed::Error::Database(error) => return error,
        larder_feed::Error::NoFeed => {
            let what = "the database has no change feed: setChangeFeed turns one on";
            return Error::new(ErrorName::NotFoundError, what);
        }
        larder_feed::Error::NoConsumer { .. } => ErrorName::NotFoundError,
        _ => ErrorName::InvalidStateError,
    };
    Error::new(name, error.to_string())
}

/// Turns the feed of a database on or off, in an upgrade of no new version.
pub(crate) async fn set_feed(factory: Factory, name: JsString, is_on: bool) -> Result<Outcome> {
    let databases = factory.databases().await?;
    if !databases.iter().any(|database| database.name == name) {
        let what = "there is no database of this name: open it first";
        return Err(Error::new(ErrorName::NotFoundError, what));
    }
    let opening = factory.open_to_change(&name)?;
    let upgraded = opening.with_upgrade(move |upgrade| upgrade.transaction.set_change_feed(is_on));
    upgraded.await?.close();
    Ok(Outcome::Nothing)
}
