//! External objects: blobs, files and file system handles that a record refers to
//! (`docs/FORMAT.md`, 6.5).
//!
//! Where a blob's bytes lie on disk is the backing store's affair; here is only its number.

pub mod schema_3;

use crate::error::{ErrorKind, Result};
use crate::ids::BlobNumber;
use crate::js_string::JsString;
use crate::primitive::{binary, string_with_length, var_int};
use crate::reader::{Reader, decode_exact_with, decode_with};

const BLOB: u8 = 0;
const FILE: u8 = 1;
const FILE_SYSTEM_ACCESS_HANDLE: u8 = 2;

/// One external object of a record, as written since schema 4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalObject {
    /// A Blob.
    Blob(BlobInfo),
    /// A File.
    File {
        /// What it has as a Blob.
        blob: BlobInfo,
        /// Its name.
        name: JsString,
        /// When it was last modified: microseconds since 1601-01-01 UTC.
        last_modified_micros: i64,
    },
    /// A handle of the File System Access API.
    FileSystemAccessHandle {
        /// Serialised by the browser.
        token: Vec<u8>,
    },
}

/// What every Blob has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobInfo {
    /// Names its file.
    pub number: BlobNumber,
    /// MIME type, maybe empty.
    pub mime_type: JsString,
    /// Size in bytes, at most 2^63-1; an empty blob has no file.
    pub size_bytes: i64,
}

impl ExternalObject {
    /// Appends the type byte and the object.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Blob(blob) => {
                out.push(BLOB);
                blob.encode(out);
            }
            Self::File {
                blob,
                name,
                last_modified_micros,
            } => {
                out.push(FILE);
                blob.encode(out);
                string_with_length::encode(name, out);
                var_int::encode(*last_modified_micros, out);
            }
            Self::FileSystemAccessHandle { token } => {
                out.push(FILE_SYSTEM_ACCESS_HANDLE);
                binary::encode(token, out);
            }
        }
    }

    /// Takes one object.
    ///
    /// # Errors
    /// On an unknown type, a blob number below 2, a negative size, or short input.
    pub fn decode(input: &[u8]) -> Result<(Self, &[u8])> {
        decode_with(input, Self::read)
    }

    /// The one object that is the whole of `input`.
    ///
    /// # Errors
    /// As [`ExternalObject::decode`], and on left-over bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        decode_exact_with(input, "external object", Self::read)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let at_type = *reader;
        match reader.byte("external object type")? {
            BLOB => BlobInfo::read(reader).map(Self::Blob),
            FILE => Ok(Self::File {
                blob: BlobInfo::read(reader)?,
                name: string_with_length::read_owned(reader, "file name")?,
                last_modified_micros: var_int::read(reader, "file last modified")?,
            }),
            FILE_SYSTEM_ACCESS_HANDLE => {
                let token = binary::read(reader, "file system access token")?.to_vec();
                Ok(Self::FileSystemAccessHandle { token })
            }
            tag => Err(at_type.error(ErrorKind::UnknownTag { tag }, "external object type")),
        }
    }
}

/// Milliseconds since 1970 of a time of last modification, as `File.lastModified` shows it.
///
/// ```
/// use larder_codec::external_object::last_modified_ms;
/// assert_eq!(last_modified_ms(11_644_473_600_000_000 + 1_500_000), 1500);
/// ```
#[must_use]
pub const fn last_modified_ms(last_modified_micros: i64) -> i64 {
    /// 1970-01-01 in microseconds since 1601-01-01.
    const UNIX_EPOCH_MICROS: i64 = 11_644_473_600_000_000;
    last_modified_micros
        .saturating_sub(UNIX_EPOCH_MICROS)
        .div_euclid(1000)
}

impl BlobInfo {
    fn encode(&self, out: &mut Vec<u8>) {
        var_int::encode(self.number.get(), out);
        string_with_length::encode(&self.mime_type, out);
        var_int::encode(self.size_bytes, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            number: BlobNumber::read(reader)?,
            mime_type: string_with_length::read_owned(reader, "blob type")?,
            // Fits: the length was read as a number that is not negative.
            size_bytes: var_int::read_length(reader, "blob size")?.cast_signed(),
        })
    }
}

