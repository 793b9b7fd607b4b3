//! The types that dexie-export-import gives typeson, by the names that its files have.

use super::super::json::Wrong;

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Type {
    /// What stands at another place already.
    Reference,
    Undefined,
    /// Nothing: a list's hole.
    Hole,
    /// Lists have their type everywhere. One with properties of its own is written as an object.
    List,
    Plain,
    NotANumber,
    Infinity,
    NegativeInfinity,
    BigInt,
    BigIntObject,
    StringObject,
    NumberObject,
    BooleanObject,
    Date,
    RegExp,
    Map,
    Set,
    Buffer,
    /// Its name, and the length of an element.
    View(&'static str, f64),
    DataView,
    Blob,
    File,
    FileList,
    ImageData,
}

impl Type {
    pub(super) fn of(name: &str) -> Result<Self, Wrong> {
        Ok(match name {
            "#" => Self::Reference,
            "undef" => Self::Undefined,
            "sparseUndefined" => Self::Hole,
            "arrayNonindexKeys" => Self::List,
            "userObject" => Self::Plain,
            "nan" => Self::NotANumber,
            "infinity" => Self::Infinity,
            "negativeInfinity" => Self::NegativeInfinity,
            "bigint" => Self::BigInt,
            "bigintObject" => Self::BigIntObject,
            "StringObject" => Self::StringObject,
            "NumberObject" => Self::NumberObject,
            "BooleanObject" => Self::BooleanObject,
            "date" => Self::Date,
            "regexp" => Self::RegExp,
            "map" => Self::Map,
            "set" => Self::Set,
            "arraybuffer" => Self::Buffer,
            "int8array2" => Self::View("Int8Array", 1.0),
            "uint8array2" => Self::View("Uint8Array", 1.0),
            "uint8clampedarray2" => Self::View("Uint8ClampedArray", 1.0),
            "int16array2" => Self::View("Int16Array", 2.0),
            "uint16array2" => Self::View("Uint16Array", 2.0),
            "int32array2" => Self::View("Int32Array", 4.0),
            "uint32array2" => Self::View("Uint32Array", 4.0),
            "float32array2" => Self::View("Float32Array", 4.0),
            "float64array2" => Self::View("Float64Array", 8.0),
            "dataview" => Self::DataView,
            "blob2" => Self::Blob,
            "file" => Self::File,
            "filelist" => Self::FileList,
            "imagedata" => Self::ImageData,
            "imagebitmap" => {
                return Err(
                    "it has an ImageBitmap, of which such files keep only a part".to_owned(),
                );
            }
            other => {
                return Err(format!(
                    "it has something of the type {other:?}, which is not read"
                ));
            }
        })
    }
}
