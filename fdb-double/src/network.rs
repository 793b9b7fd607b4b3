//! The network thread: what it has to do, now and later.

use crate::cluster::now;
use crate::errors::{self, Code};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Task = Box<dyn FnOnce() + Send>;

/// A task for later.
struct Timed {
    due: Instant,
    task: Task,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Timed) -> bool {
        self.due == other.due
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Timed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Timed) -> Ordering {
        self.due.cmp(&other.due)
    }
}

/// How far the client was brought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    HasVersion,
    SetUp,
    Stopped,
}

struct Network {
    stage: Stage,
    tasks: VecDeque<Task>,
    later: BinaryHeap<Reverse<Timed>>,
}

static NETWORK: Mutex<Network> = Mutex::new(Network {
    stage: Stage::New,
    tasks: VecDeque::new(),
    later: BinaryHeap::new(),
});
static CHANGED: Condvar = Condvar::new();

fn network() -> MutexGuard<'static, Network> {
    NETWORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A version is chosen once.
pub(crate) fn choose_version() -> Code {
    let mut network = network();
    if network.stage != Stage::New {
        return errors::VERSION_ALREADY_SET;
    }
    network.stage = Stage::HasVersion;
    0
}

/// It is set up once.
pub(crate) fn set_up() -> Code {
    let mut network = network();
    match network.stage {
        Stage::New => errors::VERSION_UNSET,
        Stage::HasVersion => {
            network.stage = Stage::SetUp;
            0
        }
        _ => errors::NETWORK_ALREADY_SETUP,
    }
}

/// Whether clusters can be opened.
pub(crate) fn check_set_up() -> Result<(), Code> {
    match network().stage {
        Stage::New => Err(errors::VERSION_UNSET),
        Stage::HasVersion => Err(errors::NETWORK_NOT_SETUP),
        _ => Ok(()),
    }
}

/// Works until it is stopped.
pub(crate) fn run() -> Code {
    let mut network = network();
    if network.stage != Stage::SetUp {
        return errors::NETWORK_NOT_SETUP;
    }
    while network.stage != Stage::Stopped {
        let time = now();
        let due = (network.later.peek()).is_some_and(|Reverse(timed)| timed.due <= time);
        let task = match due {
            true => network.later.pop().map(|Reverse(timed)| timed.task),
            false => network.tasks.pop_front(),
        };
        if let Some(task) = task {
            drop(network);
            task();
            network = self::network();
            continue;
        }
        let next = network.later.peek();
        let pause = next.map_or(Duration::from_secs(60), |Reverse(timed)| timed.due - time);
        let waited = CHANGED.wait_timeout(network, pause);
        (network, _) = waited.unwrap_or_else(PoisonError::into_inner);
    }
    0
}

/// It works no more, and what is left is never done.
pub(crate) fn stop() -> Code {
    let mut network = network();
    if network.stage != Stage::SetUp {
        return errors::NETWORK_NOT_SETUP;
    }
    network.stage = Stage::Stopped;
    CHANGED.notify_all();
    0
}

/// Something to do.
pub(crate) fn add(task: impl FnOnce() + Send + 'static) {
    network().tasks.push_back(Box::new(task));
    CHANGED.notify_all();
}

/// Something to do at a time.
pub(crate) fn add_later(due: Instant, task: impl FnOnce() + Send + 'static) {
    let task = Box::new(task);
    network().later.push(Reverse(Timed { due, task }));
    CHANGED.notify_all();
}
