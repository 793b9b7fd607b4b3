//! What a transaction is given to store as an external object.

use std::fmt::Debug;
use std::io::{self, Read};
use std::sync::Arc;

use larder_codec::JsString;

/// The content of a blob that is to be stored. It is read at commit, once, and perhaps before by readers of the same
/// transaction.
pub trait BlobSource: Send + Sync + Debug {
    /// How many bytes [`open`](Self::open) gives.
    fn size_bytes(&self) -> u64;

    /// The content from its beginning.
    ///
    /// # Errors
    /// Whatever keeps it from being read; the transaction that stores it is then rolled back.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;
}

impl BlobSource for Vec<u8> {
    fn size_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(&self[..]))
    }
}

/// An external object of a record that is being put.
#[derive(Debug, Clone)]
pub enum NewExternalObject {
    /// A Blob.
    Blob {
        /// Its MIME type, maybe empty.
        mime_type: JsString,
        /// Its bytes.
        content: Arc<dyn BlobSource>,
    },
    /// A File.
    File {
        /// Its MIME type, maybe empty.
        mime_type: JsString,
        /// Its bytes.
        content: Arc<dyn BlobSource>,
        /// Its name.
        name: JsString,
        /// When it was last modified: microseconds since 1601-01-01 UTC. Becomes the time of its file on disk.
        last_modified_micros: i64,
    },
    /// A handle of the File System Access API.
    FileSystemAccessHandle {
        /// Serialised by the host.
        token: Vec<u8>,
    },
}

impl NewExternalObject {
    /// The bytes of a blob or file.
    #[must_use]
    pub fn content(&self) -> Option<&Arc<dyn BlobSource>> {
        match self {
            Self::Blob { content, .. } | Self::File { content, .. } => Some(content),
            Self::FileSystemAccessHandle { .. } => None,
        }
    }
}
