//! [`Workers`]: what a realm has to do with other realms, as its JavaScript sees it (`platform/other_realms.js`): workers that it makes,
//! messages, ports, `blob:` URLs.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;

use larder_codec::JsString;
use rquickjs::function::IntoArgs;
use rquickjs::{Array, Ctx, Exception, Function, Object, Result, String as QuickString, Value};

use crate::clone::{js_string_from_js, string_to_js};
use crate::engine::Engine;
use crate::messages::{pack, unpack};
use crate::realms::{Message, Note, PortId, Realm, RealmId, Report};
use crate::shared::Shared;

/// What a worker is started with.
pub(crate) struct Start {
    pub(crate) realm: Realm,
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) is_module: bool,
    /// Its origin is its own alone: that of a `data:` URL.
    pub(crate) is_opaque: bool,
    /// The script, where its URL says or its parent has it.
    pub(crate) source: Option<String>,
}

/// Starts the thread of a worker.
pub(crate) type Starter = Box<dyn Fn(Start) -> std::io::Result<JoinHandle<()>>>;

/// The other realms of one realm.
pub(crate) struct Workers {
    pub(crate) shared: Rc<Shared>,
    pub(crate) engine: Rc<Engine>,
    pub(crate) realm: Realm,
    pub(crate) starter: Starter,
    pub(crate) threads: RefCell<Vec<JoinHandle<()>>>,
}

/// Gives a function of the workers' to script.
macro_rules! give {
    ($object:ident, $ctx:ident, $workers:ident, $name:expr, |$call_ctx:ident $(, $arg:ident: $type:ty)*| $call:expr) => {{
        let $workers = Rc::clone($workers);
        let call = move |ctx: Ctx<'js>, $($arg: $type),*| {
            let $call_ctx = &ctx;
            $call
        };
        $object.set($name, Function::new($ctx.clone(), call)?.with_name($name)?)?;
    }};
}

impl Workers {
    /// Puts it on the object `native` of `platform/native.js`.
    pub(crate) fn install<'js>(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        native: &Object<'js>,
    ) -> Result<()> {
        let object = Object::new(ctx.clone())?;
        workers(ctx, self, &object)?;
        of_the_parent(ctx, self, &object)?;
        ports(ctx, self, &object)?;
        blob_urls(ctx, self, &object)?;
        native.set("realms", object)
    }

    fn pack(&self, ctx: &Ctx<'_>, clone: usize, ports: Vec<u32>) -> Result<Message> {
        pack(ctx, &self.shared, &self.engine, clone, ports)
    }

    fn start(&self, ctx: &Ctx<'_>, options: &Object<'_>) -> Result<u32> {
        let is_opaque = options.get("isOpaque")?;
        let start = Start {
            realm: self.realm.make_child(is_opaque),
            url: options.get("url")?,
            name: options.get("name")?,
            is_module: options.get("isModule")?,
            is_opaque,
            source: options.get("source")?,
        };
        let realm = start.realm.clone();
        match (self.starter)(start) {
            Ok(thread) => self.threads.borrow_mut().push(thread),
            Err(error) => {
                realm.end(None);
                let what = format!("cannot start a thread: {error}");
                return Err(Exception::throw_internal(ctx, &what));
            }
        }
        Ok(realm.id().get())
    }

    /// Ends all that it has made, and waits for them.
    pub(crate) fn end(&self) {
        self.realm.stop(self.realm.id());
        for thread in self.threads.take() {
            // A panic was caught, and is kept for the first realm.
            drop(thread.join());
        }
    }

    /// Hands the binding what has come from another realm.
    pub(crate) fn deliver(&self, ctx: &Ctx<'_>, note: Note) -> Result<()> {
        match note {
            Note::FromParent(message) => self.dispatch(ctx, "fromParent", 0, &message),
            Note::FromWorker(id, message) => self.dispatch(ctx, "fromWorker", id.get(), &message),
            Note::ToPort(PortId(id), message) => self.dispatch(ctx, "toPort", id, &message),
            Note::Broadcast(name, message) => {
                let name = string_to_js(ctx, &*self.shared.helpers(ctx)?, &name)?;
                self.dispatch(ctx, "broadcast", name, &message)
            }
            Note::Unloaded(id, why) => self.receive(ctx, ("unloaded", id.get(), why)),
            Note::Threw(id, report) => {
                let place = (report.filename, report.line, report.column);
                let args = (
                    "threw",
                    id.get(),
                    report.message,
                    place.0,
                    place.1,
                    place.2,
                    report.text,
                );
                self.receive(ctx, args)
            }
            Note::Ended(id) => {
                self.threads
                    .borrow_mut()
                    .retain(|thread| !thread.is_finished());
                self.receive(ctx, ("ended", id.get()))
            }
            Note::NothingComes | Note::Void => Ok(()),
        }
    }

    fn dispatch<'js>(
        &self,
        ctx: &Ctx<'js>,
        kind: &str,
        target: impl rquickjs::IntoJs<'js>,
        message: &Message,
    ) -> Result<()> {
        let unpacked = unpack(ctx, &self.shared, &self.engine, message);
        let is_whole = unpacked.is_ok();
        let (data, ports) = match unpacked {
            Ok(both) => both,
            Err(_) => {
                drop(ctx.catch());
                (Value::new_null(ctx.clone()), Array::new(ctx.clone())?)
            }
        };
        self.receive(ctx, (kind, target, is_whole, data, ports))
    }

    fn receive<'js>(&self, ctx: &Ctx<'js>, args: impl IntoArgs<'js>) -> Result<()> {
        let _: Value<'js> = self.shared.call(ctx, "receive", args)?;
        Ok(())
    }

    fn name<'js>(&self, ctx: &Ctx<'js>, name: &QuickString<'js>) -> Result<JsString> {
        js_string_from_js(&*self.shared.helpers(ctx)?, name)
    }
}

