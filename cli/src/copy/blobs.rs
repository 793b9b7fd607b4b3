//! Copies the files of blobs, with their times.

use std::io::{self, Read};
use std::path::Path;

use larder_backing_store::{Error, NewStore, Store};
use larder_leveldb::storage::SequentialFile;

use super::Copied;
use super::rows::Blob;

/// Copies every blob's file. One that cannot be read is a problem of the copy; the others are copied all the same.
pub(crate) fn copy_blobs(
    store: &Store,
    new: &NewStore,
    blobs: &[Blob],
    copied: &mut Copied,
) -> Result<(), Error> {
    for blob in blobs {
        let path = store.paths().blob_file(blob.database, blob.number);
        let mut content = match open(store, &path, blob.size_bytes == 0, copied) {
            Ok(Some(content)) => content,
            // Those of schema 3 have a file, whose time counts.
            Ok(None) => continue,
            Err(error) => {
                let problem = format!("{}: cannot be read: {error}", path.display());
                copied.problems.push(problem);
                continue;
            }
        };
        let metadata = store.fs().metadata(&path);
        let modified = metadata.ok().and_then(|metadata| metadata.modified);
        let written = new.write_blob((blob.database, blob.number), modified, &mut content);
        match (written, content.failed) {
            (_, Some(error)) => {
                let problem = format!("{}: cannot be read to its end: {error}", path.display());
                copied.problems.push(problem);
            }
            (Ok(len), None) if len != blob.size_bytes => {
                let size = blob.size_bytes;
                let what = format!("{}: has {len} bytes, not {size}", path.display());
                copied.problems.push(what);
            }
            (Ok(_), None) => {}
            (Err(error), None) => return Err(error),
        }
    }
    Ok(())
}

/// Opens a blob's file; `None` of an empty blob, which mostly has none. One that is gone may have been removed by a program that has the store open.
pub(super) fn open(
    store: &Store,
    path: &Path,
    is_empty: bool,
    copied: &mut Copied,
) -> io::Result<Option<Content>> {
    match store.fs().open_sequential(path) {
        Ok(file) => Ok(Some(Content { file, failed: None })),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) if is_empty => Ok(None),
        Err(error) => {
            copied.lost_to_writer |= store.lock_holder().is_some();
            Err(error)
        }
    }
}

/// A file being read, which remembers why it could not be read on.
pub(super) struct Content {
    file: Box<dyn SequentialFile>,
    failed: Option<io::Error>,
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        match read {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let text = error.to_string();
                self.failed = Some(io::Error::new(error.kind(), text));
                Err(error)
            }
            read => read,
        }
    }
}
