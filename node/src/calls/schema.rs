//! Calls about object stores and indexes.

use larder_idb::{IndexParameters, ObjectStoreParameters, Result};

use super::{Answered, DONE, handle, reply};
use crate::handles::{Handle, gone};
use crate::instance::Instance;
use crate::wire::Ask;

/// Transaction; name. Gives the handle, and whether keys are generated; the key path.
pub(super) fn object_store(instance: &mut Instance, memory: &mut [u8]) -> Result<Answered> {
    let mut ask = Ask::read(memory);
    let name = ask.string()?;
    let (transaction, queue) = instance.handles.transaction(ask.word(1))?;
    // The engine may have ended it already; to script it is there until the end is reported.
    let store = transaction.known_object_store(&name).ok_or_else(gone)?;
    let answered = reply(memory, |reply| {
        reply.set(1, u32::from(store.auto_increment()));
        reply.key_path(store.key_path());
        0
    });
    match answered {
        Answered::Number(_) => handle(instance.handles.all.add(Handle::Store(store, queue))),
        too_small @ Answered::TooSmall(_) => Ok(too_small),
    }
}

/// Transaction, whether keys are generated; name, key path.
pub(super) fn create_object_store(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let name = ask.string()?;
    let parameters = ObjectStoreParameters::new()
        .key_path(ask.key_path()?)
        .auto_increment(ask.flag(2));
    let (transaction, queue) = instance.handles.transaction(ask.word(1))?;
    let store = transaction.create_object_store(&name, parameters)?;
    handle(instance.handles.all.add(Handle::Store(store, queue)))
}

pub(super) fn delete_object_store(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let name = ask.string()?;
    let (transaction, queue) = instance.handles.transaction(ask.word(1))?;
    transaction.delete_object_store(&name)?;
    instance.queues.hold_up(queue);
    Ok(DONE)
}

pub(super) fn rename_object_store(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let name = ask.string()?;
    instance.handles.store(ask.word(1))?.0.rename(&name)?;
    Ok(DONE)
}

pub(super) fn index_names(instance: &Instance, number: u32, memory: &mut [u8]) -> Result<Answered> {
    let names = instance.handles.store(number)?.0.index_names();
    Ok(reply(memory, |reply| {
        reply.strings(&names);
        0
    }))
}

/// Store; name. Gives the handle, and whether it is unique and has an entry for each element; the key path.
pub(super) fn index(instance: &mut Instance, memory: &mut [u8]) -> Result<Answered> {
    let mut ask = Ask::read(memory);
    let name = ask.string()?;
    let (store, queue) = instance.handles.store(ask.word(1))?;
    let index = store.known_index(&name).ok_or_else(gone)?;
    let answered = reply(memory, |reply| {
        reply.set(1, u32::from(index.unique()));
        reply.set(2, u32::from(index.multi_entry()));
        reply.key_path(index.key_path());
        0
    });
    match answered {
        Answered::Number(_) => handle(instance.handles.all.add(Handle::Index(index, queue))),
        too_small @ Answered::TooSmall(_) => Ok(too_small),
    }
}

/// Store, whether unique, whether with an entry for each element; name, key path.
pub(super) fn create_index(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let name = ask.string()?;
    let key_path = ask.key_path()?;
    let parameters = IndexParameters::new()
        .unique(ask.flag(2))
        .multi_entry(ask.flag(3));
    let (store, queue) = instance.handles.store(ask.word(1))?;
    let index = store.create_index(&name, key_path, parameters)?;
    instance.queues.hold_up(queue);
    handle(instance.handles.all.add(Handle::Index(index, queue)))
}

pub(super) fn delete_index(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let name = ask.string()?;
    let (store, queue) = instance.handles.store(ask.word(1))?;
    store.delete_index(&name)?;
    instance.queues.hold_up(queue);
    Ok(DONE)
}

pub(super) fn rename_index(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let name = ask.string()?;
    instance.handles.index(ask.word(1))?.rename(&name)?;
    Ok(DONE)
}
