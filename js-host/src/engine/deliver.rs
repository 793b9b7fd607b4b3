//! Handing the engine's answers to the binding, each as a task of its own.

use larder_codec::JsString;
use larder_codec::external_object::{BlobInfo, ExternalObject as Info};
use larder_idb::{
    ConnectionEvent, DeleteEvent, Error, ErrorKind, ExternalObject, OpenEvent, Records,
};
use rquickjs::function::IntoArgs;
use rquickjs::{Array, Ctx, Result, Value};

use super::Engine;
use super::handles::Handle;
use crate::array::{array_of, define};
use crate::clone::{Beside, KeyOf, key_to_js, string_to_js};
use crate::realms::{Answer, BlobContent, Outcome, Projection};

/// From 1601-01-01, where Chromium's time begins, to 1970-01-01, in milliseconds.
const UNIX_EPOCH_MS: f64 = 11_644_473_600e3;

/// `Number.MAX_SAFE_INTEGER`.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

impl Engine {
    /// Hands an answer over.
    pub(crate) fn deliver(&self, ctx: &Ctx<'_>, answer: Answer) -> Result<()> {
        match answer {
            Answer::Complete(request, result) => self.complete(ctx, request, result),
            Answer::Open(request, event) => self.opened(ctx, request, event),
            Answer::Delete(request, event) => match event {
                DeleteEvent::Blocked { old_version } => {
                    let old = old_version as f64;
                    self.notify(ctx, (request, "blocked", old, Value::new_null(ctx.clone())))
                }
                DeleteEvent::Done(Ok(old_version)) => {
                    self.deleting.borrow_mut().remove(&request);
                    let none = Value::new_undefined(ctx.clone());
                    self.notify(ctx, (request, "deleted", none, old_version as f64))
                }
                DeleteEvent::Done(Err(error)) => {
                    self.deleting.borrow_mut().remove(&request);
                    self.shared.storage_failed(&error);
                    self.notify(ctx, (request, "deleted", self.exception(ctx, &error)?))
                }
            },
            Answer::Connection(watcher, event) => match watcher.get() {
                Some(request) => self.happened(ctx, *request, event),
                // Script never got it.
                None => Ok(()),
            },
        }
    }

    fn happened(&self, ctx: &Ctx<'_>, request: u32, event: ConnectionEvent) -> Result<()> {
        match event {
            ConnectionEvent::Close => self.notify(ctx, (request, "close")),
            ConnectionEvent::VersionChange(event) => {
                let old = event.old_version() as f64;
                let new = match event.new_version() {
                    Some(new) => Value::new_number(ctx.clone(), new as f64),
                    None => Value::new_null(ctx.clone()),
                };
                let token = self.handles.borrow_mut().version_changes.add(event);
                self.notify(ctx, (request, "versionChange", old, new, token))
            }
        }
    }

