//! How a storage ends: at once, or with what runs.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::executor::{Callback, Job, Turn};
use crate::origin::Origin;
use crate::request::Request;
use crate::request::completion::Completion;
use crate::storage::{Storage, StorageInner};
use crate::sync::{Mutex, locked};

impl Storage {
    /// Ends it at once: transactions are aborted, connections closed by force, requests to open fail. Commits that are under way are
    /// brought to their end. Then the stores are closed, and the threads have ended.
    ///
    /// [`finish`](Self::finish) lets what runs come to its end before.
    ///
    /// # Errors
    /// The first that closing a store met with.
    pub fn close(self) -> Result<()> {
        self.inner().close()
    }

    /// Lets what runs come to its end, and begins nothing new. From now on connections take no transactions, and are closed as if the host
    /// had closed each of them; requests to open or delete a database that are not at their upgrade yet, and all new ones, end with
    /// `InvalidStateError`. Transactions that there are, also those that wait for others, take requests and are
    /// committed or aborted as ever; the host has to end them. A database whose upgrade is under way is upgraded, and its
    /// request ends with `AbortError`, since its connection is closed.
    ///
    /// The request is done when all of them have ended and the stores are closed; it fails with the first error that closing a store
    /// met with. It goes on if it is let go of. How long to wait for it is the host's decision: [`close`](Self::close) ends at any
    /// time what is left, and then it is done, too. The threads end with that, or with the last handle.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use larder_idb::{TransactionMode, ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock, TransactionOptions, Value};
    /// # let storage = Storage::new(StorageOptions::in_memory(Arc::new(SystemClock)))?;
    /// # let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    /// # let opening = factory.open("db", None)?.with_upgrade(|upgrade| {
    /// #     let parameters = ObjectStoreParameters::new().auto_increment(true);
    /// #     upgrade.transaction.create_object_store("notes", parameters).map(drop)
    /// # });
    /// # let connection = opening.wait()?;
    /// let names = ["notes"];
    /// let transaction = connection.transaction(&names, TransactionMode::ReadWrite, TransactionOptions::default())?;
    /// let finished = storage.finish();
    /// assert!(connection.transaction(&names, TransactionMode::ReadOnly, TransactionOptions::default()).is_err());
    ///
    /// transaction.object_store("notes")?.put(Value::serialize("the last one")?, None)?;
    /// transaction.commit()?.wait()?;
    /// finished.wait()?;
    /// storage.close()?;
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    pub fn finish(&self) -> Request<()> {
        let inner = self.inner();
        let origins = inner.refuse_new();
        for origin in &origins {
            origin.refuse_new();
        }
        let (request, completion) = Request::of_storage(Arc::clone(inner) as _);
        let finishing = Arc::new(Finishing {
            storage: Arc::clone(inner),
            // And this call, so that it is not over before all have begun.
            left: Mutex::new(origins.len() + 1),
            failed: Mutex::default(),
            completion,
        });
        for origin in origins {
            finishing.push(move |finishing, turn| finishing.end(&origin, turn));
        }
        finishing.push(|finishing, turn| {
            if let Some(callback) = finishing.note(Ok(())) {
                turn.call(callback);
            }
        });
        request
    }
}

/// Origins that come to their end.
struct Finishing {
    storage: Arc<StorageInner>,
    left: Mutex<usize>,
    failed: Mutex<Option<Error>>,
    completion: Completion<()>,
}

impl Finishing {
    /// As a task, since stores may be closed by it.
    fn push(self: &Arc<Self>, work: impl FnOnce(Arc<Self>, &mut Turn) + Send + 'static) {
        let finishing = Arc::clone(self);
        let job = Job::of(move |turn: &mut Turn| work(finishing, turn));
        self.storage.ready().push(Arc::new(job));
    }

    fn end(self: Arc<Self>, origin: &Arc<Origin>, turn: &mut Turn) {
        let (request, completion) = Request::of_storage(Arc::clone(&self.storage) as _);
        let callback = origin.finish(completion);
        request.on_done(move |closed| {
            if let Some(callback) = self.note(closed) {
                callback();
            }
        });
        if let Some(callback) = callback {
            turn.call(callback);
        }
    }

    /// One has come to its end: what is to be called with the last.
    fn note(&self, closed: Result<()>) -> Option<Callback> {
        if let Err(error) = closed {
            locked(&self.failed).get_or_insert(error);
        }
        let left = {
            let mut left = locked(&self.left);
            *left -= 1;
            *left
        };
        if left > 0 {
            return None;
        }
        let failed = locked(&self.failed).take();
        self.completion.complete(failed.map_or(Ok(()), Err))
    }
}

impl StorageInner {
    pub(crate) fn close(&self) -> Result<()> {
        let origins = self.refuse_new();
        for origin in &origins {
            origin.begin_close();
        }
        let (pool, chores, background) = self.threads();
        pool.stop();
        let closing = Arc::new(Closing {
            origins: Mutex::new(origins),
            failed: Mutex::default(),
        });
        for _ in 0..background.count() {
            let closing = Arc::clone(&closing);
            chores.push(Box::new(move || closing.close_all()));
        }
        closing.close_all();
        background.stop();
        // Requests that awaited a store which was being closed end with an error now.
        self.ready().drain_if_stopping();
        let failed = locked(&closing.failed).take();
        failed.map_or(Ok(()), Err)
    }
}

/// Stores that several threads close.
struct Closing {
    origins: Mutex<Vec<Arc<Origin>>>,
    failed: Mutex<Option<Error>>,
}

impl Closing {
    fn close_all(&self) {
        loop {
            let next = locked(&self.origins).pop();
            let Some(origin) = next else {
                return;
            };
            if let Err(error) = origin.close_store() {
                locked(&self.failed).get_or_insert(error);
            }
        }
    }
}
