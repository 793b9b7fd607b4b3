//! How much the files below a folder take.

use std::io;
use std::path::Path;

use larder_leveldb::storage::FileSystem;

use crate::report::Report;
use crate::scan::Scan;

/// Folders below the blob folder: databases, then two hex digits.
pub(crate) const BLOB_DEPTH_MAX: usize = 4;

impl Scan<'_> {
    /// As [`sizes_below`], of the scan's store.
    pub(crate) fn sizes_below(&mut self, dir: &Path, depth_max: usize) -> (u64, u64) {
        sizes_below(&**self.store.fs(), dir, depth_max, self.report)
    }
}

/// Bytes in files, and number of files, down to `depth_max` folders below `dir`. Unreadable folders are reported,
/// a missing `dir` counts as empty.
pub(crate) fn sizes_below(
    fs: &dyn FileSystem,
    dir: &Path,
    depth_max: usize,
    report: &mut Report,
) -> (u64, u64) {
    let (mut bytes, mut files) = (0_u64, 0);
    let mut pending = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = pending.pop() {
        let names = match fs.list(&dir) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                report.damage(dir.display(), &error);
                continue;
            }
        };
        for name in names {
            let path = dir.join(name);
            match fs.metadata(&path) {
                Ok(metadata) if metadata.is_dir && depth < depth_max => {
                    pending.push((path, depth + 1))
                }
                Ok(metadata) if !metadata.is_dir => {
                    bytes = bytes.saturating_add(metadata.len_bytes);
                    files += 1;
                }
                Ok(_) => {}
                // Removed since the folder was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => report.damage(path.display(), &error),
            }
        }
    }
    (bytes, files)
}
