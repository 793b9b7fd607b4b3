//! Colours, when they are wanted.

use std::fmt::{self, Display};

/// How to mark text for eyes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    color: bool,
}

/// Text between an escape sequence and the reset.
pub(crate) struct Styled<T> {
    start: &'static str,
    text: T,
}

impl Style {
    pub(crate) const fn new(color: bool) -> Self {
        Self { color }
    }

    const fn styled<T>(self, start: &'static str, text: T) -> Styled<T> {
        let start = if self.color { start } else { "" };
        Styled { start, text }
    }

    /// An origin.
    pub(crate) const fn heading<T: Display>(self, text: T) -> Styled<T> {
        self.styled("\x1b[1m", text)
    }

    /// The name of a database, an object store or an index.
    pub(crate) const fn name<T: Display>(self, text: T) -> Styled<T> {
        self.styled("\x1b[36m", text)
    }

    /// A key.
    pub(crate) const fn key<T: Display>(self, text: T) -> Styled<T> {
        self.styled("\x1b[33m", text)
    }

    /// What is less important.
    pub(crate) const fn faint<T: Display>(self, text: T) -> Styled<T> {
        self.styled("\x1b[2m", text)
    }
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.start.is_empty() {
            return self.text.fmt(f);
        }
        write!(f, "{}{}\x1b[0m", self.start, self.text)
    }
}
