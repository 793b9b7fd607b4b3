//! Calls about databases, connections, transactions, and their object stores and indexes.

use std::rc::Rc;

use larder_codec::JsString;
use larder_idb::{
    Connection, Error, ErrorName, Index, IndexParameters, KeyPath, ObjectStore,
    ObjectStoreParameters, OpenEvent, Transaction, TransactionDurability, TransactionMode,
    TransactionOptions,
};
use rquickjs::{Array, Ctx, Exception, Function, Object, Result, String as QuickString, Value};

use super::handles::Handle;
use super::{Engine, checked};
use crate::array::array_of;
use crate::clone::{js_string_from_js, key_from_js, key_to_js, string_to_js};
use crate::realms::{Answer, Outcome};

/// Gives a function of the engine's to script. One that is `pure` gives the same however far the engine has come, and changes nothing
/// in it.
macro_rules! give {
    ($hooks:ident, $ctx:ident, $engine:ident, $name:literal, |$($arg:ident: $type:ty),*| $call:expr) => {
        give!(pure $hooks, $ctx, $engine, $name, |$($arg: $type),*| {
            let _entered = $engine.enter($ctx)?;
            $call
        })
    };
    (pure $hooks:ident, $ctx:ident, $engine:ident, $name:literal, |$($arg:ident: $type:ty),*| $call:expr) => {{
        let $engine = Rc::clone($engine);
        let call = move |ctx: Ctx<'js>, $($arg: $type),*| {
            let $ctx = &ctx;
            $call
        };
        $hooks.set($name, Function::new($ctx.clone(), call)?.with_name($name)?)?;
    }};
}
pub(super) use give;

pub(super) fn install<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    databases(ctx, engine, hooks)?;
    transactions(ctx, engine, hooks)?;
    schema(ctx, engine, hooks)
}

fn databases<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(hooks, ctx, engine, "openDatabase", |request: u32,
                                               name: QuickString<
        'js,
    >,
                                               version: Option<
        f64,
    >| {
        engine.check_allowed(ctx)?;
        engine.open(ctx, request, &name, version)
    });
    give!(hooks, ctx, engine, "deleteDatabase", |request: u32,
                                                 name: QuickString<
        'js,
    >| {
        engine.check_allowed(ctx)?;
        engine.delete_database(ctx, request, &name)
    });
    give!(hooks, ctx, engine, "databases", |request: u32| {
        engine.check_allowed(ctx)?;
        engine
            .realm
            .expect(request, engine.factory.databases(), Outcome::Databases);
        Ok::<_, rquickjs::Error>(())
    });
    give!(hooks, ctx, engine, "estimate", |request: u32| {
        let asked = engine.factory.estimate();
        engine.realm.expect(request, asked, |estimate| {
            Outcome::Estimate(estimate.usage.total(), estimate.quota_bytes)
        });
        Ok::<_, rquickjs::Error>(())
    });
    give!(hooks, ctx, engine, "persisted", |request: u32| {
        let asked = engine.factory.persisted();
        engine.realm.expect(request, asked, Outcome::Flag);
        Ok::<_, rquickjs::Error>(())
    });
    give!(hooks, ctx, engine, "persist", |request: u32| {
        let asked = engine.factory.set_persisted(true);
        engine.realm.expect(request, asked, |()| Outcome::Nothing);
        Ok::<_, rquickjs::Error>(())
    });
    give!(pure hooks,
        ctx,
        engine,
        "compare",
        |first: Value<'js>, second: Value<'js>| {
            let helpers = engine.shared.helpers(ctx)?;
            let first = key_from_js(ctx, &helpers, &first)?;
            let second = key_from_js(ctx, &helpers, &second)?;
            Ok::<_, rquickjs::Error>(engine.factory.cmp(&first, &second) as i32)
        }
    );
    give!(pure hooks, ctx, engine, "keyToValue", |key: Value<'js>| {
        let helpers = engine.shared.helpers(ctx)?;
        let key = key_from_js(ctx, &helpers, &key)?;
        key_to_js(ctx, &helpers, &key)
    });
    give!(pure hooks, ctx, engine, "release", |handle: u32| {
        let released = engine.handles.borrow_mut().all.remove(handle);
        if let Some(Handle::Connection(_)) = released {
            // The last handle closes it. A realm that is to stop does so without a turn: it has no further calls.
            if engine.enter(ctx).is_err() {
                drop(ctx.catch());
            }
        }
        drop(released);
    });
    give!(pure hooks,
        ctx,
        engine,
        "watchConnection",
        |connection: u32, request: u32| engine.watch(ctx, connection, request)
    );
    give!(
        hooks,
        ctx,
        engine,
        "versionChangeDispatched",
        |token: u32| {
            let event = engine.handles.borrow_mut().version_changes.remove(token);
            drop(event);
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(hooks, ctx, engine, "objectStoreNames", |connection: u32| {
        let names = engine.connection(ctx, connection)?.object_store_names();
        engine.strings(ctx, names)
    });
    give!(hooks, ctx, engine, "closeConnection", |connection: u32| {
        engine.connection(ctx, connection)?.close();
        Ok::<_, rquickjs::Error>(())
    });
    Ok(())
}

fn transactions<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(
        hooks,
        ctx,
        engine,
        "beginTransaction",
        |connection: u32, names: Vec<QuickString<'js>>, mode: String, durability: String| {
            engine.begin(ctx, connection, &names, &mode, &durability)
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "watchTransaction",
        |transaction: u32, request: u32| {
            let finished = engine.transaction(ctx, transaction)?.finished();
            engine
                .realm
                .expect(request, finished, |()| Outcome::Nothing);
            Ok::<_, rquickjs::Error>(())
        }
    );
    // The engine may have ended it already; then its end is reported anyway.
    give!(hooks, ctx, engine, "commit", |transaction: u32| {
        drop(engine.transaction(ctx, transaction)?.commit());
        Ok::<_, rquickjs::Error>(())
    });
    give!(
        hooks,
        ctx,
        engine,
        "abort",
        |transaction: u32, name: Option<String>, message: String| {
            let error = name.map(|name| Error::new(error_name(&name), message));
            drop(engine.transaction(ctx, transaction)?.abort(error));
            Ok::<_, rquickjs::Error>(())
        }
    );
    Ok(())
}

