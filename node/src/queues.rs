//! [`Queues`]: the requests of each transaction, in order.
//!
//! The first one of a queue is executed on the scripts' thread when it asks for answers, with what is short behind it: no thread is woken for it, and none
//! waits for another. What may take long, or cannot be executed yet because another transaction is in its way, a thread of the storage's executes.

use std::collections::VecDeque;

use larder_binding::Numbers;
use larder_idb::{ExternalObject, JsString, Result};

use crate::inbox::{Arrival, Inbox};
use crate::lanes::{Lanes, Serial};
use crate::outcome::{Asked, Contents, Outcome};

/// The queues of one environment.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    all: Numbers<Queue>,
    /// Those whose first request may be executed here, or whose end may be answered.
    ready: VecDeque<u32>,
    lanes: Lanes,
    /// The serial number that was given last.
    last: u64,
}

#[derive(Debug)]
struct Queue {
    engine: u32,
    waiting: VecDeque<Waiting>,
    first: First,
    /// Whether something that may take long stands before the next request without being one: an index that is built.
    is_held_up: bool,
    is_ready: bool,
    /// The request that is answered by the transaction's end.
    end_request: u32,
    end: End,
    serial: u64,
    /// Transactions whose ends are answered before anything of this one.
    before: Vec<Serial>,
    /// Queues that have this one before them.
    behind: Vec<u32>,
    /// If it only reads, the database and the object stores that it reads.
    reads: Option<(JsString, Vec<JsString>)>,
    /// Whether its commit has been asked for.
    is_committing: bool,
}

#[derive(Debug)]
struct Waiting {
    request: u32,
    is_long: bool,
    asked: Asked,
}

/// Where the first request of a queue stands.
#[derive(Debug)]
enum First {
    /// Among those that wait.
    Waits,
    /// Another thread has it.
    Away(u32),
    /// It has been executed, and the contents of its blobs are being read.
    Reads(u32, Result<Outcome>),
    /// It has come to its end.
    There(u32, Result<Outcome>, Contents),
}

/// Where a transaction's end stands.
#[derive(Debug)]
enum End {
    /// It has not come.
    Open,
    Come(Result<()>),
    Answered,
}

/// Has the contents of an outcome's blobs read: engine, queue, objects. They come as an arrival.
pub(crate) type Read<'r> = &'r dyn Fn(u32, u32, Vec<ExternalObject>);

/// An answer to script's request.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) engine: u32,
    pub(crate) request: u32,
    /// The queue of its transaction, if it is one's.
    pub(crate) queue: Option<u32>,
    pub(crate) outcome: Result<Outcome>,
    /// Those of its blobs.
    pub(crate) contents: Contents,
    /// Whether it is the transaction's end.
    pub(crate) is_end: bool,
}

impl Queue {
    /// Goes on with the first request as far as that is possible here and now: its answer, if it has come to its end, or that of the transaction's end.
    /// `read` has the contents of blobs read, which come as an arrival.
    fn step(&mut self, number: u32, inbox: &Inbox, read: Read<'_>) -> Option<Settled> {
        let (request, outcome) = match std::mem::replace(&mut self.first, First::Waits) {
            First::There(request, outcome, contents) if !contents.is_empty() => {
                return Some(self.settled(number, request, outcome, contents));
            }
            First::There(request, outcome, _) => (request, outcome),
            First::Waits => match self.waiting.pop_front() {
                Some(waiting) => self.execute(waiting, number, inbox)?,
                None => {
                    let End::Come(end) = &self.end else {
                        return None;
                    };
                    let outcome = end.clone().map(|()| Outcome::Nothing);
                    self.end = End::Answered;
                    let settled = self.settled(number, self.end_request, outcome, Contents::new());
                    return Some(Settled {
                        is_end: true,
                        ..settled
                    });
                }
            },
            elsewhere => {
                self.first = elsewhere;
                return None;
            }
        };
        let objects = outcome.as_ref().map(Outcome::objects).unwrap_or_default();
        if objects.is_empty() {
            return Some(self.settled(number, request, outcome, Contents::new()));
        }
        self.first = First::Reads(request, outcome);
        read(self.engine, number, objects);
        None
    }

    fn settled(
        &self,
        number: u32,
        request: u32,
        outcome: Result<Outcome>,
        contents: Contents,
    ) -> Settled {
        Settled {
            engine: self.engine,
            request,
            queue: Some(number),
            outcome,
            contents,
            is_end: false,
        }
    }

