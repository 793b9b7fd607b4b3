//! [`WorkerScripts`]: the files that workers' scripts are read from.
//!
//! A `file:` URL names any regular file, as an `import` does. A URL of the origin's is a file below the folder of files that
//! the host's owner has given, or else below the main script's folder.

use std::path::PathBuf;

use crate::files::{Files, path_of, regular_content};

/// Where scripts are found.
#[derive(Debug, Clone)]
pub(crate) struct WorkerScripts {
    pub(crate) origin: String,
    /// The folder below which scripts may read files.
    pub(crate) files: Option<PathBuf>,
    /// The folder of the main script.
    pub(crate) beside: Option<PathBuf>,
}

/// A script's text, and its path as modules are named.
pub(crate) struct Found {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
}

impl WorkerScripts {
    /// The script that a URL names.
    ///
    /// # Errors
    /// In words, if there is none.
    pub(crate) fn read(&self, url: &str) -> Result<Found, String> {
        let (path, bytes) = self.bytes(url)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        Ok(Found {
            path: path.to_str().map(str::to_owned),
            text: String::from_utf8_lossy(bytes).into_owned(),
        })
    }

    fn bytes(&self, url: &str) -> Result<(PathBuf, Vec<u8>), String> {
        let url = url.split(['?', '#']).next().unwrap_or(url);
        let own = url.strip_prefix(&self.origin);
        if let Some(pathname) = own.filter(|pathname| pathname.starts_with('/')) {
            let mut why = "no folder holds the origin's scripts".to_owned();
            for folder in [&self.files, &self.beside].into_iter().flatten() {
                let found = Files::below(folder).and_then(|files| files.find("", pathname));
                match found.and_then(|path| Ok((regular_content(&path)?, path))) {
                    Ok((bytes, path)) => return Ok((path, bytes)),
                    Err(error) => why = error,
                }
            }
            return Err(why);
        }
        let path = path_of(url)?;
        let path = path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let bytes = regular_content(&path)?;
        Ok((path, bytes))
    }
}