/// Appends the objects of one record: the value of its external object row.
pub fn encode_all(objects: &[ExternalObject], out: &mut Vec<u8>) {
    for object in objects {
        object.encode(out);
    }
}

/// The objects of one record, which are the whole of `input`.
///
/// # Errors
/// As [`ExternalObject::decode`].
pub fn decode_all(input: &[u8]) -> Result<Vec<ExternalObject>> {
    decode_exact_with(input, "external objects", |reader| {
        let mut objects = Vec::new();
        while !reader.is_empty() {
            objects.push(ExternalObject::read(reader)?);
        }
        Ok(objects)
    })
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::testing::{below, bytes_of, damage, properties};

    impl Arbitrary for ExternalObject {
        fn arbitrary(g: &mut Gen) -> Self {
            let blob = BlobInfo {
                number: BlobNumber::arbitrary(g),
                mime_type: JsString::arbitrary(g),
                size_bytes: i64::arbitrary(g) & i64::MAX >> below(g, 63),
            };
            match below(g, 3) {
                0 => Self::Blob(blob),
                1 => Self::File {
                    blob,
                    name: JsString::arbitrary(g),
                    last_modified_micros: i64::arbitrary(g) >> below(g, 64),
                },
                _ => Self::FileSystemAccessHandle {
                    token: Vec::arbitrary(g),
                },
            }
        }
    }

    #[derive(Debug, Clone)]
    struct NearlyObjects(Vec<u8>);

    impl Arbitrary for NearlyObjects {
        fn arbitrary(g: &mut Gen) -> Self {
            let objects: Vec<_> = (0..below(g, 3))
                .map(|_| ExternalObject::arbitrary(g))
                .collect();
            Self(damage(g, bytes_of(|out| encode_all(&objects, out))))
        }
    }

    #[test]
    fn each_type_has_its_bytes() {
        let blob = BlobInfo {
            number: BlobNumber::new(2).unwrap(),
            mime_type: "t".into(),
            size_bytes: 300,
        };
        let file = ExternalObject::File {
            blob: blob.clone(),
            name: "f".into(),
            last_modified_micros: 5,
        };
        let handle = ExternalObject::FileSystemAccessHandle { token: vec![9] };
        let bytes = bytes_of(|out| encode_all(&[ExternalObject::Blob(blob), file, handle], out));
        assert_eq!(
            bytes,
            [
                0, 2, 1, 0, 0x74, 0xac, 2, // blob
                1, 2, 1, 0, 0x74, 0xac, 2, 1, 0, 0x66, 5, // file
                2, 1, 9, // handle
            ]
        );
        assert_eq!(decode_all(&bytes).unwrap().len(), 3);
    }

    #[test]
    fn unknown_types_numbers_below_2_and_negative_sizes_are_refused() {
        assert!(decode_all(&[3]).is_err());
        assert!(decode_all(&[0, 1, 0, 0]).is_err());
        let mut negative = vec![0, 2, 0];
        var_int::encode(-1, &mut negative);
        assert!(decode_all(&negative).is_err());
        assert_eq!(decode_all(&[0, 2, 0, 0, 7]).unwrap_err().offset(), 4);
    }

    properties! {
        fn every_object_round_trips_and_every_cut_fails(object: ExternalObject) -> bool {
            let bytes = bytes_of(|out| object.encode(out));
            ExternalObject::decode_exact(&bytes) == Ok(object)
                && (0..bytes.len()).all(|len| ExternalObject::decode(&bytes[..len]).is_err())
        }

        fn any_input_decodes_to_the_one_list_with_that_encoding_or_errs(input: NearlyObjects) -> bool {
            let NearlyObjects(input) = input;
            match decode_all(&input) {
                Ok(objects) => bytes_of(|out| encode_all(&objects, out)) == input,
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
