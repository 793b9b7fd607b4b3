//! External objects of a value that was read: their kinds, and their contents.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::blob::{BlobHandle, BlobSource, NewExternalObject};
use larder_backing_store::{BlobReader, StorePaths};
use larder_codec::external_object::{BlobInfo, ExternalObject as Object};
use larder_codec::{BlobNumber, DatabaseId};
use larder_leveldb::storage::FileSystem;

use crate::error::{Error, ErrorKind, ErrorName, Result};

/// A blob, a file or a handle. As long as it is there its content can be read, whatever becomes of the record and of the
/// transaction.
#[derive(Debug, Clone)]
pub struct ExternalObject {
    object: Object,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// The content of a handle: none.
    None,
    /// Written by a transaction that has committed.
    File(Arc<InFile>),
    /// Put in the same transaction.
    New(Arc<dyn BlobSource>),
}

#[derive(Debug)]
pub(crate) struct InFile {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) paths: StorePaths,
    pub(crate) database_id: DatabaseId,
    /// The file stays until this is dropped.
    pub(crate) _handle: BlobHandle,
}

impl ExternalObject {
    /// One that stands in the store; `file` gives the place of a blob.
    pub(crate) fn stored(object: Object, file: impl FnOnce(BlobNumber) -> InFile) -> Self {
        let content = match blob_of(&object) {
            Some(blob) => Content::File(Arc::new(file(blob.number))),
            None => Content::None,
        };
        Self { object, content }
    }

    /// One that is to be stored. It has no number yet; its content is that of its source.
    #[must_use]
    pub fn new(object: &NewExternalObject) -> Self {
        let blob = |mime_type: &larder_codec::JsString, content: &Arc<dyn BlobSource>| BlobInfo {
            number: BlobNumber::MIN,
            mime_type: mime_type.clone(),
            size_bytes: i64::try_from(content.size_bytes()).unwrap_or(i64::MAX),
        };
        match object {
            NewExternalObject::Blob { mime_type, content } => Self {
                object: Object::Blob(blob(mime_type, content)),
                content: Content::New(Arc::clone(content)),
            },
            NewExternalObject::File {
                mime_type,
                content,
                name,
                last_modified_micros,
            } => Self {
                object: Object::File {
                    blob: blob(mime_type, content),
                    name: name.clone(),
                    last_modified_micros: *last_modified_micros,
                },
                content: Content::New(Arc::clone(content)),
            },
            NewExternalObject::FileSystemAccessHandle { token } => Self {
                object: Object::FileSystemAccessHandle {
                    token: token.clone(),
                },
                content: Content::None,
            },
        }
    }

    /// Stores it once more, as in another record: with its type, name and time, and the content that is read from this one then.
    #[must_use]
    pub fn to_new(&self) -> NewExternalObject {
        let content = || -> Arc<dyn BlobSource> {
            match &self.content {
                Content::New(source) => Arc::clone(source),
                Content::File(_) | Content::None => Arc::new(self.clone()),
            }
        };
        match &self.object {
            Object::Blob(blob) => NewExternalObject::Blob {
                mime_type: blob.mime_type.clone(),
                content: content(),
            },
            Object::File {
                blob,
                name,
                last_modified_micros,
            } => NewExternalObject::File {
                mime_type: blob.mime_type.clone(),
                content: content(),
                name: name.clone(),
                last_modified_micros: *last_modified_micros,
            },
            Object::FileSystemAccessHandle { token } => NewExternalObject::FileSystemAccessHandle {
                token: token.clone(),
            },
        }
    }

    /// What it is: kind, type, size, name, time. The number of one that was put in the same transaction means nothing.
    #[must_use]
    pub const fn info(&self) -> &Object {
        &self.object
    }

    /// The content from its beginning, read on the calling thread; [`Storage::read_blob`](crate::Storage::read_blob) does not keep that.
    ///
    /// # Errors
    /// `NotReadableError` if it cannot be read, or is a handle, which has none.
    pub fn open(&self) -> Result<Box<dyn Read + Send + '_>> {
        match &self.content {
            Content::New(source) => source.open().map_err(unreadable_io),
            Content::File(file) => Ok(Box::new(self.reader(file)?)),
            Content::None => Err(no_content()),
        }
    }

    /// The bytes of a range, as far as the content has them.
    ///
    /// # Errors
    /// As [`open`](Self::open), and as reading.
    pub(crate) fn read_range(&self, range: Range<u64>) -> Result<Vec<u8>> {
        match &self.content {
            Content::New(source) => {
                let read = || {
                    let mut content = source.open()?;
                    io::copy(&mut content.by_ref().take(range.start), &mut io::sink())?;
                    let mut bytes = Vec::new();
                    let len = range.end.saturating_sub(range.start);
                    content.take(len).read_to_end(&mut bytes)?;
                    Ok(bytes)
                };
                read().map_err(unreadable_io)
            }
            Content::File(file) => self.reader(file)?.read_range(range).map_err(unreadable_io),
            Content::None => Err(no_content()),
        }
    }

    fn reader(&self, file: &InFile) -> Result<BlobReader> {
        let blob = blob_of(&self.object).ok_or_else(no_content)?;
        let reader = BlobReader::open(&*file.fs, &file.paths, file.database_id, blob);
        reader.map_err(|error| unreadable(error.kind(), error.to_string()))
    }
}

impl BlobSource for ExternalObject {
    fn size_bytes(&self) -> u64 {
        blob_of(&self.object).map_or(0, |blob| u64::try_from(blob.size_bytes).unwrap_or(0))
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Self::open(self).map_err(io::Error::other)
    }
}

fn unreadable(kind: ErrorKind, what: String) -> Error {
    Error::of_kind(ErrorName::NotReadableError, kind, what)
}

fn unreadable_io(error: io::Error) -> Error {
    unreadable(ErrorKind::Io, error.to_string())
}

fn no_content() -> Error {
    unreadable(ErrorKind::Usage, "a handle has no content".into())
}

fn blob_of(object: &Object) -> Option<&BlobInfo> {
    match object {
        Object::Blob(blob) | Object::File { blob, .. } => Some(blob),
        Object::FileSystemAccessHandle { .. } => None,
    }
}
