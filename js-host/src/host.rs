//! [`Host`]: one realm with its event loop.
//!
//! A turn of the loop is one task or timer of JavaScript, one answer of the engine or one message of another realm, in the order in
//! which they came (`platform/event_loop.js`), followed by a microtask checkpoint.
//!
//! A worker that a script makes is a host on a thread of its own ([`Seed`]), with the same storage.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use larder_codec::Origin;
use larder_idb::StorageOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{CatchResultExt, Context, Ctx, Module, Persistent, Promise, Runtime};

use crate::engine::{Engine, EngineSeed};
use crate::global::{Global, run_classic};
use crate::modules::{self, MAIN, Modules, built_in};
use crate::natives::natives;
use crate::output::{Console, Output};
use crate::pauses::Pauses;
use crate::realms::{Entry, Group, Note, Realm};
use crate::server::Server;
use crate::shared::Shared;
use crate::system::{self, System};
use crate::worker_scripts::WorkerScripts;
use crate::workers::{Start, Workers};

/// What `turn` of `platform/event_loop.js` gives: it has run something, or the host is to hand over what has come.
const RAN: f64 = -1.0;
const DELIVER: f64 = -2.0;

/// Native stack that scripts may use; the engine throws beyond it. Test threads have 2 MiB.
const STACK_LEN_BYTES_MAX: usize = 1 << 20;

/// Stack of a worker's thread.
const THREAD_STACK_LEN_BYTES: usize = 4 << 20;

