//! Where an archive is written: a folder or a file that appears whole, or not at all.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{Unfinished, files};
use larder_leveldb::storage::{FileSystem, WritableFile};

use super::error::ArchiveError;
use super::{BLOBS_FOLDER, LINES_FILE};

/// Lines are written by so many bytes: few enough that they are still in a processor's own cache when the kernel takes them, and more
/// than a file puts together by itself.
const PIECE_LEN: usize = 128 << 10;

/// Lines are packed by so many bytes.
const PACKED_PIECE_LEN: usize = 1 << 20;

/// Bytes of a blob that are read at a time. A multiple of three, so that each is base64 without an end in the midst.
const BLOB_PIECE_LEN: usize = 96 << 10;

/// What an archive is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A folder: the file `archive.jsonl`, and blobs as files in the folder `blobs`.
    Folder,
    /// One file of lines, with the blobs in it.
    File,
    /// One file, packed with zstd.
    PackedFile,
}

impl Form {
    /// The form that an archive of this name has: a file if it ends in `.jsonl` or `.jsonl.zst`, else a folder.
    #[must_use]
    pub fn of_name(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match () {
            () if name.ends_with(".jsonl.zst") => Self::PackedFile,
            () if name.ends_with(".jsonl") => Self::File,
            () => Self::Folder,
        }
    }

    const fn piece_len(self) -> usize {
        match self {
            Self::PackedFile => PACKED_PIECE_LEN,
            Self::Folder | Self::File => PIECE_LEN,
        }
    }
}

/// What is being written.
pub(super) struct Target {
    fs: Arc<dyn FileSystem>,
    to: PathBuf,
    /// None if nothing is to be written.
    unfinished: Option<Unfinished>,
    pub(super) form: Form,
    lines: Option<Box<dyn WritableFile>>,
    buffer: Vec<u8>,
    has_blobs: bool,
}

impl Target {
    /// Begins where there is nothing.
    pub(super) fn begin(
        fs: Arc<dyn FileSystem>,
        to: &Path,
        form: Form,
        dry_run: bool,
    ) -> Result<Self, ArchiveError> {
        if files::exists(&*fs, to)? {
            let what = "there is something of this name already: choose another name, or move it away first";
            return Err(ArchiveError::new(to, what));
        }
        if form == Form::PackedFile && cfg!(not(feature = "zstd")) {
            let what =
                "this larder was built without the feature zstd: choose a name that ends in .jsonl";
            return Err(ArchiveError::new(to, what));
        }
        if let Some(folder) = to.parent().filter(|dir| !dir.as_os_str().is_empty())
            && !files::exists(&*fs, folder)?
        {
            let what = "there is no such folder: make it first";
            return Err(ArchiveError::new(folder, what));
        }
        let mut target = Self {
            fs,
            to: to.to_owned(),
            unfinished: None,
            form,
            lines: None,
            buffer: Vec::with_capacity(form.piece_len()),
            has_blobs: false,
        };
        if dry_run {
            return Ok(target);
        }
        let unfinished = target.unfinished.insert(Unfinished::begin(&target.fs, to)?);
        let file = match form {
            Form::Folder => {
                let dir = unfinished.path();
                let made = target.fs.create_dir(dir);
                made.map_err(|error| ArchiveError::io(dir, "cannot be made", error))?;
                dir.join(LINES_FILE)
            }
            Form::File | Form::PackedFile => unfinished.path().to_owned(),
        };
        let created = target.fs.create(&file);
        target.lines =
            Some(created.map_err(|error| ArchiveError::io(&file, "cannot be made", error))?);
        Ok(target)
    }

    /// Writes a blob: to a file of its own, or as lines. What was read of it and does not lead to an end is an error of the source,
    /// inside.
    pub(super) fn blob(
        &mut self,
        number: u64,
        name: &str,
        content: &mut dyn Read,
    ) -> Result<io::Result<u64>, ArchiveError> {
        match self.form {
            Form::Folder => self.blob_file(name, content),
            Form::File | Form::PackedFile => self.blob_lines(number, content),
        }
    }

    fn blob_file(
        &mut self,
        name: &str,
        content: &mut dyn Read,
    ) -> Result<io::Result<u64>, ArchiveError> {
        let Some(unfinished) = &self.unfinished else {
            return Ok(io::copy(content, &mut io::sink()));
        };
        let dir = unfinished.path().join(BLOBS_FOLDER);
        if !self.has_blobs {
            let made = self.fs.create_dir(&dir);
            made.map_err(|error| ArchiveError::io(&dir, "cannot be made", error))?;
            self.has_blobs = true;
        }
        let path = dir.join(name);
        let failed = |error| ArchiveError::io(&path, "cannot be written", error);
        let mut file = self.fs.create(&path).map_err(failed)?;
        let mut piece = vec![0; BLOB_PIECE_LEN];
        let mut len = 0;
        loop {
            match content.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    file.append(piece.get(..read).unwrap_or_default())
                        .map_err(failed)?;
                    len += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    drop(file);
                    self.fs.remove(&path).map_err(failed)?;
                    return Ok(Err(error));
                }
            }
        }
        file.sync().map_err(failed)?;
        Ok(Ok(len))
    }

    fn blob_lines(
        &mut self,
        number: u64,
        content: &mut dyn Read,
    ) -> Result<io::Result<u64>, ArchiveError> {
        let mut piece = vec![0; BLOB_PIECE_LEN];
        let mut text = Vec::new();
        let mut len = 0;
        loop {
            let read = match fill(content, &mut piece) {
                Ok(0) => return Ok(Ok(len)),
                Ok(read) => read,
                Err(error) => return Ok(Err(error)),
            };
            len += read as u64;
            text.clear();
            // Writing into a vector cannot fail.
            let _ = write!(text, "{{\"blob\":{number},\"base64\":\"");
            super::push_base64(&mut text, piece.get(..read).unwrap_or_default());
            text.extend_from_slice(b"\"}\n");
            self.line(&text)?;
        }
    }

    /// Writes a line, which has its end.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), ArchiveError> {
        self.buffer.extend_from_slice(line);
        match self.buffer.len() >= self.form.piece_len() {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), ArchiveError> {
        let Some(lines) = &mut self.lines else {
            self.buffer.clear();
            return Ok(());
        };
        let appended = match self.form {
            #[cfg(feature = "zstd")]
            Form::PackedFile => {
                use ruzstd::encoding::{CompressionLevel, compress_to_vec};
                lines.append(&compress_to_vec(
                    &self.buffer[..],
                    CompressionLevel::Fastest,
                ))
            }
            _ => lines.append(&self.buffer),
        };
        self.buffer.clear();
        // A record that was large does not take its memory to the end.
        self.buffer.shrink_to(self.form.piece_len());
        appended.map_err(|error| ArchiveError::io(&self.to, "cannot be written", error))
    }

    /// Makes everything durable, and gives it its name.
    pub(super) fn finish(mut self) -> Result<(), ArchiveError> {
        self.write()?;
        let failed = |error| ArchiveError::io(&self.to, "cannot be written to its end", error);
        if let Some(mut lines) = self.lines.take() {
            lines.sync().map_err(failed)?;
        }
        match self.unfinished.take() {
            Some(unfinished) => Ok(unfinished.finish()?),
            None => Ok(()),
        }
    }
}

/// Reads until the piece is full, or there is no more.
fn fill(content: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = piece.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match content.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
