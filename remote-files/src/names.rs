//! The names of a namespace, as the process that writes it has them in memory.

use crate::place::Place;
use crate::row::{Entry, FileRow};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// All names, and the blobs that have none any more. Nothing else can change them as long as this process holds the namespace.
#[derive(Debug, Default)]
pub(crate) struct Names {
    entries: BTreeMap<Place, Entry>,
    /// The place of each named blob.
    places: BTreeMap<u64, Place>,
    /// Blobs to be deleted, and since when.
    pending: BTreeMap<u64, Duration>,
}

impl Names {
    pub(crate) fn get(&self, place: &Place) -> Option<&Entry> {
        self.entries.get(place)
    }

    /// Sets or removes a name.
    pub(crate) fn set(&mut self, place: Place, entry: Option<Entry>) {
        if let Some(Entry::File(file)) = self.entries.get(&place)
            && self.places.get(&file.blob) == Some(&place)
        {
            self.places.remove(&file.blob);
        }
        match entry {
            Some(entry) => {
                if let Entry::File(file) = &entry {
                    self.places.insert(file.blob, place.clone());
                }
                self.entries.insert(place, entry);
            }
            None => {
                self.entries.remove(&place);
            }
        }
    }

    /// The file of a blob, if the blob has a name.
    pub(crate) fn file_of(&self, blob: u64) -> Option<(&Place, &FileRow)> {
        let place = self.places.get(&blob)?;
        match self.entries.get(place) {
            Some(Entry::File(file)) => Some((place, file)),
            _ => None,
        }
    }

    /// The file of a name.
    pub(crate) fn file(&self, place: &Place) -> io::Result<&FileRow> {
        match self.entries.get(place) {
            Some(Entry::File(file)) => Ok(file),
            Some(Entry::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The file of a name; `None` if there is none and one may be made.
    pub(crate) fn file_or_free(&self, place: &Place) -> io::Result<Option<&FileRow>> {
        self.require_parent(place)?;
        match self.file(place) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Fails unless the directory that a name is in is there.
    pub(crate) fn require_parent(&self, place: &Place) -> io::Result<()> {
        self.require_dir(place.parent().as_ref())
    }

    /// Fails unless a directory is there; `None` is the root.
    pub(crate) fn require_dir(&self, dir: Option<&Place>) -> io::Result<()> {
        match dir.map(|dir| self.entries.get(dir)) {
            None | Some(Some(Entry::Directory)) => Ok(()),
            Some(Some(Entry::File(_))) => Err(io::ErrorKind::NotADirectory.into()),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The names in a directory, by its path.
    pub(crate) fn in_dir<'a>(&'a self, dir: &'a [u8]) -> impl Iterator<Item = &'a Place> {
        let from = self.entries.range(Place::first_in(dir)..);
        from.map(|(place, _)| place)
            .take_while(move |place| place.dir() == dir)
    }

    pub(crate) fn is_named(&self, blob: u64) -> bool {
        self.places.contains_key(&blob)
    }

    pub(crate) fn is_pending(&self, blob: u64) -> bool {
        self.pending.contains_key(&blob)
    }

    pub(crate) fn add_pending(&mut self, blob: u64, since: Duration) {
        self.pending.insert(blob, since);
    }

    pub(crate) fn remove_pending(&mut self, blob: u64) {
        self.pending.remove(&blob);
    }

    /// Blobs that are to be deleted since that time or longer.
    pub(crate) fn pending_until(&self, time: Duration) -> Vec<u64> {
        let old = self.pending.iter().filter(|(_, since)| **since <= time);
        old.map(|(blob, _)| *blob).collect()
    }
}
