//! What is looked at: the server's questions, and the answers to them.

use std::error::Error;
use std::fmt;
use std::io;

/// What is looked at.
pub trait Source: Send + Sync + 'static {
    /// Answers a question of the page's: `question` is its name (`records`), `asked` the JSON object that came with it. README.md has all of
    /// them; a ticket's is asked as `download`, with what it is for.
    ///
    /// Called on a thread that may block, several at once. Where `answer` takes no more, the page has gone or the server ends: its error is
    /// passed on.
    ///
    /// # Errors
    /// If it cannot be answered. If nothing has been sent by then, the refusal is the answer. Otherwise lines get one more, with the error, and
    /// anything else is broken off so that the client sees it.
    fn answer(&self, question: &str, asked: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal>;
}

/// Where an answer goes. Lines are sent when they end, all else in pieces of 32 KiB; a write waits for a client that reads slowly. `flush` sends
/// what there is, but for [`Form::Json`]: as long as nothing of an object has been sent, it can still be refused.
pub trait Answer: io::Write {
    /// Says what is written, before the first byte; JSON if it is not said.
    fn set_form(&mut self, form: Form);
}

/// What an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// One JSON object.
    Json,
    /// One JSON object a line.
    Lines,
    /// Content of a blob: never shown as a document.
    Bytes,
    /// A file for the person to keep.
    Attachment {
        /// Its name. What no file system takes is left out by the server.
        name: String,
        /// Its bytes, if that is known.
        size: Option<u64>,
    },
}

/// Why a question is not answered.
#[derive(Debug)]
pub enum Refusal {
    /// It asks for nothing that there is: no such question, store, record.
    NotFound(String),
    /// It is not a question of this form.
    Malformed(String),
    /// The answer could not be found out, or not be sent.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(what) | Self::Malformed(what) | Self::Failed(what) => f.write_str(what),
        }
    }
}

impl Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