/// How a host is made.
pub struct Options {
    /// What the global object is.
    pub global: Global,
    /// What `location.origin` says, and whose databases scripts see: `https://example.com`.
    pub origin: String,
    /// What `location.search` says: empty, or `?` and more.
    pub search: String,
    /// Where databases are kept. With [`Executor::Threads`](larder_idb::Executor::Threads) the engine works on one thread beside the
    /// scripts', in the same order as without.
    pub storage: StorageOptions,
    /// Takes the lines that scripts print, and the exceptions that no handler caught.
    pub console: Console,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// A realm of JavaScript with an event loop. Not `Send`: it stays on its thread.
pub struct Host {
    shared: Rc<Shared>,
    realm: Realm,
    engine: Rc<Engine>,
    workers: Rc<Workers>,
    /// So much of what has come from outside has its place among what can run.
    placed: Cell<usize>,
    /// Pauses of the scripts' thread.
    pauses: Pauses,
    modules: Modules,
    /// Modules that were run, by name, and what each may still wait for.
    running: RefCell<Vec<(String, Persistent<Promise<'static>>)>>,
    // Dropped in this order.
    context: Context,
    runtime: Runtime,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

/// Why a host could not be made or a script not be begun.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) const fn new(what: String) -> Self {
        Self(what)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Host {
    /// Makes a realm.
    ///
    /// # Errors
    /// If memory is short, or the host's own modules fail: a defect.
    pub fn new(options: Options) -> Result<Self, Error> {
        Self::with_system(options, System::default())
    }

    /// Makes a realm whose scripts get something of the process and the machine.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_system(options: Options, system: System) -> Result<Self, Error> {
        Self::made(options, system, Pauses::default(), Pauses::default())
    }

    /// Makes a realm whose two threads, the scripts' and the engine's, make these pauses.
    #[cfg(test)]
    pub(crate) fn with_pauses(
        options: Options,
        pauses: Pauses,
        engine_pauses: Pauses,
    ) -> Result<Self, Error> {
        Self::made(options, System::default(), pauses, engine_pauses)
    }

    fn made(
        options: Options,
        system: System,
        pauses: Pauses,
        engine_pauses: Pauses,
    ) -> Result<Self, Error> {
        let origin = Origin::from_url(&options.origin)
            .map_err(|error| Error(format!("{}: {error}", options.origin)))?;
        let realm = Group::begin();
        let output = Arc::new(Output::new(options.console));
        let shared = Rc::new(Shared::new(Arc::clone(&output), realm.clone()));
        let engine = Engine::first(
            Rc::clone(&shared),
            options.storage,
            &origin,
            realm.clone(),
            engine_pauses,
        );
        let engine = Rc::new(engine.map_err(|error| Error(error.to_string()))?);
        let scripts = WorkerScripts {
            origin: origin.to_string(),
            files: system.files.clone(),
            beside: system.scripts.clone(),
        };
        let seed = Seed {
            engine: engine.seed(&origin),
            output,
            scripts,
            server: None,
        };
        let place = Place {
            origin: origin.to_string(),
            href: format!("{origin}/{}", options.search),
            name: String::new(),
            is_module: false,
        };
        Self::assembled(
            shared,
            realm,
            engine,
            options.global,
            place,
            seed,
            system,
            pauses,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "each is made in its own way")]
    fn assembled(
        shared: Rc<Shared>,
        realm: Realm,
        engine: Rc<Engine>,
        global: Global,
        place: Place,
        seed: Seed,
        system: System,
        pauses: Pauses,
    ) -> Result<Self, Error> {
        let failed = |error: rquickjs::Error| Error(error.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_max_stack_size(STACK_LEN_BYTES_MAX);
        let context = Context::full(&runtime).map_err(failed)?;
        let modules = Modules::new(Rc::clone(&shared));
        runtime.set_loader(modules.clone(), modules.clone());
        let (watched, asked) = (Rc::clone(&shared), Rc::clone(&engine));
        runtime.set_interrupt_handler(Some(Box::new(move || {
            asked.give_way();
            watched.is_exiting()
        })));
        let tracked = Rc::clone(&shared);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                tracked.rejected(&ctx, promise, reason, is_handled);
            },
        )));
        let workers = Rc::new(Workers {
            shared: Rc::clone(&shared),
            engine: Rc::clone(&engine),
            realm: realm.clone(),
            starter: seed.starter(&shared),
            threads: RefCell::default(),
        });
        let host = Self {
            shared,
            realm,
            engine,
            workers,
            placed: Cell::new(0),
            pauses,
            modules,
            running: RefCell::default(),
            context,
            runtime,
        };
        host.context.with(|ctx| {
            let begun = host.begin(&ctx, global, place, system).catch(&ctx);
            begun.map_err(|error| Error(error.to_string()))
        })?;
        Ok(host)
    }

    fn begin<'js>(
        &self,
        ctx: &Ctx<'js>,
        global: Global,
        place: Place,
        system: System,
    ) -> rquickjs::Result<()> {
        let native = natives(ctx, &self.shared, global)?;
        let engine = Rc::clone(&self.engine);
        let before_wait = move || engine.before_long_wait();
        system::install(ctx, &self.shared, &native, system, before_wait)?;
        modules::install(ctx, &self.modules, &native)?;
        self.workers.install(ctx, &native)?;
        native.set("origin", place.origin)?;
        native.set("href", place.href)?;
        native.set("name", place.name)?;
        native.set("isModule", place.is_module)?;
        native.set("engine", self.engine.hooks(ctx)?)?;
        ctx.globals().set("larderNative", native)?;
        let source = built_in(MAIN).unwrap_or_default();
        let (module, promise) = Module::declare(ctx.clone(), MAIN, source)?.eval()?;
        promise.finish::<()>()?;
        self.shared.begin(ctx, &module.namespace()?)
    }

    /// Runs a classic script, and the microtasks after it. What it throws is reported.
    pub fn run_script(&self, name: &str, source: &str) {
        self.context.with(|ctx| {
            if run_classic(&ctx, name, source).is_err() {
                self.shared.report_exception(&ctx);
            }
            self.shared.microtask_checkpoint(&ctx);
        });
    }

    /// Runs a module from a file, and the microtasks after it. What it throws is reported. With an absolute path it has
    /// `import.meta.url`.
    pub fn run_module(&self, path: &str, source: &str) {
        self.context.with(|ctx| {
            let declared = self.modules.declare(&ctx, path, source);
            match declared.and_then(Module::eval) {
                Ok((_, promise)) => {
                    self.shared
                        .report_to(&ctx, "watchModule", (promise.clone(),));
                    let promise = Persistent::save(&ctx, promise);
                    self.running.borrow_mut().push((path.to_owned(), promise));
                }
                Err(_) => self.shared.report_exception(&ctx),
            }
            self.shared.microtask_checkpoint(&ctx);
        });
    }

    /// Runs a CommonJS module, by the full name of its file, and the microtasks after it. What it throws is reported.
    pub fn run_common_js(&self, path: &str) {
        self.context.with(|ctx| {
            self.shared.report_to(&ctx, "importCommonJs", (path,));
            self.shared.microtask_checkpoint(&ctx);
        });
    }

    /// Runs tasks, timers and requests until there are none here and in all workers, a worker has closed itself or a script has ended the
    /// process. A module that still awaits something then is reported.
    pub fn run_until_idle(&self) {
        let mut is_announced = false;
        while !self.shared.is_closed() {
            let wait = self.turn();
            if wait.is_some_and(|wait| wait.is_zero()) || self.realm.wait(wait) {
                continue;
            }
            // The run is quiet. Workers report what waits in them, too, and wake for that: so the run is quiet twice before it ends.
            self.context.with(|ctx| self.report_waiting_modules(&ctx));
            if std::mem::replace(&mut is_announced, true) || self.realm.is_alone() {
                return;
            }
            self.realm.announce_that_nothing_comes();
        }
    }

    /// Nothing is left that could settle what they wait for.
    fn report_waiting_modules(&self, ctx: &Ctx<'_>) {
        for (name, promise) in self.running.take() {
            let state = promise.restore(ctx).map(|promise| promise.state());
            if matches!(state, Ok(PromiseState::Pending)) {
                let what = format!("{name}: what the module awaits at its top never came");
                self.shared.print_uncaught(&what);
            }
        }
    }

    /// One turn of the loop: how long until there can be another; `None` if there never will.
    pub fn turn(&self) -> Option<Duration> {
        if self.shared.is_closed() {
            return None;
        }
        self.engine.go_on();
        self.pauses.pause();
        let all = self.realm.inbox_len();
        let arrived = all.saturating_sub(self.placed.replace(all));
        self.context.with(|ctx| {
            let wait_ms = self.shared.turn(&ctx, arrived).unwrap_or_else(|_| {
                self.shared.report_exception(&ctx);
                RAN
            });
            if wait_ms <= DELIVER {
                self.placed.set(all - 1);
                self.deliver_one(&ctx);
            }
            self.shared.microtask_checkpoint(&ctx);
            match wait_ms {
                ..0.0 => Some(Duration::ZERO),
                _ if wait_ms.is_finite() => Some(Duration::from_secs_f64(wait_ms / 1000.0)),
                _ => None,
            }
        })
    }

    /// Hands over what came first.
    fn deliver_one(&self, ctx: &Ctx<'_>) {
        let delivered = match self.realm.take() {
            Some(Entry::Answer(answer)) => self.engine.deliver(ctx, answer),
            Some(Entry::Note(Note::NothingComes)) => return self.report_waiting_modules(ctx),
            Some(Entry::Note(note)) => self.workers.deliver(ctx, note),
            None => Ok(()),
        };
        if delivered.is_err() {
            self.shared.report_exception(ctx);
        }
    }

    /// Lets `server` answer what scripts ask for by `XMLHttpRequest`, except `blob:` and `data:` URLs. Without one, all else is
    /// a network error: this host has no network. It is called on the scripts' thread, which waits.
    pub fn serve(&self, server: Server) {
        self.shared.set_server(Arc::new(server));
    }

    /// Puts an empty `FileList` on the global object: what no script can make by itself.
    ///
    /// # Errors
    /// If memory is short.
    pub fn define_file_list(&self, name: &str) -> Result<(), Error> {
        let defined = self.context.with(|ctx| {
            let list = self.shared.helpers(&ctx)?.file_list(&ctx)?;
            ctx.globals().set(name, list)
        });
        defined.map_err(|error| Error(error.to_string()))
    }

    /// Calls with the realm.
    #[cfg(test)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(Ctx<'_>, &Shared) -> R) -> R {
        self.context.with(|ctx| f(ctx, &self.shared))
    }

    /// Collects what script cannot reach any more, and lets go of what the engine kept for it.
    pub fn collect_garbage(&self) {
        self.runtime.run_gc();
        self.context
            .with(|ctx| self.shared.microtask_checkpoint(&ctx));
    }

    /// Bytes that QuickJS has allocated: all that script can reach, and what has not been collected. What the engine has
    /// allocated is not in it.
    #[must_use]
    pub fn script_heap_bytes(&self) -> u64 {
        u64::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0)
    }

    /// The status with which a script has ended the process.
    #[must_use]
    pub fn exit_code(&self) -> Option<u8> {
        self.shared.exit_code()
    }

    /// How many exceptions and rejections no handler has caught, here and in workers.
    #[must_use]
    pub fn uncaught_count(&self) -> u64 {
        self.shared.output().uncaught_count()
    }
}

