//! A server over a source of its own, and clients that write bytes.

mod client;
mod played;

pub(crate) use client::{Asked, Client, Reply};
pub(crate) use played::Played;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use larder_view::{Clock, Limits, Options, Server, Stopper};

/// Longer than anything here takes on the slowest machine. A test that waits so long fails.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A server that runs, until it is dropped.
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) token: String,
    /// The secret of an address that is good once.
    pub(crate) once: String,
    pub(crate) played: Arc<Played>,
    pub(crate) stopper: Stopper,
    /// Seconds of the tickets' clock, which stands still.
    pub(crate) seconds: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

/// Limits that no test reaches unless it is about them: what waits for one fails.
pub(crate) fn patient() -> Limits {
    let never = LONG * 10;
    let mut limits = Limits::default();
    limits.grace = never;
    limits.head = never;
    limits.body = never;
    limits.unread = never;
    limits.ending = never;
    limits
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::within(patient(), false)
    }

    pub(crate) fn within(limits: Limits, until_closed: bool) -> Self {
        let played = Arc::new(Played::default());
        let seconds = Arc::new(AtomicU64::new(0));
        let clock: Clock = {
            let seconds = Arc::clone(&seconds);
            Arc::new(move || Duration::from_secs(seconds.load(Ordering::SeqCst)))
        };
        let options = Options {
            port: 0,
            until_closed,
        };
        let server = Server::bind_within(options, limits, clock, played.clone()).unwrap();
        let url = server.url();
        let (address, token) = url.split_once("/#").unwrap();
        let port = address.strip_prefix("http://127.0.0.1:").unwrap();
        let (port, token) = (port.parse().unwrap(), token.to_owned());
        let once = server.url_for_once().unwrap();
        let (_, once) = once.split_once("/#once=").unwrap();
        let once = once.to_owned();
        let stopper = server.stopper();
        let thread = Mutex::new(Some(thread::spawn(move || server.run())));
        Self {
            port,
            token,
            once,
            played,
            stopper,
            seconds,
            thread,
        }
    }

    /// `GET path`, as a browser asks.
    pub(crate) fn get(&self, path: &str) -> Asked {
        Asked::new("GET", path).with("Host", format!("127.0.0.1:{}", self.port))
    }

    /// A question, as the page asks.
    pub(crate) fn question(&self, name: &str, body: &str) -> Asked {
        Asked::new("POST", &format!("/api/{name}"))
            .with("Host", format!("127.0.0.1:{}", self.port))
            .with("Larder-Token", &self.token)
            .with("Content-Type", "application/json")
            .with("Origin", format!("http://127.0.0.1:{}", self.port))
            .with("Sec-Fetch-Site", "same-origin")
            .body(body)
    }

    /// The head of a question, which promises a body of ten bytes.
    pub(crate) fn promise(&self) -> Vec<u8> {
        self.question("echo", "")
            .with("Content-Length", "10")
            .head()
    }

    /// A connection.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.port)
    }

    /// Asks on a connection of its own, and reads all that is answered.
    pub(crate) fn send(&self, asked: &Asked) -> Reply {
        self.try_send(asked).unwrap()
    }

    pub(crate) fn try_send(&self, asked: &Asked) -> io::Result<Reply> {
        let mut client = self.client();
        client.write(&asked.clone().with("Connection", "close").bytes())?;
        client.reply(asked.is_head())
    }

    /// The path of a new ticket for a download of the source's.
    pub(crate) fn ticket(&self, download: &str) -> String {
        let reply = self.send(&self.question("ticket", &format!(r#"{{"download":{download}}}"#)));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let answer: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        answer["url"].as_str().unwrap().to_owned()
    }

    /// Fails if the server does not answer as it should.
    pub(crate) fn check_answers(&self) {
        let reply = self.send(&self.question("echo", "{}"));
        assert_eq!(
            (reply.status, reply.text()),
            (200, r#"{"bytes":2}"#.to_owned())
        );
    }

    /// Waits until `run` has returned.
    pub(crate) fn wait_for_end(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else { return };
        eventually("the server ends", || thread.is_finished());
        thread.join().unwrap().unwrap();
    }

    pub(crate) fn has_ended(&self) -> bool {
        let thread = self.thread.lock().unwrap();
        thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.played.open_gate();
        self.stopper.stop();
        if !thread::panicking() {
            self.wait_for_end();
        }
    }
}

/// Waits until something is so, which it will be without a time by which.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "not so after {LONG:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
