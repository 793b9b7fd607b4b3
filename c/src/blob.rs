//! Blobs and files: what they are, and their content.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use larder_idb as idb;
use larder_idb::{BlobSource, ExternalObjectInfo, NewExternalObject};

use crate::error::{Error, Exception, Result};
use crate::guard::{self, given};
use crate::pointers::{Bytes, ErrorOut};
use crate::request::Request;
use crate::storage::{Storage, given_storage};
use crate::text::{Text, boxed};

/// A blob, a file, or a handle of a page's file system. The host owns it. Its content can be read as long as it is there.
pub struct Blob {
    object: idb::ExternalObject,
    content: OnceLock<Vec<u8>>,
}

impl Blob {
    pub(crate) const fn new(object: idb::ExternalObject) -> Self {
        let content = OnceLock::new();
        Self { object, content }
    }

    pub(crate) fn boxed(object: idb::ExternalObject) -> Box<Self> {
        Box::new(Self::new(object))
    }

    pub(crate) const fn object(&self) -> &idb::ExternalObject {
        &self.object
    }

    fn info(&self) -> &ExternalObjectInfo {
        self.object.info()
    }

    /// Reads the content, unless it was read before.
    ///
    /// # Errors
    /// `NotReadableError`.
    fn content(&self) -> Result<&[u8]> {
        if self.content.get().is_none() {
            let mut bytes = Vec::new();
            let read = self.object.open()?.read_to_end(&mut bytes);
            read.map_err(|error| Error::usage(Exception::NotReadable, &error.to_string()))?;
            // What another thread has read is the same.
            let _ = self.content.set(bytes);
        }
        Ok(self.content.get().map_or(&[], Vec::as_slice))
    }
}

/// A blob that must be there.
///
/// # Errors
/// `TypeError` if it is null.
pub(crate) fn given_blob(blob: Option<&Blob>) -> Result<&Blob> {
    given(blob, "the blob")
}

/// Microseconds since 1601 of a time that JavaScript has.
pub(crate) fn modified_micros(modified_milliseconds: i64) -> i64 {
    /// From 1601 to 1970.
    const EPOCH_MICROS: i64 = 11_644_473_600_000_000;
    let micros = modified_milliseconds.saturating_mul(1000);
    micros.saturating_add(EPOCH_MICROS)
}

/// What is put once more.
#[derive(Debug)]
struct Again {
    object: idb::ExternalObject,
    size_bytes: u64,
}

impl BlobSource for Again {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        let opened = self.object.open();
        opened.map_err(|error| io::Error::other(error.message().to_owned()))
    }
}

/// An external object, for a value that is to be put.
pub(crate) fn to_put_again(object: idb::ExternalObject) -> NewExternalObject {
    let info = object.info().clone();
    let content = |size_bytes: i64| -> Arc<dyn BlobSource> {
        let size_bytes = u64::try_from(size_bytes).unwrap_or(0);
        Arc::new(Again { object, size_bytes })
    };
    match info {
        ExternalObjectInfo::Blob(blob) => NewExternalObject::Blob {
            content: content(blob.size_bytes),
            mime_type: blob.mime_type,
        },
        ExternalObjectInfo::File {
            blob,
            name,
            last_modified_micros,
        } => NewExternalObject::File {
            content: content(blob.size_bytes),
            mime_type: blob.mime_type,
            name,
            last_modified_micros,
        },
        ExternalObjectInfo::FileSystemAccessHandle { token } => {
            NewExternalObject::FileSystemAccessHandle { token }
        }
    }
}

/// Writes its size in bytes. False for a handle: then nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_size(
    blob: Option<&Blob>,
    size_bytes: Option<&mut MaybeUninit<u64>>,
) -> bool {
    guard::or_else(false, || {
        let size = match blob.map(Blob::info) {
            Some(ExternalObjectInfo::Blob(blob) | ExternalObjectInfo::File { blob, .. }) => {
                u64::try_from(blob.size_bytes).unwrap_or(0)
            }
            _ => return false,
        };
        if let Some(size_bytes) = size_bytes {
            size_bytes.write(size);
        }
        true
    })
}

/// Its MIME type, maybe empty: the host owns the text. Null for a handle.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_mime_type(blob: Option<&Blob>) -> Option<Box<Text>> {
    guard::or_else(None, || match blob?.info() {
        ExternalObjectInfo::Blob(blob) | ExternalObjectInfo::File { blob, .. } => {
            Some(boxed(blob.mime_type.clone()))
        }
        ExternalObjectInfo::FileSystemAccessHandle { .. } => None,
    })
}

/// A file's name: the host owns the text. Null if it is no file.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_file_name(blob: Option<&Blob>) -> Option<Box<Text>> {
    guard::or_else(None, || match blob?.info() {
        ExternalObjectInfo::File { name, .. } => Some(boxed(name.clone())),
        _ => None,
    })
}

/// Reads all of the content, and writes where it is: there as long as the blob. Reads files on the calling thread, once: `larder_storage_read_blob`
/// does not keep that. False:
/// `LARDER_EXCEPTION_NOT_READABLE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_read(
    blob: Option<&Blob>,
    content: Option<&mut MaybeUninit<Bytes>>,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let bytes = given_blob(blob)?.content()?;
        if let Some(content) = content {
            content.write(Bytes::lent(bytes));
        }
        Ok(())
    })
}

/// Requests `len` bytes of the content from `offset` on: those that there are (`larder_request_bytes`). The storage's threads read them, or
/// the host's loop. The request fails with `LARDER_EXCEPTION_NOT_READABLE`; of the kind `LARDER_KIND_CORRUPTION` if the file is gone.
#[unsafe(no_mangle)]
pub extern "C" fn larder_storage_read_blob(
    storage: Option<&Storage>,
    blob: Option<&Blob>,
    offset: u64,
    len: u64,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let context = given_storage(storage)?.context();
        let range = offset..offset.saturating_add(len);
        let object = &given_blob(blob)?.object;
        Ok(Request::of(
            context.storage.read_blob(object, range),
            context,
        ))
    })
}

/// Frees a blob, and what was read of it. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_free(blob: Option<Box<Blob>>) {
    guard::or_else((), || drop(blob));
}
