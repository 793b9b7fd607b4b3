//! What the process and its folder take: threads, open files, memory, files and bytes on disk.

use std::fmt;
use std::path::Path;

use crate::model::Model;

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    threads: u64,
    open_files: u64,
    memory_kib: u64,
    blobs: u64,
    files: u64,
    disk_bytes: u64,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, disk) = (self.memory_kib >> 10, self.disk_bytes >> 20);
        write!(
            f,
            "{} threads, {} open files, {memory} MiB of memory, {} files with {} blobs and {disk} MiB on disk",
            self.threads, self.open_files, self.files, self.blobs
        )
    }
}

/// A number in the process's status.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Adds the files below a folder: all, those in folders of blobs, their bytes. A file may go away meanwhile.
fn add_files(folder: &Path, is_blobs: bool, sums: &mut (u64, u64, u64)) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let is_blobs = is_blobs || name.to_string_lossy().ends_with(".indexeddb.blob");
                add_files(&entry.path(), is_blobs, sums);
            }
            Ok(metadata) => {
                sums.0 += 1;
                sums.1 += u64::from(is_blobs);
                sums.2 += metadata.len();
            }
            Err(_) => {}
        }
    }
}

impl Machine {
    pub(crate) fn now(folder: &Path) -> Self {
        let mut sums = (0, 0, 0);
        add_files(folder, false, &mut sums);
        Self {
            threads: status("Threads:"),
            open_files: std::fs::read_dir("/proc/self/fd").unwrap().count() as u64,
            memory_kib: status("VmRSS:"),
            files: sums.0,
            blobs: sums.1,
            disk_bytes: sums.2,
        }
    }

    /// Every blob file is one that the model's rows refer to, or that a transaction has put aside since (few).
    pub(crate) fn check_blobs(&self, folder: &Path, model: &Model) {
        let live = model.blobs();
        assert!(
            self.blobs <= live + live / 10 + 50,
            "{} blob files below {} for {live} blobs",
            self.blobs,
            folder.display()
        );
    }

    /// The rows of a round are other ones than those of another, of about as many bytes: so some more is allowed.
    pub(crate) fn check_no_more_than(&self, first: &Self) {
        let what = format!("{first}; then {self}");
        assert!(self.threads <= first.threads, "threads: {what}");
        assert!(self.open_files <= first.open_files, "open files: {what}");
        assert!(self.files <= first.files * 3 / 2 + 100, "files: {what}");
        let memory_max_kib = first.memory_kib * 3 / 2 + (8 << 10);
        assert!(self.memory_kib <= memory_max_kib, "memory: {what}");
        let disk_max_bytes = first.disk_bytes * 3 / 2 + (16 << 20);
        assert!(self.disk_bytes <= disk_max_bytes, "disk: {what}");
    }
}
