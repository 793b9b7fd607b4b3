//! The operations on names: a rename is one commit, whatever the size of the files. Names that are made or removed wait for the next commit,
//! which has them all.

use super::read::{FileSource, RemoteRandom, RemoteSequential};
use super::tail::Live;
use super::write::RemoteWritable;
use super::{RemoteFileSystem, Shared, locked};
use crate::content::Extent;
use crate::error::Result;
use crate::owner::Change;
use crate::place::Place;
use crate::row::{Entry, FileRow, LockRow};
use larder_leveldb::storage::{
    FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile,
};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The place of a path that is not the root.
fn file_place(path: &Path) -> io::Result<Place> {
    Ok(Place::of(path)?.ok_or(io::ErrorKind::IsADirectory)?)
}

fn name(place: &Place) -> OsString {
    String::from_utf8_lossy(place.name()).into_owned().into()
}

impl Shared {
    /// What a name stands for, as this process sees it.
    fn entry(&self, place: &Place) -> Result<Option<Entry>> {
        if let Some(owner) = &self.owner {
            return Ok(owner.names().get(place).cloned());
        }
        let [row] = self.cluster.get([self.keys.file(place)])?;
        row.map(|row| Entry::decode(&row)).transpose()
    }

    fn source_of(&self, path: &Path) -> io::Result<FileSource> {
        match self.entry(&file_place(path)?)? {
            Some(Entry::File(row)) => Ok(match locked(&self.live).get(&row.blob) {
                Some(live) => FileSource::Live(Arc::clone(live)),
                None => FileSource::Named(Extent::of(&row)),
            }),
            Some(Entry::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// An empty file in place of what is there; says which blob was.
    fn make(&self, place: &Place) -> io::Result<(FileRow, Option<u64>)> {
        let owner = self.owner()?;
        let row = FileRow {
            blob: owner.new_blob()?,
            size: 0,
            stored: 0,
            modified_us: FileRow::micros(self.cluster.clock().wall()),
            chunk_len: self.options.chunk_len,
        };
        owner.stage(|names| {
            let before = names.file_or_free(place)?.map(|file| file.blob);
            let change = Change {
                entries: vec![(place.clone(), Some(Entry::File(row.clone())))],
                doomed: before.into_iter().collect(),
                ..Change::default()
            };
            Ok((change, (row, before)))
        })
    }

    fn create(self: &Arc<Self>, place: &Place) -> io::Result<RemoteWritable> {
        let (row, before) = self.make(place)?;
        let live = Arc::new(Live::new(row.blob, row.chunk_len));
        self.replace_live(before.unwrap_or(row.blob), &live);
        Ok(RemoteWritable::live(self, live))
    }

    /// A change that removes a name.
    fn removal(place: &Place, file: &FileRow) -> Change {
        Change {
            entries: vec![(place.clone(), None)],
            doomed: vec![file.blob],
            ..Change::default()
        }
    }

    fn list_elsewhere(&self, dir: Option<&Place>) -> io::Result<Vec<OsString>> {
        let path = dir.map(Place::path).unwrap_or_default();
        let rows = self.cluster.rows(&self.keys.files_in(&path))?;
        if rows.is_empty()
            && let Some(dir) = dir
        {
            match self.entry(dir)? {
                Some(Entry::Directory) => {}
                Some(Entry::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        let places = rows.iter().map(|row| self.keys.place_of(&row.key));
        Ok(places
            .map(|place| place.map(|place| name(&place)))
            .collect::<Result<_>>()?)
    }
}

impl FileSystem for RemoteFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        let source = self.shared.source_of(path)?;
        Ok(Arc::new(RemoteRandom::new(&self.shared, source)))
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        let source = self.shared.source_of(path)?;
        Ok(Box::new(RemoteSequential::new(&self.shared, source)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        Ok(Box::new(self.shared.create(&file_place(path)?)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let place = file_place(path)?;
        let owner = self.shared.owner()?;
        let is_there = owner.names().file_or_free(&place)?.is_some();
        if !is_there {
            return Ok(Box::new(self.shared.create(&place)?));
        }
        let source = self.shared.source_of(path)?;
        let len_bytes = source.len();
        Ok(Box::new(RemoteWritable::reopened(
            &self.shared,
            source,
            len_bytes,
        )))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (file_place(from)?, file_place(to)?);
        let replaced = self.shared.owner()?.change(|names| {
            let file = names.file(&from)?.clone();
            let replaced = names.file_or_free(&to)?.map(|file| file.blob);
            if from == to {
                return Ok((Change::default(), None));
            }
            let change = Change {
                entries: vec![(from, None), (to, Some(Entry::File(file)))],
                doomed: replaced.into_iter().collect(),
                ..Change::default()
            };
            Ok((change, replaced))
        })?;
        if let Some(blob) = replaced {
            locked(&self.shared.live).remove(&blob);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let place = file_place(path)?;
        let blob = self.shared.owner()?.stage(|names| {
            let file = names.file(&place)?;
            Ok((Shared::removal(&place, file), file.blob))
        })?;
        locked(&self.shared.live).remove(&blob);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        let dir = Place::of(dir)?;
        let Some(owner) = &self.shared.owner else {
            return self.shared.list_elsewhere(dir.as_ref());
        };
        let names = owner.names();
        names.require_dir(dir.as_ref())?;
        let path = dir.as_ref().map(Place::path).unwrap_or_default();
        Ok(names.in_dir(&path).map(name).collect())
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let entry = match Place::of(path)? {
            Some(place) => self.shared.entry(&place)?,
            None => Some(Entry::Directory),
        };
        let (len_bytes, modified, is_dir) = match entry {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Entry::Directory) => (0, None, true),
            Some(Entry::File(row)) => {
                let live = locked(&self.shared.live).get(&row.blob).cloned();
                let set = live.as_ref().and_then(|live| live.modified());
                (
                    live.map_or(row.size, |live| live.len()),
                    set.or(row.modified()),
                    false,
                )
            }
        };
        Ok(Metadata {
            len_bytes,
            modified,
            is_dir,
            is_link: false,
        })
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let place = Place::of(dir)?.ok_or(io::ErrorKind::AlreadyExists)?;
        self.shared.owner()?.stage(|names| {
            names.require_parent(&place)?;
            if names.get(&place).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let change = Change {
                entries: vec![(place, Some(Entry::Directory))],
                ..Change::default()
            };
            Ok((change, ()))
        })
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let place = Place::of(dir)?.ok_or(io::ErrorKind::InvalidInput)?;
        self.shared.owner()?.stage(|names| {
            names.require_dir(Some(&place))?;
            if names.in_dir(&place.path()).next().is_some() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            let change = Change {
                entries: vec![(place, None)],
                ..Change::default()
            };
            Ok((change, ()))
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let place = file_place(path)?;
        let there = self
            .shared
            .owner()?
            .names()
            .file_or_free(&place)?
            .map(|file| file.blob);
        let blob = match there {
            Some(blob) => blob,
            None => self.shared.make(&place)?.0.blob,
        };
        Ok(Box::new(self.shared.take_lock(&place, blob)?))
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        let place = file_place(path)?;
        if let Some(owner) = &self.shared.owner {
            let names = owner.names();
            let is_locked = names
                .file(&place)
                .is_ok_and(|file| self.shared.is_locked(file.blob));
            return Ok(is_locked.then(|| LockHolder {
                pid: Some(std::process::id()),
            }));
        }
        let keys = [self.shared.keys.lock(), self.shared.keys.file(&place)];
        let [lock, file] = self.shared.cluster.get(keys)?;
        let lock = lock.map(|lock| LockRow::decode(&lock)).transpose()?;
        let is_held = file.is_some() && lock.is_some_and(|lock| lock.session.is_some());
        Ok(is_held.then_some(LockHolder { pid: None }))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.metadata(dir)?;
        match &self.shared.owner {
            Some(owner) => Ok(owner.settle()?),
            None => Ok(()),
        }
    }
}
