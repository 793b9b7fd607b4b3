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
    blobs: HashMap<(Namespace, u64), Objects>,
    count: usize,
}

impl Known {
    fn remove(&mut self, blob: &(Namespace, u64)) -> Option<Objects> {
        let objects = self.blobs.remove(blob)?;
        self.count -= objects.len();
        Some(objects)
    }

    fn put(&mut self, blob: (Namespace, u64), objects: Objects) {
        self.remove(&blob);
        if self.count + objects.len() > OBJECTS_MAX {
            // What is needed again is listed again.
            *self = Known::default();
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

    /// What a listing has shown.
    pub(super) fn listed(&self, namespace: &Namespace, blob: u64, objects: Objects) {
        self.known().put((namespace.clone(), blob), objects);
    }

    /// An object that this client has written.
    pub(super) fn written(&self, namespace: &Namespace, blob: u64, object: Object) {
        let mut known = self.known();
        let key = (namespace.clone(), blob);
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
        index.listed(&name, 1, Arc::new(vec![object(3), object(4)]));
        assert_eq!(firsts(index.below(&name, 1, 4)), Some(vec![3, 4]));
        assert_eq!(firsts(index.below(&name, 2, 4)), None);
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let (index, name) = (Index::default(), Namespace::new("n").unwrap());
        for blob in 0..5 {
            let objects: Vec<Object> = (0..30_000).map(object).collect();
            index.listed(&name, blob, Arc::new(objects));
            assert!(index.known().count <= OBJECTS_MAX);
        }
        assert_eq!(index.known().blobs.len(), 2);
        index.listed(
            &name,
            9,
            Arc::new((0..OBJECTS_MAX as u64 + 1).map(object).collect()),
        );
        assert_eq!(index.known().blobs.len(), 0);
    }
}
