//! Calls about what a factory works on.

use std::sync::Arc;

use larder_idb::Result;

use super::{Answered, DONE, handle};
use crate::inbox::{Arrival, Inbox};
use crate::instance::{Engine, Instance, Place, closed};
use crate::outcome::{Contents, Outcome};
use crate::wire::Ask;

pub(super) fn open_folder(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let folder = ask.text()?;
    let origin = ask.text()?;
    handle(instance.open_folder(&folder, &origin)?)
}

pub(super) fn open_memory(instance: &mut Instance) -> Result<Answered> {
    handle(instance.open_memory()?)
}

/// Closes an engine's connections. What script has asked for is answered; then the engine goes, and this is answered when its stores are closed, if no other engine of
/// the process has the folder.
pub(super) fn close(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (number, request) = (ask.word(1), ask.word(2));
    let engine = instance.engines.remove(&number).ok_or_else(closed)?;
    for connection in instance.connections_of(number) {
        connection.close();
    }
    instance.closing.insert(number, (engine, request));
    close_if_idle(instance, number);
    Ok(DONE)
}

/// A transaction of an engine's has ended: if that is to be closed and it was the last, the engine goes.
pub(crate) fn close_if_idle(instance: &mut Instance, number: u32) {
    if !instance.closing.contains_key(&number) || instance.queues.has_open(number) {
        return;
    }
    instance.queues.forget(number);
    if let Some((engine, request)) = instance.closing.remove(&number) {
        let Engine {
            factory,
            place,
            storage,
        } = engine;
        let done = answer(&instance.inbox, number, request);
        match (place, Arc::try_unwrap(storage)) {
            (Place::Folder(_), Ok(last)) => {
                drop(factory);
                last.storage.finish().on_done(done);
            }
            _ => done(Ok(())),
        }
    }
}

/// Deletes all databases of an engine's, whose connections are closed by force.
pub(super) fn reset(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (number, request) = (ask.word(1), ask.word(2));
    let done = answer(&instance.inbox, number, request);
    let engine = instance.engines.get_mut(&number).ok_or_else(closed)?;
    match &mut engine.place {
        Place::Folder(origin) => engine.storage.storage.delete_origin(origin).on_done(done),
        Place::Memory(session, origin) => {
            let new = engine.storage.storage.private_session();
            engine.factory = new.factory(origin);
            // The databases of the old one go with it.
            *session = new;
            done(Ok(()));
        }
    }
    Ok(DONE)
}

/// Answers a request that is no transaction's.
pub(super) fn answer(
    inbox: &Inbox,
    engine: u32,
    request: u32,
) -> impl FnOnce(Result<()>) + Send + use<> {
    let inbox = inbox.clone();
    move |ended| {
        let outcome = ended.map(|()| Outcome::Nothing);
        inbox.put(Arrival::Done(engine, request, outcome, Contents::new()));
    }
}
