//! What was stored and is damaged or lost, as a callback hears of it.

use std::ffi::{CString, c_char};

use larder_idb as idb;

use crate::error::Error;
use crate::guard;
use crate::text::{Text, boxed, c_text};

/// What has happened to something that was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum LossKind {
    /// Nothing: that of a null pointer.
    None = 0,
    /// A crash, mostly a power cut, has taken the end of a file. What was committed as strict is there; other transactions that were committed
    /// shortly before may be missing.
    TornTail = 1,
    /// The store is damaged and cannot be opened. `larder_factory_repair` brings back what is whole.
    Unopenable = 2,
    /// A part of the store cannot be read, and the request that asked for it has failed. Everything else can be read.
    Unreadable = 3,
    /// Something else, of a later version.
    Other = 4,
}

/// Something that an origin had stored is damaged, or was lost. Lent to the callback.
pub struct Loss {
    origin: String,
    bucket: u64,
    kind: LossKind,
    message: CString,
    error: Option<Error>,
}

impl From<&idb::Loss> for Loss {
    fn from(loss: &idb::Loss) -> Self {
        let (kind, error) = match &loss.what {
            idb::LossKind::TornTail(_) => (LossKind::TornTail, None),
            idb::LossKind::Unopenable(error) => (LossKind::Unopenable, Some(error)),
            idb::LossKind::Unreadable(error) => (LossKind::Unreadable, Some(error)),
            _ => (LossKind::Other, None),
        };
        Self {
            origin: loss.origin.to_string(),
            bucket: loss.bucket.map_or(0, |bucket| bucket.get()),
            kind,
            message: c_text(&loss.to_string()),
            error: error.cloned().map(Error::from),
        }
    }
}

/// The origin whose it was: the host owns the text. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_loss_origin(loss: Option<&Loss>) -> Option<Box<Text>> {
    guard::or_else(None, || Some(boxed((&*loss?.origin).into())))
}

/// The bucket's number; 0 if it is the origin's default one in its own site.
#[unsafe(no_mangle)]
pub extern "C" fn larder_loss_bucket(loss: Option<&Loss>) -> u64 {
    loss.map_or(0, |loss| loss.bucket)
}

/// What has happened.
#[unsafe(no_mangle)]
pub extern "C" fn larder_loss_type(loss: Option<&Loss>) -> LossKind {
    loss.map_or(LossKind::None, |loss| loss.kind)
}

/// Sentences for the person that uses the host, with database, object store and key as far as they could be read: UTF-8
/// that ends with a zero byte, there as long as the loss. For null, an empty text.
#[unsafe(no_mangle)]
pub extern "C" fn larder_loss_message(loss: Option<&Loss>) -> *const c_char {
    loss.map_or(c"".as_ptr(), |loss| loss.message.as_ptr())
}

/// What was found damaged, with file and offset, for a log: lent by the loss. Null of `LARDER_LOSS_KIND_TORN_TAIL`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_loss_error(loss: Option<&Loss>) -> Option<&Error> {
    loss?.error.as_ref()
}
