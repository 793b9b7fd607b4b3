//! A thread that renews a session and does what file systems have put off. The caller stops and joins it.

use crate::file_system::RemoteFileSystem;
use crate::session::Session;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The least time between two renewals.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Renews a session, and calls [`RemoteFileSystem::tick`] of the file systems that were added. It ends when it is stopped, or dropped.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    file_systems: Vec<RemoteFileSystem>,
}

impl Keeper {
    /// Starts the thread. `tick` is how often the file systems are looked after, and the longest delay of what they have put off.
    ///
    /// # Errors
    /// The system's, if it starts no thread.
    pub fn start(session: Session, tick: Duration) -> std::io::Result<Keeper> {
        let shared = Arc::<Shared>::default();
        let of_thread = Arc::clone(&shared);
        let thread = Builder::new()
            .name("larder-remote-keeper".to_owned())
            .spawn(move || of_thread.run(&session, tick.max(Duration::from_millis(1))))?;
        Ok(Keeper {
            shared,
            thread: Some(thread),
        })
    }

    /// Looks after a file system, too, as long as that has another handle.
    pub fn add(&self, file_system: &RemoteFileSystem) {
        let mut state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.file_systems.push(file_system.clone());
    }

    /// Stops the thread and waits for its end.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let mut state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.is_stopped = true;
        drop(state);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has ended what it was for; there is nothing to add.
            thread.join().ok();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn run(&self, session: &Session, tick: Duration) {
        loop {
            if session.due_in().is_zero() && session.renew().is_err() && session.is_lost() {
                return;
            }
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state
                .file_systems
                .retain(RemoteFileSystem::is_used_elsewhere);
            let file_systems = state.file_systems.clone();
            drop(state);
            for file_system in &file_systems {
                // Each may take a while, and there may be many. What fails is tried again below.
                if session.due_in().is_zero() {
                    session.renew().ok();
                }
                // What fails is reported by the file that it belongs to.
                file_system.tick().ok();
            }
            drop(file_systems);
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_stopped {
                return;
            }
            // Not at once, if the renewal has failed.
            let pause = session.due_in().clamp(tick.min(PAUSE_MIN), tick);
            let waited = self
                .changed
                .wait_timeout(state, pause)
                .unwrap_or_else(PoisonError::into_inner);
            if waited.0.is_stopped {
                return;
            }
        }
    }
}
