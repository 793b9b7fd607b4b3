//! Stores that are not used, of all origins: each is closed when that has been so for some time, or when there are too many.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use larder_backing_store::Clock;

use super::Origin;
use crate::error::attempt;
use crate::executor::{Chores, Ready, Timetable};
use crate::sync::{Mutex, locked};

/// In what time, at least, a store that a blob's reader holds is looked at again.
const HELD_AGAIN: Duration = Duration::from_secs(1);

/// The list of them.
pub(crate) struct IdleStores {
    clock: Arc<dyn Clock>,
    grace: Duration,
    max: usize,
    list: Mutex<List>,
    chores: Arc<Chores>,
    ready: Arc<Ready>,
}

#[derive(Default)]
struct List {
    /// By number: the store that has been idle longest comes first.
    entries: BTreeMap<u64, Entry>,
    next: u64,
    /// How many are held by blobs' readers, as far as is known.
    held: usize,
}

struct Entry {
    since_us: i64,
    /// It was to be closed, and could not be.
    is_held: bool,
    origin: Weak<Origin>,
}

/// Which of them is due, or in what time one is.
type Due<T> = Result<T, Option<Duration>>;

/// One that was taken out of the list.
type Taken = (u64, Option<Arc<Origin>>);

/// One that was added to the list.
#[must_use = "`announce` wakes what sleeps until the next is due"]
pub(super) struct Added {
    pub(super) number: u64,
    /// Whether it may be due before all others.
    is_first: bool,
}

impl List {
    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        self.held -= usize::from(entry.is_held);
        Some(entry)
    }

    /// The first of those that are held, or of the others.
    fn first(&self, is_held: bool) -> Option<u64> {
        let mut entries = self.entries.iter();
        let first = entries.find(|(_, entry)| entry.is_held == is_held)?;
        Some(*first.0)
    }

    fn closable(&self) -> usize {
        self.entries.len() - self.held
    }

    /// Which is due for its time, or in what time one is.
    fn due(&mut self, now_us: i64, grace: Duration) -> Due<u64> {
        let mut wait = None;
        for (is_held, grace) in [(false, grace), (true, grace.max(HELD_AGAIN))] {
            let Some(number) = self.first(is_held) else {
                continue;
            };
            match self.left(number, now_us, grace) {
                Some(left) => wait = Some(wait.map_or(left, |wait: Duration| wait.min(left))),
                None => return Ok(number),
            }
        }
        Err(wait)
    }

    /// In what time this one is due; `None` if it is now.
    fn left(&mut self, number: u64, now_us: i64, grace: Duration) -> Option<Duration> {
        let entry = self.entries.get_mut(&number)?;
        // A clock that was set back: the time before is unknown.
        entry.since_us = entry.since_us.min(now_us);
        let passed = Duration::from_micros(now_us.abs_diff(entry.since_us));
        grace.checked_sub(passed).filter(|left| !left.is_zero())
    }
}

impl IdleStores {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        grace: Duration,
        max: usize,
        chores: Arc<Chores>,
        ready: Arc<Ready>,
    ) -> Self {
        Self {
            clock,
            grace,
            max,
            list: Mutex::default(),
            chores,
            ready,
        }
    }

    /// The time now, for [`add`](Self::add): the clock is the host's code, and called while no lock is held.
    pub(super) fn now_us(&self) -> i64 {
        // Called when a handle is dropped, which must not panic; the entry's time is its first look then.
        attempt(|| Ok(self.clock.now_us())).unwrap_or(i64::MAX)
    }

    /// Adds an origin whose store has not been used since then, or is only held by blobs' readers. [`announce`](Self::announce) comes next,
    /// when the origin's lock is free.
    pub(super) fn add(&self, origin: &Arc<Origin>, since_us: i64, is_held: bool) -> Added {
        let mut list = locked(&self.list);
        let number = list.next;
        list.next += 1;
        list.held += usize::from(is_held);
        let entry = Entry {
            since_us,
            is_held,
            origin: Arc::downgrade(origin),
        };
        list.entries.insert(number, entry);
        let is_alone = list.entries.len() == 1 || list.closable() == 1;
        // Of several, the others are due before.
        let is_first = is_alone || list.closable() > self.max;
        Added { number, is_first }
    }

    /// Wakes the thread or the host that sleeps until the next one is due, if this one comes before it.
    pub(super) fn announce(&self, added: &Added) {
        if added.is_first {
            self.chores.look_again();
            self.ready.note_due();
        }
    }

    /// It is used again, or closed.
    pub(super) fn remove(&self, number: u64) {
        locked(&self.list).remove(number);
    }

    /// Closes those that have been idle longest, until another store may be open.
    pub(super) fn make_room(&self) {
        while let Some((number, origin)) = self.take_above(self.max.saturating_sub(1)) {
            close(number, origin);
        }
    }

    fn take_above(&self, max: usize) -> Option<Taken> {
        let mut list = locked(&self.list);
        if list.closable() <= max {
            return None;
        }
        let number = list.first(false)?;
        let entry = list.remove(number)?;
        Some((number, entry.origin.upgrade()))
    }

    /// Closes one whose time has come: whether there was any.
    pub(crate) fn close_one_due(&self) -> bool {
        while let Ok((number, origin)) = self.take_due() {
            if close(number, origin) {
                return true;
            }
        }
        false
    }

    fn take_due(&self) -> Due<Taken> {
        if let Some(above) = self.take_above(self.max) {
            return Ok(above);
        }
        if locked(&self.list).entries.is_empty() {
            return Err(None);
        }
        let now_us = self.now_us();
        let list = &mut *locked(&self.list);
        let number = list.due(now_us, self.grace)?;
        let entry = list.remove(number);
        Ok((number, entry.and_then(|entry| entry.origin.upgrade())))
    }

    /// In what time the next one is to be closed; `None` if there is none, or none is closed for its time.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        {
            let list = locked(&self.list);
            if list.closable() > self.max {
                return Some(Duration::ZERO);
            }
            if list.entries.is_empty() || self.grace == Duration::MAX {
                return None;
            }
        }
        let now_us = self.now_us();
        match locked(&self.list).due(now_us, self.grace) {
            Ok(_) => Some(Duration::ZERO),
            Err(wait) => wait,
        }
    }
}

/// Whether it was closed: it may be in use again by now, or held.
fn close(number: u64, origin: Option<Arc<Origin>>) -> bool {
    origin.is_some_and(|origin| origin.close_idle(number))
}

impl Timetable for IdleStores {
    fn do_due(&self) -> Option<Duration> {
        loop {
            match self.take_due() {
                Ok((number, origin)) => _ = close(number, origin),
                Err(wait) => return wait,
            }
        }
    }
}
