//! A proxy between a client and a server, which delays, cuts connections in the middle of a reply, and swallows what it is given.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What it does with what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Each part waits so many milliseconds.
    Delay(u64),
    /// So many bytes of the next replies pass. Then the connection is cut.
    Cut(u64),
    /// Nothing passes, in neither direction, and no connection is closed.
    Swallow,
}

#[derive(Debug)]
struct Shared {
    trouble: Mutex<Trouble>,
    is_over: AtomicBool,
    cuts: AtomicU64,
    swallowed: AtomicU64,
    /// What clients have sent, if it is noted.
    heard: Option<Mutex<Vec<u8>>>,
}

/// The proxy. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

const TICK: Duration = Duration::from_millis(20);

impl Proxy {
    pub(crate) fn start(server: u16) -> Proxy {
        Proxy::start_with(server, None)
    }

    /// A proxy that notes what clients send.
    pub(crate) fn hearing(server: u16) -> Proxy {
        Proxy::start_with(server, Some(Mutex::default()))
    }

    fn start_with(server: u16, heard: Option<Mutex<Vec<u8>>>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            trouble: Mutex::new(Trouble::None),
            is_over: AtomicBool::new(false),
            cuts: AtomicU64::new(0),
            swallowed: AtomicU64::new(0),
            heard,
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || {
            let mut passing = Vec::new();
            while let Ok((client, _)) = listener.accept() {
                if of_thread.is_over.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    passing.extend(pass_on(&of_thread, client, server));
                }
            }
            for thread in passing {
                thread.join().unwrap();
            }
        });
        Proxy {
            port,
            shared,
            thread: Some(thread.unwrap()),
        }
    }

    /// The lines of what clients have sent since this was asked last that begin so.
    pub(crate) fn lines(&self, beginning: &str) -> Vec<String> {
        let heard = self.shared.heard.as_ref().unwrap();
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        let text = String::from_utf8_lossy(&heard);
        let lines = text.lines().filter(|line| line.starts_with(beginning));
        lines.map(str::to_owned).collect()
    }

    pub(crate) fn set(&self, trouble: Trouble) {
        *self.shared.trouble.lock().unwrap() = trouble;
    }

    /// How many connections were cut, and how many parts were swallowed.
    pub(crate) fn troubles(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.shared.cuts), count(&self.shared.swallowed))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // It waits for a connection.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn pass_on(shared: &Arc<Shared>, client: TcpStream, server: TcpStream) -> [JoinHandle<()>; 2] {
    let one_way = |from: &TcpStream, to: &TcpStream, is_reply: bool| {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new();
        thread
            .spawn(move || pass(&shared, from, to, is_reply))
            .unwrap()
    };
    [
        one_way(&client, &server, false),
        one_way(&server, &client, true),
    ]
}

fn pass(shared: &Shared, mut from: TcpStream, mut to: TcpStream, is_reply: bool) {
    from.set_read_timeout(Some(TICK)).unwrap();
    to.set_nodelay(true).unwrap();
    let mut buffer = [0; 16 << 10];
    while !shared.is_over.load(Ordering::Relaxed) {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if is_timeout(&error) => continue,
            Err(_) => break,
        };
        let trouble = *shared.trouble.lock().unwrap();
        let mut part = &buffer[..n];
        if let Some(heard) = shared.heard.as_ref().filter(|_| !is_reply) {
            heard.lock().unwrap().extend_from_slice(part);
        }
        let mut is_cut = false;
        match trouble {
            Trouble::None => {}
            Trouble::Delay(ms) => std::thread::sleep(Duration::from_millis(ms)),
            Trouble::Swallow => {
                shared.swallowed.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Trouble::Cut(len) if is_reply => {
                part = &part[..n.min(len as usize)];
                is_cut = true;
                shared.cuts.fetch_add(1, Ordering::Relaxed);
            }
            Trouble::Cut(_) => {}
        }
        if to.write_all(part).is_err() || is_cut {
            break;
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    )
}
