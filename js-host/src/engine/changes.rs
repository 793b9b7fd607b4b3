//! Calls about change feeds, for `changes.js` of `larder-binding`: what changed in a database, and following it.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_feed::{Batch, Feed, Follower, ReadOptions, Revision, RevisionKind, Start};
use larder_idb::{Error, ErrorName};
use rquickjs::{Array, Ctx, Function, Object, Result, String as QuickString, Value};

use super::calls::{give, gone};
use super::handles::Handle;
use super::tasks::Task;
use super::{Engine, thrown};
use crate::array::array_of;
use crate::clone::{key_to_js, string_to_js};
use crate::realms::{Answer, Outcome};

/// What a script reads of a feed.
#[derive(Debug)]
pub(super) struct Changes {
    follower: Arc<Follower>,
    /// What the request of this number waits for.
    pending: Mutex<Option<(u32, Arc<Task>)>>,
}

impl Drop for Changes {
    fn drop(&mut self) {
        // The future has what wakes it, and that the future.
        self.cancel();
    }
}

impl Changes {
    fn pending(&self) -> MutexGuard<'_, Option<(u32, Arc<Task>)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request that waited, if one did.
    fn cancel(&self) -> Option<u32> {
        let (request, task) = self.pending().take()?;
        task.cancel().then_some(request)
    }
}

pub(super) fn install<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(
        hooks,
        ctx,
        engine,
        "setChangeFeed",
        |request: u32, name: QuickString<'js>, is_on: bool| {
            engine.check_allowed(ctx)?;
            let name = engine.string(ctx, &name)?;
            let factory = engine.factory.clone();
            engine.ask(request, async move {
                larder_feed::set_change_feed(factory, name, is_on).await?;
                Ok(Outcome::Nothing)
            });
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "openChanges",
        |connection: u32, options: Object<'js>| {
            let feed = Feed::of(&engine.connection(ctx, connection)?);
            let feed = feed.map_err(|error| thrown(ctx, &error.into()))?;
            let consumer: Option<QuickString<'js>> = options.get("consumer")?;
            let from = match consumer {
                Some(name) => Start::Consumer(engine.string(ctx, &name)?.to_string_lossy()),
                None => Start::Position(options.get::<_, f64>("after")? as u64),
            };
            let follower = Follower::new(feed, from, engine.read_options(ctx, &options)?);
            let changes = Changes {
                follower: Arc::new(follower),
                pending: Mutex::default(),
            };
            let handle = Handle::Changes(Arc::new(changes));
            Ok::<_, rquickjs::Error>(engine.handles.borrow_mut().all.add(handle))
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "nextChanges",
        |request: u32, changes: u32, is_live: bool| {
            let changes = engine.changes(ctx, changes)?;
            let follower = Arc::clone(&changes.follower);
            let task = engine.ask(request, async move {
                Ok(Outcome::Changes(follower.next(is_live).await?))
            });
            *changes.pending() = Some((request, task));
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "acknowledgeChanges",
        |request: u32, changes: u32, position: f64| {
            let follower = Arc::clone(&engine.changes(ctx, changes)?.follower);
            engine.ask(request, async move {
                follower.acknowledge(position as u64).await?;
                Ok(Outcome::Nothing)
            });
            Ok::<_, rquickjs::Error>(())
        }
    );
    // What was asked for and is not there yet ends with `AbortError`.
    give!(hooks, ctx, engine, "stopChanges", |changes: u32| {
        if let Some(request) = engine.changes(ctx, changes)?.cancel() {
            let error = Error::new(ErrorName::AbortError, "reading the changes was ended");
            engine.realm.answer(Answer::Complete(request, Err(error)));
        }
        Ok::<_, rquickjs::Error>(())
    });
    Ok(())
}

impl Engine {
    /// Answers a request when a future has come to its end.
    fn ask(
        &self,
        request: u32,
        asked: impl Future<Output = larder_idb::Result<Outcome>> + Send + 'static,
    ) -> Arc<Task> {
        let realm = self.realm.clone();
        self.steps.tasks().begin(async move {
            let result = asked.await;
            realm.answer(Answer::Complete(request, result));
        })
    }

    fn changes(&self, ctx: &Ctx<'_>, number: u32) -> Result<Arc<Changes>> {
        match self.handle(ctx, number)? {
            Handle::Changes(changes) => Ok(changes),
            _ => Err(gone(ctx)),
        }
    }

    fn read_options<'js>(&self, ctx: &Ctx<'js>, options: &Object<'js>) -> Result<ReadOptions> {
        let mut read = ReadOptions::new().values(options.get("values")?);
        let stores: Option<Vec<QuickString<'js>>> = options.get("stores")?;
        if let Some(stores) = stores {
            let names = stores.iter().map(|name| self.string(ctx, name));
            read = read.object_stores(names.collect::<Result<Vec<_>>>()?);
        }
        let range: Option<Object<'js>> = options.get("range")?;
        if let Some(range) = range {
            read = read.keys(self.range(ctx, &range)?);
        }
        let kinds: Option<Vec<String>> = options.get("operationTypes")?;
        if let Some(kinds) = kinds {
            read = read.kinds(kinds.iter().filter_map(|name| kind_of(name)));
        }
        Ok(read)
    }

    /// A batch as an array: its position, and of each transaction what `changes.js` of `larder-binding` makes an object of.
    pub(super) fn batch<'js>(&self, ctx: &Ctx<'js>, batch: &Batch) -> Result<Value<'js>> {
        let number = |number: f64| Value::new_number(ctx.clone(), number);
        let mut transactions = vec![number(batch.position() as f64)];
        for transaction in batch.transactions() {
            let Some(first) = transaction.revisions.first() else {
                continue;
            };
            let committed = match transaction.committed_at_ms {
                Some(at_ms) => number(at_ms),
                None => Value::new_undefined(ctx.clone()),
            };
            let is_from_source = Value::new_bool(ctx.clone(), first.is_from_source());
            let mut parts = vec![
                number(transaction.position as f64),
                committed,
                is_from_source,
            ];
            for revision in transaction.revisions {
                parts.push(self.revision(ctx, revision)?.into_value());
            }
            transactions.push(array_of(ctx, parts)?.into_value());
        }
        Ok(array_of(ctx, transactions)?.into_value())
    }

    fn revision<'js>(&self, ctx: &Ctx<'js>, revision: &Revision) -> Result<Array<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let kind = QuickString::from_str(ctx.clone(), revision.kind().name())?;
        let mut parts = vec![
            Value::new_number(ctx.clone(), revision.number() as f64),
            kind.into_value(),
            string_to_js(ctx, &helpers, revision.object_store_name())?,
            key_to_js(ctx, &helpers, &revision.key())?,
        ];
        if let Some(value) = revision.value() {
            parts.push(self.value(ctx, value.bytes(), value.objects())?);
        }
        array_of(ctx, parts)
    }
}

fn kind_of(name: &str) -> Option<RevisionKind> {
    let mut kinds = RevisionKind::ALL.into_iter();
    kinds.find(|kind| kind.name() == name)
}
