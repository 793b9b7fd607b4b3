//! Processes that take turns: at each request one of them goes on, chosen by the seed. Threads are used, but never two at once.

use larder_remote_files::Clock;
use larder_remote_files::model::{Fate, Gate, Request};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::LEASE;

/// `SplitMix64`.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Debug)]
pub(crate) struct Schedule {
    inner: Mutex<Inner>,
    turns: Vec<Condvar>,
}

#[derive(Debug)]
struct Inner {
    random: Random,
    now: Duration,
    turn: Option<usize>,
    /// When each slot goes on; `None`: it runs, or has not come yet.
    wakes: Vec<Option<Duration>>,
    finished: Vec<bool>,
    /// Which process of a slot lives. The ones before it are dead.
    incarnations: Vec<u32>,
    steps_left: u32,
    pub(crate) deaths: u32,
    pub(crate) freezes: u32,
}

impl Inner {
    fn pick(&mut self, turns: &[Condvar]) {
        let waiting = |inner: &Inner| {
            let all = inner.wakes.iter().zip(&inner.finished);
            let slots = all.enumerate().filter(|(_, (_, finished))| !**finished);
            slots
                .map(|(slot, (wake, _))| wake.map(|wake| (wake, slot)))
                .collect::<Option<Vec<_>>>()
        };
        // Every slot that has not finished waits, or nothing is picked.
        let Some(waiting) = waiting(self) else { return };
        let Some((first, _)) = waiting.iter().min().copied() else {
            return;
        };
        self.now = self.now.max(first);
        let ready: Vec<usize> = waiting
            .iter()
            .filter(|(wake, _)| *wake <= self.now)
            .map(|(_, slot)| *slot)
            .collect();
        let slot = ready[self.random.below(ready.len() as u64) as usize];
        self.now += Duration::from_micros(self.random.below(10_000));
        self.turn = Some(slot);
        turns[slot].notify_all();
    }
}

impl Schedule {
    pub(crate) fn new(seed: u64, slots: usize, steps: u32) -> Arc<Schedule> {
        Arc::new(Schedule {
            inner: Mutex::new(Inner {
                random: Random(seed),
                now: Duration::ZERO,
                turn: None,
                wakes: vec![None; slots],
                finished: vec![false; slots],
                incarnations: vec![0; slots],
                steps_left: steps,
                deaths: 0,
                freezes: 0,
            }),
            turns: (0..slots).map(|_| Condvar::new()).collect(),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Duration {
        self.inner().now
    }

    pub(crate) fn random(&self, limit: u64) -> u64 {
        self.inner().random.below(limit)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.inner().steps_left == 0
    }

    pub(crate) fn deaths_and_freezes(&self) -> (u32, u32) {
        let inner = self.inner();
        (inner.deaths, inner.freezes)
    }

    /// Lets the others go on, for so long at least.
    pub(crate) fn pause(&self, slot: usize, time: Duration) {
        let mut inner = self.inner();
        if inner.steps_left == 0 {
            return;
        }
        let wake = inner.now + time;
        inner.wakes[slot] = Some(wake);
        inner.pick(&self.turns);
        while inner.turn != Some(slot) {
            inner = self.turns[slot]
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
        inner.turn = None;
        inner.wakes[slot] = None;
    }

    pub(crate) fn finish(&self, slot: usize) {
        let mut inner = self.inner();
        inner.finished[slot] = true;
        inner.pick(&self.turns);
    }

    /// When nothing runs any more: it is later.
    pub(crate) fn skip(&self, time: Duration) {
        self.inner().now += time;
    }

    fn is_dead(&self, slot: usize, incarnation: u32) -> bool {
        let inner = self.inner();
        inner.steps_left == 0 || inner.incarnations[slot] != incarnation
    }
}

/// A process: how it reaches the engine, and its clock.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) slot: usize,
    pub(crate) incarnation: u32,
    /// Its clock's pace, in hundredths.
    pace: u32,
    /// Requests of a thousand that fail in some way.
    per_mille: u64,
    /// How long it has waited after its death: its patience comes to an end.
    waited: Arc<AtomicU64>,
}

impl Process {
    /// The one that lives in a slot now.
    pub(crate) fn of(schedule: &Arc<Schedule>, slot: usize, per_mille: u64) -> Process {
        let incarnation = schedule.inner().incarnations[slot];
        Process {
            pace: 90 + schedule.random(20) as u32,
            schedule: Arc::clone(schedule),
            slot,
            incarnation,
            per_mille,
            waited: Arc::default(),
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.schedule.is_dead(self.slot, self.incarnation)
    }
}

impl Clock for Process {
    fn monotonic(&self) -> Duration {
        match self.is_dead() {
            true => {
                Duration::from_secs(1 << 40)
                    + Duration::from_millis(self.waited.load(Ordering::Relaxed))
            }
            false => Duration::from_secs(1000) + self.schedule.now() * self.pace / 100,
        }
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + self.schedule.now()
    }

    fn wait(&self, time: Duration) {
        match self.is_dead() {
            true => drop(
                self.waited
                    .fetch_add(1 + time.as_millis() as u64, Ordering::Relaxed),
            ),
            false => self.schedule.pause(self.slot, time),
        }
    }
}

impl Gate for Process {
    fn fate(&self, _: Request) -> Fate {
        if self.is_dead() {
            return Fate::Unavailable;
        }
        self.schedule.pause(self.slot, Duration::ZERO);
        let mut inner = self.schedule.inner();
        inner.steps_left = inner.steps_left.saturating_sub(1);
        let late = Fate::Late(Duration::from_millis(
            inner.random.below(2 * LEASE.as_millis() as u64),
        ));
        if inner.random.one_in(250) {
            inner.incarnations[self.slot] += 1;
            inner.deaths += 1;
            let fates = [Fate::Unavailable, Fate::ReplyLost, late];
            return fates[inner.random.below(3) as usize];
        }
        if inner.random.one_in(400) {
            inner.freezes += 1;
            drop(inner);
            // Longer than its lease; the request is sent after that.
            self.schedule.pause(self.slot, LEASE * 5 / 2);
            return Fate::Served;
        }
        if inner.random.below(1000) >= self.per_mille {
            return Fate::Served;
        }
        let fates = [Fate::Unavailable, Fate::ReplyLost, Fate::RequestLost, late];
        fates[inner.random.below(4) as usize]
    }
}

/// The engine's clock.
#[derive(Debug)]
pub(crate) struct EngineClock(pub(crate) Arc<Schedule>);

impl Clock for EngineClock {
    fn monotonic(&self) -> Duration {
        self.0.now()
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + self.0.now()
    }

    fn wait(&self, _: Duration) {}
}
