//! The contents of blobs that were stored, read by the storage's threads before script gets the record.
//!
//! A runtime's own `Blob` has its bytes in memory, and everything that takes blobs takes that one; a class of ours whose bytes come later would be an empty blob
//! to the runtime's own functions.

use std::sync::{Arc, Mutex, PoisonError};

use larder_idb::{ExternalObject, ExternalObjectInfo, Storage};

use crate::outcome::Contents;

/// What has been read so far, and what is called with all of it.
struct Reading<D> {
    contents: Contents,
    left: usize,
    done: Option<D>,
}

/// Reads the contents of objects, of which there are some, and calls back.
pub(crate) fn read(
    storage: &Storage,
    objects: &[ExternalObject],
    done: impl FnOnce(Contents) + Send + 'static,
) {
    let is_blob = |object: &&ExternalObject| {
        !matches!(
            object.info(),
            ExternalObjectInfo::FileSystemAccessHandle { .. }
        )
    };
    let left = objects.iter().filter(is_blob).count();
    let contents: Contents = objects.iter().map(|_| None).collect();
    if left == 0 {
        return done(contents);
    }
    let reading = Arc::new(Mutex::new(Reading {
        contents,
        left,
        done: Some(done),
    }));
    for (at, object) in objects
        .iter()
        .enumerate()
        .filter(|(_, object)| is_blob(object))
    {
        let reading = Arc::clone(&reading);
        storage.read_blob(object, 0..u64::MAX).on_done(move |read| {
            let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = reading.contents.get_mut(at) {
                *place = Some(read.map(Arc::new));
            }
            reading.left -= 1;
            if reading.left == 0
                && let Some(done) = reading.done.take()
            {
                let contents = std::mem::take(&mut reading.contents);
                drop(reading);
                done(contents);
            }
        });
    }
}
