//! What can go wrong, by what a caller does next.

use crate::device::DeviceId;
use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The cloud cannot be reached, or is full, or refuses for the moment. Nothing is lost: the next try goes on.
    Unavailable,
    /// The cloud does not have any more what this device has put there or has taken from there: it was erased, or set back.
    /// [`PageSync::start_over`](crate::PageSync::start_over) uploads everything anew.
    Erased,
    /// The cloud has something else where something was before: it was rewritten, or two devices have one name.
    Rewritten,
    /// The cloud's bytes are not what a device has written: damaged, cut, of another page, or moved. Nothing of them was taken.
    Damaged,
    /// The pages of the cloud have another fan-out than this one, and neither is empty. Nothing of them was taken, and nothing should be put there: one of
    /// the two has to be begun anew.
    Fanout,
    /// The cloud's bytes do not open with this key, or are sealed where no key was given, or are not where one was.
    WrongKey,
    /// The page refused or failed. [`std::error::Error::source`] is its error.
    Page,
    /// The call was wrong.
    Usage,
}

/// An error: kind, what happened, and the page's error behind it if there is one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    context: String,
    device: Option<DeviceId>,
    source: Option<Box<larder_pages::Error>>,
}

impl Error {
    /// An error of a kind, with what happened.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Error {
        Error {
            kind,
            context: context.into(),
            device: None,
            source: None,
        }
    }

    pub(crate) fn damaged(name: &str, what: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Damaged, format!("{name} of the cloud: {what}"))
    }

    pub(crate) fn page_error(&self) -> Option<&larder_pages::Error> {
        self.source.as_deref()
    }

    /// The error, as one of what another device has written, if it is none of a third one's.
    pub(crate) fn of_device(self, device: DeviceId) -> Error {
        let device = self.device.or(Some(device));
        Error { device, ..self }
    }

    /// The device whose segments are at fault, if they are another's: what the others have written was taken, and this one's can be put.
    pub fn device(&self) -> Option<DeviceId> {
        self.device
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<larder_pages::Error> for Error {
    fn from(source: larder_pages::Error) -> Error {
        Error {
            kind: ErrorKind::Page,
            context: "the page".to_owned(),
            device: None,
            source: Some(Box::new(source)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
