//! Host objects: what Blink, not V8, writes into a value.
//!
//! One tag byte after V8's `\` (before V8 version 13 in its place), then the fields listed in
//! `docs/format/values.md`. Numbers are varints unless said otherwise, strings are UTF-8 with a
//! varint length in bytes. Sources: Blink `v8_script_value_deserializer.cc` (core) and
//! `v8_script_value_deserializer_for_modules.cc`. Blobs and files carry only the position of their
//! entry in the record's list of external objects; resolving it is the caller's work.

mod crypto;
mod file;
mod geometry;
mod image;

pub use crypto::{CryptoKey, CryptoKeyAlgorithm, CryptoKeyType, CryptoKeyUsages};
pub use file::{FileSystemHandle, HandleKind, LegacyFile};
pub use geometry::{DomMatrix, DomPoint, DomRect};
pub use image::{ColorSpace, ImageBitmap, ImageData, PixelFormat};

use super::js_str::JsStr;
use super::reader::{Reader, error, invalid};
use super::tag::host as tag;
use super::writer::Writer;
use crate::{ErrorKind, Result};

/// An object of the web platform.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HostObject<'a> {
    /// A `Blob`: its position in the record's external objects.
    Blob(u32),
    /// A `File`: its position in the record's external objects.
    File(u32),
    /// A `FileList`: the positions of its files.
    FileList(Box<[u32]>),
    /// A `Blob` as written before wire version 6: a name that died with its browser process.
    LegacyBlob {
        /// The blob's UUID.
        uuid: JsStr<'a>,
        /// Its MIME type.
        mime_type: JsStr<'a>,
        /// Its size in bytes.
        size: u64,
    },
    /// A `File` as written before wire version 6.
    LegacyFile(LegacyFile<'a>),
    /// A `FileList` as written before wire version 6.
    LegacyFileList(Box<[LegacyFile<'a>]>),
    /// A `FileSystemFileHandle` or `FileSystemDirectoryHandle`.
    FileSystemHandle(FileSystemHandle<'a>),
    /// A `DOMFileSystem` (Chromium's own, older file system API).
    DomFileSystem {
        /// Its type, as Chromium numbers them.
        fs_type: u32,
        /// Its name.
        name: JsStr<'a>,
        /// The URL of its root.
        root_url: JsStr<'a>,
    },
    /// An `ImageData`.
    ImageData(ImageData<'a>),
    /// An `ImageBitmap`.
    ImageBitmap(ImageBitmap<'a>),
    /// A `DOMPoint`.
    DomPoint(DomPoint),
    /// A `DOMPointReadOnly`.
    DomPointReadOnly(DomPoint),
    /// A `DOMRect`.
    DomRect(DomRect),
    /// A `DOMRectReadOnly`.
    DomRectReadOnly(DomRect),
    /// A `DOMQuad`: its four points.
    DomQuad([DomPoint; 4]),
    /// A `DOMMatrix`.
    DomMatrix(DomMatrix),
    /// A `DOMMatrixReadOnly`.
    DomMatrixReadOnly(DomMatrix),
    /// A `CryptoKey`.
    CryptoKey(CryptoKey<'a>),
    /// An `RTCCertificate`.
    RtcCertificate {
        /// The private key, PEM.
        private_key_pem: JsStr<'a>,
        /// The certificate, PEM.
        certificate_pem: JsStr<'a>,
    },
    /// A `DOMException`.
    DomException {
        /// Its name.
        name: JsStr<'a>,
        /// Its message.
        message: JsStr<'a>,
        /// Its stack; Chromium writes it and never reads it.
        stack: JsStr<'a>,
    },
    /// A `QuotaExceededError` (its own class since Chromium 138).
    QuotaExceededError {
        /// Its message.
        message: JsStr<'a>,
        /// Its stack.
        stack: JsStr<'a>,
        /// The quota, if it is given.
        quota: Option<f64>,
        /// The requested number of bytes, if it is given.
        requested: Option<f64>,
    },
}

impl<'a> HostObject<'a> {
    /// Reads one host object, beginning with its tag. `version` is Blink's wire format version.
    pub(super) fn read(reader: &mut Reader<'a>, version: u32) -> Result<Self> {
        let start = reader.offset();
        let tag = reader.byte("host object tag")?;
        Ok(match tag {
            tag::BLOB_INDEX => Self::Blob(index(reader, version, start)?),
            tag::FILE_INDEX => Self::File(index(reader, version, start)?),
            tag::FILE_LIST_INDEX => Self::FileList(file::read_list(reader, |reader| {
                index(reader, version, start)
            })?),
            tag::BLOB => Self::LegacyBlob {
                uuid: reader.utf8("blob UUID")?,
                mime_type: reader.utf8("blob type")?,
                size: reader.varint_u64("blob size")?,
            },
            tag::FILE => Self::LegacyFile(LegacyFile::read(reader, version)?),
            tag::FILE_LIST => Self::LegacyFileList(file::read_list(reader, |reader| {
                LegacyFile::read(reader, version)
            })?),
            tag::FILE_SYSTEM_FILE_HANDLE => {
                Self::FileSystemHandle(FileSystemHandle::read(reader, HandleKind::File)?)
            }
            tag::FILE_SYSTEM_DIRECTORY_HANDLE => {
                Self::FileSystemHandle(FileSystemHandle::read(reader, HandleKind::Directory)?)
            }
            tag::DOM_FILE_SYSTEM => Self::DomFileSystem {
                fs_type: reader.varint_u32("file system type")?,
                name: reader.utf8("file system name")?,
                root_url: reader.utf8("file system root")?,
            },
            tag::IMAGE_DATA => Self::ImageData(ImageData::read(reader, version)?),
            tag::IMAGE_BITMAP => Self::ImageBitmap(ImageBitmap::read(reader, version)?),
            tag::DOM_POINT => Self::DomPoint(DomPoint::read(reader)?),
            tag::DOM_POINT_READ_ONLY => Self::DomPointReadOnly(DomPoint::read(reader)?),
            tag::DOM_RECT => Self::DomRect(DomRect::read(reader)?),
            tag::DOM_RECT_READ_ONLY => Self::DomRectReadOnly(DomRect::read(reader)?),
            tag::DOM_QUAD => Self::DomQuad([
                DomPoint::read(reader)?,
                DomPoint::read(reader)?,
                DomPoint::read(reader)?,
                DomPoint::read(reader)?,
            ]),
            tag::DOM_MATRIX => Self::DomMatrix(DomMatrix::read_3d(reader)?),
            tag::DOM_MATRIX_READ_ONLY => Self::DomMatrixReadOnly(DomMatrix::read_3d(reader)?),
            tag::DOM_MATRIX_2D => Self::DomMatrix(DomMatrix::read_2d(reader)?),
            tag::DOM_MATRIX_2D_READ_ONLY => Self::DomMatrixReadOnly(DomMatrix::read_2d(reader)?),
            tag::CRYPTO_KEY => Self::CryptoKey(CryptoKey::read(reader)?),
            tag::RTC_CERTIFICATE => Self::RtcCertificate {
                private_key_pem: reader.utf8("private key")?,
                certificate_pem: reader.utf8("certificate")?,
            },
            tag::DOM_EXCEPTION => Self::DomException {
                name: reader.utf8("DOMException name")?,
                message: reader.utf8("DOMException message")?,
                stack: reader.utf8("DOMException stack")?,
            },
            tag::QUOTA_EXCEEDED_ERROR => Self::QuotaExceededError {
                message: reader.utf8("QuotaExceededError message")?,
                stack: reader.utf8("QuotaExceededError stack")?,
                quota: optional_f64(reader)?,
                requested: optional_f64(reader)?,
            },
            tag => return unknown(tag, start),
        })
    }
}

impl HostObject<'_> {
    /// Writes one host object, beginning with its tag.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        if let Some((v8, blink, what)) = self.needs() {
            writer.needs(v8, blink, what);
        }
        writer.host_tag(self.tag());
        match self {
            Self::Blob(index) | Self::File(index) => writer.varint(*index),
            Self::FileList(indices) => {
                writer.len(indices.len());
                indices.iter().for_each(|index| writer.varint(*index));
            }
            Self::LegacyBlob {
                uuid,
                mime_type,
                size,
            } => {
                writer.utf8(*uuid);
                writer.utf8(*mime_type);
                writer.varint(*size);
            }
            Self::LegacyFile(file) => file.write(writer),
            Self::LegacyFileList(files) => {
                writer.len(files.len());
                files.iter().for_each(|file| file.write(writer));
            }
            Self::FileSystemHandle(handle) => handle.write(writer),
            Self::DomFileSystem {
                fs_type,
                name,
                root_url,
            } => {
                writer.varint(*fs_type);
                writer.utf8(*name);
                writer.utf8(*root_url);
            }
            Self::ImageData(image) => image.write(writer),
            Self::ImageBitmap(image) => image.write(writer),
            Self::DomPoint(point) | Self::DomPointReadOnly(point) => point.write(writer),
            Self::DomRect(rect) | Self::DomRectReadOnly(rect) => rect.write(writer),
            Self::DomQuad(points) => points.iter().for_each(|point| point.write(writer)),
            Self::DomMatrix(matrix) | Self::DomMatrixReadOnly(matrix) => matrix.write(writer),
            Self::CryptoKey(key) => key.write(writer),
            Self::RtcCertificate {
                private_key_pem,
                certificate_pem,
            } => {
                writer.utf8(*private_key_pem);
                writer.utf8(*certificate_pem);
            }
            Self::DomException {
                name,
                message,
                stack,
            } => {
                writer.utf8(*name);
                writer.utf8(*message);
                writer.utf8(*stack);
            }
            Self::QuotaExceededError {
                message,
                stack,
                quota,
                requested,
            } => {
                writer.utf8(*message);
                writer.utf8(*stack);
                for number in [quota, requested] {
                    writer.varint(u32::from(number.is_some()));
                    writer.f64(number.unwrap_or(0.0));
                }
            }
        }
    }

    /// What not every version has a form for: the least V8's and Blink's versions, and its name.
    fn needs(&self) -> Option<(u32, u32, &'static str)> {
        Some(match self {
            Self::Blob(_)
            | Self::File(_)
            | Self::FileList(_)
            | Self::LegacyBlob { .. }
            | Self::LegacyFile(_)
            | Self::LegacyFileList(_)
            | Self::DomFileSystem { .. }
            | Self::RtcCertificate { .. } => return None,
            Self::FileSystemHandle(_) => (14, 20, "a FileSystemHandle"),
            Self::ImageData(image) => return image.needs(),
            Self::ImageBitmap(image) => return Some(image.needs()),
            Self::DomPoint(_)
            | Self::DomPointReadOnly(_)
            | Self::DomRect(_)
            | Self::DomRectReadOnly(_)
            | Self::DomQuad(_)
            | Self::DomMatrix(_)
            | Self::DomMatrixReadOnly(_) => (13, 18, "a geometry object"),
            Self::CryptoKey(key) => return key.needs(),
            Self::DomException { .. } => (13, 20, "a DOMException"),
            Self::QuotaExceededError { .. } => (16, 21, "a QuotaExceededError"),
        })
    }

    const fn tag(&self) -> u8 {
        match self {
            Self::Blob(_) => tag::BLOB_INDEX,
            Self::File(_) => tag::FILE_INDEX,
            Self::FileList(_) => tag::FILE_LIST_INDEX,
            Self::LegacyBlob { .. } => tag::BLOB,
            Self::LegacyFile(_) => tag::FILE,
            Self::LegacyFileList(_) => tag::FILE_LIST,
            Self::FileSystemHandle(handle) => match handle.kind {
                HandleKind::File => tag::FILE_SYSTEM_FILE_HANDLE,
                HandleKind::Directory => tag::FILE_SYSTEM_DIRECTORY_HANDLE,
            },
            Self::DomFileSystem { .. } => tag::DOM_FILE_SYSTEM,
            Self::ImageData(_) => tag::IMAGE_DATA,
            Self::ImageBitmap(_) => tag::IMAGE_BITMAP,
            Self::DomPoint(_) => tag::DOM_POINT,
            Self::DomPointReadOnly(_) => tag::DOM_POINT_READ_ONLY,
            Self::DomRect(_) => tag::DOM_RECT,
            Self::DomRectReadOnly(_) => tag::DOM_RECT_READ_ONLY,
            Self::DomQuad(_) => tag::DOM_QUAD,
            Self::DomMatrix(DomMatrix { is_2d: true, .. }) => tag::DOM_MATRIX_2D,
            Self::DomMatrix(_) => tag::DOM_MATRIX,
            Self::DomMatrixReadOnly(DomMatrix { is_2d: true, .. }) => tag::DOM_MATRIX_2D_READ_ONLY,
            Self::DomMatrixReadOnly(_) => tag::DOM_MATRIX_READ_ONLY,
            Self::CryptoKey(_) => tag::CRYPTO_KEY,
            Self::RtcCertificate { .. } => tag::RTC_CERTIFICATE,
            Self::DomException { .. } => tag::DOM_EXCEPTION,
            Self::QuotaExceededError { .. } => tag::QUOTA_EXCEEDED_ERROR,
        }
    }
}

fn unknown<T>(tag: u8, offset: usize) -> Result<T> {
    let what = tag::TRANSFERS
        .iter()
        .find(|(transfer, _)| *transfer == tag)
        .map_or("host object tag", |(_, what)| what);
    error(ErrorKind::UnknownTag { tag }, offset, what)
}

/// A position in the external objects. Versions before 6 had none.
fn index(reader: &mut Reader<'_>, version: u32, start: usize) -> Result<u32> {
    const INDEX_VERSION_MIN: u32 = 6;
    if version < INDEX_VERSION_MIN {
        return invalid(
            u64::from(version),
            start,
            "wire version of an external object",
        );
    }
    reader.varint_u32("external object index")
}

/// Whether there is a number, and the number (written either way).
fn optional_f64(reader: &mut Reader<'_>) -> Result<Option<f64>> {
    let present = reader.bool32("QuotaExceededError flag")?;
    let number = reader.f64("QuotaExceededError number")?;
    Ok(present.then_some(number))
}