fn workers<'js>(ctx: &Ctx<'js>, workers: &Rc<Workers>, object: &Object<'js>) -> Result<()> {
    give!(
        object,
        ctx,
        workers,
        "start",
        |ctx, options: Object<'js>| workers.start(ctx, &options)
    );
    give!(
        object,
        ctx,
        workers,
        "postToWorker",
        |ctx, worker: u32, clone: usize, ports: Vec<u32>| {
            let message = workers.pack(ctx, clone, ports)?;
            let worker = RealmId::of_number(worker);
            workers.realm.send(worker, Note::FromParent(message));
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(object, ctx, workers, "terminate", |_ctx, worker: u32| {
        workers.realm.stop(RealmId::of_number(worker));
    });
    give!(
        object,
        ctx,
        workers,
        "broadcast",
        |ctx, name: QuickString<'js>, clone: usize| {
            let message = workers.pack(ctx, clone, Vec::new())?;
            let name = workers.name(ctx, &name)?;
            workers.realm.broadcast(&name, message);
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(object, ctx, workers, "isAlone", |_ctx| workers
        .realm
        .is_alone());
    Ok(())
}

/// What a worker sends the realm that has made it.
fn of_the_parent<'js>(ctx: &Ctx<'js>, workers: &Rc<Workers>, object: &Object<'js>) -> Result<()> {
    give!(
        object,
        ctx,
        workers,
        "postToParent",
        |ctx, clone: usize, ports: Vec<u32>| {
            let message = workers.pack(ctx, clone, ports)?;
            let me = workers.realm.id();
            Ok::<_, rquickjs::Error>(workers.realm.send_to_parent(Note::FromWorker(me, message)))
        }
    );
    // Whether there is a parent that takes an exception.
    give!(
        object,
        ctx,
        workers,
        "reportToParent",
        |_ctx, message: String, filename: String, line: u32, column: u32, text: String| {
            let report = Report {
                message,
                filename,
                line,
                column,
                text,
            };
            let me = workers.realm.id();
            workers.realm.send_to_parent(Note::Threw(me, report))
        }
    );
    Ok(())
}

fn ports<'js>(ctx: &Ctx<'js>, workers: &Rc<Workers>, object: &Object<'js>) -> Result<()> {
    give!(object, ctx, workers, "pairOfPorts", |_ctx| {
        let (sent, kept) = workers.realm.pair_of_ports();
        vec![sent.0, kept.0]
    });
    give!(object, ctx, workers, "claimPort", |_ctx, port: u32| {
        workers.realm.claim_port(PortId(port));
    });
    give!(object, ctx, workers, "releasePort", |_ctx, port: u32| {
        workers.realm.release_port(PortId(port));
    });
    give!(object, ctx, workers, "startPort", |_ctx, port: u32| {
        workers.realm.start_port(PortId(port));
    });
    give!(object, ctx, workers, "closePort", |_ctx, port: u32| {
        workers.realm.close_port(PortId(port));
    });
    type Send = fn(&Realm, PortId, Message);
    let sends: [(&str, Send); 2] = [
        ("sendToPort", Realm::send_to_port),
        ("sendThroughPort", Realm::send_through_port),
    ];
    for (name, send) in sends {
        give!(
            object,
            ctx,
            workers,
            name,
            |ctx, port: u32, clone: usize, ports: Vec<u32>| {
                let message = workers.pack(ctx, clone, ports)?;
                send(&workers.realm, PortId(port), message);
                Ok::<_, rquickjs::Error>(())
            }
        );
    }
    // The value of a message that stays in this realm.
    give!(
        object,
        ctx,
        workers,
        "received",
        |ctx, clone: usize, ports: Vec<u32>| {
            let message = workers.pack(ctx, clone, ports)?;
            let (data, ports) = unpack(ctx, &workers.shared, &workers.engine, &message)?;
            crate::array::array_of(ctx, [data, ports.into_value()])
        }
    );
    Ok(())
}

fn blob_urls<'js>(ctx: &Ctx<'js>, workers: &Rc<Workers>, object: &Object<'js>) -> Result<()> {
    give!(
        object,
        ctx,
        workers,
        "publishBlob",
        |ctx, url: String, blob: Value<'js>| {
            let blob = workers.engine.blob_from_js(ctx, blob)?;
            workers.realm.publish_blob(url, blob);
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(object, ctx, workers, "publishedBlob", |ctx, url: String| {
        match workers.realm.published_blob(&url) {
            Some(blob) => workers.engine.blob_to_js(ctx, &blob),
            None => Ok(Value::new_undefined(ctx.clone())),
        }
    });
    give!(object, ctx, workers, "withdrawBlob", |_ctx, url: String| {
        workers.realm.withdraw_blob(&url);
    });
    Ok(())
}
