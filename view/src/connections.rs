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
    all: Mutex<(u64, BTreeMap<u64, Arc<Connection>>)>,
    left: Notify,
}

/// What is remembered of a connection.
pub(crate) struct Connection {
    since: Instant,
    /// Whether it has ever shown the token, or a ticket.
    is_authorised: AtomicBool,
    /// Answers that are being made or sent.
    answers: AtomicUsize,
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
        if all.1.len() < self.max {
            let connection = Arc::new(Connection {
                since: now,
                is_authorised: AtomicBool::new(false),
                answers: AtomicUsize::new(0),
                is_given_up: AtomicBool::new(false),
                give_up: Notify::new(),
            });
            all.0 += 1;
            let number = all.0;
            all.1.insert(number, Arc::clone(&connection));
            return Ok(Place {
                connections: Arc::clone(self),
                number,
                connection,
            });
        }
        let is_given_up = |connection: &Arc<Connection>| connection.is_given_up.load(Relaxed);
        if all.1.values().any(is_given_up) {
            return Err(now + self.grace);
        }
        let ranked = all
            .1
            .values()
            .filter_map(|connection| Some((connection.rank()?, connection)));
        // The first of a rank is the oldest.
        let Some((_, least)) = ranked.min_by_key(|(rank, _)| *rank) else {
            return Err(now + self.grace);
        };
        let until = least.since + self.grace;
        if until <= now {
            least.is_given_up.store(true, Relaxed);
            least.give_up.notify_one();
        }
        Err(if until <= now {
            now + self.grace
        } else {
            until
        })
    }
}

impl Connection {
    /// What gives way first; `None` never does. What comes without the token can be many, send slowly or read nothing; it cannot take a place from what has shown it.
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
        all.1.remove(&self.number);
        self.connections.left.notify_one();
    }
}
