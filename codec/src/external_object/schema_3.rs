//! External objects as stores of schema 3 have them: files without size and time (`docs/FORMAT.md`, 6.6).
//!
//! A row that holds only blobs has the same bytes in both forms. A row with files does not show its form: the store's
//! schema version says which one it has.

use crate::error::Result;
use crate::ids::BlobNumber;
use crate::js_string::JsString;
use crate::primitive::{boolean, string_with_length, var_int};
use crate::reader::{Reader, decode_exact_with, decode_with};

/// One external object of a record in a store of schema 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema3Object {
    /// Names its file.
    pub number: BlobNumber,
    /// MIME type, maybe empty.
    pub mime_type: JsString,
    /// What follows, by kind.
    pub kind: Schema3Kind,
}

/// The two kinds of schema 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schema3Kind {
    /// A Blob.
    Blob {
        /// Size in bytes, at most 2^63-1.
        size_bytes: i64,
    },
    /// A File; its size and time of last modification are those of the file on disk.
    File {
        /// Its name.
        name: JsString,
    },
}

impl Schema3Object {
    /// Appends the object.
    pub fn encode(&self, out: &mut Vec<u8>) {
        boolean::encode(matches!(self.kind, Schema3Kind::File { .. }), out);
        var_int::encode(self.number.get(), out);
        string_with_length::encode(&self.mime_type, out);
        match &self.kind {
            Schema3Kind::Blob { size_bytes } => var_int::encode(*size_bytes, out),
            Schema3Kind::File { name } => string_with_length::encode(name, out),
        }
    }

    /// Takes one object.
    ///
    /// # Errors
    /// On a blob number below 2, a negative size, or short input. Like every Bool, "is a file" is
    /// true for any byte but zero.
    pub fn decode(input: &[u8]) -> Result<(Self, &[u8])> {
        decode_with(input, Self::read)
    }

    /// The one object that is the whole of `input`.
    ///
    /// # Errors
    /// As [`Schema3Object::decode`], and on left-over bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        decode_exact_with(input, "external object", Self::read)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let is_file = reader.byte("external object type")? != 0;
        let number = BlobNumber::read(reader)?;
        let mime_type = string_with_length::read_owned(reader, "blob type")?;
        let kind = if is_file {
            let name = string_with_length::read_owned(reader, "file name")?;
            Schema3Kind::File { name }
        } else {
            let size_bytes = var_int::read_length(reader, "blob size")?.cast_signed();
            Schema3Kind::Blob { size_bytes }
        };
        Ok(Self {
            number,
            mime_type,
            kind,
        })
    }
}

/// The objects of one record, which are the whole of `input`.
///
/// # Errors
/// As [`Schema3Object::decode`].
pub fn decode_all(input: &[u8]) -> Result<Vec<Schema3Object>> {
    decode_exact_with(input, "external objects", |reader| {
        let mut objects = Vec::new();
        while !reader.is_empty() {
            objects.push(Schema3Object::read(reader)?);
        }
        Ok(objects)
    })
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::external_object::{BlobInfo, ExternalObject};
    use crate::testing::{below, bytes_of, properties};

    impl Arbitrary for Schema3Object {
        fn arbitrary(g: &mut Gen) -> Self {
            Self {
                number: BlobNumber::arbitrary(g),
                mime_type: JsString::arbitrary(g),
                kind: match below(g, 2) {
                    0 => Schema3Kind::File {
                        name: JsString::arbitrary(g),
                    },
                    _ => Schema3Kind::Blob {
                        size_bytes: i64::arbitrary(g) & i64::MAX,
                    },
                },
            }
        }
    }

    #[test]
    fn a_file_has_a_name_and_no_size_and_reads_as_another_in_todays_form() {
        let bytes = [1, 2, 0, 1, 0, 0x66];
        let file = Schema3Object {
            number: BlobNumber::new(2).unwrap(),
            mime_type: "".into(),
            kind: Schema3Kind::File { name: "f".into() },
        };
        assert_eq!(decode_all(&bytes), Ok(vec![file]));
        // The same bytes are a file in today's form, too: one byte long, without a name.
        let today = ExternalObject::decode_exact(&bytes);
        assert!(matches!(today, Ok(ExternalObject::File { blob, .. }) if blob.size_bytes == 1));
    }

    properties! {
        fn every_object_round_trips_and_every_cut_fails(object: Schema3Object) -> bool {
            let bytes = bytes_of(|out| object.encode(out));
            Schema3Object::decode_exact(&bytes) == Ok(object)
                && (0..bytes.len()).all(|len| Schema3Object::decode(&bytes[..len]).is_err())
        }

        fn blobs_have_the_same_bytes_in_both_forms(object: Schema3Object) -> bool {
            let Schema3Kind::Blob { size_bytes } = object.kind else { return true };
            let today = ExternalObject::Blob(BlobInfo {
                number: object.number,
                mime_type: object.mime_type.clone(),
                size_bytes,
            });
            bytes_of(|out| today.encode(out)) == bytes_of(|out| object.encode(out))
        }

        fn any_input_decodes_or_errs(input: Vec<u8>) -> bool {
            match Schema3Object::decode(&input) {
                // The Bool in front has many ways to be true.
                Ok((object, rest)) => {
                    let bytes = [bytes_of(|out| object.encode(out)).as_slice(), rest].concat();
                    bytes[1..] == input[1..]
                }
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
