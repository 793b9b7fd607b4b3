//! What requests come to.

use std::sync::Arc;

use larder_feed::Batch;
use larder_idb::{
    Cursor, DatabaseInfo, ExternalObject, Key, Records, Request, Result, StoredValue,
};

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Outcome {
    Nothing,
    Key(Key),
    MaybeKey(Option<Key>),
    Value(Option<StoredValue>),
    Count(u64),
    Records(Records, Projection),
    /// A cursor that gets a number.
    Cursor(Option<Cursor>),
    /// A cursor that has a number has moved.
    Moved(u32, Option<Cursor>),
    Databases(Vec<DatabaseInfo>),
    /// Transactions of a change feed; `None` at its end.
    Changes(Option<Batch>),
}

/// Which parts of records the answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Projection {
    Values,
    PrimaryKeys,
    Whole,
}

impl Outcome {
    /// The blobs and files that script gets with it, in order.
    pub(crate) fn objects(&self) -> Vec<ExternalObject> {
        match self {
            Self::Value(Some(value)) => value.objects().to_vec(),
            Self::Records(records, Projection::Values | Projection::Whole) => {
                let each = records.iter();
                each.flat_map(|record| record.objects().iter().cloned())
                    .collect()
            }
            Self::Cursor(Some(cursor)) | Self::Moved(_, Some(cursor)) => {
                cursor.record().objects().to_vec()
            }
            Self::Changes(Some(batch)) => {
                let revisions = batch.transactions().flat_map(|one| one.revisions);
                let values = revisions.filter_map(|revision| revision.value());
                values.flat_map(|value| value.objects().to_vec()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The content of a blob; `None` for a handle of the file system.
pub(crate) type Content = Option<Result<Arc<Vec<u8>>>>;

/// Those of an outcome's blobs, in order.
pub(crate) type Contents = Vec<Content>;

/// A request of the engine's, by what it comes to.
#[derive(Debug)]
pub(crate) enum Asked {
    Nothing(Request<()>),
    Key(Request<Key>),
    MaybeKey(Request<Option<Key>>),
    Value(Request<Option<StoredValue>>),
    Count(Request<u64>),
    Records(Request<Records>, Projection),
    Cursor(Request<Option<Cursor>>),
    Moved(u32, Request<Option<Cursor>>),
}

impl Asked {
    /// Executes it on this thread, if it can be executed now and no other thread does.
    pub(crate) fn try_execute(&mut self) -> Option<Result<Outcome>> {
        Some(match self {
            Self::Nothing(request) => request.try_execute()?.map(|()| Outcome::Nothing),
            Self::Key(request) => request.try_execute()?.map(Outcome::Key),
            Self::MaybeKey(request) => request.try_execute()?.map(Outcome::MaybeKey),
            Self::Value(request) => request.try_execute()?.map(Outcome::Value),
            Self::Count(request) => request.try_execute()?.map(Outcome::Count),
            Self::Records(request, projection) => {
                let projection = *projection;
                let found = request.try_execute()?;
                found.map(|records| Outcome::Records(records, projection))
            }
            Self::Cursor(request) => request.try_execute()?.map(Outcome::Cursor),
            Self::Moved(number, request) => {
                let number = *number;
                request
                    .try_execute()?
                    .map(|cursor| Outcome::Moved(number, cursor))
            }
        })
    }

    /// Has a thread of the storage's execute it, which calls back.
    pub(crate) fn on_done(self, done: impl FnOnce(Result<Outcome>) + Send + 'static) {
        match self {
            Self::Nothing(request) => {
                request.on_done(|found| done(found.map(|()| Outcome::Nothing)))
            }
            Self::Key(request) => request.on_done(|found| done(found.map(Outcome::Key))),
            Self::MaybeKey(request) => request.on_done(|found| done(found.map(Outcome::MaybeKey))),
            Self::Value(request) => request.on_done(|found| done(found.map(Outcome::Value))),
            Self::Count(request) => request.on_done(|found| done(found.map(Outcome::Count))),
            Self::Records(request, projection) => {
                request.on_done(move |found| {
                    done(found.map(|records| Outcome::Records(records, projection)))
                });
            }
            Self::Cursor(request) => request.on_done(|found| done(found.map(Outcome::Cursor))),
            Self::Moved(number, request) => {
                request
                    .on_done(move |found| done(found.map(|cursor| Outcome::Moved(number, cursor))));
            }
        }
    }
}
