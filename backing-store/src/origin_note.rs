//! What a host may ask about a store and Chromium does not keep in it: when it was used and written to last, and
//! whether it is to stay (decision 26).
//!
//! Two small files in the LevelDB folder, of names that neither LevelDB nor Chromium uses. Both ignore them, and both
//! files go with the folder when any program deletes it. `LARDER` is text; what cannot be read of it counts as not
//! there. `PERSISTED` is empty: it is there or not, so that no crash while `LARDER` is written can lose it.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use larder_leveldb::storage::FileSystem;

use crate::error::{Error, Result};
use crate::external_object::micros_since_1601;
use crate::files;
use crate::layout::StorePaths;

const NOTE: &str = "LARDER";
const NOTE_NEW: &str = "LARDER.new";
const NOTE_LEN_MAX: usize = 4096;
const PERSISTED: &str = "PERSISTED";

/// When a store was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OriginNote {
    /// When it was last opened, or closed after use: microseconds since 1601-01-01 UTC.
    pub last_used_us: i64,
    /// When something was last committed in it.
    pub last_modified_us: i64,
    /// It is open and written to; or it was when the process ended, and the times may be older than what is true.
    pub is_open: bool,
}

impl OriginNote {
    /// The note of a store, or as much as the times of its files show: for a store that Chromium has written, or whose
    /// last writer was ended by a crash.
    ///
    /// # Errors
    /// `Io` if the folder cannot be listed. A folder that is missing has no note, and no times.
    pub fn read(fs: &dyn FileSystem, paths: &StorePaths) -> Result<Self> {
        let note = read_small(fs, &paths.leveldb.join(NOTE)).and_then(|text| Self::parse(&text));
        match note {
            Some(note) if !note.is_open => Ok(note),
            note => {
                let written = newest(fs, &paths.leveldb)?;
                let note = note.unwrap_or_default();
                Ok(Self {
                    last_used_us: note.last_used_us.max(written),
                    last_modified_us: note.last_modified_us.max(written),
                    is_open: note.is_open,
                })
            }
        }
    }

    /// Writes it in place of the one before. Not synced: what a power cut takes of it is read from the files' times
    /// instead.
    ///
    /// # Errors
    /// `Io`; then the one before is there.
    pub fn write(&self, fs: &dyn FileSystem, paths: &StorePaths) -> Result<()> {
        let (new, path) = (paths.leveldb.join(NOTE_NEW), paths.leveldb.join(NOTE));
        let written = fs.create(&new).and_then(|mut file| {
            file.append(self.text().as_bytes())?;
            file.flush()
        });
        written
            .and_then(|()| fs.rename(&new, &path))
            .map_err(|error| {
                let _ = fs.remove(&new);
                Error::io(&path, "cannot be written", error)
            })
    }

    fn text(&self) -> String {
        let Self {
            last_used_us,
            last_modified_us,
            is_open,
        } = self;
        let open = match is_open {
            true => "open\n",
            false => "",
        };
        format!("used {last_used_us}\nmodified {last_modified_us}\n{open}end\n")
    }

    /// `None` unless it is whole.
    fn parse(text: &str) -> Option<Self> {
        let mut note = Self::default();
        let mut lines = text.strip_suffix("end\n")?.lines();
        let number = |line: Option<&str>, name| line?.strip_prefix(name)?.parse().ok();
        note.last_used_us = number(lines.next(), "used ")?;
        note.last_modified_us = number(lines.next(), "modified ")?;
        note.is_open = lines.next() == Some("open");
        Some(note)
    }
}

fn read_small(fs: &dyn FileSystem, path: &Path) -> Option<String> {
    let mut file = fs.open_sequential(path).ok()?;
    let mut bytes = vec![0; NOTE_LEN_MAX];
    let mut len = 0;
    while len < bytes.len() {
        match file.read(bytes.get_mut(len..)?).ok()? {
            0 => break,
            read => len += read,
        }
    }
    bytes.truncate(len);
    String::from_utf8(bytes).ok()
}

/// When the files in a folder were last written to; 0 if no time is known.
fn newest(fs: &dyn FileSystem, dir: &Path) -> Result<i64> {
    let failed = |error| Error::io(dir, "the folder cannot be listed", error);
    let names = match fs.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        names => names.map_err(failed)?,
    };
    let time = |name| -> Option<SystemTime> { fs.metadata(&dir.join(name)).ok()?.modified };
    let times = names.into_iter().filter_map(time);
    Ok(times.max().map_or(0, micros_since_1601))
}

/// Whether a store is to stay when room is wanted.
///
/// # Errors
/// `Io` if that cannot be found out.
pub fn is_persisted(fs: &dyn FileSystem, paths: &StorePaths) -> Result<bool> {
    let path = paths.leveldb.join(PERSISTED);
    match fs.metadata(&path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(&path, "its metadata cannot be read", error)),
    }
}

