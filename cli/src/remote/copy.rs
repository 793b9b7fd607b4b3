//! All files from a folder to an address, back, or from one address to another: each is read back and compared.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use sha2::{Digest, Sha256};

use super::writer;
use crate::progress::Progress;

/// Folders below one another, at most.
const DEPTH_MAX: usize = 20;

/// The end of a name that a file has until it is whole.
const UNFINISHED: &str = ".larder-copy";

/// What was copied.
#[derive(Default)]
struct Copied {
    files: u64,
    bytes: u64,
    /// Files that were there already, with equal content.
    kept: u64,
}

/// Copies all files. What is at TO already must have equal content: a copy that was broken off goes on.
pub(crate) fn copy(from: &Path, to: &Path, quiet: bool) -> Result<String, String> {
    let (source, from_root) = super::files(from)?;
    let files = list(&*source, &from_root)?;
    if !files.iter().any(|file| file.modified.is_some()) {
        return Err(format!("{}: there is no file", super::shown(from)));
    }
    let none_held = || {
        let folders = files.iter().filter(|file| file.is_dir);
        let folders = folders.map(|folder| from_root.join(&folder.path));
        let mut folders = folders.chain([from_root.clone()]);
        folders.try_for_each(|folder| held(&*source, &folder))
    };
    none_held()?;
    let progress = Progress::new(quiet);
    let copied = match super::is_address(to) {
        true => {
            let writer = writer::take(to)?;
            let target = writer.files();
            let copied = copy_files(
                &*source,
                &from_root,
                target,
                Path::new("/"),
                &files,
                &progress,
            );
            let closed = writer.close().map_err(|error| error.to_string());
            copied.and_then(|copied| closed.map(|()| copied))
        }
        false => {
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            let made = builder.recursive(true).create(to);
            made.map_err(|error| format!("{}: {error}", to.display()))?;
            let target: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
            copy_files(&*source, &from_root, &*target, to, &files, &progress)
        }
    };
    progress.finish();
    let copied = copied?;
    // A program that has begun meanwhile has changed what was read.
    none_held()?;
    let Copied { files, bytes, kept } = copied;
    let kept = match kept {
        0 => String::new(),
        kept => format!(", {kept} of them there already"),
    };
    Ok(format!(
        "{}: copied to {}: {files} files, {bytes} bytes{kept}; read back and compared",
        super::shown(from),
        super::shown(to)
    ))
}

/// A file or folder below a root.
struct Listed {
    path: PathBuf,
    is_dir: bool,
    /// A file's time; the beginning of 1970, if the files have none.
    modified: Option<std::time::SystemTime>,
}

/// All files and folders, folders before what is in them. A symbolic link, or anything else that is no file, is an error: it would be missing.
fn list(fs: &dyn FileSystem, root: &Path) -> Result<Vec<Listed>, String> {
    let mut listed: Vec<Listed> = Vec::new();
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let place = root.join(&dir);
        let named = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
        let mut names = fs.list(&place).map_err(|error| named(&place, &error))?;
        names.sort();
        for name in names {
            let path = dir.join(name);
            let place = root.join(&path);
            if place.to_string_lossy().ends_with(UNFINISHED) {
                continue;
            }
            let metadata = fs.metadata(&place).map_err(|error| named(&place, &error))?;
            if metadata.is_link {
                return Err(format!(
                    "{}: a symbolic link is not copied",
                    place.display()
                ));
            }
            if metadata.is_dir && depth >= DEPTH_MAX {
                return Err(format!("{}: folders are too deep", place.display()));
            }
            if metadata.is_dir {
                open.push((path.clone(), depth + 1));
            }
            let modified = metadata.modified.or(Some(std::time::UNIX_EPOCH));
            listed.push(Listed {
                path,
                is_dir: metadata.is_dir,
                modified: modified.filter(|_| !metadata.is_dir),
            });
        }
    }
    Ok(listed)
}

/// Fails if a program has the store of a folder open: its files do not fit together while it writes.
fn held(fs: &dyn FileSystem, dir: &Path) -> Result<(), String> {
    match fs.lock_holder(&dir.join("LOCK")) {
        Ok(Some(holder)) => {
            let who = holder.pid.map_or_else(
                || "another process".to_owned(),
                |pid| format!("process {pid}"),
            );
            Err(format!(
                "{}: in use by {who}: end it first; `larder copy` between folders copies stores in use",
                dir.display()
            ))
        }
        Ok(None) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("{}: {error}", dir.display())),
    }
}

fn copy_files(
    source: &dyn FileSystem,
    from: &Path,
    target: &dyn FileSystem,
    to: &Path,
    files: &[Listed],
    progress: &Progress,
) -> Result<Copied, String> {
    let mut copied = Copied::default();
    for file in files {
        let (source_path, target_path) = (from.join(&file.path), to.join(&file.path));
        let failed = |error: io::Error| format!("{}: {error}", target_path.display());
        progress.at(file.path.display().to_string());
        if file.is_dir {
            match target.create_dir(&target_path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => continue,
            }
        }
        let there = match target.metadata(&target_path) {
            Ok(_) => Some(digest(target, &target_path).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let unfinished = PathBuf::from(format!("{}{UNFINISHED}", target_path.display()));
        let (wanted, len_bytes) = match &there {
            Some(_) => digest(source, &source_path),
            None => write(source, &source_path, target, &unfinished, file.modified),
        }
        .map_err(|error| format!("{}: {error}", source_path.display()))?;
        let found = match &there {
            Some(found) => found.0,
            None => digest(target, &unfinished).map_err(failed)?.0,
        };
        match (found == wanted, there.is_some()) {
            (true, false) => target.rename(&unfinished, &target_path).map_err(failed)?,
            (true, true) => copied.kept += 1,
            (false, true) => {
                return Err(format!(
                    "{}: there is a file with other content: nothing is overwritten; choose another TO",
                    target_path.display()
                ));
            }
            (false, false) => {
                target.remove(&unfinished).map_err(failed)?;
                return Err(format!(
                    "{}: what was read back is not what was written",
                    target_path.display()
                ));
            }
        }
        copied.files += 1;
        copied.bytes += len_bytes;
    }
    // Names are durable when their folders are.
    let folders = files.iter().filter(|file| file.is_dir);
    for folder in folders
        .map(|file| to.join(&file.path))
        .chain([to.to_owned()])
    {
        target
            .sync_dir(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(copied)
}

type Sum = [u8; 32];

/// Gives the parts of a file to a function, and returns its sum and length.
fn each_part(
    fs: &dyn FileSystem,
    path: &Path,
    mut part: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(Sum, u64)> {
    let mut file = fs.open_sequential(path)?;
    let (mut sum, mut len_bytes, mut buffer) = (Sha256::new(), 0, vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((sum.finalize().into(), len_bytes)),
            n => {
                sum.update(&buffer[..n]);
                len_bytes += n as u64;
                part(&buffer[..n])?;
            }
        }
    }
}

fn digest(fs: &dyn FileSystem, path: &Path) -> io::Result<(Sum, u64)> {
    each_part(fs, path, |_| Ok(()))
}

fn write(
    source: &dyn FileSystem,
    from: &Path,
    target: &dyn FileSystem,
    to: &Path,
    modified: Option<std::time::SystemTime>,
) -> io::Result<(Sum, u64)> {
    let mut file = target.create(to)?;
    let written = each_part(source, from, |part| file.append(part))?;
    file.flush()?;
    // Times of blobs are part of a store: JavaScript sees them.
    if let Some(modified) = modified {
        file.set_modified(modified)?;
    }
    file.sync()?;
    Ok(written)
}
