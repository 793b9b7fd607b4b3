//! How much, and how long, the server bears of its clients.

use std::time::Duration;

/// The bounds of a server. A test takes shorter times; [`Limits::default`] is what the command has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once. Others wait with the system.
    pub connections: usize,
    /// When all connections are taken, one that has shown no token for so long gives way to the next.
    pub grace: Duration,
    /// Questions that are answered at once. Others wait.
    pub questions: usize,
    /// Until the head of a request has come, also on a connection that has had one before.
    pub head: Duration,
    /// Until the body of a request has come.
    pub body: Duration,
    /// For so long a client may read nothing of what it is sent.
    pub unread: Duration,
    /// A ticket is good for so long.
    pub ticket: Duration,
    /// From one sign of life of `alive` to the next.
    pub heartbeat: Duration,
    /// After the last page has been closed.
    pub closed: Duration,
    /// Questions that are still being answered when the server ends are waited for so long.
    pub ending: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            grace: Duration::from_secs(1),
            questions: 8,
            head: Duration::from_secs(10),
            body: Duration::from_secs(10),
            unread: Duration::from_secs(30),
            ticket: Duration::from_secs(60),
            heartbeat: Duration::from_secs(10),
            closed: Duration::from_secs(5),
            ending: Duration::from_secs(5),
        }
    }
}