/// Marks a store as persistent, so that it stays when room is wanted, or takes the mark away. The change is durable. The folder is made
/// if there is no store yet.
///
/// # Errors
/// `Io`.
pub fn set_persisted(fs: &dyn FileSystem, paths: &StorePaths, is_persisted: bool) -> Result<()> {
    let path = paths.leveldb.join(PERSISTED);
    match is_persisted {
        true => {
            files::create_parents(fs, &path)?;
            let made = fs.create(&path).and_then(|mut file| file.sync());
            made.map_err(|error| Error::io(&path, "cannot be made", error))?;
        }
        false => files::remove_if_there(fs, &path)?,
    }
    files::sync_dir(fs, &paths.leveldb)
}

/// Removes what says when a store was used and whether it is to stay.
///
/// # Errors
/// `Io`.
pub fn remove_notes(fs: &dyn FileSystem, paths: &StorePaths) -> Result<()> {
    for name in [NOTE, NOTE_NEW, PERSISTED] {
        files::remove_if_there(fs, &paths.leveldb.join(name))?;
    }
    Ok(())
}

/// Deletes a store with all that is in its folders: databases, blobs, notes, what damage was set aside in `lost/`, and files that are
/// none of a store's. CURRENT goes first: what is left if this fails half-way is no store any more, and can be deleted again. Where there is no
/// store, nothing is done.
///
/// # Errors
/// `Conflict` if the store is open for writing, and nothing is deleted; `Io`.
pub fn delete_store(fs: &dyn FileSystem, paths: &StorePaths) -> Result<()> {
    larder_leveldb::destroy(fs, &paths.leveldb)?;
    files::remove_tree(fs, &paths.leveldb)?;
    files::remove_tree(fs, &paths.blob)?;
    match paths.leveldb.parent() {
        Some(parent) => files::sync_dir(fs, parent),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_leveldb::storage::{DiskFileSystem, MemoryFileSystem};

    fn paths(dir: &Path) -> StorePaths {
        StorePaths::of_leveldb(&dir.join("https_a.example_0.indexeddb.leveldb"))
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_one_that_is_not_whole_is_none() {
        let fs = MemoryFileSystem::new();
        let paths = paths(Path::new("idb"));
        files::create_parents(&fs, &paths.leveldb.join(NOTE)).unwrap();
        assert_eq!(
            OriginNote::read(&fs, &paths).unwrap(),
            OriginNote::default()
        );
        let note = OriginNote {
            last_used_us: 13_400_000_000_000_007,
            last_modified_us: -5,
            is_open: false,
        };
        note.write(&fs, &paths).unwrap();
        assert_eq!(OriginNote::read(&fs, &paths).unwrap(), note);
        let text = note.text();
        for len in 0..text.len() {
            assert_eq!(OriginNote::parse(&text[..len]), None, "{len}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "times of files stand on a disk")]
    fn the_times_of_files_tell_where_the_note_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (fs, paths) = (DiskFileSystem::new(), paths(dir.path()));
        std::fs::create_dir_all(&paths.leveldb).unwrap();
        std::fs::write(paths.leveldb.join("000003.log"), b"log").unwrap();
        let now = micros_since_1601(SystemTime::now());
        let is_recent = |us: i64| (now - us).abs() < 3_600_000_000;
        let note = OriginNote::read(&fs, &paths).unwrap();
        assert!(is_recent(note.last_used_us) && is_recent(note.last_modified_us));
        let mut old = OriginNote {
            last_used_us: 5,
            last_modified_us: 4,
            is_open: false,
        };
        old.write(&fs, &paths).unwrap();
        assert_eq!(OriginNote::read(&fs, &paths).unwrap(), old);
        // The program that wrote to it has not closed it.
        old.is_open = true;
        old.write(&fs, &paths).unwrap();
        assert!(is_recent(
            OriginNote::read(&fs, &paths).unwrap().last_modified_us
        ));
    }

    #[test]
    fn a_deleted_store_leaves_nothing() {
        let fs = MemoryFileSystem::new();
        let paths = paths(Path::new("idb"));
        set_persisted(&fs, &paths, true).unwrap();
        assert!(is_persisted(&fs, &paths).unwrap());
        let leveldb = &paths.leveldb;
        for file in [
            leveldb.join("CURRENT"),
            leveldb.join("000003.log"),
            leveldb.join("lost/000002.log"),
            leveldb.join("somebody's"),
            paths.blob.join("1/00/2"),
        ] {
            files::create_parents(&fs, &file).unwrap();
            fs.create(&file).unwrap().append(b"data").unwrap();
        }
        let other = Path::new("idb/other");
        fs.create(other).unwrap();
        let held = fs.lock(&leveldb.join("LOCK")).unwrap();
        assert!(delete_store(&fs, &paths).is_err());
        assert!(fs.metadata(&leveldb.join("CURRENT")).is_ok());
        drop(held);
        delete_store(&fs, &paths).unwrap();
        assert_eq!(fs.list(Path::new("idb")).unwrap(), ["other"]);
        delete_store(&fs, &paths).unwrap();
    }
}
