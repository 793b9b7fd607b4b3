//! Calls that write records, with the blobs in them.

use std::rc::Rc;
use std::sync::Arc;

use larder_idb::{BlobSource, NewExternalObject, Value as IdbValue};
use rquickjs::{Array, Ctx, Function, Object, Result, String as QuickString, Value};

use super::calls::{give, gone};
use super::{Engine, checked};
use crate::realms::Outcome;

/// From 1601-01-01, where Chromium's time begins, to 1970-01-01, in microseconds.
const UNIX_EPOCH_US: f64 = 11_644_473_600e6;

pub(super) fn install<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(
        hooks,
        ctx,
        engine,
        "put",
        |request: u32, store: u32, clone: usize, key: Value<'js>, overwrite: bool| {
            let value = engine.take_clone(ctx, clone)?;
            let key = engine.maybe_key(ctx, &key)?;
            let store = engine.store(ctx, store)?;
            let asked = match overwrite {
                true => store.put(value, key),
                false => store.add(value, key),
            };
            engine
                .realm
                .expect(request, checked(ctx, asked)?, Outcome::Key);
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "delete",
        |request: u32, store: u32, range: Object<'js>| {
            let range = engine.range(ctx, &range)?;
            let asked = checked(ctx, engine.store(ctx, store)?.delete(range))?;
            engine.realm.expect(request, asked, |()| Outcome::Nothing);
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(hooks, ctx, engine, "clear", |request: u32, store: u32| {
        let asked = checked(ctx, engine.store(ctx, store)?.clear())?;
        engine.realm.expect(request, asked, |()| Outcome::Nothing);
        Ok::<_, rquickjs::Error>(())
    });
    give!(
        hooks,
        ctx,
        engine,
        "updateCursor",
        |request: u32, cursor: u32, clone: usize| {
            let value = engine.take_clone(ctx, clone)?;
            let asked = checked(ctx, engine.cursor(ctx, cursor)?.update(value))?;
            engine.realm.expect(request, asked, Outcome::Key);
            Ok::<_, rquickjs::Error>(())
        }
    );
    give!(
        hooks,
        ctx,
        engine,
        "deleteCursor",
        |request: u32, cursor: u32| {
            let asked = checked(ctx, engine.cursor(ctx, cursor)?.delete())?;
            engine.realm.expect(request, asked, |()| Outcome::Nothing);
            Ok::<_, rquickjs::Error>(())
        }
    );
    Ok(())
}

impl Engine {
    /// What `serialize` has kept, as the engine takes it.
    fn take_clone(&self, ctx: &Ctx<'_>, number: usize) -> Result<IdbValue> {
        let Some(clone) = self.shared.take_clone(number) else {
            return Err(gone(ctx));
        };
        let value = IdbValue::from_written(clone.bytes, clone.needs);
        if clone.blobs.is_empty() && clone.tokens.is_empty() {
            return Ok(value);
        }
        let mut objects = Vec::new();
        for blob in clone.blobs {
            objects.push(self.new_blob(ctx, blob.restore(ctx)?)?);
        }
        let tokens = clone.tokens.into_iter();
        objects.extend(tokens.map(|token| NewExternalObject::FileSystemAccessHandle { token }));
        Ok(value.and_objects(objects))
    }

    /// A `Blob` or `File` of script as the engine stores it: type and bytes, and of a file name and time.
    fn new_blob<'js>(&self, ctx: &Ctx<'js>, blob: Value<'js>) -> Result<NewExternalObject> {
        let helpers = self.shared.helpers(ctx)?;
        let content: Array<'js> = helpers.blob_content(ctx, blob)?;
        let mime_type = self.string(ctx, &content.get(0)?)?;
        let bytes = helpers.bytes_of(ctx, content.get(1)?)?;
        let bytes: Arc<dyn BlobSource> = Arc::new(bytes);
        let name: Option<QuickString<'js>> = content.get(2)?;
        Ok(match name {
            None => NewExternalObject::Blob {
                mime_type,
                content: bytes,
            },
            Some(name) => NewExternalObject::File {
                mime_type,
                content: bytes,
                name: self.string(ctx, &name)?,
                last_modified_micros: (content.get::<f64>(3)? * 1000.0 + UNIX_EPOCH_US) as i64,
            },
        })
    }
}