    /// Executes the first request here, or has a thread of the storage's do it.
    fn execute(
        &mut self,
        mut first: Waiting,
        number: u32,
        inbox: &Inbox,
    ) -> Option<(u32, Result<Outcome>)> {
        if !first.is_long
            && let Some(outcome) = first.asked.try_execute()
        {
            return Some((first.request, outcome));
        }
        self.waiting.push_front(first);
        self.send_away(number, inbox);
        None
    }

    /// Has a thread of the storage's execute the first request, when it can be.
    fn send_away(&mut self, number: u32, inbox: &Inbox) {
        if matches!(self.first, First::Waits)
            && let Some(first) = self.waiting.pop_front()
        {
            self.first = First::Away(first.request);
            let inbox = inbox.clone();
            let done = move |outcome| inbox.put(Arrival::First(number, outcome));
            first.asked.on_done(done);
        }
    }

    /// Whether its transaction has ended in the engine.
    fn has_ended(&self) -> bool {
        !matches!(self.end, End::Open)
    }

    /// Whether no request is left.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && matches!(self.first, First::Waits)
    }

    /// Whether its end is still to be answered.
    fn is_open(&self) -> bool {
        !self.is_over()
    }

    /// Whether its transaction has ended, and that has been answered.
    fn is_over(&self) -> bool {
        matches!(self.end, End::Answered)
    }
}

/// Whether the end of a transaction is still to be answered.
fn is_open(all: &Numbers<Queue>, number: u32, serial: u64) -> bool {
    let queue = all.get(number);
    queue.is_some_and(|queue| queue.serial == serial && queue.is_open())
}

impl Queues {
    /// The queue of an upgrade of an engine's, which runs beside no other transaction.
    pub(crate) fn add_upgrade(&mut self, engine: u32) -> u32 {
        self.last += 1;
        self.all.add(Queue {
            engine,
            waiting: VecDeque::new(),
            first: First::Waits,
            is_held_up: false,
            is_ready: false,
            end_request: 0,
            end: End::Open,
            serial: self.last,
            before: Vec::new(),
            behind: Vec::new(),
            reads: None,
            is_committing: false,
        })
    }

    /// The queue of a new transaction: of which engine, in which database, on which object stores, whether it writes.
    pub(crate) fn add(
        &mut self,
        engine: u32,
        database: JsString,
        stores: Vec<JsString>,
        writes: bool,
    ) -> u32 {
        let reads = (!writes).then(|| (database.clone(), stores.clone()));
        let number = self.add_upgrade(engine);
        let Self {
            all, lanes, last, ..
        } = self;
        let is_open = |(number, serial)| is_open(all, number, serial);
        let before = lanes.enter((engine, database), stores, writes, (number, *last), is_open);
        for (of, _) in &before {
            if let Some(queue) = self.all.get_mut(*of) {
                queue.behind.push(number);
            }
        }
        if let Some(queue) = self.all.get_mut(number) {
            queue.before = before;
            queue.reads = reads;
        }
        number
    }

    /// Whether the ends that come before anything of this queue have been answered.
    fn may_answer(&mut self, number: u32) -> bool {
        let Some(queue) = self.all.get(number) else {
            return false;
        };
        let is_open = queue
            .before
            .iter()
            .any(|&(number, serial)| is_open(&self.all, number, serial));
        if !is_open && let Some(queue) = self.all.get_mut(number) {
            queue.before = Vec::new();
        }
        !is_open
    }

    fn make_ready(&mut self, number: u32) {
        if let Some(queue) = self.all.get_mut(number)
            && !std::mem::replace(&mut queue.is_ready, true)
        {
            self.ready.push_back(number);
        }
    }

    /// A request has been made.
    pub(crate) fn push(&mut self, number: u32, request: u32, asked: Asked, is_long: bool) {
        if let Some(queue) = self.all.get_mut(number) {
            let is_long = is_long || std::mem::take(&mut queue.is_held_up);
            queue.waiting.push_back(Waiting {
                request,
                is_long,
                asked,
            });
            self.make_ready(number);
        }
    }

    /// Something that may take long comes before the next request.
    pub(crate) fn hold_up(&mut self, number: u32) {
        if let Some(queue) = self.all.get_mut(number) {
            queue.is_held_up = true;
        }
    }

    /// The end is answered so.
    pub(crate) fn watch(&mut self, number: u32, request: u32) {
        if let Some(queue) = self.all.get_mut(number) {
            queue.end_request = request;
        }
    }

