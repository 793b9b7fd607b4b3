//! Disks that get full.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use larder_leveldb::storage::{DiskFileSystem, LimitedFileSystem};

use super::FileSystem;
use larder_idb::MemoryFileSystem;

const BLOCK_LEN: u64 = 4096;
const ROOM_BYTES: u64 = 3 << 20;

/// One of some MiB.
pub(crate) struct Disk {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) folder: PathBuf,
    pub(crate) limited: Option<LimitedFileSystem>,
    pub(crate) _mounted: Option<Mounted>,
    pub(crate) _parent: Option<tempfile::TempDir>,
}

impl Disk {
    pub(crate) fn over(inner: Arc<dyn FileSystem>, block_len: u64) -> Self {
        let limited = LimitedFileSystem::new(inner, block_len);
        Self {
            fs: Arc::new(limited.clone()),
            folder: "idb".into(),
            limited: Some(limited),
            _mounted: None,
            _parent: None,
        }
    }

    pub(crate) fn in_memory() -> Self {
        Self::over(Arc::new(MemoryFileSystem::new()), BLOCK_LEN)
    }

    pub(crate) fn in_a_folder() -> Self {
        Self::in_a_folder_over(Arc::new(DiskFileSystem::new()), BLOCK_LEN)
    }

    /// The file system is that of the disk, or passes on to it.
    pub(crate) fn in_a_folder_over(inner: Arc<dyn FileSystem>, block_len: u64) -> Self {
        let parent = tempfile::tempdir().unwrap();
        Self {
            folder: parent.path().join("idb"),
            _parent: Some(parent),
            ..Self::over(inner, block_len)
        }
    }

    /// A file system of its own, where this process may mount one.
    pub(crate) fn mounted() -> Option<Self> {
        let parent = tempfile::tempdir().unwrap();
        let mounted = Mounted::new(parent.path())?;
        Some(Self {
            fs: Arc::new(DiskFileSystem::new()),
            folder: parent.path().join("idb"),
            limited: None,
            _mounted: Some(mounted),
            _parent: Some(parent),
        })
    }

    /// From now on there is so much room and no more.
    pub(crate) fn limit(&self) {
        if let Some(limited) = &self.limited {
            limited.leave(ROOM_BYTES / BLOCK_LEN, None);
        }
    }

    /// There is room again.
    pub(crate) fn extend(&self) {
        if let Some(limited) = &self.limited {
            limited.extend();
        }
    }

    /// In blocks.
    pub(crate) fn used_bytes(&self) -> u64 {
        used_bytes(&*self.fs, &self.folder)
    }
}

fn used_bytes(fs: &dyn FileSystem, dir: &Path) -> u64 {
    let mut used = 0;
    for name in fs.list(dir).unwrap() {
        let path = dir.join(name);
        let metadata = match fs.metadata(&path) {
            // Background work may remove a file that has just been listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata.unwrap(),
        };
        used += match metadata.is_dir {
            true => used_bytes(fs, &path),
            false => metadata.len_bytes.next_multiple_of(BLOCK_LEN),
        };
    }
    used
}

pub(crate) struct Mounted(PathBuf);

impl Mounted {
    fn new(dir: &Path) -> Option<Self> {
        let size = format!("size={}k", ROOM_BYTES / 1024);
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir);
        let done = mount.output().ok()?;
        done.status.success().then(|| Self(dir.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}
