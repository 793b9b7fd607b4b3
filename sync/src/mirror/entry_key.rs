//! The keys of a mirror's entries.

use larder_idb::codec::sortable;
use larder_idb::{JsString, Key};
use sha2::{Digest, Sha256};

use super::bytes::Bytes;
use super::error::{Error, Result};

/// No entry of a mirror has a longer key.
pub const ENTRY_KEY_LEN_MAX: usize = 1 + RECORD_KEY_LEN_MAX + 32;

/// A record whose own entry key would be longer has one with a hash.
const RECORD_KEY_LEN_MAX: usize = 1024;
/// The name of an object store may have so many bytes in its sortable form.
const NAME_LEN_MAX: usize = 900;

/// What the keys of records begin with.
pub(super) const RECORD: u8 = b'r';
/// What the keys of records begin with whose keys are long.
pub(super) const LONG_RECORD: u8 = b'R';
/// What the keys of conflicts begin with.
pub(super) const CONFLICT: u8 = b'c';
/// What the keys of the schema begin with.
pub(super) const SCHEMA: u8 = b's';

fn sortable_name(name: &JsString) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    sortable::encode(&Key::String(name.clone()), &mut bytes);
    match bytes.len() <= NAME_LEN_MAX {
        true => Ok(bytes),
        false => Err(Error::NameTooLong {
            name: name.to_string_lossy(),
        }),
    }
}

/// The key of an object store's schema.
pub(super) fn of_object_store(name: &JsString) -> Result<Vec<u8>> {
    Ok([&[SCHEMA][..], &sortable_name(name)?].concat())
}

/// What the keys of an object store's records begin with: those of short keys, those of long ones.
pub(super) fn prefixes(name: &JsString) -> Result<[Vec<u8>; 2]> {
    let name = sortable_name(name)?;
    let mut array = Vec::new();
    let empty = Key::array(Vec::new()).map_err(|error| Error::malformed(error.to_string()))?;
    sortable::encode(&empty, &mut array);
    // Without the end of the array.
    array.pop();
    Ok([
        [&[RECORD][..], &array, &name].concat(),
        [&[LONG_RECORD][..], &name].concat(),
    ])
}

/// The key of a record.
pub(super) fn of_record(name: &JsString, key: &Key) -> Result<Vec<u8>> {
    let elements = vec![Key::String(name.clone()), key.clone()];
    let mut bytes = vec![RECORD];
    match Key::array(elements) {
        Ok(array) => sortable::encode(&array, &mut bytes),
        // One level more than keys may have.
        Err(_) => bytes.resize(RECORD_KEY_LEN_MAX + 1, 0),
    }
    if bytes.len() <= RECORD_KEY_LEN_MAX {
        return Ok(bytes);
    }
    let mut alone = Vec::new();
    sortable::encode(key, &mut alone);
    let mut long = vec![LONG_RECORD];
    long.extend(sortable_name(name)?);
    long.extend(Sha256::digest(&alone));
    Ok(long)
}

/// The key of the conflict in which an entry has lost something.
pub(super) fn of_conflict(entry_key: &[u8], lost: &[u8]) -> Vec<u8> {
    [&[CONFLICT][..], entry_key, &Sha256::digest(lost)].concat()
}

/// Which record an entry is of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) object_store: JsString,
    /// `None` if the key is in the entry's value.
    pub(super) key: Option<Key>,
}

/// Which record the entry of a key is of.
pub(super) fn place(entry_key: &[u8]) -> Result<Place> {
    let malformed = |what: &str| Error::malformed(format!("{what}: {}", entry_key.escape_ascii()));
    let mut bytes = Bytes(entry_key);
    match bytes.byte()? {
        RECORD => {
            let key = sortable::decode_exact(bytes.0);
            let key = key.map_err(|error| malformed(&format!("the key of a record: {error}")))?;
            let Key::Array(elements) = &key else {
                return Err(malformed("the key of a record that is no array"));
            };
            let [Key::String(name), key] = &elements[..] else {
                return Err(malformed("the key of a record without name or key"));
            };
            // Or one record would have two entries.
            match of_record(name, key)? == entry_key {
                true => Ok(Place {
                    object_store: name.clone(),
                    key: Some(key.clone()),
                }),
                false => Err(malformed("a record in an entry that is not its own")),
            }
        }
        LONG_RECORD => {
            let decoded = sortable::decode(bytes.0);
            let (name, rest) = decoded.map_err(|error| malformed(&error.to_string()))?;
            match (name, rest.len()) {
                (Key::String(object_store), 32) => Ok(Place {
                    object_store,
                    key: None,
                }),
                _ => Err(malformed("the key of a record without name or hash")),
            }
        }
        _ => Err(malformed("not the key of a record")),
    }
}
