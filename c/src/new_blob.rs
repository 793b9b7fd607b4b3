//! Blobs, files and handles that are to be stored, for values whose bytes refer to them: a host's engine has serialised those.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use larder_codec::JsString;
use larder_idb as idb;
use larder_idb::{BlobSource, NewExternalObject};

use crate::blob::{Blob, given_blob, modified_micros, to_put_again};
use crate::error::{Error, Exception, Result};
use crate::guard;
use crate::pointers::{Bytes, ErrorOut, Str, handle, slice};
use crate::value::{Value, given_value};

/// A file of the host's, which is no part of a store.
#[derive(Debug)]
struct HostFile {
    path: PathBuf,
    size_bytes: u64,
}

impl HostFile {
    #[expect(
        clippy::disallowed_methods,
        reason = "the seam is for stores' files: this one is the host's"
    )]
    fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

impl BlobSource for HostFile {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(self.open()?))
    }
}

/// A blob, or a file if there is a name.
fn new_blob(
    content: Arc<dyn BlobSource>,
    mime_type: Str,
    name: Option<JsString>,
    modified_milliseconds: i64,
) -> Result<Blob> {
    let mime_type = mime_type.to_js_or_none()?.unwrap_or_default();
    let object = match name {
        None => NewExternalObject::Blob { mime_type, content },
        Some(name) => NewExternalObject::File {
            mime_type,
            content,
            name,
            last_modified_micros: modified_micros(modified_milliseconds),
        },
    };
    Ok(Blob::new(idb::ExternalObject::new(&object)))
}

/// A blob of these bytes, which are copied, with a MIME type that may be empty; a file if `name` is not `larder_null`, last modified
/// then: milliseconds since 1970 UTC. The host owns it. For `larder_value_with_blobs`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_new(
    bytes: Bytes,
    mime_type: Str,
    name: Str,
    modified_milliseconds: i64,
    error: ErrorOut,
) -> Option<Box<Blob>> {
    guard::made(error, || {
        let content = Arc::new(bytes.to_vec());
        let name = name.to_js_or_none()?;
        new_blob(content, mime_type, name, modified_milliseconds)
    })
}

/// Makes a blob like `larder_blob_new`, with the content of a file of the host's, which is read piece by piece when the
/// transaction commits. Until then it has to stay as long as it is now: if it cannot be read, or is longer or shorter,
/// the transaction is aborted. Null: `LARDER_EXCEPTION_NOT_READABLE` if there is no such file.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_new_of_path(
    path: Str,
    mime_type: Str,
    name: Str,
    modified_milliseconds: i64,
    error: ErrorOut,
) -> Option<Box<Blob>> {
    guard::made(error, || {
        let path = PathBuf::from(path.to_utf8()?);
        let mut file = HostFile {
            path,
            size_bytes: 0,
        };
        let metadata = file.open().and_then(|opened| opened.metadata());
        let unreadable = |error: io::Error| {
            let what = format!("{}: {error}", file.path.display());
            Error::usage(Exception::NotReadable, &what)
        };
        file.size_bytes = metadata.map_err(unreadable)?.len();
        let name = name.to_js_or_none()?;
        new_blob(Arc::new(file), mime_type, name, modified_milliseconds)
    })
}

/// A handle of a page's file system, with the token that the host finds it by, which is copied: the host owns it. For
/// `larder_value_with_blobs`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_blob_new_handle(token: Bytes, error: ErrorOut) -> Option<Box<Blob>> {
    guard::made(error, || {
        let token = token.to_vec();
        let object = NewExternalObject::FileSystemAccessHandle { token };
        Ok(Blob::new(idb::ExternalObject::new(&object)))
    })
}

/// A copy of a value with these blobs, files and handles in the place of any that it has: the host owns it. The bytes of a browser's value
/// refer to blobs and files by their places among themselves, and to handles likewise; those of another engine as they like. They may be
/// new, or of a value that was read, of this storage or another. Null if one of them is null: `LARDER_EXCEPTION_TYPE`.
///
/// # Safety
/// `blobs` points at `blobs_len` blobs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_value_with_blobs(
    value: Option<&Value>,
    blobs: *const *const Blob,
    blobs_len: usize,
    error: ErrorOut,
) -> Option<Box<Value>> {
    // SAFETY: as promised.
    let blobs = unsafe { slice(blobs, blobs_len) };
    guard::made(error, || {
        let objects = blobs.iter().map(|&blob| {
            // SAFETY: as promised.
            let blob = given_blob(unsafe { handle(blob) })?;
            Ok(to_put_again(blob.object().clone()))
        });
        let objects = objects.collect::<Result<Vec<_>>>()?;
        Ok(Value::new(
            given_value(value)?.to_put().and_objects(objects),
        ))
    })
}