    /// A first request that was away is back.
    pub(crate) fn first_is_there(&mut self, number: u32, outcome: Result<Outcome>) {
        if let Some(queue) = self.all.get_mut(number)
            && let First::Away(request) = queue.first
        {
            queue.first = First::There(request, outcome, Contents::new());
            self.make_ready(number);
        }
    }

    /// The contents of a first request's blobs have been read.
    pub(crate) fn contents_are_there(&mut self, number: u32, contents: Contents) {
        let Some(queue) = self.all.get_mut(number) else {
            return;
        };
        match std::mem::replace(&mut queue.first, First::Waits) {
            First::Reads(request, outcome) => {
                queue.first = First::There(request, outcome, contents);
                self.make_ready(number);
            }
            other => queue.first = other,
        }
    }

    /// Whether its end is still to be answered.
    pub(crate) fn is_open(&self, number: u32) -> bool {
        let queue = self.all.get(number);
        queue.is_some_and(Queue::is_open)
    }

    /// Its commit has been asked for.
    pub(crate) fn note_commit(&mut self, number: u32) {
        if let Some(queue) = self.all.get_mut(number) {
            queue.is_committing = true;
        }
    }

    /// A transaction whose end is answered before that of this one, which has ended, though the engine may end them in any order: both only read and have nothing left
    /// to do, and it was made before. As in a browser, transactions that become idle together end in the order in which they were made. It reads nothing that this one
    /// does not, so whatever could be in its way has ended, and its own end is about to come.
    fn ends_before(&self, number: u32) -> Option<u32> {
        let this = self.all.get(number)?;
        let (database, stores) = this.reads.as_ref()?;
        let is_within = |queue: &Queue| {
            let reads = queue.reads.as_ref();
            reads.is_some_and(|(of, read)| {
                of == database && read.iter().all(|store| stores.contains(store))
            })
        };
        let mut all = self.all.iter();
        let earlier = all.find(|(_, queue)| {
            queue.engine == this.engine
                && queue.serial < this.serial
                && queue.is_committing
                && queue.is_open()
                && queue.is_idle()
                && is_within(queue)
        });
        earlier.map(|(number, _)| number)
    }

    /// Whether a transaction of an engine's is still to be answered.
    pub(crate) fn has_open(&self, engine: u32) -> bool {
        let mut all = self.all.iter();
        all.any(|(_, queue)| queue.engine == engine && queue.is_open())
    }

    /// Whether its transaction has ended in the engine.
    pub(crate) fn has_end(&self, number: u32) -> bool {
        self.all.get(number).is_some_and(Queue::has_ended)
    }

    pub(crate) fn note_end(&mut self, number: u32, end: Result<()>) {
        if let Some(queue) = self.all.get_mut(number) {
            queue.end = End::Come(end);
            self.make_ready(number);
        }
    }

    /// The next answer of one queue that can be had without waiting.
    pub(crate) fn next_of(
        &mut self,
        number: u32,
        inbox: &Inbox,
        read: Read<'_>,
    ) -> Option<Settled> {
        let may_answer = self.may_answer(number);
        let queue = self.all.get_mut(number)?;
        if !may_answer {
            // It is made ready when it may. Its turn in the engine may come before.
            queue.send_away(number, inbox);
            return None;
        }
        if queue.has_ended()
            && queue.is_idle()
            && let Some(earlier) = self.ends_before(number)
            && let Some(earlier) = self.all.get_mut(earlier)
        {
            earlier.behind.push(number);
            return None;
        }
        let queue = self.all.get_mut(number)?;
        let settled = queue.step(number, inbox, read)?;
        if settled.is_end {
            for behind in std::mem::take(&mut queue.behind) {
                self.make_ready(behind);
            }
        }
        Some(settled)
    }

    /// The next answer that can be had without waiting. Queues take turns.
    pub(crate) fn next(&mut self, inbox: &Inbox, read: Read<'_>) -> Option<Settled> {
        while let Some(number) = self.ready.pop_front() {
            let settled = self.next_of(number, inbox, read);
            if settled.is_some() {
                self.ready.push_back(number);
                return settled;
            }
            if let Some(queue) = self.all.get_mut(number) {
                queue.is_ready = false;
                if queue.is_over() {
                    self.all.remove(number);
                }
            }
        }
        None
    }

    /// An engine has been closed.
    pub(crate) fn forget(&mut self, engine: u32) {
        self.lanes.forget(engine);
    }
}
