//! How a file is read, and so what of it is fetched before it is asked for.
//!
//! Of a file that is read in order more and more is fetched at once, up to what one call has. From then on the calls behind are on their way,
//! too, while what has come is used: a gateway that answers after ten milliseconds else gives a hundred of them a second, however fast its disks are.

use super::locked;
use crate::error::Result;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// How many chunks the first read of a file spans that is read from its start, and how many times as many each next one: both together are what one call
/// has, of chunks of the usual length.
const FIRST_AHEAD: u64 = 3;
const AHEAD_GROWTH: u64 = 4;

/// Chunks that are on their way, and what brings them.
pub(super) type Sent = (Range<u64>, JoinHandle<Result<Vec<u8>>>);

/// How a file was fetched up to now, for how much of it is fetched next.
#[derive(Debug)]
pub(super) struct Course {
    /// Whether it is read from its start to its end.
    is_whole: bool,
    /// The chunk behind those that were fetched last, and how many were asked for.
    end: AtomicU64,
    ahead: AtomicU64,
    pipe: Mutex<Pipe>,
}

/// What is on its way.
#[derive(Debug, Default)]
struct Pipe {
    /// The first chunk that was not asked for; `None`: nothing is sent for.
    next: Option<u64>,
    sent: Vec<Sent>,
}

impl Course {
    /// The course of a file that is read from its start to its end.
    pub(super) fn whole() -> Course {
        Course {
            is_whole: true,
            end: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
            pipe: Mutex::default(),
        }
    }

    /// The course of a file that is read anywhere.
    pub(super) fn anywhere() -> Course {
        Course {
            is_whole: false,
            end: AtomicU64::new(u64::MAX),
            ahead: AtomicU64::new(0),
            pipe: Mutex::default(),
        }
    }

    /// How many chunks to fetch if this one is not in memory: more and more as long as each is the one behind the last. What a reader asks for says
    /// less: a scan of a table begins its next part a little before the last one's end.
    pub(super) fn ahead(&self, number: u64) -> u64 {
        let last = self.ahead.load(Ordering::Relaxed);
        match self.is_whole {
            true if last == 0 => FIRST_AHEAD,
            true => last * AHEAD_GROWTH,
            false if self.end.load(Ordering::Relaxed) == number => last * 2,
            false => 1,
        }
    }

    /// Chunks are fetched now, as many as [`ahead`](Course::ahead) has said. If the course `is_full`, what follows may be sent for.
    pub(super) fn begins(&self, ahead: u64, end: u64, is_full: bool) {
        self.ahead.store(ahead.min(1 << 16), Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        let pipe = &mut *locked(&self.pipe);
        // The threads of what was sent for in vain come to their ends by themselves.
        pipe.sent.clear();
        pipe.next = is_full.then_some(end);
    }

    /// Leaves word of a scan for the next file that one goes on in.
    pub(super) fn carry(&self, scan_ahead: &AtomicU64) {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if !self.is_whole && ahead > 1 {
            scan_ahead.store(ahead, Ordering::Relaxed);
        }
    }

    /// How many chunks a scan has fetched at once that may go on at the start of this file.
    pub(super) fn carried(&self, scan_ahead: &AtomicU64) -> u64 {
        match self.is_whole {
            true => 0,
            false => scan_ahead.swap(0, Ordering::Relaxed),
        }
    }

    /// Sends for what lies before `until` and was not asked for: `send` does so from a chunk on, and says behind which one to go on.
    pub(super) fn send(
        &self,
        until: u64,
        mut send: impl FnMut(u64) -> (u64, Option<io::Result<Sent>>),
    ) {
        let pipe = &mut *locked(&self.pipe);
        while let Some(next) = pipe.next.filter(|next| *next < until) {
            let (after, sent) = send(next);
            match sent {
                Some(Ok(sent)) => pipe.sent.push(sent),
                // The system starts no thread: it goes without.
                Some(Err(_)) => {
                    pipe.next = None;
                    return;
                }
                None => {}
            }
            pipe.next = Some(after);
            self.end.store(after, Ordering::Relaxed);
        }
    }

    /// What was sent for and has this chunk, once it is there.
    pub(super) fn land(&self, number: u64) -> Option<(Range<u64>, Result<Vec<u8>>)> {
        let (chunks, thread) = {
            let pipe = &mut *locked(&self.pipe);
            let mut sent = pipe.sent.iter();
            let at = sent.position(|(chunks, _)| chunks.contains(&number))?;
            pipe.sent.remove(at)
        };
        // One that has panicked has brought nothing.
        Some((chunks, thread.join().ok()?))
    }
}
