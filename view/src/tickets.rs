//! Tickets: a download is a plain GET, which has no header for the token. What it is for waits here under a secret of its own.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::secret::Secret;

/// Time since a beginning of its own.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// So many tickets may wait at once.
const WAITING_MAX: usize = 64;

struct Ticket {
    secret: Secret,
    until: Duration,
    download: Vec<u8>,
}

/// Downloads that have been asked for and not begun, oldest first.
pub(crate) struct Tickets {
    clock: Clock,
    life: Duration,
    waiting: Mutex<VecDeque<Ticket>>,
}

impl Tickets {
    pub(crate) fn new(clock: Clock, life: Duration) -> Self {
        Self {
            clock,
            life,
            waiting: Mutex::default(),
        }
    }

    /// A ticket for `download`; `None` while too many wait.
    pub(crate) fn give(&self, download: Vec<u8>) -> io::Result<Option<String>> {
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
            download,
        });
        Ok(Some(digits))
    }

    /// What the ticket was given for. It is good no more afterwards.
    pub(crate) fn take(&self, shown: &[u8]) -> Option<Vec<u8>> {
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
        Some(waiting.remove(found?)?.download)
    }
}
