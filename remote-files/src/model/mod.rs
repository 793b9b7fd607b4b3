//! An engine in this process, with FoundationDB's documented rules: the home of the deterministic tests.
//!
//! Keys of 10,000 bytes, values of 100,000, transactions of 10,000,000 bytes of keys and values, and of 5 seconds on a clock that is
//! passed in; snapshots of many versions; a commit conflicts when a row that it has read was written since. What becomes of a request
//! is decided by a [`Gate`]: it is served, refused, carried out without a reply, lost, or carried out later, after others that
//! came later (`commit_unknown_result`).

mod client;
mod clock;
mod gate;
mod state;

pub use client::ModelClient;
pub use clock::ModelClock;
pub use gate::{AlwaysServed, Fate, Gate, Request, SeededGate};

use crate::clock::Clock;
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The engine. Clones are the same.
#[derive(Clone, Debug)]
pub struct Model {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

impl Model {
    /// An empty one. The clock is the engine's own: the age of transactions, and the arrival of what was delayed.
    pub fn new(clock: Arc<dyn Clock>) -> Model {
        Model {
            state: Arc::default(),
            clock,
        }
    }

    /// A client of which every request is served.
    pub fn client(&self) -> ModelClient {
        self.client_through(Arc::new(AlwaysServed))
    }

    /// A client of whose requests a gate decides.
    pub fn client_through(&self, gate: Arc<dyn Gate>) -> ModelClient {
        ModelClient::new(self.clone(), gate)
    }

    /// How many requests are still on their way.
    pub fn delayed_requests(&self) -> usize {
        self.state().delayed_count()
    }

    /// The state, with all that has arrived by now.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.advance(self.clock.monotonic());
        state
    }
}
