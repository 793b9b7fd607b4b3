//! Content that is fetched before it is asked for, each part of it on a thread of its own, which puts it into the cache.
//!
//! A reader that comes to such a part waits for its thread, and asks for itself if that has brought nothing: an error is always the reader's own. So a thread
//! makes one request, and has no patience. All threads have ended when the file system is closed.

use super::locked;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The threads.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    landed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    under_way: Vec<Part>,
    /// Threads of which some have ended.
    threads: Vec<JoinHandle<()>>,
    is_over: bool,
}

/// A blob, and the chunks of it that are fetched.
type Part = (u64, Range<u64>);

/// A part that is fetched, for as long as it is.
struct UnderWay {
    shared: Arc<Shared>,
    part: Part,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = locked(&self.shared.state);
        state.under_way.retain(|part| *part != self.part);
        drop(state);
        self.shared.landed.notify_all();
    }
}

impl Fetches {
    /// Fetches chunks of a blob, unless so many parts are under way already; whether they are now. `fetch` puts them into the cache.
    pub(super) fn send(
        &self,
        (blob, chunks): (u64, Range<u64>),
        parts_max: u64,
        fetch: impl FnOnce() + Send + 'static,
    ) -> bool {
        let part = (blob, chunks);
        {
            let mut state = locked(&self.shared.state);
            if state.under_way.contains(&part) {
                return true;
            }
            if state.is_over || state.under_way.len() as u64 >= parts_max {
                return false;
            }
            state.under_way.push(part.clone());
            // The handles of threads that have ended are of no use.
            state.threads.retain(|thread| !thread.is_finished());
        }
        let under_way = UnderWay {
            shared: Arc::clone(&self.shared),
            part,
        };
        let thread = Builder::new().name("larder-remote-fetch".to_owned());
        let thread = thread.spawn(move || {
            let _under_way = under_way;
            fetch();
        });
        let is_started = thread.is_ok();
        locked(&self.shared.state).threads.extend(thread);
        is_started
    }

    /// Waits as long as a chunk is under way.
    pub(super) fn wait(&self, blob: u64, number: u64) {
        let has_it = |(other, chunks): &Part| *other == blob && chunks.contains(&number);
        let mut state = locked(&self.shared.state);
        while state.under_way.iter().any(has_it) {
            let landed = self.shared.landed.wait(state);
            state = landed.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Starts no thread any more, and waits for the ends of those that there are.
    pub(super) fn end(&self) {
        let threads = {
            let mut state = locked(&self.shared.state);
            state.is_over = true;
            std::mem::take(&mut state.threads)
        };
        for thread in threads {
            // One that has panicked has ended, too.
            thread.join().ok();
        }
    }
}

impl Drop for Fetches {
    fn drop(&mut self) {
        self.end();
    }
}
