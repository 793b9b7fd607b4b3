//! Where the content of blobs and files comes from.

use std::fmt;
use std::io::{self, Read};

use larder_backing_store::last_modified_ms;
use larder_codec::JsString;

/// An external object of a record, opened for reading.
pub struct ExternalBlob<'s> {
    /// MIME type, in UTF-16 units.
    pub mime_type: Vec<u16>,
    /// Size in bytes, as the store says; `None` if it does not say (schema 3).
    pub size: Option<u64>,
    /// What a file has in addition; `None` if the store calls it a blob.
    pub file: Option<FileInfo>,
    /// The content.
    pub content: Box<dyn Read + 's>,
}

impl fmt::Debug for ExternalBlob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalBlob")
            .field("mime_type", &String::from_utf16_lossy(&self.mime_type))
            .field("size", &self.size)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// What a file has that a blob has not.
#[derive(Debug, Clone, PartialEq)]
pub struct FileInfo {
    /// Name, in UTF-16 units.
    pub name: Vec<u16>,
    /// Last modification, in milliseconds since 1970.
    pub last_modified_ms: f64,
}

impl FileInfo {
    /// What a file has, as a record's list has it.
    pub(crate) fn new(name: &JsString, last_modified_micros: i64) -> Self {
        #[expect(
            clippy::cast_precision_loss,
            reason = "JavaScript has no other kind of number"
        )]
        let last_modified_ms = last_modified_ms(last_modified_micros) as f64;
        Self {
            name: name.units().to_vec(),
            last_modified_ms,
        }
    }
}

/// Resolves the external objects of one record. Implemented over a blob directory, and in memory
/// by tests.
pub trait BlobSource {
    /// Opens the external object at this position of the record's list; `None` if there is none.
    ///
    /// # Errors
    /// If its content cannot be opened.
    fn open(&mut self, index: u32) -> io::Result<Option<ExternalBlob<'_>>>;
}

/// The external objects of a record that has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBlobs;

impl BlobSource for NoBlobs {
    fn open(&mut self, _index: u32) -> io::Result<Option<ExternalBlob<'_>>> {
        Ok(None)
    }
}
