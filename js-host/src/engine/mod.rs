//! The binding's engine: its hooks on `larder-idb`.
//!
//! Script gets numbers for what the engine has ([`handles`]); calls that take time get the number of a
//! request and are answered later ([`outbox`]): the event loop takes one answer at a time and hands it to
//! the binding as a task ([`deliver`]). The steps between are done on the scripts' thread or on one beside it ([`steps`]), in the
//! same order. What a call may throw it throws at once, as a `DOMException`.

mod calls;
mod deliver;
mod handles;
mod outbox;
mod reads;
mod steps;
mod writes;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use larder_codec::Origin;
use larder_idb::{
    DeleteRequest, Error, ErrorName, Executor, Factory, OpenRequest, Storage, StorageOptions,
};
use rquickjs::{Ctx, Exception, Object, Result};

use handles::Handles;
use outbox::{Outbox, Watcher};
use steps::Steps;

use crate::pauses::Pauses;
use crate::shared::Shared;

/// IndexedDB for one realm.
pub(crate) struct Engine {
    shared: Rc<Shared>,
    storage: Storage,
    factory: Factory,
    steps: Steps,
    handles: RefCell<Handles>,
    outbox: Arc<Outbox>,
    /// By number of a connection that script is about to watch.
    watchers: RefCell<HashMap<u32, Watcher>>,
    /// Databases that are being opened and deleted: dropped, they would not be.
    opening: RefCell<HashMap<u32, OpenRequest>>,
    deleting: RefCell<HashMap<u32, DeleteRequest>>,
}

impl Engine {
    pub(crate) fn new(
        shared: Rc<Shared>,
        mut options: StorageOptions,
        origin: &Origin,
        pauses: Pauses,
    ) -> larder_idb::Result<Self> {
        let has_thread = matches!(options.executor, Executor::Threads(_));
        options.executor = Executor::Driven { seed: None };
        let storage = Storage::new(options)?;
        let factory = storage.factory(origin);
        let outbox = Arc::<Outbox>::default();
        let steps = match has_thread {
            true => Steps::beside(&storage, &outbox, pauses)?,
            false => Steps::Between,
        };
        Ok(Self {
            shared,
            factory,
            storage,
            steps,
            handles: RefCell::default(),
            outbox,
            watchers: RefCell::default(),
            opening: RefCell::default(),
            deleting: RefCell::default(),
        })
    }

    /// The object `engine` of the binding's hooks.
    pub(crate) fn hooks<'js>(self: &Rc<Self>, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let hooks = Object::new(ctx.clone())?;
        calls::install(ctx, self, &hooks)?;
        reads::install(ctx, self, &hooks)?;
        writes::install(ctx, self, &hooks)?;
        Ok(hooks)
    }

    /// Before a call whose effect could depend on how far the engine has come.
    fn enter(&self) {
        self.steps.rest(&self.outbox);
    }

    /// After a task: the engine goes on with what it has been asked for.
    pub(crate) fn go_on(&self) {
        self.steps.go_on(&self.storage, &self.outbox);
    }

    /// How many answers wait to be handed over.
    pub(crate) fn answer_count(&self) -> usize {
        self.outbox.len()
    }

    /// Waits for an answer, for so long at most (for ever if there is no limit). False at once if there is none to come.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> bool {
        self.outbox.wait(limit)
    }

    /// Lets go of everything, and closes the stores.
    pub(crate) fn close(&self) {
        self.steps.end(&self.outbox);
        drop(self.opening.take());
        drop(self.deleting.take());
        drop(self.watchers.take());
        drop(self.handles.take());
        self.outbox.clear();
    }
}

/// Throws an error of the engine's as the page is to see it.
fn thrown(ctx: &Ctx<'_>, error: &Error) -> rquickjs::Error {
    match error.name() {
        ErrorName::TypeError => Exception::throw_type(ctx, error.message()),
        name => Exception::throw_dom(ctx, name.as_str(), error.message()),
    }
}

/// The result of the engine's, or its error thrown.
fn checked<T>(ctx: &Ctx<'_>, result: larder_idb::Result<T>) -> Result<T> {
    result.map_err(|error| thrown(ctx, &error))
}
