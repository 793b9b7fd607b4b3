//! [`Helpers`]: the functions of `helpers.js`, kept for calls from Rust.

use rquickjs::function::IntoArgs;
use rquickjs::{Array, Ctx, FromJs, Function, Object, Persistent, Result, Value};

/// The exports of `helpers.js` of one realm. To be dropped before its runtime.
pub(crate) struct Helpers {
    exports: Persistent<Object<'static>>,
    make: Persistent<Object<'static>>,
    inspect: Persistent<Function<'static>>,
}

impl Helpers {
    pub(crate) fn new<'js>(ctx: &Ctx<'js>, exports: Object<'js>) -> Result<Self> {
        let make: Object<'js> = exports.get("make")?;
        let inspect: Function<'js> = exports.get("inspect")?;
        Ok(Self {
            exports: Persistent::save(ctx, exports),
            make: Persistent::save(ctx, make),
            inspect: Persistent::save(ctx, inspect),
        })
    }

    /// Calls one of the exports.
    pub(super) fn call<'js, A: IntoArgs<'js>, R: FromJs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        args: A,
    ) -> Result<R> {
        let function: Function<'js> = self.exports.clone().restore(ctx)?.get(name)?;
        function.call(args)
    }

    /// Calls one of the functions that make objects.
    pub(super) fn make<'js, A: IntoArgs<'js>, R: FromJs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        args: A,
    ) -> Result<R> {
        let function: Function<'js> = self.make.clone().restore(ctx)?.get(name)?;
        function.call(args)
    }

    pub(super) fn inspect<'js>(&self, ctx: &Ctx<'js>) -> Result<Function<'js>> {
        self.inspect.clone().restore(ctx)
    }

    /// The bytes of an ArrayBuffer.
    pub(crate) fn bytes_of<'js>(&self, ctx: &Ctx<'js>, buffer: Value<'js>) -> Result<Vec<u8>> {
        let encoded: String = self.call(ctx, "bytesOf", (buffer,))?;
        Ok(super::base64::decode(encoded.as_bytes()).unwrap_or_default())
    }

    /// The content of a blob: its type and bytes, and the name and time of a file.
    pub(crate) fn blob_content<'js>(&self, ctx: &Ctx<'js>, blob: Value<'js>) -> Result<Array<'js>> {
        self.make(ctx, "blobContent", (blob,))
    }

    /// What another realm needs of a blob: type, the number of its content, where it begins and ends, and of a file name and time.
    pub(crate) fn share_blob<'js>(&self, ctx: &Ctx<'js>, blob: Value<'js>) -> Result<Array<'js>> {
        self.make(ctx, "shareBlob", (blob,))
    }

    /// A `Blob`, or with name and time a `File`, whose bytes are a part of a content that is not script's own.
    pub(crate) fn kept_blob<'js>(
        &self,
        ctx: &Ctx<'js>,
        handle: u32,
        range: (f64, f64),
        mime_type: Value<'js>,
        file: Option<(Value<'js>, f64)>,
    ) -> Result<Value<'js>> {
        let (start, end) = range;
        match file {
            None => self.make(ctx, "keptBlob", (handle, start, end, mime_type)),
            Some((name, modified)) => {
                let args = (handle, start, end, mime_type, name, modified);
                self.make(ctx, "keptBlob", args)
            }
        }
    }

    /// An empty `FileList`.
    pub(crate) fn file_list<'js>(&self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        self.make(ctx, "fileList", (Vec::<Value<'js>>::new(),))
    }

    /// A `DOMException`, or a `TypeError`.
    pub(crate) fn dom_exception<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        message: &str,
    ) -> Result<Value<'js>> {
        match name {
            "TypeError" => self.make(ctx, "typeError", (message,)),
            _ => self.make(ctx, "domException", (name, message)),
        }
    }

    /// A blob like another, on the same bytes.
    pub(crate) fn clone_blob<'js>(&self, ctx: &Ctx<'js>, blob: Value<'js>) -> Result<Value<'js>> {
        self.make(ctx, "cloneBlob", (blob,))
    }
}