    fn notify<'js>(&self, ctx: &Ctx<'js>, args: impl IntoArgs<'js>) -> Result<()> {
        let _: Value<'js> = self.shared.call(ctx, "notify", args)?;
        Ok(())
    }

    fn opened(&self, ctx: &Ctx<'_>, request: u32, event: OpenEvent) -> Result<()> {
        match event {
            OpenEvent::Blocked {
                old_version,
                new_version,
            } => {
                let versions = (old_version as f64, new_version as f64);
                self.notify(ctx, (request, "blocked", versions.0, versions.1))
            }
            OpenEvent::UpgradeNeeded(upgrade) => {
                let name =
                    string_to_js(ctx, &*self.shared.helpers(ctx)?, upgrade.connection.name())?;
                let (old, new) = (upgrade.old_version as f64, upgrade.new_version as f64);
                let (connection, transaction) = {
                    let mut handles = self.handles.borrow_mut();
                    (
                        handles.all.add(Handle::Connection(upgrade.connection)),
                        handles.all.add(Handle::Transaction(upgrade.transaction)),
                    )
                };
                self.to_be_watched(connection, request);
                let args = (request, "upgrade", connection, transaction, name, old, new);
                self.notify(ctx, args)
            }
            OpenEvent::Done(Ok(connection)) => {
                self.opening.borrow_mut().remove(&request);
                let none = Value::new_undefined(ctx.clone());
                let name = string_to_js(ctx, &*self.shared.helpers(ctx)?, connection.name())?;
                let version = connection.version() as f64;
                let handle = self
                    .handles
                    .borrow_mut()
                    .all
                    .add(Handle::Connection(connection));
                self.to_be_watched(handle, request);
                self.notify(ctx, (request, "opened", none, handle, name, version))
            }
            OpenEvent::Done(Err(error)) => {
                self.opening.borrow_mut().remove(&request);
                self.shared.storage_failed(&error);
                self.notify(ctx, (request, "opened", self.exception(ctx, &error)?))
            }
        }
    }

    /// Script is about to get the connection of a request to open.
    fn to_be_watched(&self, connection: u32, request: u32) {
        let watcher = self.realm.take_watcher(request);
        let watcher = watcher.map(|watcher| (connection, watcher));
        self.watchers.borrow_mut().extend(watcher);
    }

    fn complete(
        &self,
        ctx: &Ctx<'_>,
        request: u32,
        result: larder_idb::Result<Outcome>,
    ) -> Result<()> {
        let undefined = Value::new_undefined(ctx.clone());
        match result.map(|outcome| self.outcome(ctx, outcome)) {
            Ok(Ok(value)) => self.shared.complete(ctx, (request, undefined, value)),
            // The value could not be made: the request has failed with that.
            Ok(Err(_)) => self.shared.complete(ctx, (request, ctx.catch())),
            Err(error) => {
                // A damaged record concerns only the request that reads it.
                if error.kind() != ErrorKind::Corruption {
                    self.shared.storage_failed(&error);
                }
                let exception = self.exception(ctx, &error)?;
                self.shared.complete(ctx, (request, exception))
            }
        }
    }

    /// An error of the engine's as the page is to see it.
    fn exception<'js>(&self, ctx: &Ctx<'js>, error: &Error) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        helpers.dom_exception(ctx, error.name().as_str(), error.message())
    }

    fn outcome<'js>(&self, ctx: &Ctx<'js>, outcome: Outcome) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let undefined = || Value::new_undefined(ctx.clone());
        Ok(match outcome {
            Outcome::Nothing | Outcome::MaybeKey(None) | Outcome::Value(None) => undefined(),
            Outcome::Key(key) | Outcome::MaybeKey(Some(key)) => key_to_js(ctx, &helpers, &key)?,
            Outcome::Value(Some(value)) => self.value(ctx, value.bytes(), value.objects())?,
            Outcome::Count(count) => Value::new_number(ctx.clone(), count as f64),
            Outcome::Changes(None) => undefined(),
            Outcome::Changes(Some(batch)) => self.batch(ctx, &batch)?,
            Outcome::Flag(flag) => Value::new_bool(ctx.clone(), flag),
            Outcome::Estimate(usage, quota) => {
                // No limit is the greatest number that a script can count to.
                let number = |bytes: u64| bytes.min(SAFE_INTEGER_MAX) as f64;
                let both =
                    [usage, quota].map(|bytes| Value::new_number(ctx.clone(), number(bytes)));
                array_of(ctx, both)?.into_value()
            }
            Outcome::Records(records, projection) => self.records(ctx, &records, projection)?,
            Outcome::Cursor(None) | Outcome::Moved(_, None) => Value::new_null(ctx.clone()),
            Outcome::Cursor(Some(cursor)) => {
                let number = self.handles.borrow_mut().all.add(Handle::Cursor(cursor));
                Value::new_number(ctx.clone(), f64::from(number))
            }
            // To the page the same cursor.
            Outcome::Moved(number, Some(cursor)) => {
                if let Some(old) = self.handles.borrow_mut().all.get_mut(number) {
                    *old = Handle::Cursor(cursor);
                }
                Value::new_number(ctx.clone(), f64::from(number))
            }
            Outcome::Databases(all) => {
                let mut pairs = Vec::with_capacity(all.len());
                for database in all.iter() {
                    let name = string_to_js(ctx, &helpers, &database.name)?;
                    let version = Value::new_number(ctx.clone(), database.version as f64);
                    pairs.push(array_of(ctx, [name, version])?.into_value());
                }
                array_of(ctx, pairs)?.into_value()
            }
        })
    }

    fn records<'js>(
        &self,
        ctx: &Ctx<'js>,
        all: &Records,
        projection: Projection,
    ) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let array = Array::new(ctx.clone())?;
        for (index, entry) in (0_u32..).zip(all.iter()) {
            let key = || entry.primary_key();
            let value_of = || self.value_of(ctx, entry.value(), entry.objects(), Some(&key));
            let value = match projection {
                Projection::PrimaryKeys => key_to_js(ctx, &helpers, &key())?,
                Projection::Values => value_of()?,
                Projection::Whole => {
                    let entry_key = key_to_js(ctx, &helpers, &entry.key())?;
                    let primary_key = key_to_js(ctx, &helpers, &key())?;
                    array_of(ctx, [entry_key, primary_key, value_of()?])?.into_value()
                }
            };
            define(array.as_object(), index, value)?;
        }
        Ok(array.into_value())
    }

    /// A stored value as script has it.
    pub(super) fn value<'js>(
        &self,
        ctx: &Ctx<'js>,
        bytes: &[u8],
        objects: &[ExternalObject],
    ) -> Result<Value<'js>> {
        self.value_of(ctx, bytes, objects, None)
    }

    /// The value of one of several records.
    fn value_of<'js>(
        &self,
        ctx: &Ctx<'js>,
        bytes: &[u8],
        objects: &[ExternalObject],
        key: Option<KeyOf<'_>>,
    ) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let mut beside = Beside::default();
        for object in objects {
            match object.info() {
                Info::FileSystemAccessHandle { token } => beside.tokens.push(token),
                Info::Blob(blob) => beside
                    .blobs
                    .push(self.stored_blob(ctx, object, blob, None)?),
                Info::File {
                    blob,
                    name,
                    last_modified_micros,
                } => {
                    let file = Some((name, *last_modified_micros));
                    beside
                        .blobs
                        .push(self.stored_blob(ctx, object, blob, file)?);
                }
            }
        }
        let mut deserializer = self.shared.deserializer.take();
        let value = deserializer.deserialize(ctx, &helpers, bytes, &beside, key, None);
        self.shared.deserializer.replace(deserializer);
        value
    }

    /// A stored blob, or with name and time a file, as script has it.
    fn stored_blob<'js>(
        &self,
        ctx: &Ctx<'js>,
        object: &ExternalObject,
        blob: &BlobInfo,
        file: Option<(&JsString, i64)>,
    ) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let mime_type = string_to_js(ctx, &helpers, &blob.mime_type)?;
        let size = blob.size_bytes as f64;
        let file = match file {
            None => None,
            Some((name, micros)) => {
                let modified = (micros as f64 / 1000.0 - UNIX_EPOCH_MS).floor();
                Some((string_to_js(ctx, &helpers, name)?, modified))
            }
        };
        let handle = Handle::Blob(BlobContent::Stored(object.clone()));
        let number = self.handles.borrow_mut().all.add(handle);
        helpers.kept_blob(ctx, number, (0.0, size), mime_type, file)
    }
}
