//! What script is answered, as it lies in the memory.
//!
//! The result of the call is the kind of the answer; in the head stand the engine, script's number of the request or watch, and what else is of fixed size.

use std::sync::Arc;

use larder_codec::JsString;
use larder_codec::external_object::ExternalObject as Info;
use larder_feed::Batch;
use larder_idb::{ConnectionEvent, DeleteEvent, Error, ExternalObject, OpenEvent, Records, Result};

use crate::calls::Answered;
use crate::calls::engines::close_if_idle;
use crate::handles::{Handle, gone};
use crate::inbox::{Arrival, Inbox};
use crate::instance::{Instance, closed};
use crate::outcome::{Content, Contents, Outcome, Projection};
use crate::queues::{Queues, Read, Settled};
use crate::wire::Reply;

/// From 1601-01-01, where Chromium's time begins, to 1970-01-01, in microseconds.
pub(crate) const UNIX_EPOCH_US: f64 = 11_644_473_600e6;

/// Kinds of answers.
const NONE: i32 = 0;
const NOTHING: i32 = 1;
const FAILED: i32 = 2;
const KEY: i32 = 3;
const VALUE: i32 = 4;
const NUMBER: i32 = 5;
const LIST: i32 = 6;
const CURSOR: i32 = 7;
const DATABASES: i32 = 8;
const BLOCKED: i32 = 9;
const UPGRADE: i32 = 10;
const OPENED: i32 = 11;
const DELETED: i32 = 12;
const OPEN_FAILED: i32 = 13;
const VERSION_CHANGE: i32 = 14;
const CLOSED: i32 = 15;
const CHANGES: i32 = 16;

/// Records of which script gets as many at a time as the memory holds.
#[derive(Debug)]
pub(crate) struct List {
    records: Records,
    projection: Projection,
    at: usize,
    contents: Contents,
    /// So many contents are script's already.
    contents_at: usize,
}

impl Instance {
    /// The next answer, if there is one to be had without waiting.
    pub(crate) fn next_answer(&mut self, memory: &mut [u8]) -> Result<Answered> {
        loop {
            if let Some(kept) = self.kept.take() {
                return self.settle(memory, kept);
            }
            // What has come for one transaction is answered before what came after it. Once it has ended, no request is added.
            if let Some(queue) = self.first {
                let settled = self.step(|queues, inbox, read| queues.next_of(queue, inbox, read));
                if settled.is_none() || !self.queues.has_end(queue) {
                    self.first = None;
                }
                if let Some(settled) = settled {
                    return self.settle(memory, settled);
                }
            }
            if let Some(awaited) = self.awaited {
                while let Some(arrival) = self.inbox.take() {
                    self.deferred.push_back(arrival);
                }
                let mut deferred = self.deferred.iter();
                let is_awaited = |arrival: &Arrival| matches!(arrival, Arrival::Open(engine, request, OpenEvent::Done(_)) if (*engine, *request) == awaited);
                let end = deferred.position(is_awaited);
                if let Some(end) = end.and_then(|at| self.deferred.remove(at)) {
                    self.awaited = None;
                    self.deferred.push_front(end);
                } else if self.inbox.rest() {
                    return Ok(Answered::Number(NONE));
                }
                continue;
            }
            let arrival = self.deferred.pop_front();
            let arrival = arrival.or_else(|| self.inbox.take());
            if let Some(arrival) = arrival {
                if let Some(answered) = self.arrived(memory, arrival)? {
                    return Ok(answered);
                }
                continue;
            }
            if let Some(settled) = self.step(|queues, inbox, read| queues.next(inbox, read)) {
                return self.settle(memory, settled);
            }
            if self.inbox.rest() {
                return Ok(Answered::Number(NONE));
            }
        }
    }

