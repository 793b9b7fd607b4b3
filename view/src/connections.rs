//! A bounded number of connections. When all are taken, one that deserves its place least gives way to the next.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The connections that there are, oldest first.
pub(crate) struct Connections {
    max: usize,
    grace: Duration,
    all: Mutex<Numbered>,
    left: Notify,
}

#[derive(Default)]
struct Numbered {
    /// The last number that was given.
    last: u64,
    connections: BTreeMap<u64, Arc<Connection>>,
}

/// What is remembered of a connection. One thread has all connections, so that nothing is ordered by these atomics.
pub(crate) struct Connection {
    since: Instant,
    /// Whether it has ever shown the token, or a ticket.
    is_authorised: AtomicBool,
    /// Answers that are being made or sent.
    answers: AtomicUsize,
    /// Whether a request has been refused before all of it was read.
    has_unread: AtomicBool,
    is_given_up: AtomicBool,
    give_up: Notify,
}

/// A place among the connections, until it is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) connection: Arc<Connection>,
}

/// An answer that is being made or sent, until it is dropped.
pub(crate) struct Busy(Arc<Connection>);

impl Connections {
    pub(crate) fn new(max: usize, grace: Duration) -> Arc<Self> {
        Arc::new(Self {
            max,
            grace,
            all: Mutex::default(),
            left: Notify::new(),
        })
    }

    /// Waits for a place.
    pub(crate) async fn admit(self: &Arc<Self>) -> Place {
        loop {
            match self.try_admit() {
                Ok(place) => return place,
                Err(next) => tokio::select! {
                    () = self.left.notified() => (),
                    () = sleep_until(next) => (),
                },
            }
        }
    }

    /// A place; or when to look again, if no connection ends before.
    fn try_admit(self: &Arc<Self>) -> Result<Place, Instant> {
        let now = Instant::now();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.connections.len() < self.max {
            let connection = Arc::new(Connection::new(now));
            all.last += 1;
            let number = all.last;
            all.connections.insert(number, Arc::clone(&connection));
            return Ok(Place {
                connections: Arc::clone(self),
                number,
                connection,
            });
        }
        let again = now + self.grace;
        let connections = || all.connections.values();
        if connections().any(|connection| connection.is_given_up.load(Relaxed)) {
            return Err(again);
        }
        let ranked = connections().filter_map(|it| Some((it.rank()?, it)));
        // The first of a rank is the oldest.
        let Some((_, least)) = ranked.min_by_key(|(rank, _)| *rank) else {
            return Err(again);
        };
        let until = least.since + self.grace;
        if now < until {
            return Err(until);
        }
        least.is_given_up.store(true, Relaxed);
        least.give_up.notify_one();
        Err(again)
    }
}

impl Connection {
    fn new(since: Instant) -> Self {
        Self {
            since,
            is_authorised: AtomicBool::new(false),
            answers: AtomicUsize::new(0),
            has_unread: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            give_up: Notify::new(),
        }
    }

    /// What gives way first; `None` never does. Connections without the token can be many, send slowly or read nothing: they cannot take a place
    /// from one that is answered with it.
    fn rank(&self) -> Option<u8> {
        let is_authorised = self.is_authorised.load(Relaxed);
        let is_busy = self.answers.load(Relaxed) > 0;
        match (is_authorised, is_busy) {
            (false, _) => Some(0),
            (true, false) => Some(1),
            (true, true) => None,
        }
    }

    pub(crate) fn authorise(&self) {
        self.is_authorised.store(true, Relaxed);
    }

    pub(crate) fn leave_unread(&self) {
        self.has_unread.store(true, Relaxed);
    }

    pub(crate) fn has_unread(&self) -> bool {
        self.has_unread.load(Relaxed)
    }

    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.answers.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Waits until it has to give way.
    pub(crate) async fn given_up(&self) {
        self.give_up.notified().await;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answers.fetch_sub(1, Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let all = &self.connections.all;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.connections.remove(&self.number);
        self.connections.left.notify_one();
    }
}
