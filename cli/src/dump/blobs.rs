//! Copying the contents of blobs and files out of a store.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use larder_backing_store::{Store, last_modified_ms};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::{DatabaseId, JsString};
use serde::Serialize;

use crate::display::{Quoted, Size};

/// Longest part of a file's own name that goes into the name of its copy, in characters.
const NAME_SHOWN_MAX: usize = 80;

/// Bytes copied at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// The folder that copies go into: `DIR/<store>/<database id>/<blob number>[-<file name>]`, numbers in hex as in the
/// store's own file names. `<store>` is the name of the store's folder; of several with one name (profiles, buckets)
/// the second gets `-2` behind it, and so on.
#[derive(Debug)]
pub(super) struct BlobFolder {
    root: PathBuf,
    /// Which store's blobs lie in which folder.
    of_stores: HashMap<String, PathBuf>,
}

/// An external object as a record's line lists it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
pub(crate) struct SavedObject {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<JsString>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    mime_type: Option<JsString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<i64>,
    #[serde(rename = "lastModified", skip_serializing_if = "Option::is_none")]
    last_modified_ms: Option<i64>,
    /// Where its content lies, relative to the store's blob folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
    /// Where its content was copied, relative to the folder given with `--blobs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl SavedObject {
    /// Describes an external object. What is wrong with its content comes back.
    #[cfg(feature = "view")]
    pub(crate) fn describe(
        store: &Store,
        database_id: DatabaseId,
        object: &ExternalObject,
    ) -> io::Result<(Self, Option<Box<dyn std::error::Error>>)> {
        Self::save(store, database_id, object, None)
    }

    /// Describes an external object and copies its content if there is a folder for it. What is wrong with the content
    /// comes back; an error means that the copy could not be written.
    pub(super) fn save(
        store: &Store,
        database_id: DatabaseId,
        object: &ExternalObject,
        folder: Option<&mut BlobFolder>,
    ) -> io::Result<(Self, Option<Box<dyn std::error::Error>>)> {
        let (kind, blob, name, modified) = match object {
            ExternalObject::Blob(blob) => ("blob", Some(blob), None, None),
            ExternalObject::File {
                blob,
                name,
                last_modified_micros,
            } => (
                "file",
                Some(blob),
                Some(name.clone()),
                Some(last_modified_ms(*last_modified_micros)),
            ),
            ExternalObject::FileSystemAccessHandle { .. } => {
                ("fileSystemAccessHandle", None, None, None)
            }
        };
        let mut saved = Self {
            kind,
            mime_type: blob.map(|blob| blob.mime_type.clone()),
            size: blob.map(|blob| blob.size_bytes),
            last_modified_ms: modified,
            blob: None,
            file: None,
            error: None,
            name,
        };
        let Some(blob) = blob else {
            return Ok((saved, None));
        };
        let paths = store.paths();
        let file = paths.blob_file(database_id, blob.number);
        if blob.size_bytes > 0 {
            saved.blob = file
                .strip_prefix(&paths.blob)
                .ok()
                .map(|path| path.display().to_string());
        }
        let mut content = match store.open_blob(database_id, blob) {
            Ok(content) => content,
            Err(error) => {
                saved.error = Some(error.to_string());
                return Ok((saved, Some(error.into())));
            }
        };
        if let Some(folder) = folder {
            let name = saved.name.as_ref();
            match folder.copy(store, database_id, blob, name, &mut content)? {
                Ok(copied) => saved.file = Some(copied),
                Err(problem) => {
                    let problem = format!("{}: {problem}", file.display());
                    saved.error = Some(problem.clone());
                    return Ok((saved, Some(problem.into())));
                }
            }
        }
        Ok((saved, None))
    }
}

