//! Opens regular files and nothing else.
//!
//! A store's folder may come from anywhere. A FIFO in it would block its opener for ever, a symbolic link would lead to a file
//! that is none of the store's. So no link is followed, no opening waits, and what was opened is asked what it is: a look at
//! the name before that could be outdated.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::path::Path;

/// For reading.
pub(super) fn read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// For writing, empty; made if it is missing.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Emptied when it is known what it is.
    let file = open(options.write(true).create(true).truncate(false), path)?;
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    Ok(file)
}

/// For writing at its end; made if it is missing.
pub(super) fn append(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().append(true).create(true), path)
}

/// For a lock; made if it is missing.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open(&mut options, path)
}

#[cfg(unix)]
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // The bits of a C int.
    options.custom_flags(flags.bits().cast_signed()).mode(0o600);
    match options.open(path) {
        Ok(file) => match refusal(file.metadata()?.file_type()) {
            None => Ok(file),
            Some(refused) => Err(refused),
        },
        // What a link, a FIFO without a reader or a socket gives is as good as no reason. The name says it.
        Err(error) => {
            let named = fs::symlink_metadata(path).ok();
            Err(named
                .and_then(|metadata| refusal(metadata.file_type()))
                .unwrap_or(error))
        }
    }
}

#[cfg(not(unix))]
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => match refusal(metadata.file_type()) {
            None => options.open(path),
            Some(refused) => Err(refused),
        },
        Err(_) => options.open(path),
    }
}

/// Why a file of this type is not opened; `None` for a regular one.
fn refusal(file_type: FileType) -> Option<io::Error> {
    if file_type.is_file() {
        return None;
    }
    let kind = match file_type.is_dir() {
        true => io::ErrorKind::IsADirectory,
        false => io::ErrorKind::InvalidData,
    };
    let what = what_it_is(file_type);
    let text =
        format!("it is {what}; a store's files are regular files, and nothing else is opened");
    Some(io::Error::new(kind, text))
}

#[cfg(unix)]
fn what_it_is(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    match () {
        () if file_type.is_dir() => "a directory",
        () if file_type.is_symlink() => "a symbolic link",
        () if file_type.is_fifo() => "a FIFO (named pipe)",
        () if file_type.is_socket() => "a socket",
        () if file_type.is_block_device() || file_type.is_char_device() => "a device",
        () => "of an unknown type",
    }
}

#[cfg(not(unix))]
fn what_it_is(file_type: FileType) -> &'static str {
    match () {
        () if file_type.is_dir() => "a directory",
        () if file_type.is_symlink() => "a symbolic link",
        () => "of an unknown type",
    }
}