fn schema<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(hooks, ctx, engine, "objectStore", |transaction: u32,
                                              name: QuickString<
        'js,
    >| {
        engine.object_store(ctx, transaction, &name)
    });
    give!(
        hooks,
        ctx,
        engine,
        "createObjectStore",
        |transaction: u32, name: QuickString<'js>, key_path: Value<'js>, auto_increment: bool| {
            let parameters = ObjectStoreParameters::new()
                .key_path(engine.key_path(ctx, &key_path)?)
                .auto_increment(auto_increment);
            let name = engine.string(ctx, &name)?;
            let transaction = engine.transaction(ctx, transaction)?;
            let store = checked(ctx, transaction.create_object_store(&name, parameters))?;
            Ok::<_, rquickjs::Error>(engine.handles.borrow_mut().all.add(Handle::Store(store)))
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "deleteObjectStore",
        |transaction: u32, name: QuickString<'js>| {
            let name = engine.string(ctx, &name)?;
            let transaction = engine.transaction(ctx, transaction)?;
            checked(ctx, transaction.delete_object_store(&name))
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "renameObjectStore",
        |store: u32, name: QuickString<'js>| {
            let name = engine.string(ctx, &name)?;
            checked(ctx, engine.store(ctx, store)?.rename(&name))
        }
    );
    give!(hooks, ctx, engine, "indexNames", |store: u32| {
        let names = engine.store(ctx, store)?.index_names();
        engine.strings(ctx, names)
    });
    give!(
        hooks,
        ctx,
        engine,
        "index",
        |store: u32, name: QuickString<'js>| engine.open_index(ctx, store, &name)
    );
    give!(
        hooks,
        ctx,
        engine,
        "createIndex",
        |store: u32,
         name: QuickString<'js>,
         key_path: Value<'js>,
         unique: bool,
         multi_entry: bool| {
            let key_path = engine.key_path(ctx, &key_path)?;
            let options = IndexParameters::new()
                .unique(unique)
                .multi_entry(multi_entry);
            let name = engine.string(ctx, &name)?;
            let index = engine
                .store(ctx, store)?
                .create_index(&name, key_path, options);
            let index = checked(ctx, index)?;
            Ok::<_, rquickjs::Error>(engine.handles.borrow_mut().all.add(Handle::Index(index)))
        }
    );
    give!(hooks, ctx, engine, "deleteIndex", |store: u32,
                                              name: QuickString<
        'js,
    >| {
        let name = engine.string(ctx, &name)?;
        checked(ctx, engine.store(ctx, store)?.delete_index(&name))
    });
    give!(hooks, ctx, engine, "renameIndex", |index: u32,
                                              name: QuickString<
        'js,
    >| {
        let name = engine.string(ctx, &name)?;
        checked(ctx, engine.index(ctx, index)?.rename(&name))
    });
    Ok(())
}

