//! Tickets: what is allowed once, for a while, to a client that cannot show the token. A download is a plain GET, which has no header for it, and a browser
//! is opened by a command line, which others can read.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::secret::Secret;

/// Time since a beginning of its own.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// So many tickets may wait at once.
const WAITING_MAX: usize = 64;

struct Ticket<T> {
    secret: Secret,
    until: Duration,
    purpose: T,
}

/// What has been allowed once and not been done, oldest first.
pub(crate) struct Tickets<T> {
    clock: Clock,
    life: Duration,
    waiting: Mutex<VecDeque<Ticket<T>>>,
}

impl<T> Tickets<T> {
    pub(crate) fn new(clock: Clock, life: Duration) -> Self {
        Self {
            clock,
            life,
            waiting: Mutex::default(),
        }
    }

    /// A ticket for `purpose`; `None` while too many wait.
    pub(crate) fn give(&self, purpose: T) -> io::Result<Option<String>> {
        let secret = Secret::new()?;
        let now = (self.clock)();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|ticket| now < ticket.until);
        if waiting.len() >= WAITING_MAX {
            return Ok(None);
        }
        let digits = secret.digits();
        waiting.push_back(Ticket {
            secret,
            until: now + self.life,
            purpose,
        });
        Ok(Some(digits))
    }

    /// What the ticket was given for. It is good no more afterwards.
    pub(crate) fn take(&self, shown: &[u8]) -> Option<T> {
        let now = (self.clock)();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|ticket| now < ticket.until);
        // Every ticket is compared, so that the time does not say which came near.
        let found = waiting
            .iter()
            .enumerate()
            .fold(None, |found, (at, ticket)| {
                if ticket.secret.is(shown) {
                    Some(at)
                } else {
                    found
                }
            });
        Some(waiting.remove(found?)?.purpose)
    }
}
