//! Blobs of script's that are to be stored. A runtime reads its blobs when its event loop comes to it: what a thread of the storage's reads before that waits.

use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use larder_idb::BlobSource;

/// The content of a blob, once script has read it.
#[derive(Debug)]
pub(crate) struct Source {
    size: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
enum State {
    Coming(Vec<u8>),
    Whole(Vec<u8>),
    Failed(String),
}

impl Source {
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            state: Mutex::new(State::Coming(Vec::new())),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More of its bytes: whether these were the last.
    pub(crate) fn add(&self, bytes: &[u8], is_end: bool) {
        let mut state = self.state();
        if let State::Coming(so_far) = &mut *state {
            so_far.extend_from_slice(bytes);
            if is_end {
                let whole = std::mem::take(so_far);
                *state = match whole.len() as u64 == self.size {
                    true => State::Whole(whole),
                    false => State::Failed(format!(
                        "a blob of {} bytes has given {}",
                        self.size,
                        whole.len()
                    )),
                };
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// It cannot be read.
    pub(crate) fn fail(&self, why: String) {
        let mut state = self.state();
        if let State::Coming(_) = *state {
            *state = State::Failed(why);
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl BlobSource for Source {
    fn size_bytes(&self) -> u64 {
        self.size
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        let is_coming = |state: &mut State| matches!(state, State::Coming(_));
        let state = self
            .changed
            .wait_while(self.state(), is_coming)
            .unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Failed(why) => Err(io::Error::other(why.clone())),
            State::Whole(_) | State::Coming(_) => {
                drop(state);
                Ok(Box::new(Reader {
                    source: self,
                    at: 0,
                }))
            }
        }
    }
}

/// Reads a content that is whole.
struct Reader<'s> {
    source: &'s Source,
    at: usize,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.source.state();
        let State::Whole(bytes) = &*state else {
            return Ok(0);
        };
        let mut left = bytes.get(self.at..).unwrap_or_default();
        let count = left.read(buffer)?;
        self.at += count;
        Ok(count)
    }
}
