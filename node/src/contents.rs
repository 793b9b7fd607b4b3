//! The contents of blobs that were stored, read by the storage's threads before script gets the record.
//!
//! A runtime's own `Blob` has its bytes in memory, and everything that takes blobs takes that one; a class of ours whose bytes come later would be an empty blob
//! to the runtime's own functions.

use std::sync::{Arc, Mutex, PoisonError};

use larder_idb::{ExternalObject, ExternalObjectInfo, Storage};

use crate::inbox::{Arrival, Inbox};
use crate::outcome::Contents;

/// What has been read so far of the contents that the first request of a queue waits for.
struct Reading {
    contents: Contents,
    left: usize,
}

/// Reads the contents of objects. They come as an arrival for a queue.
pub(crate) fn read(storage: &Storage, objects: &[ExternalObject], queue: u32, inbox: &Inbox) {
    let is_blob = |object: &&ExternalObject| {
        !matches!(
            object.info(),
            ExternalObjectInfo::FileSystemAccessHandle { .. }
        )
    };
    let left = objects.iter().filter(is_blob).count();
    let contents = objects.iter().map(|_| None).collect();
    if left == 0 {
        inbox.put(Arrival::Contents(queue, contents));
        return;
    }
    let reading = Arc::new(Mutex::new(Reading { contents, left }));
    for (at, object) in objects
        .iter()
        .enumerate()
        .filter(|(_, object)| is_blob(object))
    {
        let (reading, inbox) = (Arc::clone(&reading), inbox.clone());
        storage.read_blob(object, 0..u64::MAX).on_done(move |read| {
            let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = reading.contents.get_mut(at) {
                *place = Some(read.map(Arc::new));
            }
            reading.left -= 1;
            if reading.left == 0 {
                inbox.put(Arrival::Contents(
                    queue,
                    std::mem::take(&mut reading.contents),
                ));
            }
        });
    }
}
