//! Blobs, files and handles of records, on their way from an archive.

use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::blob::{BlobSource, NewExternalObject};
use larder_codec::BlobNumber;
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_leveldb::storage::FileSystem;

use super::BLOBS_FOLDER;
use super::json::{Json, Wrong};
use super::spool::Spool;
use crate::file_part::FilePart;

/// From 1601 to 1970, in microseconds.
pub(crate) const UNIX_EPOCH_MICROS: i64 = 11_644_473_600_000_000;

/// What a record refers to.
#[derive(Default)]
pub(super) struct Objects {
    /// To be put.
    pub(super) new: Vec<NewExternalObject>,
    /// As key paths see it.
    pub(super) as_stored: Vec<ExternalObject>,
}

/// Contents of blobs: pieces that have come, and files of a folder.
pub(super) struct Contents {
    spool: Spool,
    /// The blob of which pieces have come, and where it begins.
    open: Option<(u64, u64)>,
    blobs: Vec<(u64, Arc<FilePart>)>,
    /// The archive, if it is a folder: its file system and its path.
    folder: Option<(Arc<dyn FileSystem>, PathBuf)>,
}

impl Contents {
    pub(super) const fn new(spool: Spool, folder: Option<(Arc<dyn FileSystem>, PathBuf)>) -> Self {
        Self {
            spool,
            open: None,
            blobs: Vec::new(),
            folder,
        }
    }

    /// The pieces that have come are no record's any more.
    pub(super) fn forget(&mut self) {
        self.end_blob();
        self.blobs.clear();
    }

    /// What was spooled can be read.
    pub(super) fn flush(&mut self) -> Result<(), Wrong> {
        self.spool.flush().map_err(|error| error.to_string())
    }

    /// Nothing that was spooled is needed any more.
    pub(super) fn clear(&mut self) -> Result<(), Wrong> {
        self.spool.clear().map_err(|error| error.to_string())
    }

    pub(super) fn blob(&mut self, number: u64, bytes: &[u8]) -> Result<(), Wrong> {
        if self.open.is_none_or(|(open, _)| open != number) {
            self.end_blob();
            if self.blobs.iter().any(|(own, _)| *own == number) {
                return Err(format!(
                    "the pieces of the blob {number} are not all next to each other"
                ));
            }
            self.open = Some((number, self.spool.len()));
        }
        self.spool
            .append(bytes)
            .map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The pieces of a blob have come.
    pub(super) fn end_blob(&mut self) {
        if let Some((number, offset)) = self.open.take() {
            self.blobs.push((number, Arc::new(self.spool.part(offset))));
        }
    }

    /// What a record refers to: to be put, and as key paths see it. `None` if the archive does not have one of them.
    pub(super) fn objects(&self, list: &[Json]) -> Result<Option<Objects>, Wrong> {
        let Objects {
            mut new,
            mut as_stored,
        } = Objects::default();
        for json in list {
            let kind = json.need("kind")?.text()?;
            if kind == "fileSystemAccessHandle" {
                let token = json.need("token")?.base64()?;
                as_stored.push(ExternalObject::FileSystemAccessHandle {
                    token: token.clone(),
                });
                new.push(NewExternalObject::FileSystemAccessHandle { token });
                continue;
            }
            let mime_type = json.need("type")?.name()?;
            let size = json.need("size")?.whole()?;
            if json.get("error").is_some() {
                return Ok(None);
            }
            let content = self.content(json, size)?;
            let blob = BlobInfo {
                number: BlobNumber::MIN,
                mime_type: mime_type.clone(),
                size_bytes: i64::try_from(size).unwrap_or(i64::MAX),
            };
            match kind {
                "blob" => {
                    as_stored.push(ExternalObject::Blob(blob));
                    new.push(NewExternalObject::Blob { mime_type, content });
                }
                "file" => {
                    let name = json.need("name")?.name()?;
                    let last_modified_micros = last_modified(json)?;
                    as_stored.push(ExternalObject::File {
                        blob,
                        name: name.clone(),
                        last_modified_micros,
                    });
                    new.push(NewExternalObject::File {
                        mime_type,
                        content,
                        name,
                        last_modified_micros,
                    });
                }
                other => {
                    return Err(format!(
                        "there are no external objects of the kind {other:?}"
                    ));
                }
            }
        }
        Ok(Some(Objects { new, as_stored }))
    }

    fn content(&self, json: &Json, size: u64) -> Result<Arc<dyn BlobSource>, Wrong> {
        if let Some(number) = json.get("blob") {
            let number = number.whole()?;
            let found = self.blobs.iter().find(|(own, _)| *own == number);
            return match found {
                Some((_, part)) if part.size_bytes() == size => {
                    Ok(Arc::clone(part) as Arc<dyn BlobSource>)
                }
                Some((_, part)) => Err(format!(
                    "the blob {number} has {} bytes, and should have {size}",
                    part.size_bytes()
                )),
                None if size == 0 => Ok(Arc::new(Vec::new())),
                None => Err(format!(
                    "the pieces of the blob {number} do not come right before its record"
                )),
            };
        }
        let path = json.need("file")?.text()?;
        let name = path
            .strip_prefix(BLOBS_FOLDER)
            .and_then(|rest| rest.strip_prefix('/'));
        let leads_away = |name: &&str| {
            !matches!(*name, "" | "." | "..") && !name.contains(['/', '\\', ':', '\0'])
        };
        let name = name
            .filter(leads_away)
            .ok_or_else(|| format!("{path:?} is no file in the archive's folder {BLOBS_FOLDER}"))?;
        let (fs, folder) = self
            .folder
            .as_ref()
            .ok_or("only an archive that is a folder has files")?;
        let path = folder.join(BLOBS_FOLDER).join(name);
        let found = fs
            .metadata(&path)
            .map_err(|error| format!("{}: its metadata cannot be read: {error}", path.display()))?;
        if found.is_link {
            return Err(format!(
                "{}: is a symbolic link, which is not followed: put the file itself in its place",
                path.display()
            ));
        }
        if found.len_bytes != size || found.is_dir {
            return Err(format!(
                "{}: has {} bytes, and should have {size}",
                path.display(),
                found.len_bytes
            ));
        }
        Ok(Arc::new(FilePart::whole(Arc::clone(fs), path, size)))
    }
}

/// When a file was last modified, in microseconds since 1601: as the store said it, or from what a script is shown.
fn last_modified(json: &Json) -> Result<i64, Wrong> {
    if let Some(micros) = json.get("lastModifiedMicros") {
        let text = micros.text()?;
        return text
            .parse()
            .map_err(|_| format!("{text:?} is no number of microseconds"));
    }
    let ms = json.need("lastModified")?.number()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large is the greatest"
    )]
    let ms = ms as i64;
    Ok(ms.saturating_mul(1000).saturating_add(UNIX_EPOCH_MICROS))
}
