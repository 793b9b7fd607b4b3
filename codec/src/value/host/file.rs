//! Files and file system handles.

use crate::Result;
use crate::value::js_str::JsStr;
use crate::value::reader::{Reader, invalid};
use crate::value::writer::Writer;

/// A `File` as Blink wrote it before wire version 6, and as it still writes it for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct LegacyFile<'a> {
    /// The path on the machine that wrote it.
    pub path: JsStr<'a>,
    /// The name; before version 4 there was none.
    pub name: Option<JsStr<'a>>,
    /// The path below the directory that was chosen.
    pub relative_path: Option<JsStr<'a>>,
    /// The UUID of the blob behind it.
    pub uuid: JsStr<'a>,
    /// The MIME type.
    pub mime_type: JsStr<'a>,
    /// Size in bytes and last modification in milliseconds since 1970, if taken when writing.
    pub snapshot: Option<(u64, f64)>,
}

impl<'a> LegacyFile<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, version: u32) -> Result<Self> {
        // Blink: 3 took up UUIDs, 4 completed the fields, 7 added visibility, 8 went from seconds
        // to milliseconds.
        if version < 3 {
            return invalid(
                u64::from(version),
                reader.offset(),
                "wire version of a file",
            );
        }
        let complete = version >= 4;
        let path = reader.utf8("file path")?;
        let name = complete.then(|| reader.utf8("file name")).transpose()?;
        let relative_path = complete
            .then(|| reader.utf8("file relative path"))
            .transpose()?;
        let uuid = reader.utf8("file UUID")?;
        let mime_type = reader.utf8("file type")?;
        let mut snapshot = None;
        if complete && reader.varint_u32("file snapshot flag")? != 0 {
            let size = reader.varint_u64("file size")?;
            let modified = reader.f64("file modification time")?;
            snapshot = Some((
                size,
                if version < 8 {
                    modified * 1000.0
                } else {
                    modified
                },
            ));
        }
        if version >= 7 {
            reader.varint_u32("file visibility")?;
        }
        Ok(Self {
            path,
            name,
            relative_path,
            uuid,
            mime_type,
            snapshot,
        })
    }
}

impl LegacyFile<'_> {
    /// Writes the fields of today: complete, in milliseconds, with visibility.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        const USER_VISIBLE: u32 = 1;
        writer.utf8(self.path);
        writer.utf8(self.name.unwrap_or(JsStr::EMPTY));
        writer.utf8(self.relative_path.unwrap_or(JsStr::EMPTY));
        writer.utf8(self.uuid);
        writer.utf8(self.mime_type);
        writer.varint(u32::from(self.snapshot.is_some()));
        if let Some((size, modified)) = self.snapshot {
            writer.varint(size);
            writer.f64(modified);
        }
        writer.varint(USER_VISIBLE);
    }
}

/// A varint count, then that many entries. Nothing is reserved on the word of the count: each
/// entry takes at least a byte, so the input bounds the list.
pub(super) fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<T>,
) -> Result<Box<[T]>> {
    let count = reader.varint_u32("FileList length")?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(read(reader)?);
    }
    Ok(list.into_boxed_slice())
}

/// Which of the two handle classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    /// `FileSystemFileHandle`
    File,
    /// `FileSystemDirectoryHandle`
    Directory,
}

/// A handle of the File System Access API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemHandle<'a> {
    /// Which class.
    pub kind: HandleKind,
    /// The name of the file or directory.
    pub name: JsStr<'a>,
    /// The position of its token among the record's handle tokens (blobs and files not counted).
    pub token_index: u32,
}

impl<'a> FileSystemHandle<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, kind: HandleKind) -> Result<Self> {
        Ok(Self {
            kind,
            name: reader.utf8("handle name")?,
            token_index: reader.varint_u32("handle token index")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.utf8(self.name);
        writer.varint(self.token_index);
    }
}
