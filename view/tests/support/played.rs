//! A source that does what a test needs.

use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use larder_view::{Answer, Form, Refusal, Source};
use serde_json::Value;

use super::LONG;

/// What was asked of it, and what became of its answers.
#[derive(Default)]
pub(crate) struct Played {
    pub(crate) asked: Mutex<Vec<String>>,
    /// Answers without an end: how each was ended.
    pub(crate) ended: Mutex<Vec<ErrorKind>>,
    /// Bytes of these.
    pub(crate) written: AtomicU64,
    /// Questions that are being answered, and the most at once.
    pub(crate) running: AtomicUsize,
    pub(crate) most: AtomicUsize,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Played {
    /// Lets go on what waits at the gate, now and later.
    pub(crate) fn open_gate(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait_at_gate(&self) {
        let is_open = self.is_open.lock().unwrap();
        let waited = self
            .opened
            .wait_timeout_while(is_open, LONG, |is_open| !*is_open);
        assert!(!waited.unwrap().1.timed_out(), "the gate is not opened");
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn endings(&self) -> Vec<ErrorKind> {
        self.ended.lock().unwrap().clone()
    }

    fn without_end(&self, line: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal> {
        loop {
            if let Err(error) = answer.write_all(line) {
                self.ended.lock().unwrap().push(error.kind());
                return Err(error.into());
            }
            self.written.fetch_add(line.len() as u64, Ordering::SeqCst);
        }
    }

    fn download(asked: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal> {
        let asked: Value = serde_json::from_slice(asked).unwrap();
        let name = asked["name"].as_str().unwrap_or("file.bin").to_owned();
        answer.set_form(Form::Attachment {
            name,
            size: asked["size"].as_u64(),
        });
        let bytes = asked["bytes"].as_u64().unwrap_or(7);
        answer.write_all(&vec![b'd'; usize::try_from(bytes).unwrap()])?;
        Ok(())
    }

    fn play(&self, question: &str, asked: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal> {
        match question {
            "echo" => write!(answer, r#"{{"bytes":{}}}"#, asked.len())?,
            "waits" => {
                self.wait_at_gate();
                answer.write_all(b"{}")?;
            }
            "long" => answer.write_all(&vec![b' '; 1 << 20])?,
            "lines" => {
                answer.set_form(Form::Lines);
                self.without_end(b"{\"line\":1}\n", answer)?;
            }
            "line" => {
                answer.set_form(Form::Lines);
                answer.write_all(b"{\"first\":1}\n")?;
                self.wait_at_gate();
                answer.write_all(b"{\"second\":2}\n")?;
            }
            "object" => self.without_end(&[b' '; 1000], answer)?,
            "bytes" => {
                answer.set_form(Form::Bytes);
                answer.write_all(b"<script>alert(1)</script>")?;
            }
            "download" => Self::download(asked, answer)?,
            "panics" => panics(),
            "panicsLater" => {
                answer.write_all(&vec![b' '; 1 << 20])?;
                panics();
            }
            "panicsBetweenLines" => {
                answer.set_form(Form::Lines);
                answer.write_all(b"{\"line\":1}\n{\"line")?;
                answer.flush()?;
                panics();
            }
            "malformed" => return Err(Refusal::Malformed("no \"store\"".to_owned())),
            "failed" => return Err(Refusal::Failed("the disk".to_owned())),
            "failsLater" => {
                answer.set_form(Form::Lines);
                answer.write_all(b"{\"line\":1}\n{\"half\":")?;
                return Err(Refusal::Failed("the disk".to_owned()));
            }
            _ => return Err(Refusal::NotFound(format!("no question {question}"))),
        }
        Ok(())
    }
}

impl Source for Played {
    fn answer(&self, question: &str, asked: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal> {
        let running = Running::new(self);
        self.most.fetch_max(running.count, Ordering::SeqCst);
        self.asked.lock().unwrap().push(question.to_owned());
        self.play(question, asked, answer)
    }
}

/// A panic without its message in the output.
fn panics() -> ! {
    resume_unwind(Box::new("as it should"))
}

/// A question that is being answered.
struct Running<'a> {
    played: &'a Played,
    count: usize,
}

impl<'a> Running<'a> {
    fn new(played: &'a Played) -> Self {
        let count = played.running.fetch_add(1, Ordering::SeqCst) + 1;
        Self { played, count }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.played.running.fetch_sub(1, Ordering::SeqCst);
    }
}