    /// Goes on with requests. The last argument has the contents of blobs read.
    fn step(
        &mut self,
        next: impl FnOnce(&mut Queues, &Inbox, Read<'_>) -> Option<Settled>,
    ) -> Option<Settled> {
        let Self {
            queues,
            inbox,
            engines,
            closing,
            ..
        } = self;
        let read = |engine: u32, queue: u32, objects: Vec<ExternalObject>| {
            let inbox = inbox.clone();
            let done = move |contents| inbox.put(Arrival::Contents(queue, contents));
            let closing = closing.get(&engine).map(|(engine, _)| engine);
            match engines.get(&engine).or(closing) {
                Some(engine) => crate::contents::read(&engine.storage.storage, &objects, done),
                None => done(objects.iter().map(|_| Some(Err(closed()))).collect()),
            }
        };
        next(queues, inbox, &read)
    }

    /// Deals with what has come from another thread. Some of it is an answer.
    fn arrived(&mut self, memory: &mut [u8], arrival: Arrival) -> Result<Option<Answered>> {
        match arrival {
            Arrival::First(queue, outcome) => {
                self.queues.first_is_there(queue, outcome);
                self.first = Some(queue);
            }
            Arrival::Contents(queue, contents) => {
                self.queues.contents_are_there(queue, contents);
                self.first = Some(queue);
            }
            Arrival::End(queue, end) => {
                self.queues.note_end(queue, end);
                self.first = Some(queue);
            }
            Arrival::Woken(task) => task.go_on(),
            Arrival::Done(engine, request, outcome, contents) => {
                let settled = Settled {
                    engine,
                    request,
                    queue: None,
                    outcome,
                    contents,
                    is_end: false,
                };
                return self.settle(memory, settled).map(Some);
            }
            Arrival::Open(engine, request, OpenEvent::Done(end))
                if self.is_upgrade_open(engine, request) =>
            {
                if let Some(opening) = self.opening.get_mut(&(engine, request)) {
                    opening.end = Some(end);
                }
            }
            Arrival::Open(engine, request, event) => {
                return Ok(Some(self.opened(memory, engine, request, event)));
            }
            Arrival::Delete(engine, request, event) => {
                return Ok(Some(self.deleted(memory, engine, request, event)));
            }
            Arrival::Connection(engine, watch, event) => {
                // Script may never have got it.
                if let Some(number) = watch.get() {
                    return Ok(Some(self.happened(memory, engine, *number, event)));
                }
            }
        }
        Ok(None)
    }

    /// A transaction's end has been answered. If it was an upgrade, what comes next is the end of the request to open: script sees nothing between.
    fn upgrade_has_ended(&mut self, queue: u32) {
        let mut opening = self.opening.iter_mut();
        let opening = opening.find(|(_, opening)| opening.upgrade == Some(queue));
        if let Some((&(engine, request), opening)) = opening {
            match opening.end.take() {
                Some(end) => {
                    let end = Arrival::Open(engine, request, OpenEvent::Done(end));
                    self.deferred.push_front(end);
                }
                // It comes from the thread that has ended the transaction, without anything else being done.
                None => self.awaited = Some((engine, request)),
            }
        }
    }

    /// Whether the end of a request's upgrade is still to be answered: the request's own end comes after that.
    fn is_upgrade_open(&self, engine: u32, request: u32) -> bool {
        let opening = self.opening.get(&(engine, request));
        let upgrade = opening.and_then(|opening| opening.upgrade);
        upgrade.is_some_and(|queue| self.queues.is_open(queue))
    }

    fn opened(
        &mut self,
        memory: &mut [u8],
        engine: u32,
        request: u32,
        event: OpenEvent,
    ) -> Answered {
        let mut reply = Reply::to(memory, engine, request);
        let kind = match event {
            OpenEvent::Blocked {
                old_version,
                new_version,
            } => {
                reply.number(old_version as f64);
                reply.number(new_version as f64);
                BLOCKED
            }
            OpenEvent::UpgradeNeeded(upgrade) => {
                reply.number(upgrade.old_version as f64);
                reply.number(upgrade.new_version as f64);
                reply.string(upgrade.connection.name());
                let connection = self
                    .handles
                    .all
                    .add(Handle::Connection(upgrade.connection, engine));
                let queue = self.queues.add_upgrade(engine);
                let transaction = self
                    .handles
                    .all
                    .add(Handle::Transaction(upgrade.transaction, queue));
                reply.set(3, connection);
                reply.set(4, transaction);
                self.expect_watch(connection, (engine, request));
                if let Some(opening) = self.opening.get_mut(&(engine, request)) {
                    opening.upgrade = Some(queue);
                }
                UPGRADE
            }
            OpenEvent::Done(Ok(connection)) => {
                reply.number(connection.version() as f64);
                reply.string(connection.name());
                let opening = self.opening.get(&(engine, request));
                // After an upgrade script has the connection already.
                if opening.is_some_and(|opening| opening.upgrade.is_none()) {
                    let number = self.handles.all.add(Handle::Connection(connection, engine));
                    reply.set(3, number);
                    self.expect_watch(number, (engine, request));
                }
                self.opening.remove(&(engine, request));
                OPENED
            }
            OpenEvent::Done(Err(error)) => {
                self.opening.remove(&(engine, request));
                failure(&mut reply, &error);
                // For the link: it was a request to open.
                reply.set(3, 0);
                OPEN_FAILED
            }
        };
        Answered::Number(kind)
    }

    fn deleted(
        &mut self,
        memory: &mut [u8],
        engine: u32,
        request: u32,
        event: DeleteEvent,
    ) -> Answered {
        let mut reply = Reply::to(memory, engine, request);
        let kind = match event {
            DeleteEvent::Blocked { old_version } => {
                reply.number(old_version as f64);
                // No new version.
                reply.number(f64::NAN);
                BLOCKED
            }
            DeleteEvent::Done(Ok(old_version)) => {
                self.deleting.remove(&(engine, request));
                reply.number(old_version as f64);
                DELETED
            }
            DeleteEvent::Done(Err(error)) => {
                self.deleting.remove(&(engine, request));
                failure(&mut reply, &error);
                reply.set(3, 1);
                OPEN_FAILED
            }
        };
        Answered::Number(kind)
    }

    fn happened(
        &mut self,
        memory: &mut [u8],
        engine: u32,
        watch: u32,
        event: ConnectionEvent,
    ) -> Answered {
        let mut reply = Reply::to(memory, engine, watch);
        Answered::Number(match event {
            ConnectionEvent::Close => CLOSED,
            ConnectionEvent::VersionChange(event) => {
                reply.number(event.old_version() as f64);
                reply.number(event.new_version().map_or(f64::NAN, |new| new as f64));
                let token = self.handles.version_changes.add(event);
                reply.set(3, token);
                VERSION_CHANGE
            }
        })
    }

    /// Answers a request.
    fn settle(&mut self, memory: &mut [u8], settled: Settled) -> Result<Answered> {
        let Settled {
            engine,
            request,
            queue,
            outcome,
            contents,
            is_end,
        } = settled;
        let mut reply = Reply::to(memory, engine, request);
        let kind = match &outcome {
            Ok(
                Outcome::Nothing
                | Outcome::MaybeKey(None)
                | Outcome::Value(None)
                | Outcome::Changes(None),
            ) => NOTHING,
            Ok(Outcome::Key(key) | Outcome::MaybeKey(Some(key))) => {
                reply.own_key(key);
                KEY
            }
            Ok(Outcome::Value(Some(value))) => {
                write_value(&mut reply, value.bytes(), value.objects(), &contents);
                VALUE
            }
            Ok(Outcome::Count(count)) => {
                reply.number(*count as f64);
                NUMBER
            }
            Ok(Outcome::Records(records, projection)) => {
                reply.set(3, u32::try_from(records.len()).unwrap_or(u32::MAX));
                reply.set(4, *projection as u32);
                LIST
            }
            Ok(Outcome::Cursor(None) | Outcome::Moved(_, None)) => {
                reply.set(3, 0);
                CURSOR
            }
            Ok(Outcome::Cursor(Some(_)) | Outcome::Moved(_, Some(_))) => {
                reply.set(3, 1);
                CURSOR
            }
            Ok(Outcome::Changes(Some(batch))) => {
                write_batch(&mut reply, batch, &contents);
                CHANGES
            }
            Ok(Outcome::Databases(all)) => {
                reply.count(all.len());
                for database in all {
                    reply.number(database.version as f64);
                    reply.string(&database.name);
                }
                DATABASES
            }
            Err(error) => {
                failure(&mut reply, error);
                FAILED
            }
        };
        if !reply.fits() {
            let needed = reply.len();
            self.kept = Some(Settled {
                engine,
                request,
                queue,
                outcome,
                contents,
                is_end,
            });
            return Ok(Answered::TooSmall(needed));
        }
        if let Some(queue) = queue
            && is_end
        {
            self.upgrade_has_ended(queue);
            close_if_idle(self, engine);
        }
        match outcome {
            Ok(Outcome::Records(records, projection)) if !records.is_empty() => {
                self.list = Some(List {
                    records,
                    projection,
                    at: 0,
                    contents,
                    contents_at: 0,
                });
            }
            Ok(Outcome::Cursor(Some(cursor))) => {
                let queue = queue.ok_or_else(gone)?;
                let number = self
                    .handles
                    .all
                    .add(Handle::Cursor(cursor, queue, contents));
                Reply::into_memory(memory).set(4, number);
            }
            Ok(Outcome::Moved(number, Some(cursor))) => {
                if let Some(Handle::Cursor(old, _, old_contents)) = self.handles.all.get_mut(number)
                {
                    *old = cursor;
                    *old_contents = contents;
                }
                Reply::into_memory(memory).set(4, number);
            }
            _ => {}
        }
        Ok(Answered::Number(kind))
    }

    /// More records of a list: how many the memory has now.
    pub(crate) fn more(&mut self, memory: &mut [u8]) -> Result<Answered> {
        let list = self.list.as_mut().ok_or_else(gone)?;
        let mut reply = Reply::into_memory(memory);
        let mut count = 0;
        while let Some(record) = list.records.get(list.at) {
            let before = reply.len();
            let contents = list.contents.get(list.contents_at..).unwrap_or_default();
            match list.projection {
                Projection::PrimaryKeys => reply.key(record.raw_primary_key()),
                Projection::Values => {
                    write_value(&mut reply, record.value(), record.objects(), contents)
                }
                Projection::Whole => {
                    reply.key(record.raw_key());
                    reply.key(record.raw_primary_key());
                    write_value(&mut reply, record.value(), record.objects(), contents);
                }
            }
            if !reply.fits() {
                if count == 0 {
                    return Ok(Answered::TooSmall(reply.len()));
                }
                reply.cut(before);
                break;
            }
            if list.projection != Projection::PrimaryKeys {
                list.contents_at += record.objects().len();
            }
            list.at += 1;
            count += 1;
        }
        if list.at == list.records.len() {
            self.list = None;
        }
        Ok(Answered::Number(count))
    }
}

/// Transactions of a change feed: the position, a count, and of each its position, when it was committed, whether it is the source's, and its changes.
fn write_batch(reply: &mut Reply<'_>, batch: &Batch, contents: &[Content]) {
    reply.number(batch.position() as f64);
    let all = || batch.transactions().filter(|one| !one.revisions.is_empty());
    reply.count(all().count());
    let mut contents = contents;
    for transaction in all() {
        reply.number(transaction.position as f64);
        reply.number(transaction.committed_at_ms.unwrap_or(f64::NAN));
        let first = transaction.revisions.first();
        reply.byte(u8::from(first.is_some_and(|first| first.is_from_source())));
        reply.count(transaction.revisions.len());
        for revision in transaction.revisions {
            reply.number(revision.number() as f64);
            reply.text(revision.kind().name());
            reply.string(revision.object_store_name());
            reply.own_key(&revision.key());
            reply.byte(u8::from(revision.value().is_some()));
            if let Some(value) = revision.value() {
                write_value(reply, value.bytes(), value.objects(), contents);
                contents = contents.get(value.objects().len()..).unwrap_or_default();
            }
        }
    }
}

fn failure(reply: &mut Reply<'_>, error: &Error) {
    reply.text(error.name().as_str());
    reply.text(error.message());
}

/// A value: its objects, then its bytes.
pub(crate) fn write_value(
    reply: &mut Reply<'_>,
    bytes: &[u8],
    objects: &[ExternalObject],
    contents: &[Content],
) {
    reply.count(objects.len());
    for (at, object) in objects.iter().enumerate() {
        write_object(reply, object, contents.get(at).and_then(Option::as_ref));
    }
    reply.count(bytes.len());
    reply.bytes(bytes);
}

fn write_object(
    reply: &mut Reply<'_>,
    object: &ExternalObject,
    content: Option<&Result<Arc<Vec<u8>>>>,
) {
    let (blob, file) = match object.info() {
        Info::FileSystemAccessHandle { token } => {
            reply.byte(2);
            reply.count(token.len());
            reply.bytes(token);
            return;
        }
        Info::Blob(blob) => (blob, None),
        Info::File {
            blob,
            name,
            last_modified_micros,
        } => (blob, Some((name, *last_modified_micros))),
    };
    reply.byte(u8::from(file.is_some()));
    reply.string(&blob.mime_type);
    if let Some((name, micros)) = file {
        let name: &JsString = name;
        reply.string(name);
        reply.number(((micros as f64 - UNIX_EPOCH_US) / 1000.0).floor());
    }
    match content {
        Some(Ok(bytes)) => {
            reply.byte(1);
            reply.count(bytes.len());
            reply.bytes(bytes);
        }
        // Its size, and why it cannot be read.
        other => {
            reply.byte(0);
            reply.number(blob.size_bytes as f64);
            let why = match other {
                Some(Err(error)) => error.message(),
                _ => "its content was not asked for",
            };
            reply.text(why);
        }
    }
}
