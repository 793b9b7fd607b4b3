//! Calls about databases and connections.

use std::sync::{Arc, PoisonError};

use larder_idb::{Connection, OpenEvent, Result};

use super::engines::answer;
use super::{Answered, DONE, reply};
use crate::handles::{Handle, gone};
use crate::inbox::{Arrival, Inbox, Watch};
use crate::instance::{Instance, Opening, PendingWatch};
use crate::outcome::{Contents, Outcome};
use crate::wire::Ask;

/// Engine, watch, whether there is a version; version, name.
pub(super) fn open(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let (engine, number, has_version) = (ask.word(1), ask.word(2), ask.flag(3));
    // The binding has seen to it that it is a whole number up to 2^53 - 1.
    let version = ask.number()? as u64;
    let name = ask.string()?;
    let opening = instance
        .engine(engine)?
        .factory
        .open(&name, has_version.then_some(version))?;
    let inbox = instance.inbox.clone();
    let pending = PendingWatch::default();
    let of_opening = Arc::clone(&pending);
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
            *of_opening.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(listen(&inbox, engine, connection));
        }
        inbox.put(Arrival::Open(engine, number, event));
    });
    instance.opening.insert(
        (engine, number),
        Opening {
            _request: opening,
            watch: pending,
            upgrade: None,
            end: None,
        },
    );
    Ok(DONE)
}

/// From now on, what happens to a connection comes to the inbox.
fn listen(inbox: &Inbox, engine: u32, connection: &Connection) -> Watch {
    let watch = Watch::default();
    let (inbox, of_events) = (inbox.clone(), Arc::clone(&watch));
    connection.events().on_event(move |event| {
        inbox.put(Arrival::Connection(engine, Arc::clone(&of_events), event));
    });
    watch
}

pub(super) fn delete(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let (engine, number) = (ask.word(1), ask.word(2));
    let name = ask.string()?;
    let deleting = instance.engine(engine)?.factory.delete_database(&name);
    let inbox = instance.inbox.clone();
    deleting
        .events()
        .on_event(move |event| inbox.put(Arrival::Delete(engine, number, event)));
    instance.deleting.insert((engine, number), deleting);
    Ok(DONE)
}

pub(super) fn list(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (engine, request) = (ask.word(1), ask.word(2));
    let inbox = instance.inbox.clone();
    instance
        .engine(engine)?
        .factory
        .databases()
        .on_done(move |found| {
            inbox.put(Arrival::Done(
                engine,
                request,
                found.map(Outcome::Databases),
                Contents::new(),
            ));
        });
    Ok(DONE)
}

pub(super) fn watch(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    instance.watch(ask.word(1), ask.word(2))?;
    Ok(DONE)
}

pub(super) fn dispatched(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    if let Some(event) = instance.handles.version_changes.remove(ask.word(1)) {
        event.dispatched();
    }
    Ok(DONE)
}

pub(super) fn close(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    instance.handles.connection(ask.word(1))?.0.close();
    Ok(DONE)
}

pub(super) fn object_store_names(
    instance: &Instance,
    number: u32,
    memory: &mut [u8],
) -> Result<Answered> {
    let names = instance.handles.connection(number)?.0.object_store_names();
    Ok(reply(memory, |reply| {
        reply.strings(&names);
        0
    }))
}

/// Closes by force all connections to the database that a connection is to. Answered behind their events.
pub(super) fn force_close(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (connection, engine) = instance.handles.connection(ask.word(1))?;
    let name = connection.name().clone();
    let done = answer(&instance.inbox, engine, ask.word(2));
    let closing = instance.engine(engine)?.factory.force_close(Some(&name));
    closing.on_done(done);
    Ok(DONE)
}

pub(super) fn release(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    match instance.handles.all.remove(ask.word(1)) {
        // The last handle of a connection closes it.
        Some(released) => drop::<Handle>(released),
        None => return Err(gone()),
    }
    Ok(DONE)
}

/// -1, 0 or 1, and 1 more, since what is negative is an error.
pub(super) fn compare(mut ask: Ask<'_>) -> Result<Answered> {
    let first = ask.key()?;
    let second = ask.key()?;
    Ok(Answered::Number(first.cmp(&second) as i32 + 1))
}
