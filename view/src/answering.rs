//! An answer on its way from a thread that may block to a client that may be slow.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::source::{Answer, Form, Refusal, Source};

/// An answer is sent in pieces of so many bytes.
const PIECE_BYTES: usize = 32 << 10;
/// So many pieces wait for a slow client; then the source waits.
const PIECES_MAX: usize = 4;

/// How an answer begins.
pub(crate) enum Beginning {
    Refused(Refusal),
    /// The answer was short: this is all of it.
    Whole(Form, Bytes),
    /// Pieces follow.
    Pieces(Form),
}

/// What follows a beginning. If no `End` comes, the answer was broken off.
pub(crate) enum Piece {
    Bytes(Bytes),
    End,
}

/// Where the thread's answer appears.
pub(crate) struct Incoming {
    pub(crate) beginning: oneshot::Receiver<Beginning>,
    pub(crate) pieces: mpsc::Receiver<Piece>,
}

/// The thread's end.
pub(crate) struct Outgoing {
    /// Until the answer has begun.
    beginning: Option<oneshot::Sender<Beginning>>,
    pieces: mpsc::Sender<Piece>,
    form: Form,
    buffer: Vec<u8>,
    /// Bytes that an attachment of a known size still has to come to.
    left: Option<u64>,
    /// Whether what was sent last did not end a line.
    is_within_line: bool,
}

pub(crate) fn channel() -> (Outgoing, Incoming) {
    let (begin, beginning) = oneshot::channel();
    let (send, pieces) = mpsc::channel(PIECES_MAX);
    let outgoing = Outgoing {
        beginning: Some(begin),
        pieces: send,
        form: Form::Json,
        buffer: Vec::new(),
        left: None,
        is_within_line: false,
    };
    (outgoing, Incoming { beginning, pieces })
}

impl Outgoing {
    /// Has `source` answer. Blocks as long as that takes, or until the client has gone and the source writes.
    pub(crate) fn answer(mut self, source: &dyn Source, question: &str, asked: &[u8]) {
        let answered = catch_unwind(AssertUnwindSafe(|| {
            source.answer(question, asked, &mut self)
        }));
        let answered = answered.unwrap_or_else(|panic| Err(Refusal::Failed(said(&*panic))));
        // A client that has gone needs no end.
        let _ = match answered {
            Ok(()) => self.end(),
            Err(refusal) => self.refuse(refusal),
        };
    }

    fn is_gone(&self) -> bool {
        let beginning = self.beginning.as_ref();
        self.pieces.is_closed() || beginning.is_some_and(oneshot::Sender::is_closed)
    }

    fn begin(&mut self, beginning: Beginning) -> io::Result<()> {
        match self.beginning.take().map(|begin| begin.send(beginning)) {
            Some(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(()),
        }
    }

    fn send(&mut self, piece: Piece) -> io::Result<()> {
        let sent = self.pieces.blocking_send(piece);
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn send_buffer(&mut self) -> io::Result<()> {
        if self.beginning.is_some() {
            self.begin(Beginning::Pieces(self.form.clone()))?;
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.is_within_line = self.buffer.last() != Some(&b'\n');
        let bytes = std::mem::take(&mut self.buffer);
        self.send(Piece::Bytes(bytes.into()))
    }

    fn end(mut self) -> io::Result<()> {
        if let Some(left) = self.left.filter(|left| *left > 0) {
            let missing = format!("the content ends {left} bytes before its size");
            return self.refuse(Refusal::Failed(missing));
        }
        if self.beginning.is_some() {
            let bytes = std::mem::take(&mut self.buffer);
            return self.begin(Beginning::Whole(self.form.clone(), bytes.into()));
        }
        self.send_buffer()?;
        self.send(Piece::End)
    }

    /// Before the beginning, a refusal is the answer. Later, lines end with one that has the error, and others are broken off.
    fn refuse(mut self, refusal: Refusal) -> io::Result<()> {
        if self.beginning.is_some() {
            return self.begin(Beginning::Refused(refusal));
        }
        if self.form != Form::Lines {
            return Ok(());
        }
        let whole = self.buffer.iter().rposition(|byte| *byte == b'\n');
        self.buffer.truncate(whole.map_or(0, |at| at + 1));
        if self.buffer.is_empty() && self.is_within_line {
            self.buffer.push(b'\n');
        }
        self.buffer.extend(error_json(&refusal.to_string()));
        self.buffer.push(b'\n');
        self.send_buffer()?;
        self.send(Piece::End)
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(PIECE_BYTES - self.buffer.len());
        if let Some(left) = &mut self.left {
            let rest = left.checked_sub(taken as u64);
            *left = rest.ok_or_else(|| io::Error::other("the content is longer than its size"))?;
        }
        self.buffer.extend_from_slice(&bytes[..taken]);
        let ends_line = self.form == Form::Lines && bytes[..taken].contains(&b'\n');
        if ends_line || self.buffer.len() == PIECE_BYTES {
            self.send_buffer()?;
        }
        Ok(taken)
    }

    /// Lines and files are sent as far as they have come. One JSON object is not: its client needs all of it, and as long as none of it has
    /// been sent it can be refused.
    fn flush(&mut self) -> io::Result<()> {
        match self.form {
            Form::Json => Ok(()),
            Form::Lines | Form::Bytes | Form::Attachment { .. } => self.send_buffer(),
        }
    }
}

impl Answer for Outgoing {
    fn set_form(&mut self, form: Form) {
        if self.beginning.is_none() || !self.buffer.is_empty() {
            return;
        }
        self.left = size(&form);
        self.form = form;
    }
}

/// How many bytes an answer has, if that is known before they come.
pub(crate) fn size(form: &Form) -> Option<u64> {
    match form {
        Form::Attachment { size, .. } => *size,
        Form::Json | Form::Lines | Form::Bytes => None,
    }
}

/// `{"error": TEXT}`.
pub(crate) fn error_json(text: &str) -> Vec<u8> {
    serde_json::json!({ "error": text }).to_string().into()
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a fault of the program: {}", text.unwrap_or("unknown"))
}
