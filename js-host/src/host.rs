//! [`Host`]: one realm with its event loop.
//!
//! A turn of the loop is one task or timer of JavaScript or one answer of the engine, in the order in which they came
//! (`platform/event_loop.js`), followed by a microtask checkpoint.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use larder_codec::Origin;
use larder_idb::StorageOptions;
use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{CatchResultExt, Context, Ctx, Module, Object, Persistent, Promise, Runtime};

use crate::engine::Engine;
use crate::modules::{self, MAIN, Modules, built_in};
use crate::natives::natives;
use crate::pauses::Pauses;
use crate::server::Server;
use crate::shared::{Console, Scripts, Shared};
use crate::system::{self, System};

/// What `turn` of `platform/event_loop.js` gives: it has run something, or the host is to hand an answer over.
const RAN: f64 = -1.0;
const DELIVER: f64 = -2.0;

/// Native stack that scripts may use; the engine throws beyond it. Test threads have 2 MiB.
const STACK_LEN_BYTES_MAX: usize = 1 << 20;

/// What the global object is, and so what a script finds in it.
#[derive(Default)]
pub enum Global {
    /// A `Window` without a document.
    #[default]
    Window,
    /// A `DedicatedWorkerGlobalScope` whose parent does not listen; these are what `importScripts` finds.
    DedicatedWorker(Scripts),
}

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
    /// Takes the lines that scripts print, and the exceptions that nobody caught.
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
    engine: Rc<Engine>,
    /// So many answers of the engine's have their place among what can run.
    answers_placed: Cell<usize>,
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
        let engine = |error: rquickjs::Error| Error(error.to_string());
        let runtime = Runtime::new().map_err(engine)?;
        runtime.set_max_stack_size(STACK_LEN_BYTES_MAX);
        let context = Context::full(&runtime).map_err(engine)?;
        let shared = Rc::new(Shared::new(options.console));
        let modules = Modules::new(Rc::clone(&shared));
        runtime.set_loader(modules.clone(), modules.clone());
        let exit_code = Rc::clone(shared.exit_code());
        runtime.set_interrupt_handler(Some(Box::new(move || exit_code.get().is_some())));
        let tracked = Rc::clone(&shared);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                tracked.rejected(&ctx, promise, reason, is_handled);
            },
        )));
        let origin = Origin::from_url(&options.origin)
            .map_err(|error| Error(format!("{}: {error}", options.origin)))?;
        let indexed_db = Engine::new(Rc::clone(&shared), options.storage, &origin, engine_pauses);
        let indexed_db = indexed_db.map_err(|error| Error(error.to_string()))?;
        let host = Self {
            shared,
            engine: Rc::new(indexed_db),
            answers_placed: Cell::new(0),
            pauses,
            modules,
            running: RefCell::default(),
            context,
            runtime,
        };
        let (origin, search) = (origin.to_string(), options.search);
        host.context.with(|ctx| {
            let begun = natives(&ctx, &host.shared, options.global).and_then(|native| {
                system::install(&ctx, &host.shared, &native, system)?;
                modules::install(&ctx, &host.modules, &native)?;
                host.begin(&ctx, native, origin, search)
            });
            let begun = begun.catch(&ctx);
            begun.map_err(|error| Error(error.to_string()))
        })?;
        Ok(host)
    }

    fn begin<'js>(
        &self,
        ctx: &Ctx<'js>,
        native: Object<'js>,
        origin: String,
        search: String,
    ) -> rquickjs::Result<()> {
        native.set("origin", origin)?;
        native.set("search", search)?;
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
                // What it rejects with later is an unhandled rejection.
                Ok((_, promise)) => {
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

    /// Runs tasks, timers and requests until there are none, a worker has closed itself or a script has ended the process. A
    /// module that still awaits something then is reported.
    pub fn run_until_idle(&self) {
        while !self.shared.is_closed() {
            match self.turn() {
                Some(wait) if wait.is_zero() => {}
                wait if self.engine.wait(wait) => {}
                Some(wait) => std::thread::sleep(wait),
                None => return self.report_waiting_modules(),
            }
        }
    }

    /// Nothing is left that could settle what they wait for.
    fn report_waiting_modules(&self) {
        for (name, promise) in self.running.take() {
            let state = |ctx: Ctx<'_>| promise.restore(&ctx).map(|promise| promise.state());
            if matches!(self.context.with(state), Ok(PromiseState::Pending)) {
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
        let answers = self.engine.answer_count();
        let arrived = answers.saturating_sub(self.answers_placed.replace(answers));
        self.context.with(|ctx| {
            let wait_ms = self.shared.turn(&ctx, arrived).unwrap_or_else(|_| {
                self.shared.report_exception(&ctx);
                RAN
            });
            if wait_ms <= DELIVER {
                self.answers_placed.set(answers - 1);
                self.engine.deliver_one(&ctx);
            }
            self.shared.microtask_checkpoint(&ctx);
            match wait_ms {
                ..0.0 => Some(Duration::ZERO),
                _ if wait_ms.is_finite() => Some(Duration::from_secs_f64(wait_ms / 1000.0)),
                _ => None,
            }
        })
    }

    /// Lets `server` answer what scripts ask for by `XMLHttpRequest`, except `blob:` and `data:` URLs. Without one, all else is
    /// a network error: this host has no network. It is called on the scripts' thread, which waits.
    pub fn serve(&self, server: Server) {
        self.shared.set_server(server);
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
        self.shared.exit_code().get()
    }

    /// How many exceptions and rejections nobody has caught.
    #[must_use]
    pub fn uncaught_count(&self) -> u64 {
        self.shared.uncaught_count()
    }
}

/// Runs a classic script in the global scope.
pub(crate) fn run_classic(ctx: &Ctx<'_>, name: &str, source: &str) -> rquickjs::Result<()> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    ctx.eval_with_options::<rquickjs::Value<'_>, _>(source, options)
        .map(drop)
}

impl Drop for Host {
    fn drop(&mut self) {
        self.shared.end();
        self.running.take();
        self.engine.close();
        self.runtime.set_host_promise_rejection_tracker(None);
    }
}
