//! Values on their way from one realm to another: of JavaScript to [`Message`] and back.

use rquickjs::{Array, Ctx, Exception, Result, Value};

use crate::clone::Beside;
use crate::engine::Engine;
use crate::realms::{Message, Object, PortId};
use crate::shared::Shared;

/// What `native.serialize` has kept, with the ports that are transferred.
pub(crate) fn pack(
    ctx: &Ctx<'_>,
    shared: &Shared,
    engine: &Engine,
    clone: usize,
    ports: Vec<u32>,
) -> Result<Message> {
    let Some(clone) = shared.take_clone(clone) else {
        return Err(Exception::throw_internal(ctx, "no value of this number"));
    };
    let mut objects = Vec::new();
    for object in clone.blobs {
        let object = object.restore(ctx)?;
        let place: Option<usize> = shared.call(ctx, "placeOfPort", (object.clone(),))?;
        objects.push(match place {
            Some(place) => Object::Port(place),
            None => Object::Blob(engine.blob_from_js(ctx, object)?),
        });
    }
    Ok(Message {
        bytes: clone.bytes,
        needs: clone.needs,
        objects,
        tokens: clone.tokens,
        ports: ports.into_iter().map(PortId).collect(),
    })
}

/// The value of a message, and its ports.
pub(crate) fn unpack<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    engine: &Engine,
    message: &Message,
) -> Result<(Value<'js>, Array<'js>)> {
    let ids: Vec<u32> = message.ports.iter().map(|port| port.0).collect();
    let ports: Array<'js> = shared.call(ctx, "claimPorts", (ids,))?;
    let helpers = shared.helpers(ctx)?;
    let mut beside = Beside::default();
    for object in &message.objects {
        beside.blobs.push(match object {
            Object::Blob(blob) => engine.blob_to_js(ctx, blob)?,
            Object::Port(place) => ports.get(*place)?,
        });
    }
    beside
        .tokens
        .extend(message.tokens.iter().map(Vec::as_slice));
    let mut deserializer = shared.deserializer.take();
    let read_in = Some(message.needs.version());
    let value = deserializer.deserialize(ctx, &helpers, &message.bytes, &beside, None, read_in);
    shared.deserializer.replace(deserializer);
    Ok((value?, ports))
}
