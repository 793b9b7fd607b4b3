//! Blobs: reading those whose bytes are not script's own, and their way from one realm to another.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{
    Array, ArrayBuffer, Ctx, Exception, Function, Object, Result, String as QuickString, Value,
};

use super::calls::{give, gone};
use super::handles::Handle;
use super::{Engine, thrown};
use crate::clone::string_to_js;
use crate::realms::{Blob, BlobContent};

pub(super) fn install<'js>(ctx: &Ctx<'js>, engine: &Rc<Engine>, hooks: &Object<'js>) -> Result<()> {
    give!(pure hooks, ctx, engine, "readBlob", |blob: u32| engine
        .read_blob(ctx, blob));
    // Takes the bytes of a blob out of script's memory, so that realms can share them.
    give!(pure hooks, ctx, engine, "keepBlob", |buffer: Value<'js>| {
        let bytes = engine.shared.helpers(ctx)?.bytes_of(ctx, buffer)?;
        let content = BlobContent::Memory(Arc::new(bytes));
        Ok::<_, rquickjs::Error>(engine.handles.borrow_mut().all.add(Handle::Blob(content)))
    });
    Ok(())
}

impl Engine {
    fn content(&self, ctx: &Ctx<'_>, number: u32) -> Result<BlobContent> {
        match self.handle(ctx, number)? {
            Handle::Blob(content) => Ok(content),
            _ => Err(gone(ctx)),
        }
    }

    fn read_blob<'js>(&self, ctx: &Ctx<'js>, number: u32) -> Result<ArrayBuffer<'js>> {
        let stored = match self.content(ctx, number)? {
            BlobContent::Memory(bytes) => {
                return ArrayBuffer::new_copy(ctx.clone(), bytes.as_slice());
            }
            BlobContent::Stored(stored) => stored,
        };
        let mut bytes = Vec::new();
        let mut reader = stored.open().map_err(|error| thrown(ctx, &error))?;
        if let Err(error) = std::io::Read::read_to_end(&mut reader, &mut bytes) {
            let what = error.to_string();
            return Err(Exception::throw_dom(ctx, "NotReadableError", &what));
        }
        ArrayBuffer::new(ctx.clone(), bytes)
    }

    /// A `Blob` or `File` of script for another realm.
    pub(crate) fn blob_from_js<'js>(&self, ctx: &Ctx<'js>, blob: Value<'js>) -> Result<Blob> {
        let parts: Array<'js> = self.shared.helpers(ctx)?.share_blob(ctx, blob)?;
        let name: Option<QuickString<'js>> = parts.get(4)?;
        let file = match name {
            None => None,
            Some(name) => Some((self.string(ctx, &name)?, parts.get(5)?)),
        };
        Ok(Blob {
            mime_type: self.string(ctx, &parts.get(0)?)?,
            content: self.content(ctx, parts.get(1)?)?,
            range: (parts.get(2)?, parts.get(3)?),
            file,
        })
    }

    /// A `Blob` or `File` that has come from another realm.
    pub(crate) fn blob_to_js<'js>(&self, ctx: &Ctx<'js>, blob: &Blob) -> Result<Value<'js>> {
        let helpers = self.shared.helpers(ctx)?;
        let mime_type = string_to_js(ctx, &helpers, &blob.mime_type)?;
        let file = match &blob.file {
            None => None,
            Some((name, modified)) => Some((string_to_js(ctx, &helpers, name)?, *modified)),
        };
        let handle = Handle::Blob(blob.content.clone());
        let number = self.handles.borrow_mut().all.add(handle);
        helpers.kept_blob(ctx, number, blob.range, mime_type, file)
    }
}
