//! How a file is read, and so how much of it is fetched at once.
//!
//! Of a file that is read in order more and more is fetched, up to what one call has. From then on the calls behind are sent for while what has come is
//! used: a gateway that answers after ten milliseconds else gives a hundred of them a second, however fast its disks are. A scan that has come to a file's end leaves word of
//! how much it fetched, and goes on so in the next file.

use super::locked;
use crate::blobs::Cut;
use crate::content::Extent;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many chunks the first read of a file spans that is read from its start, and how many times as many each next one of any file: both together are what one
/// call has, of chunks of the usual length.
const FIRST_AHEAD: u64 = 3;
const AHEAD_GROWTH: u64 = 4;

/// There is none.
const NONE: u64 = u64::MAX;

/// The course of a file.
#[derive(Debug)]
pub(super) struct Course {
    /// Whether it is read from its start to its end.
    is_whole: bool,
    run: Mutex<Run>,
    /// The run's end if it goes by whole calls, else 0. It is changed with the run, and beside it since each chunk that is in memory looks at it.
    full_end: AtomicU64,
    /// The last chunk of the file that was not in memory, once the run has come to it. Changed and looked at in the same way.
    last: AtomicU64,
}

/// Chunks that are read one behind the other, and those that are read here and there.
#[derive(Debug)]
struct Run {
    /// The chunk behind what was fetched or sent for.
    end: u64,
    /// How many chunks were fetched at once; 0: there is no run.
    ahead: u64,
    /// The chunk behind those that were fetched last by themselves: a run begins with it.
    single_end: u64,
}

/// How a chunk is fetched that is not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fetch {
    /// How many chunks at once.
    pub(super) ahead: u64,
    /// Whether the run goes on or begins with them.
    pub(super) is_run: bool,
}

impl Fetch {
    fn of_run(ahead: u64) -> Fetch {
        let is_run = true;
        Fetch { ahead, is_run }
    }

    fn beside_run(ahead: u64) -> Fetch {
        let is_run = false;
        Fetch { ahead, is_run }
    }
}

impl Course {
    fn new(is_whole: bool) -> Course {
        Course {
            is_whole,
            run: Mutex::new(Run {
                end: if is_whole { 0 } else { NONE },
                ahead: 0,
                single_end: NONE,
            }),
            full_end: AtomicU64::new(0),
            last: AtomicU64::new(NONE),
        }
    }

    /// The course of a file that is read from its start to its end.
    pub(super) fn whole() -> Course {
        Course::new(true)
    }

    /// The course of a file that is read anywhere.
    pub(super) fn anywhere() -> Course {
        Course::new(false)
    }

    /// How the blob of a file is cut, if its reader says: a table is read anywhere, and written in bulk.
    pub(super) fn supposed_cut(&self, extent: &Extent) -> Option<Cut> {
        (!self.is_whole).then(|| extent.cut())
    }

    /// How to fetch the first of the chunks that a reader asks for, where one call has so many and `word` is what a scan has left. Where the reader ended
    /// says less: a scan of a table begins its next part a little before the last one's end.
    pub(super) fn fetch(&self, asked: &Range<u64>, of_one_call: u64, word: &AtomicU64) -> Fetch {
        let number = asked.start;
        let run = &mut *locked(&self.run);
        if number == run.end {
            return Fetch::of_run(match run.ahead {
                0 => FIRST_AHEAD,
                ahead => ahead * AHEAD_GROWTH,
            });
        }
        if number == run.single_end {
            return Fetch::of_run(AHEAD_GROWTH);
        }
        if number == 0 && !self.is_whole {
            let ahead = word.swap(0, Ordering::Relaxed);
            if ahead > 0 {
                return Fetch::of_run(ahead);
            }
        }
        // It was sent for and has not come, or has gone again.
        let was_fetched = run.ahead >= of_one_call
            && number < run.end
            && run.end - number <= run.ahead.saturating_mul(AHEAD_GROWTH);
        if was_fetched {
            return Fetch::beside_run(of_one_call);
        }
        run.single_end = asked.end;
        Fetch::beside_run(1)
    }

    /// A run goes on to `end`, by calls of so many chunks. `last` is the last chunk of the file, if that is its end.
    pub(super) fn goes_on(&self, fetch: Fetch, end: u64, of_one_call: u64, last: Option<u64>) {
        let run = &mut *locked(&self.run);
        run.ahead = fetch.ahead.min(of_one_call);
        run.end = end;
        let is_full = run.ahead >= of_one_call;
        self.full_end
            .store(if is_full { end } else { 0 }, Ordering::Relaxed);
        self.last.store(last.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// What was fetched for the run has not come.
    pub(super) fn fails(&self) {
        let run = &mut *locked(&self.run);
        run.ahead = 0;
        run.end = NONE;
        self.full_end.store(0, Ordering::Relaxed);
        self.last.store(NONE, Ordering::Relaxed);
    }

    /// Leaves word of a scan that has come to the last chunk of its file.
    pub(super) fn reads(&self, number: u64, word: &AtomicU64) {
        let last = self.last.load(Ordering::Relaxed);
        if !self.is_whole && last != NONE && number >= last {
            self.last.store(NONE, Ordering::Relaxed);
            let ahead = locked(&self.run).ahead;
            word.store(ahead, Ordering::Relaxed);
        }
    }

    /// Whether chunks before `until` are to be sent for, of a run that has come to this one.
    pub(super) fn is_behind(&self, number: u64, until: u64) -> bool {
        let full_end = self.full_end.load(Ordering::Relaxed);
        number < full_end && full_end < until
    }

    /// Sends for what lies before `until` and was not asked for, of a file whose chunks end at `count`. `send` does so from a chunk on, if it can: behind which
    /// chunk to go on, and which one was not in memory last.
    pub(super) fn send(&self, until: u64, count: u64, send: impl Fn(u64) -> Option<(u64, u64)>) {
        let run = &mut *locked(&self.run);
        // It may have failed since that was looked at.
        if self.full_end.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut end = None;
        while run.end < until
            && let Some((after, last)) = send(run.end)
        {
            run.end = after;
            end = Some(last).filter(|_| after >= count);
        }
        self.full_end.store(run.end, Ordering::Relaxed);
        if let Some(last) = end {
            self.last.store(last, Ordering::Relaxed);
        }
    }
}
