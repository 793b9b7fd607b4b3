//! Copies the files of blobs, with their times.

use std::io::{self, Read};

use larder_backing_store::{Error, NewStore, Store};
use larder_leveldb::storage::SequentialFile;

use super::rows::Blob;
use super::{Copied, is_gone};

/// Copies every blob's file. One that cannot be read is a problem of the copy; the others are copied all the same.
pub(crate) fn copy_blobs(
    store: &Store,
    new: &NewStore,
    blobs: &[Blob],
    copied: &mut Copied,
) -> Result<(), Error> {
    for blob in blobs {
        let path = store.paths().blob_file(blob.database, blob.number);
        let file = match store.fs().open_sequential(&path) {
            Ok(file) => file,
            // An empty blob mostly has no file; those of schema 3 have one, whose time counts.
            Err(error) if blob.size_bytes == 0 && is_gone(&error) => {
                continue;
            }
            Err(error) => {
                copied.lost_to_writer |= is_gone(&error) && store.lock_holder().is_some();
                let problem = format!("{}: cannot be read: {error}", path.display());
                copied.problems.push(problem);
                continue;
            }
        };
        let metadata = store.fs().metadata(&path);
        let modified = metadata.ok().and_then(|metadata| metadata.modified);
        let mut content = Content { file, failed: None };
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

/// A file being read, which remembers why it could not be read on.
struct Content {
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
