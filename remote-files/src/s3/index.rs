//! What is remembered of blobs: their objects, as they were listed or written.
//!
//! A blob grows at its end and nowhere else. So what is known of it up to an object is all that there will ever be before that object; of what is behind the
//! last known one nothing is known.

use super::object::Object;
use crate::namespace::Namespace;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many objects are remembered: of about a mebibyte each.
const OBJECTS_MAX: usize = 100_000;

/// The objects of a blob, by the offset of their first segment.
pub(super) type Objects = Arc<Vec<Object>>;

/// The blobs.
#[derive(Debug, Default)]
pub(super) struct Index {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    blobs: HashMap<Blob, Objects>,
    count: usize,
    /// Blobs that are being listed, by the number of the listing; and whether something was written to them meanwhile.
    listings: HashMap<u64, (Blob, bool)>,
    next_listing: u64,
}

/// A blob.
type Blob = (Namespace, u64);

/// A listing that has begun. What it shows is remembered if nothing was written to the blob meanwhile: that may not be in it.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    index: &'a Index,
    number: u64,
}

impl Listing<'_> {
    /// What it has shown.
    pub(super) fn shows(self, objects: Objects) {
        let mut known = self.index.known();
        if let Some((blob, false)) = known.listings.remove(&self.number) {
            known.put(blob, objects);
        }
    }
}

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        self.index.known().listings.remove(&self.number);
    }
}

impl Known {
    fn remove(&mut self, blob: &Blob) -> Option<Objects> {
        let objects = self.blobs.remove(blob)?;
        self.count -= objects.len();
        Some(objects)
    }

    fn put(&mut self, blob: Blob, objects: Objects) {
        self.remove(&blob);
        if self.count + objects.len() > OBJECTS_MAX {
            // What is needed again is listed again.
            self.blobs.clear();
            self.count = 0;
        }
        if objects.len() <= OBJECTS_MAX {
            self.count += objects.len();
            self.blobs.insert(blob, objects);
        }
    }
}

impl Index {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known, if it is all that will ever be below an offset.
    pub(super) fn below(&self, namespace: &Namespace, blob: u64, end: u64) -> Option<Objects> {
        let known = self.known();
        let objects = known.blobs.get(&(namespace.clone(), blob))?;
        let last = objects.last()?;
        (last.first >= end).then(|| Arc::clone(objects))
    }

    /// A listing of a blob begins.
    pub(super) fn list(&self, namespace: &Namespace, blob: u64) -> Listing<'_> {
        let mut known = self.known();
        let number = known.next_listing;
        known.next_listing += 1;
        let blob = (namespace.clone(), blob);
        known.listings.insert(number, (blob, false));
        Listing {
            index: self,
            number,
        }
    }

    /// An object that this client has written.
    pub(super) fn written(&self, namespace: &Namespace, blob: u64, object: Object) {
        let mut known = self.known();
        let key = (namespace.clone(), blob);
        for (listed, is_old) in known.listings.values_mut() {
            *is_old |= *listed == key;
        }
        let objects = match known.remove(&key) {
            Some(objects) => objects,
            // The first one of a blob is all of it.
            None if object.first == 0 => Arc::default(),
            None => return,
        };
        let mut objects = Arc::unwrap_or_clone(objects);
        // One that was written again is there.
        if let Err(at) = objects.binary_search_by_key(&object.first, |other| other.first) {
            objects.insert(at, object);
        }
        known.put(key, Arc::new(objects));
    }

    /// A blob that is not as it is known.
    pub(super) fn forget(&self, namespace: &Namespace, blob: u64) {
        self.known().remove(&(namespace.clone(), blob));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::Segment;

    fn object(offset: u64) -> Object {
        let segment = Segment {
            offset,
            bytes: vec![1],
        };
        Object::of(&[segment]).unwrap().0
    }

    fn firsts(objects: Option<Objects>) -> Option<Vec<u64>> {
        objects.map(|objects| objects.iter().map(|object| object.first).collect())
    }

    #[test]
    fn what_is_behind_the_last_object_is_not_known() {
        let (index, name) = (Index::default(), Namespace::new("n").unwrap());
        assert_eq!(firsts(index.below(&name, 1, 0)), None);
        // Another client may have written what is before it.
        index.written(&name, 1, object(5));
        assert_eq!(firsts(index.below(&name, 1, 0)), None);
        index.written(&name, 1, object(0));
        index.written(&name, 1, object(5));
        index.written(&name, 1, object(5));
        index.written(&name, 1, object(9));
        assert_eq!(firsts(index.below(&name, 1, 9)), Some(vec![0, 5, 9]));
        assert_eq!(firsts(index.below(&name, 1, 10)), None);
        index.forget(&name, 1);
        assert_eq!(firsts(index.below(&name, 1, 0)), None);
        index
            .list(&name, 1)
            .shows(Arc::new(vec![object(3), object(4)]));
        assert_eq!(firsts(index.below(&name, 1, 4)), Some(vec![3, 4]));
        assert_eq!(firsts(index.below(&name, 2, 4)), None);
    }

    #[test]
    fn a_listing_during_which_something_was_written_is_not_remembered() {
        let (index, name) = (Index::default(), Namespace::new("n").unwrap());
        let listing = index.list(&name, 1);
        let other = index.list(&name, 2);
        // It is not known what is before it, so it is not noted.
        index.written(&name, 1, object(5));
        listing.shows(Arc::new(vec![object(0), object(3)]));
        other.shows(Arc::new(vec![object(0), object(3)]));
        index.written(&name, 1, object(9));
        assert_eq!(firsts(index.below(&name, 1, 9)), None);
        index.written(&name, 2, object(9));
        assert_eq!(firsts(index.below(&name, 2, 9)), Some(vec![0, 3, 9]));
        // One that was given up leaves nothing.
        drop(index.list(&name, 3));
        assert!(index.known().listings.is_empty());
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let (index, name) = (Index::default(), Namespace::new("n").unwrap());
        for blob in 0..5 {
            let objects: Vec<Object> = (0..30_000).map(object).collect();
            index.list(&name, blob).shows(Arc::new(objects));
            assert!(index.known().count <= OBJECTS_MAX);
        }
        assert_eq!(index.known().blobs.len(), 2);
        let objects = (0..OBJECTS_MAX as u64 + 1).map(object).collect();
        index.list(&name, 9).shows(Arc::new(objects));
        assert_eq!(index.known().blobs.len(), 0);
    }
}
