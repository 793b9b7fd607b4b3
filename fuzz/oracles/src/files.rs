//! A folder of files in memory, and its form as one byte string.
//!
//! The form, an *archive*: for each file the length of its path (1 byte), the path (UTF-8), the length of its content (4
//! bytes, little-endian), the content. A content that is shorter than it says ends the archive.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

use crate::input::Input;

/// Files by path, relative to a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl Files {
    /// Reads an archive: any bytes are one. Paths that are none, or that lead out of the root, are left out.
    #[must_use]
    pub fn from_archive(bytes: &[u8]) -> Files {
        let (mut input, mut files) = (Input(bytes), Files::default());
        while !input.is_empty() {
            let len = input.byte();
            let path = input.bytes(usize::from(len));
            let len = u32::from(input.u16()) | u32::from(input.u16()) << 16;
            let content = input.bytes(len as usize);
            let Ok(path) = std::str::from_utf8(path) else {
                continue;
            };
            let is_plain = Path::new(path)
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if is_plain && !path.is_empty() && !path.ends_with('/') {
                files.0.insert(path.to_owned(), content.to_vec());
            }
        }
        files
    }

    /// Writes an archive.
    ///
    /// # Panics
    /// If a path is longer than 255 bytes or a file than 4 GiB.
    #[must_use]
    pub fn to_archive(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (path, content) in &self.0 {
            out.push(u8::try_from(path.len()).expect("a short path"));
            out.extend_from_slice(path.as_bytes());
            out.extend_from_slice(
                &u32::try_from(content.len())
                    .expect("a small file")
                    .to_le_bytes(),
            );
            out.extend_from_slice(content);
        }
        out
    }

    /// A file system with these files; a file whose path needs a directory where a file is stays out.
    #[must_use]
    pub fn mount(&self) -> Arc<MemoryFileSystem> {
        let fs = MemoryFileSystem::new();
        for (path, content) in &self.0 {
            let mut parents: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
            parents.pop();
            for dir in parents.into_iter().rev() {
                // It is there already, or cannot be.
                let _ = fs.create_dir(dir);
            }
            if let Ok(mut file) = fs.create(Path::new(path)) {
                file.append(content).expect("memory takes bytes");
            }
        }
        Arc::new(fs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_reads_back_and_mounts() {
        let pairs = [("a/b/c", &b"12"[..]), ("d", b""), ("a/e", b"345")];
        let files = Files(
            pairs
                .iter()
                .map(|(path, content)| ((*path).to_owned(), content.to_vec()))
                .collect(),
        );
        assert_eq!(Files::from_archive(&files.to_archive()), files);
        let fs = files.mount();
        assert_eq!(fs.metadata(Path::new("a/b/c")).unwrap().len_bytes, 2);
        assert_eq!(fs.metadata(Path::new("a/e")).unwrap().len_bytes, 3);
    }

    #[test]
    fn paths_that_lead_elsewhere_are_left_out() {
        let bytes = b"\x04../x\x01\0\0\0a\x02/y\x01\0\0\0b\x01z\x09\0\0\0cut";
        let files = Files::from_archive(bytes);
        assert_eq!(
            files.0.into_iter().collect::<Vec<_>>(),
            [("z".to_owned(), b"cut".to_vec())]
        );
    }
}