/// The engine's name of an exception that aborts a transaction; a name that the engine does not have becomes an abort.
fn error_name(name: &str) -> ErrorName {
    [
        ErrorName::ConstraintError,
        ErrorName::DataError,
        ErrorName::NotReadableError,
        ErrorName::QuotaExceededError,
        ErrorName::UnknownError,
    ]
    .into_iter()
    .find(|known| known.as_str() == name)
    .unwrap_or(ErrorName::AbortError)
}

impl Engine {
    fn open<'js>(
        &self,
        ctx: &Ctx<'js>,
        request: u32,
        name: &QuickString<'js>,
        version: Option<f64>,
    ) -> Result<()> {
        let name = self.string(ctx, name)?;
        // The binding has seen to it that it is a whole number up to 2^53 - 1.
        let version = version.map(|version| version as u64);
        let opening = checked(ctx, self.factory.open(&name, version))?;
        let realm = self.realm.clone();
        let mut is_known = false;
        opening.events().on_event(move |event| {
            // Listened to from here on: the next request in the queue waits only for connections that have a listener.
            let connection = match &event {
                OpenEvent::UpgradeNeeded(upgrade) => Some(&upgrade.connection),
                OpenEvent::Done(Ok(connection)) if !is_known => Some(connection),
                _ => None,
            };
            if let Some(connection) = connection {
                is_known = true;
                realm.listen(request, connection);
            }
            realm.answer(Answer::Open(request, event));
        });
        self.opening.borrow_mut().insert(request, opening);
        Ok(())
    }

    fn delete_database<'js>(
        &self,
        ctx: &Ctx<'js>,
        request: u32,
        name: &QuickString<'js>,
    ) -> Result<()> {
        let name = self.string(ctx, name)?;
        let deleting = self.factory.delete_database(&name);
        let realm = self.realm.clone();
        deleting.events().on_event(move |event| {
            realm.answer(Answer::Delete(request, event));
        });
        self.deleting.borrow_mut().insert(request, deleting);
        Ok(())
    }

    fn watch(&self, ctx: &Ctx<'_>, connection: u32, request: u32) -> Result<()> {
        let watcher = self.watchers.borrow_mut().remove(&connection);
        // It is watched once, when script gets it.
        let watching = watcher.is_some_and(|watcher| watcher.set(request).is_ok());
        if watching { Ok(()) } else { Err(gone(ctx)) }
    }

    fn begin<'js>(
        &self,
        ctx: &Ctx<'js>,
        connection: u32,
        names: &[QuickString<'js>],
        mode: &str,
        durability: &str,
    ) -> Result<u32> {
        let names: Result<Vec<JsString>> =
            names.iter().map(|name| self.string(ctx, name)).collect();
        let mode = match mode {
            "readwrite" => TransactionMode::ReadWrite,
            _ => TransactionMode::ReadOnly,
        };
        let durability = match durability {
            "strict" => TransactionDurability::Strict,
            "relaxed" => TransactionDurability::Relaxed,
            _ => TransactionDurability::Default,
        };
        let options = TransactionOptions::new().durability(durability);
        let connection = self.connection(ctx, connection)?;
        let transaction = checked(ctx, connection.transaction(&names?, mode, options))?;
        Ok(self
            .handles
            .borrow_mut()
            .all
            .add(Handle::Transaction(transaction)))
    }

    fn object_store<'js>(
        &self,
        ctx: &Ctx<'js>,
        transaction: u32,
        name: &QuickString<'js>,
    ) -> Result<Array<'js>> {
        let name = self.string(ctx, name)?;
        let transaction = self.transaction(ctx, transaction)?;
        // The engine may have ended it already; to script it is there until the end is reported.
        let store = transaction.known_object_store(&name);
        let store = store.ok_or_else(|| gone(ctx))?;
        let key_path = self.key_path_value(ctx, store.key_path())?;
        let auto_increment = Value::new_bool(ctx.clone(), store.auto_increment());
        let number = self.handles.borrow_mut().all.add(Handle::Store(store));
        let number = Value::new_number(ctx.clone(), f64::from(number));
        array_of(ctx, [number, key_path, auto_increment])
    }

    fn open_index<'js>(
        &self,
        ctx: &Ctx<'js>,
        store: u32,
        name: &QuickString<'js>,
    ) -> Result<Array<'js>> {
        let name = self.string(ctx, name)?;
        let index = self.store(ctx, store)?.known_index(&name);
        let index = index.ok_or_else(|| gone(ctx))?;
        let key_path = self.key_path_value(ctx, index.key_path())?;
        let flags = [index.unique(), index.multi_entry()];
        let [unique, multi_entry] = flags.map(|flag| Value::new_bool(ctx.clone(), flag));
        let number = self.handles.borrow_mut().all.add(Handle::Index(index));
        let number = Value::new_number(ctx.clone(), f64::from(number));
        array_of(ctx, [number, key_path, unique, multi_entry])
    }

    pub(super) fn string<'js>(
        &self,
        ctx: &Ctx<'js>,
        string: &QuickString<'js>,
    ) -> Result<JsString> {
        js_string_from_js(&*self.shared.helpers(ctx)?, string)
    }

    fn strings<'js>(&self, ctx: &Ctx<'js>, strings: Vec<JsString>) -> Result<Array<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let strings = strings.iter();
        let strings: Result<Vec<_>> = strings
            .map(|string| string_to_js(ctx, &helpers, string))
            .collect();
        array_of(ctx, strings?)
    }

    fn key_path<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<KeyPath> {
        if let Some(string) = value.as_string() {
            return Ok(KeyPath::String(self.string(ctx, string)?));
        }
        let Some(array) = value.as_array() else {
            return Ok(KeyPath::Null);
        };
        let strings = array.iter::<QuickString<'js>>();
        let strings: Result<Vec<_>> = strings.map(|string| self.string(ctx, &string?)).collect();
        Ok(KeyPath::Array(strings?))
    }

    fn key_path_value<'js>(&self, ctx: &Ctx<'js>, path: &KeyPath) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        match path {
            KeyPath::Null => Ok(Value::new_null(ctx.clone())),
            KeyPath::String(string) => string_to_js(ctx, &helpers, string),
            KeyPath::Array(strings) => {
                let strings = strings.iter();
                let strings: Result<Vec<_>> = strings
                    .map(|string| string_to_js(ctx, &helpers, string))
                    .collect();
                Ok(array_of(ctx, strings?)?.into_value())
            }
        }
    }

    /// What a number stands for.
    pub(super) fn handle(&self, ctx: &Ctx<'_>, number: u32) -> Result<Handle> {
        let handle = self.handles.borrow().all.get(number).cloned();
        handle.ok_or_else(|| gone(ctx))
    }

    pub(super) fn connection(&self, ctx: &Ctx<'_>, number: u32) -> Result<Connection> {
        match self.handle(ctx, number)? {
            Handle::Connection(connection) => Ok(connection),
            _ => Err(gone(ctx)),
        }
    }

    fn transaction(&self, ctx: &Ctx<'_>, number: u32) -> Result<Transaction> {
        match self.handle(ctx, number)? {
            Handle::Transaction(transaction) => Ok(transaction),
            _ => Err(gone(ctx)),
        }
    }

    pub(super) fn store(&self, ctx: &Ctx<'_>, number: u32) -> Result<ObjectStore> {
        match self.handle(ctx, number)? {
            Handle::Store(store) => Ok(store),
            _ => Err(gone(ctx)),
        }
    }

    fn index(&self, ctx: &Ctx<'_>, number: u32) -> Result<Index> {
        match self.handle(ctx, number)? {
            Handle::Index(index) => Ok(index),
            _ => Err(gone(ctx)),
        }
    }
}

/// The binding has named something that is not there: a defect.
pub(super) fn gone(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_internal(
        ctx,
        "the handle belongs to no object of the engine; it may have been freed",
    )
}
