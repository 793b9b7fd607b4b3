//! The functions that the host's JavaScript gets from Rust: the object `native` of `platform/native.js`.

use std::rc::Rc;

use rquickjs::{Array, ArrayBuffer, Ctx, Exception, Function, Object, Persistent, Result, Value};

use sha2::Digest;

use crate::clone::{self, Beside};
use crate::global::{Global, run_classic};
use crate::output::Stream;
use crate::server::{ServerRequest, headers_from_js, response_to_js};
use crate::shared::{Clone as KeptClone, Scripts, Shared};

/// Bytes that `crypto` may ask for at once.
const RANDOM_LEN_BYTES_MAX: usize = 65_536;

/// Makes the object.
pub(crate) fn natives<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    global: Global,
) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    console(ctx, shared, &native)?;
    time_and_chance(ctx, shared, &native)?;
    structured_clone(ctx, shared, &native)?;
    #[cfg(feature = "crypto")]
    crate::crypto::install(ctx, shared, &native)?;
    network(ctx, shared, &native)?;
    if let Global::DedicatedWorker(scripts) = global {
        worker(ctx, shared, &native, scripts)?;
    }
    Ok(native)
}

/// What only a worker has.
fn worker<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    native: &Object<'js>,
    scripts: Scripts,
) -> Result<()> {
    let load = move |ctx: Ctx<'js>, url: String| {
        scripts(&url).map_err(|error| {
            let message = format!("The script at '{url}' failed to load: {error}");
            Exception::throw_dom(&ctx, "NetworkError", &message)
        })
    };
    native.set("loadScript", Function::new(ctx.clone(), load)?)?;
    let run = |ctx: Ctx<'js>, url: String, source: String| run_classic(&ctx, &url, &source);
    native.set("runScript", Function::new(ctx.clone(), run)?)?;
    let all = Rc::clone(shared);
    native.set("close", Function::new(ctx.clone(), move || all.close())?)
}

fn console<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>, native: &Object<'js>) -> Result<()> {
    let all = Rc::clone(shared);
    let print = move |is_error: bool, text: String| {
        let stream = if is_error { Stream::Err } else { Stream::Out };
        all.print(stream, &text);
    };
    native.set("print", Function::new(ctx.clone(), print)?)?;
    let all = Rc::clone(shared);
    let uncaught = move |text: String| all.print_uncaught(&text);
    native.set("uncaught", Function::new(ctx.clone(), uncaught)?)
}

fn network<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>, native: &Object<'js>) -> Result<()> {
    let all = Rc::clone(shared);
    let request = move |ctx: Ctx<'js>,
                        method: String,
                        url: String,
                        headers: Array<'js>,
                        body: Value<'js>|
          -> Result<Value<'js>> {
        let response = all.request(&ServerRequest {
            method,
            url,
            headers: headers_from_js(&headers)?,
            body: all.helpers(&ctx)?.bytes_of(&ctx, body)?,
        });
        response_to_js(&ctx, response)
    };
    native.set("request", Function::new(ctx.clone(), request)?)
}

fn time_and_chance<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>, native: &Object<'js>) -> Result<()> {
    let all = Rc::clone(shared);
    native.set("now", Function::new(ctx.clone(), move || all.now_ms())?)?;
    let all = Rc::clone(shared);
    let checkpoint = move |ctx: Ctx<'js>| all.microtask_checkpoint(&ctx);
    native.set(
        "microtaskCheckpoint",
        Function::new(ctx.clone(), checkpoint)?,
    )?;
    let all = Rc::clone(shared);
    let want = move || all.want_checkpoint_cleanup();
    native.set("wantCheckpointCleanup", Function::new(ctx.clone(), want)?)?;
    let random = |ctx: Ctx<'js>, len: usize| -> Result<ArrayBuffer<'js>> {
        let mut bytes = vec![0; len.min(RANDOM_LEN_BYTES_MAX)];
        if getrandom::fill(&mut bytes).is_err() {
            return Err(Exception::throw_internal(
                &ctx,
                "the machine has no randomness",
            ));
        }
        ArrayBuffer::new(ctx, bytes)
    };
    native.set("randomBytes", Function::new(ctx.clone(), random)?)?;
    let all = Rc::clone(shared);
    let digest = move |ctx: Ctx<'js>, name: String, data: Value<'js>| {
        let bytes = all.helpers(&ctx)?.bytes_of(&ctx, data)?;
        let digest = match name.as_str() {
            "SHA-1" => sha1::Sha1::digest(bytes).to_vec(),
            "SHA-384" => sha2::Sha384::digest(bytes).to_vec(),
            "SHA-512" => sha2::Sha512::digest(bytes).to_vec(),
            _ => sha2::Sha256::digest(bytes).to_vec(),
        };
        ArrayBuffer::new(ctx, digest)
    };
    native.set("digest", Function::new(ctx.clone(), digest)?)?;
    let is_proxy = |value: Value<'js>| value.is_proxy();
    native.set("isProxy", Function::new(ctx.clone(), is_proxy)?)
}

fn structured_clone<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>, native: &Object<'js>) -> Result<()> {
    let all = Rc::clone(shared);
    let serialize = move |ctx: Ctx<'js>, value: Value<'js>| -> Result<usize> {
        let helpers = all.helpers(&ctx)?;
        let done = clone::serialize(&ctx, &helpers, value)?;
        let blobs = done.blobs.into_iter();
        let blobs = blobs.map(|blob| Persistent::save(&ctx, blob)).collect();
        Ok(all.keep_clone(KeptClone {
            bytes: done.bytes,
            needs: done.needs,
            blobs,
            tokens: done.tokens,
        }))
    };
    native.set("serialize", Function::new(ctx.clone(), serialize)?)?;
    let all = Rc::clone(shared);
    let clone = move |ctx: Ctx<'js>, value: Value<'js>| -> Result<Value<'js>> {
        let helpers = all.helpers(&ctx)?;
        let done = clone::serialize(&ctx, &helpers, value)?;
        let mut beside = Beside::default();
        for blob in done.blobs {
            beside.blobs.push(helpers.clone_blob(&ctx, blob)?);
        }
        beside.tokens.extend(done.tokens.iter().map(Vec::as_slice));
        // Getters have run; reading calls no script.
        let mut deserializer = all.deserializer.take();
        let read_in = Some(done.needs.version());
        let value = deserializer.deserialize(&ctx, &helpers, &done.bytes, &beside, None, read_in);
        all.deserializer.replace(deserializer);
        value
    };
    native.set("clone", Function::new(ctx.clone(), clone)?)?;
    let all = Rc::clone(shared);
    let key = move |ctx: Ctx<'js>, attributes: Object<'js>| match clone::key_alone(
        &ctx,
        &*all.helpers(&ctx)?,
        &attributes,
    )? {
        Some(bytes) => ArrayBuffer::new(ctx, bytes),
        None => Err(Exception::throw_internal(
            &ctx,
            "these are no key's attributes",
        )),
    };
    native.set("cryptoKey", Function::new(ctx.clone(), key)?)
}
