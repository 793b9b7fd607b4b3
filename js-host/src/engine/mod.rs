//! The binding's engine: its hooks on `larder-idb`.
//!
//! Script gets numbers for what the engine has ([`handles`]); calls that take time get the number of a
//! request and are answered later ([`Realm::answer`]): the event loop takes one answer at a time and hands it to
//! the binding as a task ([`deliver`]). The steps between are done on the scripts' thread or on one beside it ([`steps`]), in the
//! same order. What a call may throw it throws at once, as a `DOMException`.

mod blobs;
mod calls;
mod changes;
mod deliver;
mod handles;
mod reads;
mod steps;
mod tasks;
mod writes;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use larder_codec::Origin;
use larder_idb::{
    DeleteRequest, Error, ErrorName, Executor, Factory, OpenRequest, Storage, StorageOptions,
};
use rquickjs::{Ctx, Exception, Object, Result};

use handles::Handles;
use steps::Steps;
use tasks::Tasks;

use crate::pauses::Pauses;
use crate::realms::{Realm, Watcher};
use crate::shared::Shared;

/// IndexedDB for one realm.
pub(crate) struct Engine {
    shared: Rc<Shared>,
    storage: Storage,
    factory: Factory,
    realm: Realm,
    steps: Steps,
    /// A realm of an opaque origin has no databases.
    is_refused: bool,
    /// So many of its calls are running, one within another.
    depth: Cell<usize>,
    handles: RefCell<Handles>,
    /// By number of a connection that script is about to watch.
    watchers: RefCell<HashMap<u32, Watcher>>,
    /// Databases that are being opened and deleted: dropped, they would not be.
    opening: RefCell<HashMap<u32, OpenRequest>>,
    deleting: RefCell<HashMap<u32, DeleteRequest>>,
}

/// What the engines of all realms of a run are made of.
#[derive(Clone)]
pub(crate) struct EngineSeed {
    storage: Storage,
    origin: Origin,
    tasks: Tasks,
    has_thread: bool,
}

/// A call of the engine's, until it returns.
struct Entered<'e>(&'e Engine);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}

impl Engine {
    /// The engine of a run's first realm.
    pub(crate) fn first(
        shared: Rc<Shared>,
        mut options: StorageOptions,
        origin: &Origin,
        realm: Realm,
        pauses: Pauses,
    ) -> larder_idb::Result<Self> {
        let has_thread = matches!(options.executor, Executor::Threads(_));
        options.executor = Executor::Driven { seed: None };
        let seed = EngineSeed {
            storage: Storage::new(options)?,
            origin: origin.clone(),
            tasks: Tasks::default(),
            has_thread,
        };
        let engine = Self::further(shared, seed, realm, false);
        if has_thread {
            engine.steps.start_thread(pauses)?;
        }
        Ok(engine)
    }

    /// The engine of another realm. One of an opaque origin has no databases.
    pub(crate) fn further(
        shared: Rc<Shared>,
        seed: EngineSeed,
        realm: Realm,
        is_refused: bool,
    ) -> Self {
        Self {
            shared,
            factory: seed.storage.factory(&seed.origin),
            steps: Steps::new(
                realm.clone(),
                seed.storage.clone(),
                seed.tasks,
                seed.has_thread,
            ),
            storage: seed.storage,
            realm,
            is_refused,
            depth: Cell::new(0),
            handles: RefCell::default(),
            watchers: RefCell::default(),
            opening: RefCell::default(),
            deleting: RefCell::default(),
        }
    }

    /// What other realms' engines are made of.
    pub(crate) fn seed(&self, origin: &Origin) -> EngineSeed {
        EngineSeed {
            storage: self.storage.clone(),
            origin: origin.clone(),
            tasks: self.steps.tasks().clone(),
            has_thread: self.steps.has_thread(),
        }
    }

    /// The object `engine` of the binding's hooks.
    pub(crate) fn hooks<'js>(self: &Rc<Self>, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let hooks = Object::new(ctx.clone())?;
        calls::install(ctx, self, &hooks)?;
        reads::install(ctx, self, &hooks)?;
        writes::install(ctx, self, &hooks)?;
        blobs::install(ctx, self, &hooks)?;
        changes::install(ctx, self, &hooks)?;
        Ok(hooks)
    }

    /// Before a call whose effect could depend on how far the engine has come.
    fn enter(&self, ctx: &Ctx<'_>) -> Result<Entered<'_>> {
        if self.steps.rest().is_err() {
            // What runs is ended at the engine's next look at its interrupt.
            return Err(Exception::throw_internal(ctx, "the worker has ended"));
        }
        self.depth.set(self.depth.get() + 1);
        Ok(Entered(self))
    }

    /// Throws where the origin is opaque.
    fn check_allowed(&self, ctx: &Ctx<'_>) -> Result<()> {
        if !self.is_refused {
            return Ok(());
        }
        let what = "access to the Indexed Database API is denied in this context.";
        Err(Exception::throw_dom(ctx, "SecurityError", what))
    }

    /// After a task: the engine goes on with what it has been asked for.
    pub(crate) fn go_on(&self) {
        self.steps.go_on();
    }

    /// While script runs: others that have waited too long get the engine.
    pub(crate) fn give_way(&self) {
        if self.depth.get() == 0 {
            self.steps.give_way();
        }
    }

    /// Before the scripts' thread waits for something that may never come.
    pub(crate) fn before_long_wait(&self) {
        self.steps.before_long_wait();
    }

    /// The run is over: its other realms, which end now, wait for the engine in vain.
    pub(crate) fn end_run(&self) {
        self.realm.group().end_turns();
        self.steps.drop_turn();
    }

    /// Lets go of everything. The last engine of a run closes the stores.
    pub(crate) fn close(&self) {
        self.steps.end_thread();
        let has_turn = !self.realm.group().is_ending() && self.steps.take_last_turn();
        drop(self.opening.take());
        drop(self.deleting.take());
        drop(self.watchers.take());
        drop(self.handles.take());
        if has_turn {
            self.go_on();
        }
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
