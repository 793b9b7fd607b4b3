//! IDBKeyPath: where a record's key is found in its value (`docs/FORMAT.md`, 6.1).
//!
//! Coding only: whether a string is a valid key path, and evaluating it, is not done here.

use crate::error::{ErrorKind, Result};
use crate::js_string::JsString;
use crate::primitive::{string, string_with_length, var_int};
use crate::reader::{Reader, decode_exact_with};

const NULL: u8 = 0;
const STRING: u8 = 1;
const ARRAY: u8 = 2;

/// A key path. The tail of its row's value.
///
/// ```
/// use larder_codec::KeyPath;
/// let path = KeyPath::String("id".into());
/// let mut bytes = Vec::new();
/// path.encode(&mut bytes);
/// assert_eq!(bytes, [0, 0, 1, 2, 0, 0x69, 0, 0x64]);
/// // The oldest stores have the bare string.
/// assert_eq!(KeyPath::decode_exact(&[0, 0x69, 0, 0x64]), Ok(path));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyPath {
    /// No key path: keys are given apart from the value.
    #[default]
    Null,
    /// One path.
    String(JsString),
    /// Several paths: the key is an array.
    Array(Vec<JsString>),
}

/// One path.
impl From<&str> for KeyPath {
    fn from(path: &str) -> Self {
        Self::String(path.into())
    }
}

/// One path.
impl From<String> for KeyPath {
    fn from(path: String) -> Self {
        Self::String(path.into())
    }
}

/// One path.
impl From<JsString> for KeyPath {
    fn from(path: JsString) -> Self {
        Self::String(path)
    }
}

/// Several paths, also if there is one alone: the key is an array.
impl<T: Into<JsString>, const N: usize> From<[T; N]> for KeyPath {
    fn from(paths: [T; N]) -> Self {
        Self::Array(paths.into_iter().map(Into::into).collect())
    }
}

/// Several paths, also if there is one alone: the key is an array.
impl<T: Into<JsString>> From<Vec<T>> for KeyPath {
    fn from(paths: Vec<T>) -> Self {
        Self::Array(paths.into_iter().map(Into::into).collect())
    }
}

impl KeyPath {
    /// Appends the typed form: `00 00`, the type, and what it holds.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(&[0, 0, NULL]),
            Self::String(path) => {
                out.extend_from_slice(&[0, 0, STRING]);
                string_with_length::encode(path, out);
            }
            Self::Array(paths) => {
                out.extend_from_slice(&[0, 0, ARRAY]);
                var_int::encode(paths.len() as i64, out);
                for path in paths {
                    string_with_length::encode(path, out);
                }
            }
        }
    }

    /// The key path that is the whole of `input`, in the typed form or in the old one.
    ///
    /// The old form is the bare String. It is taken when `input` is shorter than three bytes or does
    /// not begin with `00 00`; it is never written.
    ///
    /// # Errors
    /// In the typed form: an unknown type, a bad count, bytes missing or left over. In the old form:
    /// an odd number of bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        match input {
            [0, 0, _, ..] => decode_exact_with(input, "key path", Self::read_typed),
            _ => string::decode_exact(input).map(Self::String),
        }
    }

    fn read_typed(reader: &mut Reader<'_>) -> Result<Self> {
        reader.take(2, "key path")?;
        let at_type = *reader;
        match reader.byte("key path type")? {
            NULL => Ok(Self::Null),
            STRING => string_with_length::read_owned(reader, "key path").map(Self::String),
            ARRAY => {
                let len = var_int::read_length(reader, "key path count")?;
                // Every path takes a byte, so a greater count fails before memory is spent.
                if len > reader.len_bytes() as u64 {
                    let missing = len - reader.len_bytes() as u64;
                    return Err(reader.error(ErrorKind::Truncated { missing }, "key path"));
                }
                (0..len)
                    .map(|_| string_with_length::read_owned(reader, "key path"))
                    .collect::<Result<_>>()
                    .map(Self::Array)
            }
            tag => Err(at_type.error(ErrorKind::UnknownTag { tag }, "key path type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen};

    use super::*;
    use crate::testing::{below, bytes_of, damage, properties};

    impl Arbitrary for KeyPath {
        fn arbitrary(g: &mut Gen) -> Self {
            match below(g, 3) {
                0 => Self::Null,
                1 => Self::String(JsString::arbitrary(g)),
                _ => Self::Array((0..below(g, 4)).map(|_| JsString::arbitrary(g)).collect()),
            }
        }
    }

    #[derive(Debug, Clone)]
    struct NearlyKeyPath(Vec<u8>);

    impl Arbitrary for NearlyKeyPath {
        fn arbitrary(g: &mut Gen) -> Self {
            let path = KeyPath::arbitrary(g);
            Self(damage(g, bytes_of(|out| path.encode(out))))
        }
    }

    #[test]
    fn each_kind_has_its_bytes() {
        let cases: [(KeyPath, &[u8]); 5] = [
            (KeyPath::Null, &[0, 0, 0]),
            (KeyPath::String("".into()), &[0, 0, 1, 0]),
            (KeyPath::String("a".into()), &[0, 0, 1, 1, 0, 0x61]),
            (KeyPath::Array(vec![]), &[0, 0, 2, 0]),
            (
                KeyPath::Array(vec!["".into(), "b".into()]),
                &[0, 0, 2, 2, 0, 1, 0, 0x62],
            ),
        ];
        for (path, bytes) in cases {
            assert_eq!(bytes_of(|out| path.encode(out)), bytes);
            assert_eq!(KeyPath::decode_exact(bytes), Ok(path));
        }
    }

    #[test]
    fn old_bare_strings_are_string_paths() {
        for text in ["", "a", "ab", "\0", "a.b.c", "字"] {
            let bytes = bytes_of(|out| string::encode(&text.into(), out));
            assert_eq!(
                KeyPath::decode_exact(&bytes),
                Ok(KeyPath::String(text.into()))
            );
        }
    }

    #[test]
    fn bad_typed_forms_are_refused() {
        let mut negative = vec![0, 0, 2];
        var_int::encode(-1, &mut negative);
        let mut huge = vec![0, 0, 2];
        var_int::encode(i64::MAX, &mut huge);
        for bytes in [
            &[0, 0, 3][..],
            &[0, 0, 0, 0],
            &[0, 0, 1],
            &[0, 0, 1, 1, 0],
            &[0, 0, 1, 0, 0],
            &[0, 0, 2, 2, 0],
            &negative,
            &huge,
            &[1],
        ] {
            assert!(KeyPath::decode_exact(bytes).is_err(), "{bytes:?}");
        }
    }

    properties! {
        fn every_key_path_round_trips(path: KeyPath) -> bool {
            KeyPath::decode_exact(&bytes_of(|out| path.encode(out))) == Ok(path)
        }

        fn any_input_is_the_typed_form_of_its_path_or_the_old_form_or_errs(input: NearlyKeyPath) -> bool {
            let NearlyKeyPath(input) = input;
            match KeyPath::decode_exact(&input) {
                Ok(path) => {
                    let typed = bytes_of(|out| path.encode(out));
                    input == typed || !(input.len() > 2 && input.starts_with(&[0, 0]))
                }
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