/// Where a realm is.
struct Place {
    /// `self.origin`: `null` for an opaque one.
    origin: String,
    /// `location.href`.
    href: String,
    /// The name of a worker.
    name: String,
    /// Whether it is a worker whose script is a module.
    is_module: bool,
}

/// What a worker's host is made of, on the worker's thread.
#[derive(Clone)]
struct Seed {
    engine: EngineSeed,
    output: Arc<Output>,
    scripts: WorkerScripts,
    server: Option<Arc<Server>>,
}

impl Seed {
    /// Starts threads of workers of a realm.
    fn starter(self, shared: &Rc<Shared>) -> crate::workers::Starter {
        let shared = Rc::downgrade(shared);
        Box::new(move |start| {
            let mut seed = self.clone();
            seed.server = shared.upgrade().and_then(|shared| shared.server());
            seed.start(start)
        })
    }

    fn start(self, start: Start) -> std::io::Result<JoinHandle<()>> {
        let realm = start.realm.clone();
        let builder = Builder::new()
            .name("larder-worker".into())
            .stack_size(THREAD_STACK_LEN_BYTES);
        builder.spawn(move || {
            let worked = catch_unwind(AssertUnwindSafe(|| self.serve(start)));
            realm.end(worked.err());
        })
    }

    /// What the thread does.
    fn serve(self, start: Start) {
        let realm = start.realm.clone();
        if let Err(why) = self.run(start) {
            let unloaded = Note::Unloaded(realm.id(), why);
            realm.send_to_parent(unloaded);
        }
    }

