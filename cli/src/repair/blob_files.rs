//! Blob files that no record of the repaired store refers to: salvaged with their times.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use larder_backing_store::{Error, StorePaths, files};
use larder_leveldb::storage::FileSystem;

use super::salvaged::io_error;
use crate::copy::Blob;

/// Bytes of a file copied at a time.
const PIECE_LEN: usize = 256 << 10;

/// Copies every file in the store's blob folder but those of `kept` into `to`: how many there are, and their bytes. Without `to`
/// they are only counted.
///
/// # Errors
/// `Io`, of the copies: what cannot be read is named in `problems`.
pub(super) fn copy_others(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    kept: &[Blob],
    to: Option<&Path>,
    problems: &mut Vec<String>,
) -> Result<(u64, u64), Error> {
    let kept: BTreeSet<_> = kept
        .iter()
        .map(|blob| paths.blob_file(blob.database, blob.number))
        .collect();
    let (mut count, mut len_bytes) = (0, 0);
    for database in list(fs, &paths.blob, problems) {
        for half in list(fs, &paths.blob.join(&database), problems) {
            let dir = Path::new(&database).join(&half);
            for name in list(fs, &paths.blob.join(&dir), problems) {
                let below = dir.join(name);
                let from = paths.blob.join(&below);
                if kept.contains(&from) {
                    continue;
                }
                count += 1;
                len_bytes += fs.metadata(&from).map_or(0, |metadata| metadata.len_bytes);
                if let Some(to) = to {
                    files::create_parents(fs, &to.join(&below))?;
                    copy(fs, &from, &to.join(&below), problems)?;
                }
            }
        }
    }
    Ok((count, len_bytes))
}

/// The names in a folder; none if it is not there, or no folder.
fn list(fs: &dyn FileSystem, dir: &Path, problems: &mut Vec<String>) -> Vec<OsString> {
    match fs.metadata(dir) {
        Ok(metadata) if metadata.is_dir => {}
        _ => return Vec::new(),
    }
    fs.list(dir).map_or_else(
        |error| {
            problems.push(format!("{}: cannot be listed: {error}", dir.display()));
            Vec::new()
        },
        |mut names| {
            names.sort();
            names
        },
    )
}

fn copy(
    fs: &dyn FileSystem,
    from: &Path,
    to: &Path,
    problems: &mut Vec<String>,
) -> Result<(), Error> {
    let mut source = match fs.open_sequential(from) {
        Ok(source) => source,
        Err(error) => {
            problems.push(format!("{}: cannot be read: {error}", from.display()));
            return Ok(());
        }
    };
    let failed = |error| io_error(to, error);
    let mut file = fs.create(to).map_err(failed)?;
    let mut piece = vec![0; PIECE_LEN];
    loop {
        let len = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let what = format!("{}: cannot be read to its end: {error}", from.display());
                problems.push(what);
                break;
            }
        };
        let read = piece.get(..len).unwrap_or_default();
        file.append(read).map_err(failed)?;
    }
    if let Some(time) = fs
        .metadata(from)
        .ok()
        .and_then(|metadata| metadata.modified)
    {
        file.set_modified(time).map_err(failed)?;
    }
    file.sync().map_err(failed)
}
