//! A host's own file system, written and used with nothing but this crate in its `Cargo.toml`.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use larder_idb::file_system::{
    FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile,
    conformance,
};
use larder_idb::{
    ErrorKind, Executor, FixedClock, Key, ObjectStoreParameters, Origin, Storage, StorageOptions,
    TransactionMode, TransactionOptions, Value,
};

/// Files by their paths. Clones are the same.
#[derive(Debug, Clone, Default)]
struct MapFileSystem(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    files: HashMap<PathBuf, Arc<Mutex<Content>>>,
    dirs: HashSet<PathBuf>,
}

#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    modified: Option<SystemTime>,
    is_locked: bool,
}

/// An open file, read or written. It is the same file whatever becomes of its name.
#[derive(Debug)]
struct Open {
    content: Arc<Mutex<Content>>,
    /// Where a reader from the start has come to.
    offset: u64,
}

#[derive(Debug)]
struct Lock {
    names: MapFileSystem,
    path: PathBuf,
    content: Arc<Mutex<Content>>,
}

impl Names {
    /// The file of this name; made if it may be.
    fn open(&mut self, path: &Path, may_create: bool) -> io::Result<Arc<Mutex<Content>>> {
        if self.dirs.contains(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(content) = self.files.get(path) {
            return Ok(Arc::clone(content));
        }
        if !may_create || !self.has_parent(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let content = Arc::default();
        self.files.insert(path.to_owned(), Arc::clone(&content));
        Ok(content)
    }

    fn has_parent(&self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(Path::new(""));
        parent == Path::new("") || self.dirs.contains(parent)
    }

    fn children(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        if !self.dirs.contains(dir) && dir != Path::new("") {
            return Err(io::ErrorKind::NotFound.into());
        }
        let paths = self.files.keys().chain(&self.dirs);
        let own = paths.filter(|path| path.parent() == Some(dir));
        Ok(own
            .filter_map(|path| Some(path.file_name()?.to_owned()))
            .collect())
    }
}

impl MapFileSystem {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap()
    }

    fn open(&self, path: &Path, may_create: bool) -> io::Result<Open> {
        let content = self.names().open(path, may_create)?;
        Ok(Open { content, offset: 0 })
    }
}

impl FileSystem for MapFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        Ok(Arc::new(self.open(path, false)?))
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        Ok(Box::new(self.open(path, false)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let file = self.open(path, true)?;
        file.content.lock().unwrap().bytes.clear();
        Ok(Box::new(file))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        Ok(Box::new(self.open(path, true)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let names = &mut *self.names();
        if names.dirs.contains(to) || !names.has_parent(to) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let content = names.files.remove(from);
        let content = content.ok_or(io::ErrorKind::NotFound)?;
        names.files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names();
        names.open(path, false)?;
        names.files.remove(path);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.names().children(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let mut names = self.names();
        let is_dir = names.dirs.contains(path);
        let (len_bytes, modified) = match is_dir {
            true => (0, None),
            false => {
                let content = names.open(path, false)?;
                let content = content.lock().unwrap();
                (content.bytes.len() as u64, content.modified)
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
        let mut names = self.names();
        if names.dirs.contains(dir) || names.files.contains_key(dir) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !names.has_parent(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        names.dirs.insert(dir.to_owned());
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let mut names = self.names();
        if !names.children(dir)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        names.dirs.remove(dir);
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let content = self.open(path, true)?.content;
        if std::mem::replace(&mut content.lock().unwrap().is_locked, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(Lock {
            names: self.clone(),
            path: path.to_owned(),
            content,
        }))
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        let names = self.names();
        let content = names.files.get(path);
        let is_locked = content.is_some_and(|content| content.lock().unwrap().is_locked);
        Ok(is_locked.then_some(LockHolder { pid: None }))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.names().children(dir).map(drop)
    }
}

impl RandomFile for Open {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let start = usize::try_from(offset).unwrap().min(content.bytes.len());
        let rest = &content.bytes[start..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().bytes.len() as u64)
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

impl SequentialFile for Open {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.read_at(self.offset, buffer)?;
        self.offset += len as u64;
        Ok(len)
    }
}

impl WritableFile for Open {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.content.lock().unwrap().bytes.extend(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.content.lock().unwrap().modified = Some(time);
        Ok(())
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let len = usize::try_from(len_bytes).unwrap();
        self.content.lock().unwrap().bytes.truncate(len);
        Ok(())
    }
}

impl FileLock for Lock {
    fn is_held(&self) -> io::Result<bool> {
        let names = self.names.names();
        let there = names.files.get(&self.path);
        Ok(there.is_some_and(|there| Arc::ptr_eq(there, &self.content)))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.content.lock().unwrap().is_locked = false;
    }
}

fn storage(fs: &MapFileSystem) -> Storage {
    let clock = Arc::new(FixedClock::default());
    let mut options = StorageOptions::new(Arc::new(fs.clone()), "idb", clock);
    options.executor = Executor::Driven { seed: None };
    Storage::new(options).unwrap()
}

#[test]
fn a_hosts_own_file_system_keeps_the_contract() {
    let fs = MapFileSystem::default();
    fs.create_dir(Path::new("d")).unwrap();
    conformance::check(&fs, Path::new("d")).unwrap();
}

#[test]
fn a_database_on_a_hosts_own_file_system_is_there_when_it_is_opened_again() {
    let fs = MapFileSystem::default();
    let origin = Origin::from_url("https://a.example").unwrap();
    for count in 0..3 {
        let storage = storage(&fs);
        let factory = storage.factory(&origin);
        let opening = factory.open("db", None).unwrap();
        let opening = opening.with_upgrade(|upgrade| {
            let parameters = ObjectStoreParameters::default();
            let transaction = &upgrade.transaction;
            transaction
                .create_object_store("notes", parameters)
                .map(drop)
        });
        let connection = opening.wait().unwrap();
        let options = TransactionOptions::default();
        let names = ["notes"];
        let transaction = connection
            .transaction(names, TransactionMode::ReadWrite, options)
            .unwrap();
        let notes = transaction.object_store("notes").unwrap();
        assert_eq!(
            notes
                .count(larder_idb::KeyRange::all())
                .unwrap()
                .wait()
                .unwrap(),
            count
        );
        let value = Value::serialize("a note").unwrap();
        let key = Key::Number(count as f64);
        notes.put(value, Some(key)).unwrap().detach();
        transaction.commit().unwrap().wait().unwrap();
        // The lock is the file system's, too.
        let other = self::storage(&fs).factory(&origin).databases().wait();
        assert_eq!(other.unwrap_err().kind(), ErrorKind::Conflict);
        storage.close().unwrap();
    }
}
