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
    /// If it cannot be answered. What has been written before that is cut off.
    fn answer(&self, question: &str, asked: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal>;
}

/// Where an answer goes. What is written is sent as it comes, and waits for a client that reads slowly.
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