    /// # Errors
    /// In words, if the script cannot be had.
    fn run(self, start: Start) -> Result<(), String> {
        // The path of a module, beside which its imports lie.
        let (name, source) = match start.source.clone() {
            Some(source) => (start.url.clone(), source),
            None => {
                let found = self.scripts.read(&start.url)?;
                let path = found.path.filter(|_| start.is_module);
                (path.unwrap_or_else(|| start.url.clone()), found.text)
            }
        };
        let is_module = start.is_module;
        let host = self.host(start).map_err(|error| error.to_string())?;
        match is_module {
            true => host.run_module(&name, &source),
            false => host.run_script(&name, &source),
        }
        host.run_until_idle();
        Ok(())
    }

    fn host(self, start: Start) -> Result<Host, Error> {
        let realm = start.realm;
        let shared = Rc::new(Shared::new(Arc::clone(&self.output), realm.clone()));
        if let Some(server) = &self.server {
            shared.set_server(Arc::clone(server));
        }
        let engine = Engine::further(
            Rc::clone(&shared),
            self.engine.clone(),
            realm.clone(),
            start.is_opaque,
        );
        let system = System {
            process: None,
            files: self.scripts.files.clone(),
            scripts: None::<PathBuf>,
        };
        let origin = match start.is_opaque {
            true => "null".to_owned(),
            false => self.scripts.origin.clone(),
        };
        let place = Place {
            origin,
            href: start.url,
            name: start.name,
            is_module: start.is_module,
        };
        let scripts = self.scripts.clone();
        let imported = move |url: &str| {
            let found = scripts.read(url).map_err(std::io::Error::other)?;
            Ok(found.text)
        };
        let global = Global::DedicatedWorker(Box::new(imported));
        let pauses = Pauses::default();
        Host::assembled(
            shared,
            realm,
            Rc::new(engine),
            global,
            place,
            self,
            system,
            pauses,
        )
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.realm.is_first() {
            self.engine.end_run();
        }
        self.workers.end();
        self.shared.end();
        self.running.take();
        self.engine.close();
        self.runtime.set_host_promise_rejection_tracker(None);
        self.runtime.set_interrupt_handler(None);
    }
}
