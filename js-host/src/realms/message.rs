//! What realms send each other.

use std::sync::Arc;

use larder_codec::JsString;
use larder_codec::value::Needs;
use larder_idb::ExternalObject;

use super::group::RealmId;
use super::ports::PortId;

/// A value on its way from one realm to another.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Blink's envelope and V8's wire format, as for storage.
    pub(crate) bytes: Vec<u8>,
    /// Which versions have a form for it.
    pub(crate) needs: Needs,
    /// What lies beside the bytes, which refer to it by position.
    pub(crate) objects: Vec<Object>,
    /// The tokens of its file system handles; the bytes refer to them by position, too.
    pub(crate) tokens: Vec<Vec<u8>>,
    /// The ports that were transferred, in the order in which they were listed.
    pub(crate) ports: Vec<PortId>,
}

/// An object that lies beside a message's bytes.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    /// A `Blob` or `File`.
    Blob(Blob),
    /// The port at this place of the transferred ones.
    Port(usize),
}

/// A `Blob`, or with name and time a `File`.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    pub(crate) content: BlobContent,
    /// Where it begins and ends in the content, in bytes.
    pub(crate) range: (f64, f64),
    pub(crate) mime_type: JsString,
    pub(crate) file: Option<(JsString, f64)>,
}

/// The bytes of blobs.
#[derive(Debug, Clone)]
pub(crate) enum BlobContent {
    /// In the store.
    Stored(ExternalObject),
    /// In memory.
    Memory(Arc<Vec<u8>>),
}

/// A note that one realm sends another.
#[derive(Debug)]
pub(crate) enum Note {
    /// The parent has posted this to its worker.
    FromParent(Message),
    /// A worker has posted this to its parent.
    FromWorker(RealmId, Message),
    /// A worker's script could not be had.
    Unloaded(RealmId, String),
    /// A worker has not dealt with an exception.
    Threw(RealmId, Report),
    /// A worker is gone: nothing comes of it any more.
    Ended(RealmId),
    /// To all channels of a name.
    Broadcast(JsString, Arc<Message>),
    /// To a port that lies here.
    ToPort(PortId, Message),
    /// Nothing can happen any more: what waits is to be reported.
    NothingComes,
    /// It stood for something that has gone elsewhere.
    Void,
}

/// An exception as another realm hears of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) message: String,
    pub(crate) filename: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// What people are to read.
    pub(crate) text: String,
}
