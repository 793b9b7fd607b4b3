//! Errors: a name that a page would see, what the host can do about it, and a message.

use std::any::Any;
use std::ffi::{CString, c_char};

use larder_idb as idb;

use crate::guard;
use crate::text::c_text;

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The name of an exception: those of `DOMException` that IndexedDB uses, and `TypeError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Exception {
    /// The transaction was aborted.
    Abort = 1,
    /// A key is there already, or a unique index has it for another record, or the key generator is used up.
    Constraint = 2,
    /// Not a key, not a range, or a key that is not asked for here.
    Data = 3,
    /// The value has no form that can be stored, or its bytes are not those of a value.
    DataClone = 4,
    /// Not possible with these parameters.
    InvalidAccess = 5,
    /// Not possible in this state.
    InvalidState = 6,
    /// No object store or index of that name.
    NotFound = 7,
    /// The content of a blob or file cannot be read.
    NotReadable = 8,
    /// The disk is full, or the origin's quota has no room.
    QuotaExceeded = 9,
    /// The transaction, or the storage, only reads.
    ReadOnly = 10,
    /// Not for this origin: an opaque one has no storage.
    Security = 11,
    /// Not a key path.
    Syntax = 12,
    /// The transaction takes no requests any more.
    TransactionInactive = 13,
    /// An argument of no meaning, such as a null pointer where there must be something.
    Type = 14,
    /// What lies below failed: see the kind and the message.
    Unknown = 15,
    /// The database has a greater version.
    Version = 16,
}

/// What the host can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Bytes on disk are not what they must be. Everything that does not depend on them is still readable.
    Corruption = 1,
    /// The operating system refused.
    Io = 2,
    /// The call itself was wrong.
    Usage = 3,
    /// The store is of an age that this version does not read.
    Unsupported = 4,
    /// There is no store here.
    NotAStore = 5,
    /// A rule of the database, such as a unique index. Nothing was written; the transaction goes on.
    Constraint = 6,
    /// Another program has the store, or another transaction the object store.
    Conflict = 7,
    /// The store takes no writes any more: an earlier one failed. Opening it again shows what is there.
    Closed = 8,
    /// A commit failed and could not be taken back: opening the store again shows whether it is there.
    Uncertain = 9,
    /// A defect of this library, which has panicked. What the call was about may be half done; the process goes on.
    Internal = 10,
}

/// Why something failed. Freed with `larder_error_free`, unless it is lent.
#[derive(Debug, Clone)]
pub struct Error {
    name: Exception,
    kind: Kind,
    message: CString,
}

impl Error {
    pub(crate) fn new(name: Exception, kind: Kind, message: &str) -> Self {
        let message = c_text(message);
        Self {
            name,
            kind,
            message,
        }
    }

    /// A call that cannot be meant so.
    pub(crate) fn usage(name: Exception, message: &str) -> Self {
        Self::new(name, Kind::Usage, message)
    }

    pub(crate) fn of_type(message: &str) -> Self {
        Self::usage(Exception::Type, message)
    }

    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("larder has panicked: {}", text.unwrap_or("without a word"));
        Self::new(Exception::Unknown, Kind::Internal, &message)
    }

    #[cfg(test)]
    pub(crate) fn parts(&self) -> (Exception, Kind, &str) {
        (
            self.name,
            self.kind,
            self.message.to_str().unwrap_or_default(),
        )
    }
}

impl From<idb::Error> for Error {
    fn from(error: idb::Error) -> Self {
        Self::new(error.name().into(), error.kind().into(), error.message())
    }
}

impl From<idb::ErrorName> for Exception {
    fn from(name: idb::ErrorName) -> Self {
        match name {
            idb::ErrorName::AbortError => Self::Abort,
            idb::ErrorName::ConstraintError => Self::Constraint,
            idb::ErrorName::DataError => Self::Data,
            idb::ErrorName::DataCloneError => Self::DataClone,
            idb::ErrorName::InvalidAccessError => Self::InvalidAccess,
            idb::ErrorName::InvalidStateError => Self::InvalidState,
            idb::ErrorName::NotFoundError => Self::NotFound,
            idb::ErrorName::NotReadableError => Self::NotReadable,
            idb::ErrorName::QuotaExceededError => Self::QuotaExceeded,
            idb::ErrorName::ReadOnlyError => Self::ReadOnly,
            idb::ErrorName::SecurityError => Self::Security,
            idb::ErrorName::SyntaxError => Self::Syntax,
            idb::ErrorName::TransactionInactiveError => Self::TransactionInactive,
            idb::ErrorName::TypeError => Self::Type,
            idb::ErrorName::VersionError => Self::Version,
            _ => Self::Unknown,
        }
    }
}

impl Exception {
    /// The name for `idb`, of a number that C has given.
    pub(crate) fn from_number(number: u32) -> Result<idb::ErrorName> {
        Ok(match number {
            1 => idb::ErrorName::AbortError,
            2 => idb::ErrorName::ConstraintError,
            3 => idb::ErrorName::DataError,
            4 => idb::ErrorName::DataCloneError,
            5 => idb::ErrorName::InvalidAccessError,
            6 => idb::ErrorName::InvalidStateError,
            7 => idb::ErrorName::NotFoundError,
            8 => idb::ErrorName::NotReadableError,
            9 => idb::ErrorName::QuotaExceededError,
            10 => idb::ErrorName::ReadOnlyError,
            11 => idb::ErrorName::SecurityError,
            12 => idb::ErrorName::SyntaxError,
            13 => idb::ErrorName::TransactionInactiveError,
            14 => idb::ErrorName::TypeError,
            15 => idb::ErrorName::UnknownError,
            16 => idb::ErrorName::VersionError,
            _ => return Err(Error::of_type("there is no error name of this number")),
        })
    }
}

impl From<idb::ErrorKind> for Kind {
    fn from(kind: idb::ErrorKind) -> Self {
        match kind {
            idb::ErrorKind::Corruption => Self::Corruption,
            idb::ErrorKind::Usage => Self::Usage,
            idb::ErrorKind::Unsupported => Self::Unsupported,
            idb::ErrorKind::NotAStore => Self::NotAStore,
            idb::ErrorKind::Constraint => Self::Constraint,
            idb::ErrorKind::Conflict => Self::Conflict,
            idb::ErrorKind::Closed => Self::Closed,
            idb::ErrorKind::Uncertain => Self::Uncertain,
            // And what `idb` may come to have besides.
            _ => Self::Io,
        }
    }
}

/// The name of the exception. Of null, `LARDER_EXCEPTION_UNKNOWN`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_error_name(error: Option<&Error>) -> Exception {
    error.map_or(Exception::Unknown, |error| error.name)
}

/// The name as a page has it in `error.name`, such as `"NotFoundError"`: ends with a zero byte, and is there for ever.
#[unsafe(no_mangle)]
pub extern "C" fn larder_error_name_text(error: Option<&Error>) -> *const c_char {
    let text = match error.map_or(Exception::Unknown, |error| error.name) {
        Exception::Abort => c"AbortError",
        Exception::Constraint => c"ConstraintError",
        Exception::Data => c"DataError",
        Exception::DataClone => c"DataCloneError",
        Exception::InvalidAccess => c"InvalidAccessError",
        Exception::InvalidState => c"InvalidStateError",
        Exception::NotFound => c"NotFoundError",
        Exception::NotReadable => c"NotReadableError",
        Exception::QuotaExceeded => c"QuotaExceededError",
        Exception::ReadOnly => c"ReadOnlyError",
        Exception::Security => c"SecurityError",
        Exception::Syntax => c"SyntaxError",
        Exception::TransactionInactive => c"TransactionInactiveError",
        Exception::Type => c"TypeError",
        Exception::Unknown => c"UnknownError",
        Exception::Version => c"VersionError",
    };
    text.as_ptr()
}

/// What can be done about it. Of null, `LARDER_KIND_INTERNAL`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_error_kind(error: Option<&Error>) -> Kind {
    error.map_or(Kind::Internal, |error| error.kind)
}

/// What happened, in words: UTF-8 that ends with a zero byte, there as long as the error. Of null, an empty text.
#[unsafe(no_mangle)]
pub extern "C" fn larder_error_message(error: Option<&Error>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Frees an error that the host owns. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_error_free(error: Option<Box<Error>>) {
    guard::or_else((), || drop(error));
}
