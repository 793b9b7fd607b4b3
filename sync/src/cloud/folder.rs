//! A folder as a cloud: on a shared disk, or kept alike between machines by something else.

use super::{Cloud, OBJECT_LEN_MAX, Put, check_len, parts};
use crate::error::{Error, ErrorKind, Result};
use larder_leveldb::storage::FileSystem;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the names of files that are being written end with. It is in no name of a cloud.
const UNFINISHED: &str = ".part";

/// A folder whose files are what is put.
///
/// A file is written under another name and then renamed: it appears whole. It is its owner's alone, as all files of Larder are; a folder that
/// several users share needs what makes it theirs from outside.
#[derive(Clone, Debug)]
pub struct FolderCloud {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Error {
    let context = format!("cannot {what} {}: {error}", path.display());
    Error::new(ErrorKind::Unavailable, context)
}

impl FolderCloud {
    /// In a folder, which is made if it is missing; the folder above must be there.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be made.
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path) -> Result<FolderCloud> {
        let cloud = FolderCloud {
            fs,
            dir: dir.to_owned(),
        };
        cloud.make(&cloud.dir)?;
        Ok(cloud)
    }

    fn path(&self, parts: &[&str]) -> PathBuf {
        let mut path = self.dir.clone();
        path.extend(parts);
        path
    }

    /// Makes a folder, durably: whether it was missing.
    fn make(&self, dir: &Path) -> Result<bool> {
        match self.fs.create_dir(dir) {
            Ok(()) => {
                let above = dir.parent().unwrap_or(Path::new(""));
                let synced = self.fs.sync_dir(above);
                synced.map_err(|error| failed(above, "sync", &error))?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(dir, "make", &error)),
        }
    }

    fn is_taken(&self, path: &Path) -> Result<bool> {
        match self.fs.metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(path, "look at", &error)),
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.fs.create(path)?;
        file.append(bytes)?;
        file.sync()
    }
}

impl Cloud for FolderCloud {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Put> {
        check_len(bytes)?;
        let parts = parts(name)?;
        let path = self.path(&parts);
        if self.is_taken(&path)? {
            return Ok(Put::Taken);
        }
        for depth in 1..parts.len() {
            self.make(&self.path(&parts[..depth]))?;
        }
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED);
        let unfinished = PathBuf::from(unfinished);
        self.write(&unfinished, bytes)
            .map_err(|error| failed(&unfinished, "write", &error))?;
        let renamed = self.fs.rename(&unfinished, &path);
        renamed.map_err(|error| failed(&path, "write", &error))?;
        let dir = path.parent().unwrap_or(&self.dir);
        let synced = self.fs.sync_dir(dir);
        synced.map_err(|error| failed(dir, "sync", &error))?;
        Ok(Put::Done)
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let path = self.path(&parts(name)?);
        let file = match self.fs.open_random(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, "open", &error)),
        };
        let len = file.len().map_err(|error| failed(&path, "read", &error))?;
        let end = len.min(range.end).min(OBJECT_LEN_MAX as u64 + 1);
        let wanted = end.saturating_sub(range.start);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        let mut done = 0;
        while done < bytes.len() {
            match file.read_at(range.start + done as u64, &mut bytes[done..]) {
                Ok(0) => break,
                Ok(len) => done += len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&path, "read", &error)),
            }
        }
        bytes.truncate(done);
        Ok(Some(bytes))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let path = self.path(&parts(folder)?);
        let names = match self.fs.list(&path) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&path, "list", &error)),
        };
        // What else lies there, such as the notes of whatever keeps the folder alike, has no such name.
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let mut names: Vec<String> = names.filter(|name| parts(name).is_ok()).collect();
        names.sort_unstable();
        Ok(names)
    }
}
