//! Calls about change feeds.

use std::sync::Arc;

use larder_feed::{Feed, Follower, ReadOptions, RevisionKind, Start};
use larder_idb::{Error, ErrorName, Result};

use super::reads::range;
use super::{Answered, DONE, handle};
use crate::changes::Changes;
use crate::futures::Task;
use crate::handles::{Handle, gone};
use crate::inbox::Arrival;
use crate::instance::Instance;
use crate::outcome::{Contents, Outcome};
use crate::wire::Ask;

/// Engine, request, whether it is to be on; name.
pub(super) fn set(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let (engine, request, is_on) = (ask.word(1), ask.word(2), ask.flag(3));
    let name = ask.string()?;
    let factory = instance.engine(engine)?.factory.clone();
    begin(instance, engine, request, async move {
        larder_feed::set_change_feed(factory, name, is_on).await?;
        Ok(Outcome::Nothing)
    });
    Ok(DONE)
}

/// Connection, whether for a consumer, whether with values, whether of some object stores, bits of a range, kinds (bits); the position
/// or the consumer's name, the names, the range's keys.
pub(super) fn open(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let (connection, engine) = instance.handles.connection(ask.word(1))?;
    let feed = Feed::of(connection)?;
    let from = match ask.flag(2) {
        true => Start::Consumer(ask.text()?),
        // The binding has seen to it that it is a whole number.
        false => Start::Position(ask.number()? as u64),
    };
    let mut options = ReadOptions::new().values(ask.flag(3));
    if ask.flag(4) {
        options = options.object_stores(ask.strings()?);
    }
    let flags = ask.word(5);
    if flags != 0 {
        options = options.keys(range(&mut ask, flags)?.0);
    }
    let kinds = ask.word(6);
    if kinds != 0 {
        let all = (0..).zip(RevisionKind::ALL);
        options = options.kinds(
            all.filter(|(bit, _)| kinds & (1 << bit) != 0)
                .map(|(_, kind)| kind),
        );
    }
    let changes = Changes::new(Follower::new(feed, from, options));
    handle(instance.handles.all.add(Handle::Changes(changes, engine)))
}

/// Request, reading, whether it waits for what comes.
pub(super) fn next(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (request, is_live) = (ask.word(1), ask.flag(3));
    let (changes, engine) = instance.handles.changes(ask.word(2))?;
    let follower = Arc::clone(&changes.follower);
    let task = begin(instance, engine, request, async move {
        Ok(Outcome::Changes(follower.next(is_live).await?))
    });
    instance
        .handles
        .changes(ask.word(2))?
        .0
        .await_task(request, task);
    Ok(DONE)
}

/// Request, reading; position.
pub(super) fn acknowledge(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let (changes, engine) = instance.handles.changes(ask.word(2))?;
    let follower = Arc::clone(&changes.follower);
    let position = ask.number()? as u64;
    begin(instance, engine, ask.word(1), async move {
        follower.acknowledge(position).await?;
        Ok(Outcome::Nothing)
    });
    Ok(DONE)
}

/// Reading. What was asked for and is not there yet ends with `AbortError`.
pub(super) fn stop(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let Ok((changes, engine)) = instance.handles.changes(ask.word(1)) else {
        return Err(gone());
    };
    if let Some(request) = changes.cancel() {
        let error = Error::new(ErrorName::AbortError, "reading the changes was ended");
        let arrival = Arrival::Done(engine, request, Err(error), Contents::new());
        instance.inbox.put(arrival);
    }
    Ok(DONE)
}

/// Answers a request when a future has come to its end.
fn begin(
    instance: &Instance,
    engine: u32,
    request: u32,
    asked: impl Future<Output = Result<Outcome>> + Send + 'static,
) -> Arc<Task> {
    let inbox = instance.inbox.clone();
    let storage = instance
        .engine(engine)
        .ok()
        .map(|engine| Arc::clone(&engine.storage));
    Task::begin(&instance.inbox, async move {
        let outcome = asked.await;
        let objects = outcome.as_ref().map(Outcome::objects).unwrap_or_default();
        match storage {
            Some(storage) if !objects.is_empty() => {
                crate::contents::read(&storage.storage, &objects, move |contents| {
                    inbox.put(Arrival::Done(engine, request, outcome, contents));
                });
            }
            _ => inbox.put(Arrival::Done(engine, request, outcome, Contents::new())),
        }
    })
}
