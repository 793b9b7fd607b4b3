//! [`Shared`]: the state that the host shares with the functions that it gives to JavaScript.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use rquickjs::{Ctx, Exception, FromJs, Function, Object, Persistent, Result, Value};

use crate::clone::{Deserializer, Helpers};
use crate::output::{Output, Stream};
use crate::realms::Realm;
use crate::server::{Server, ServerRequest, ServerResponse};

/// The text of a classic script, by the URL that a worker has asked for.
pub type Scripts = Box<dyn Fn(&str) -> std::io::Result<String>>;

/// A serialised value with its blobs, between `serialize` and the request that stores it.
pub(crate) struct Clone {
    pub(crate) bytes: Vec<u8>,
    pub(crate) needs: larder_codec::value::Needs,
    pub(crate) blobs: Vec<Persistent<Value<'static>>>,
    /// The tokens of its file system handles.
    pub(crate) tokens: Vec<Vec<u8>>,
}

pub(crate) struct Shared {
    started: Instant,
    helpers: RefCell<Option<Rc<Helpers>>>,
    host: RefCell<Option<Persistent<Object<'static>>>>,
    /// The function that takes every answer; below it, the one that runs every task.
    complete: RefCell<Option<Persistent<Function<'static>>>>,
    turn: RefCell<Option<Persistent<Function<'static>>>>,
    pub(crate) deserializer: RefCell<Deserializer>,
    /// Promises that were rejected without a handler since the last checkpoint, with their reasons.
    rejections: RefCell<Vec<[Persistent<Value<'static>>; 2]>>,
    clones: RefCell<Vec<Option<Clone>>>,
    output: Arc<Output>,
    realm: Realm,
    server: RefCell<Option<Arc<Server>>>,
    /// Whether the binding has something to do at the end of the next checkpoint.
    wants_cleanup: Cell<bool>,
    /// Whether a worker has closed itself, or a script has ended the process.
    is_closed: Cell<bool>,
    /// The status with which a script has ended the process.
    exit_code: Cell<Option<u8>>,
}

impl Shared {
    #[expect(
        clippy::disallowed_methods,
        reason = "a root reads the clock: timers and Event.timeStamp"
    )]
    pub(crate) fn new(output: Arc<Output>, realm: Realm) -> Self {
        Self {
            started: Instant::now(),
            helpers: RefCell::default(),
            host: RefCell::default(),
            complete: RefCell::default(),
            turn: RefCell::default(),
            deserializer: RefCell::default(),
            rejections: RefCell::default(),
            clones: RefCell::default(),
            output,
            realm,
            server: RefCell::default(),
            wants_cleanup: Cell::new(false),
            is_closed: Cell::new(false),
            exit_code: Cell::default(),
        }
    }

    /// Milliseconds since the host began.
    pub(crate) fn now_ms(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1000.0
    }

    /// What it prints on, which is all realms'.
    pub(crate) const fn output(&self) -> &Arc<Output> {
        &self.output
    }

    pub(crate) fn print(&self, stream: Stream, text: &str) {
        self.output.print(stream, text);
    }

    pub(crate) fn set_server(&self, server: Arc<Server>) {
        self.server.replace(Some(server));
    }

    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        self.server.borrow().clone()
    }

    /// What the embedder's server answers; `None` without one.
    pub(crate) fn request(&self, request: &ServerRequest) -> Option<ServerResponse> {
        self.server()?(request)
    }

    /// Prints an exception that no handler caught.
    pub(crate) fn print_uncaught(&self, text: &str) {
        self.output.print_uncaught(text);
    }

    /// A request has failed because another program has the store, or because its store is too damaged to be opened:
    /// that is printed once, whatever the script makes of the error, and the run counts as failed.
    pub(crate) fn storage_failed(&self, error: &larder_idb::Error) {
        use larder_idb::{ErrorKind, ErrorName};
        let cannot_be_opened = match error.kind() {
            ErrorKind::Conflict => true,
            // The damage that aborts an upgrade is a record's.
            ErrorKind::Corruption => error.name() != ErrorName::AbortError,
            _ => false,
        };
        if cannot_be_opened && self.output.begin_to_report_storage_failure() {
            self.print_uncaught(&format!("{}: {}", error.name(), error.message()));
        }
    }

    /// Takes up the exports of the platform's modules.
    pub(crate) fn begin<'js>(&self, ctx: &Ctx<'js>, exports: &Object<'js>) -> Result<()> {
        let host: Object<'js> = exports.get("host")?;
        *self.helpers.borrow_mut() = Some(Rc::new(Helpers::new(ctx, exports.get("clone")?)?));
        let complete: Function<'js> = host.get("complete")?;
        *self.complete.borrow_mut() = Some(Persistent::save(ctx, complete));
        let turn: Function<'js> = host.get("turn")?;
        *self.turn.borrow_mut() = Some(Persistent::save(ctx, turn));
        *self.host.borrow_mut() = Some(Persistent::save(ctx, host));
        Ok(())
    }

    /// Lets go of everything that lives in the engine, which is about to end.
    pub(crate) fn end(&self) {
        self.helpers.take();
        self.host.take();
        self.complete.take();
        self.turn.take();
        self.rejections.take();
        self.clones.take();
    }

    /// The helpers of structured clone.
    pub(crate) fn helpers(&self, ctx: &Ctx<'_>) -> Result<Rc<Helpers>> {
        let helpers = self.helpers.borrow().clone();
        helpers.ok_or_else(|| Exception::throw_internal(ctx, "the host has ended"))
    }

    /// Calls one of the functions that `platform/mod.js` gives the host.
    pub(crate) fn call<'js, A: rquickjs::function::IntoArgs<'js>, R: FromJs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        args: A,
    ) -> Result<R> {
        let host = self.host.borrow().clone();
        let Some(host) = host else {
            return Err(Exception::throw_internal(ctx, "the host has ended"));
        };
        let function: Function<'js> = host.restore(ctx)?.get(name)?;
        function.call(args)
    }

    /// Hands the binding the answer to a request: its number, an exception or `undefined`, and the result.
    pub(crate) fn complete<'js, A: rquickjs::function::IntoArgs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        args: A,
    ) -> Result<()> {
        let complete = self.complete.borrow().clone();
        match complete {
            Some(complete) => complete.restore(ctx)?.call(args),
            None => Err(Exception::throw_internal(ctx, "the host has ended")),
        }
    }

    /// Runs what is first, of which so many answers have just come. What it gives is in `platform/event_loop.js`.
    pub(crate) fn turn(&self, ctx: &Ctx<'_>, arrived: usize) -> Result<f64> {
        let turn = self.turn.borrow().clone();
        match turn {
            Some(turn) => turn.restore(ctx)?.call((arrived,)),
            None => Err(Exception::throw_internal(ctx, "the host has ended")),
        }
    }

    /// A promise was rejected without a handler, or has got one since.
    pub(crate) fn rejected<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: Value<'js>,
        reason: Value<'js>,
        is_handled: bool,
    ) {
        let mut all = self.rejections.borrow_mut();
        if is_handled {
            all.retain(|[known, _]| {
                known
                    .clone()
                    .restore(ctx)
                    .is_ok_and(|known| known != promise)
            });
        } else {
            let pair = [promise, reason].map(|value| Persistent::save(ctx, value));
            all.push(pair);
        }
    }

    /// The next checkpoint is to end with the binding's part.
    pub(crate) fn want_checkpoint_cleanup(&self) {
        self.wants_cleanup.set(true);
    }

    /// A worker closes itself: no task runs after this one.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
    }

    /// Whether it has closed itself or been stopped.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.get() || self.realm.is_stopped()
    }

    /// A script ends the process: nothing of JavaScript runs any more.
    pub(crate) fn exit(&self, code: u8) {
        self.exit_code.set(Some(code));
        self.close();
    }

    pub(crate) fn exit_code(&self) -> Option<u8> {
        self.exit_code.get()
    }

    /// Whether what runs is to end at once.
    pub(crate) fn is_exiting(&self) -> bool {
        self.exit_code.get().is_some() || self.realm.is_stopped()
    }

    /// Runs all microtasks, and what is to be done after them (HTML, 8.1.7.3).
    pub(crate) fn microtask_checkpoint(&self, ctx: &Ctx<'_>) {
        loop {
            while !self.is_exiting() && ctx.execute_pending_job() {}
            if self.is_exiting() {
                return;
            }
            if self.wants_cleanup.replace(false) {
                self.report_to(ctx, "runCheckpointCleanup", ());
            }
            let rejections = self.rejections.take();
            if rejections.is_empty() {
                return;
            }
            for pair in rejections {
                let [promise, reason] = pair.map(|value| value.restore(ctx));
                if let (Ok(promise), Ok(reason)) = (promise, reason) {
                    self.report_to(ctx, "reportRejection", (promise, reason));
                }
            }
        }
    }

    /// Calls a function of the host's that should not throw.
    pub(crate) fn report_to<'js, A: rquickjs::function::IntoArgs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        args: A,
    ) {
        let done: Result<Value<'js>> = self.call(ctx, name, args);
        if done.is_err() {
            self.report_exception(ctx);
        }
    }

    /// Reports the exception that is being thrown.
    pub(crate) fn report_exception(&self, ctx: &Ctx<'_>) {
        let exception = ctx.catch();
        if self.is_exiting() {
            return;
        }
        let reported: Result<Value<'_>> = self.call(ctx, "reportError", (exception,));
        if reported.is_err() {
            let text = format!("{:?}", ctx.catch());
            self.print_uncaught(&text);
        }
    }

    /// Keeps a serialised value; the number is for [`take_clone`](Self::take_clone).
    pub(crate) fn keep_clone(&self, clone: Clone) -> usize {
        let mut clones = self.clones.borrow_mut();
        match clones.iter().position(Option::is_none) {
            Some(free) => {
                clones[free] = Some(clone);
                free
            }
            None => {
                clones.push(Some(clone));
                clones.len() - 1
            }
        }
    }

    pub(crate) fn take_clone(&self, number: usize) -> Option<Clone> {
        self.clones.borrow_mut().get_mut(number)?.take()
    }
}
