//! The binding's engine: its hooks on `larder-idb`.
//!
//! Script gets numbers for what the engine has ([`handles`]); calls that take time get the number of a
//! request and are answered later ([`outbox`]): the event loop takes one answer at a time and hands it to
//! the binding as a task ([`deliver`]). What a call may throw it throws at once, as a `DOMException`.

mod calls;
mod deliver;
mod handles;
mod outbox;
mod reads;
mod writes;

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use larder_codec::{JsString, Origin};
use larder_idb::{
    DeleteRequest, Error, ErrorName, Executor, Factory, OpenRequest, Storage, StorageOptions,
};
use rquickjs::{Ctx, Exception, Object, Result};

use handles::Handles;
use outbox::{Outbox, Watcher};

use crate::shared::Shared;

/// IndexedDB for one realm.
pub(crate) struct Engine {
    shared: Rc<Shared>,
    storage: Storage,
    factory: Factory,
    is_driven: bool,
    handles: RefCell<Handles>,
    outbox: Arc<Outbox>,
    /// By number of a connection that script is about to watch.
    watchers: RefCell<HashMap<u32, Watcher>>,
    /// Databases that are being opened and deleted: dropped, they would not be.
    opening: RefCell<HashMap<u32, (JsString, OpenRequest)>>,
    deleting: RefCell<HashMap<u32, (JsString, DeleteRequest)>>,
}

impl Engine {
    pub(crate) fn new(
        shared: Rc<Shared>,
        mut options: StorageOptions,
        origin: &Origin,
    ) -> larder_idb::Result<Self> {
        let is_driven = matches!(options.executor, Executor::Driven { .. });
        // A page sees a transaction's end before the results of those that waited for it. Answers of
        // several threads could come the other way round.
        if !is_driven {
            options.executor = Executor::Threads(NonZeroUsize::MIN);
        }
        let storage = Storage::new(options)?;
        let factory = storage.factory(origin);
        Ok(Self {
            shared,
            factory,
            storage,
            is_driven,
            handles: RefCell::default(),
            outbox: Arc::default(),
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

    /// Does one step, if the host is to do the steps: whether there was one.
    pub(crate) fn run_one(&self) -> bool {
        self.is_driven && self.storage.run_one()
    }

    /// Waits for an answer, for so long at most (for ever if there is no limit). False at once if there
    /// is none to come.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> bool {
        if self.is_driven || !self.outbox.expects_any() {
            return false;
        }
        self.outbox.wait(limit);
        true
    }

    /// Lets go of everything, and closes the stores.
    pub(crate) fn close(&self) {
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