/// For eyes: `file "a.txt", "text/plain", 17 B`.
impl fmt::Display for SavedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            "fileSystemAccessHandle" => f.write_str("file system handle")?,
            kind => f.write_str(kind)?,
        }
        if let Some(name) = &self.name {
            write!(f, " {}", Quoted(name))?;
        }
        if let Some(mime_type) = self.mime_type.as_ref().filter(|text| !text.is_empty()) {
            write!(f, ", {}", Quoted(mime_type))?;
        }
        match self.size.map(u64::try_from) {
            Some(Ok(size)) => write!(f, ", {}", Size(size))?,
            Some(Err(_)) => f.write_str(", of unknown size")?,
            None => {}
        }
        if let Some(blob) = &self.blob {
            write!(f, ", {blob}")?;
        }
        if let Some(file) = &self.file {
            write!(f, ", copied to {file}")?;
        }
        if self.error.is_some() {
            f.write_str(", not readable")?;
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the person's own output folder, not part of a store; a root may write there"
)]
impl BlobFolder {
    /// Makes the folder if it is missing, so that a place where nothing can be written is reported before anything
    /// else.
    pub(super) fn make(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root).map_err(|error| naming(root, &error))?;
        Ok(Self {
            root: root.to_owned(),
            of_stores: HashMap::new(),
        })
    }

    /// The folder for a store's blobs, relative to the root.
    fn of_store(&mut self, store: &Store) -> String {
        let paths = store.paths();
        let name = match (paths.identifier(), paths.bucket()) {
            (Some(identifier), _) => identifier.to_owned(),
            (None, Some(bucket)) => format!("bucket-{bucket}"),
            (None, None) => {
                let name = paths.leveldb.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        };
        let name = harmless(&name.into());
        let mut folder = name.clone();
        for n in 2.. {
            let owner = self
                .of_stores
                .entry(folder.clone())
                .or_insert_with(|| paths.leveldb.clone());
            if *owner == paths.leveldb {
                break;
            }
            folder = format!("{name}-{n}");
        }
        folder
    }

    /// Copies one content; the path of the copy below the root, or what is wrong with the source.
    pub(super) fn copy(
        &mut self,
        store: &Store,
        database_id: DatabaseId,
        blob: &BlobInfo,
        name: Option<&JsString>,
        content: &mut dyn Read,
    ) -> io::Result<Result<String, io::Error>> {
        let file_name = file_name(blob.number.get().cast_unsigned(), name);
        let relative = format!(
            "{}/{:x}/{file_name}",
            self.of_store(store),
            database_id.get()
        );
        let target = self.root.join(&relative);
        let failed = |error: io::Error| naming(&target, &error);
        if let Some(dir) = target.parent() {
            fs::create_dir_all(dir).map_err(failed)?;
        }
        let mut file = fs::File::create(&target).map_err(failed)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match content.read(&mut chunk) {
                Ok(0) => return Ok(Ok(relative)),
                Ok(read) => file
                    .write_all(chunk.get(..read).unwrap_or_default())
                    .map_err(failed)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}

/// The name of a blob's file: its number, and what a file was called, as far as that is harmless.
pub(crate) fn file_name(number: u64, name: Option<&JsString>) -> String {
    let mut file_name = format!("{number:x}");
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        file_name.push('-');
        file_name.push_str(&harmless(name));
    }
    file_name
}

/// The error with the path that it is about.
fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A name that is one plain component of a path on every system: stored names may hold separators, dots that lead
/// upwards, and control characters.
fn harmless(name: &JsString) -> String {
    name.to_string_lossy()
        .chars()
        .take(NAME_SHOWN_MAX)
        .map(|c| match c {
            '.' | '-' | '_' | ' ' => c,
            c if c.is_alphanumeric() => c,
            _ => '_',
        })
        .collect::<String>()
        .trim_matches([' ', '.'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_name_cannot_lead_out_of_the_folder() {
        let cases = [
            ("../../etc/passwd", "_.._etc_passwd"),
            ("..", ""),
            ("a\\b:c\u{0}.txt", "a_b_c_.txt"),
            ("naïve 😀.txt", "naïve _.txt"),
        ];
        for (name, expected) in cases {
            assert_eq!(harmless(&name.into()), expected);
        }
    }
}
