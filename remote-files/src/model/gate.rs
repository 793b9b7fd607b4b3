//! What becomes of a request.

use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Rows, a page, segments, numbers of blobs.
    Read,
    /// The read version and the conditions of a commit.
    BeginCommit,
    /// The commit itself.
    Commit,
    /// Segments of a blob.
    Append,
    /// The deletion of a blob.
    Delete,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out, and the reply comes.
    Served,
    /// It is not carried out, and that is certain.
    Unavailable,
    /// It is carried out, and the reply is lost.
    ReplyLost,
    /// It is lost, and that is not certain.
    RequestLost,
    /// It is carried out so much later; there is no reply.
    Late(Duration),
}

/// Decides of each request.
pub trait Gate: Send + Sync + Debug {
    /// Called before the request is carried out. It may wait.
    fn fate(&self, request: Request) -> Fate;
}

/// Serves everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysServed;

impl Gate for AlwaysServed {
    fn fate(&self, _: Request) -> Fate {
        Fate::Served
    }
}

/// Lets requests fail in every way, by a seed.
#[derive(Debug)]
pub struct SeededGate {
    state: Mutex<u64>,
    per_mille: u64,
    late_max: Duration,
}

impl SeededGate {
    /// So many of a thousand requests are not simply served; late ones arrive after `late_max` at most.
    pub fn new(seed: u64, per_mille: u64, late_max: Duration) -> SeededGate {
        SeededGate {
            state: Mutex::new(seed),
            per_mille,
            late_max,
        }
    }

    /// `SplitMix64`.
    fn next(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Gate for SeededGate {
    fn fate(&self, _: Request) -> Fate {
        if self.next() % 1000 >= self.per_mille {
            return Fate::Served;
        }
        match self.next() % 4 {
            0 => Fate::Unavailable,
            1 => Fate::ReplyLost,
            2 => Fate::RequestLost,
            _ => {
                let nanos = u64::try_from(self.late_max.as_nanos()).unwrap_or(u64::MAX);
                Fate::Late(Duration::from_nanos(self.next() % nanos.max(1)))
            }
        }
    }
}
