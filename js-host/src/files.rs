//! [`Files`]: the files that `fetch` reads, and workers' scripts: those below one folder.
//!
//! No symbolic link below the folder is followed, and only regular files are opened.

use std::path::{Component, Path, PathBuf};

use larder_idb::{DiskFileSystem, FileSystem};
use url::Url;

/// Bytes that are read at a time.
const CHUNK_LEN_BYTES: usize = 1 << 16;

/// A folder that scripts may read in.
#[derive(Debug)]
pub(crate) struct Files {
    /// The folder as it was given, and its full name without symbolic links.
    folders: [PathBuf; 2],
}

impl Files {
    /// The files below `folder`.
    ///
    /// # Errors
    /// In words, if there is no such folder.
    pub(crate) fn below(folder: &Path) -> Result<Self, String> {
        let unusable = |error| format!("{}: {error}", folder.display());
        let full = folder.canonicalize().map_err(unusable)?;
        if !full.is_dir() {
            return Err(format!("{}: it is no folder", folder.display()));
        }
        let given = std::path::absolute(folder).map_err(unusable)?;
        Ok(Self {
            folders: [given, full],
        })
    }

    /// The bytes of the file that a `file:` URL names, or, for an empty URL, of the one at this path of the origin's.
    ///
    /// # Errors
    /// In words, if it is none of those that may be read, or cannot be.
    pub(crate) fn read(&self, url: &str, pathname: &str) -> Result<Vec<u8>, String> {
        regular_content(&self.find(url, pathname)?)
    }

    /// The path of the file that a `file:` URL names, or, for an empty URL, of the one at this path of the origin's.
    ///
    /// # Errors
    /// In words, if it is none of those that may be read.
    pub(crate) fn find(&self, url: &str, pathname: &str) -> Result<PathBuf, String> {
        let inside = match url {
            "" => path_of(&format!("file://{pathname}"))?
                .strip_prefix("/")
                .map(Path::to_owned)
                .unwrap_or_default(),
            url => self.inside(&path_of(url)?)?,
        };
        let mut path = self.folders[1].clone();
        let parts: Vec<Component<'_>> = inside.components().collect();
        for (n, part) in parts.iter().enumerate() {
            let Component::Normal(name) = part else {
                return Err(self.outside());
            };
            path.push(name);
            let unreadable = |error| format!("{}: {error}", path.display());
            let metadata = DiskFileSystem::new().metadata(&path).map_err(unreadable)?;
            if metadata.is_link {
                let what = "it is a symbolic link, which is not followed";
                return Err(format!("{}: {what}", path.display()));
            }
            if metadata.is_dir && n + 1 == parts.len() {
                return Err(format!("{}: it is a folder", path.display()));
            }
        }
        if parts.is_empty() {
            return Err(format!("{}: it is a folder", path.display()));
        }
        Ok(path)
    }

    /// What remains of a path below the folder.
    fn inside(&self, path: &Path) -> Result<PathBuf, String> {
        let mut found = self.folders.iter();
        let inside = found.find_map(|folder| path.strip_prefix(folder).ok());
        inside.map(Path::to_owned).ok_or_else(|| self.outside())
    }

    fn outside(&self) -> String {
        format!("only files below {} may be read", self.folders[0].display())
    }
}

/// The path that a `file:` URL names.
pub(crate) fn path_of(url: &str) -> Result<PathBuf, String> {
    let path = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
    path.ok_or_else(|| "the URL names no file".to_owned())
}

/// The bytes of a regular file.
///
/// # Errors
/// In words, if it is none, or cannot be read.
pub(crate) fn regular_content(path: &Path) -> Result<Vec<u8>, String> {
    content(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = DiskFileSystem::new().open_sequential(path)?;
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK_LEN_BYTES]);
    loop {
        let len = file.read(&mut chunk)?;
        if len == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&chunk[..len]);
    }
}
