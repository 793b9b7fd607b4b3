//! What stands in the entry of a record: value, external objects, and their contents.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use larder_idb::codec::sortable;
use larder_idb::codec::value::{Decoder, Encoder, Foreign, Payload, Tree};
use larder_idb::{
    BlobSource, ExternalObject, ExternalObjectInfo, JsString, Key, NewExternalObject, Value,
};
use larder_pages::{Entry, ObjectIdentifier, ObjectReader, Page, Snapshot};

use super::bytes::{Bad, Bytes, put_bytes, put_number, put_string};
use super::entry_key::{LONG_RECORD, Place, of_record, place};
use super::error::{Error, Result};

/// The value's bytes are those that every device has for it.
const ALIKE: u8 = 1;
/// The value's bytes are those that were found, since they do not decode.
const AS_FOUND: u8 = 2;

const BLOB: u8 = 0;
const FILE: u8 = 1;

/// A head of an entry is read in parts of so many bytes.
const PART_LEN: u64 = 16 << 10;

/// What stands in front of the contents of the external objects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    is_alike: bool,
    /// For an entry whose own key has only a hash of it.
    pub(super) key: Option<Key>,
    /// The value in its envelope.
    pub(super) wire: Vec<u8>,
    pub(super) objects: Vec<Info>,
}

/// A blob or a file, without its content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Info {
    mime_type: JsString,
    pub(super) len: u64,
    /// Name and time of the last modification, in microseconds since 1601, of a file.
    file: Option<(JsString, i64)>,
}

impl Info {
    /// `None` for a handle.
    fn of(object: &ExternalObject) -> Option<Self> {
        let (blob, file) = match object.info() {
            ExternalObjectInfo::Blob(blob) => (blob, None),
            ExternalObjectInfo::File {
                blob,
                name,
                last_modified_micros,
            } => (blob, Some((name.clone(), *last_modified_micros))),
            ExternalObjectInfo::FileSystemAccessHandle { .. } => return None,
        };
        Some(Self {
            mime_type: blob.mime_type.clone(),
            len: u64::try_from(blob.size_bytes).unwrap_or(0),
            file,
        })
    }
}

impl Head {
    /// The head of a record of the database. `None` if it has a handle of the File System Access API, which is of its device alone.
    pub(super) fn of(
        entry_key: &[u8],
        key: &Key,
        wire: &[u8],
        objects: &[ExternalObject],
    ) -> Option<Self> {
        let objects = objects.iter().map(Info::of).collect::<Option<_>>()?;
        let alike = alike(wire);
        Some(Self {
            is_alike: alike.is_some(),
            key: (entry_key.first() == Some(&LONG_RECORD)).then(|| key.clone()),
            wire: alike.unwrap_or_else(|| wire.to_vec()),
            objects,
        })
    }

    /// The head of a value that has no external objects, and decodes, in the place of another.
    pub(super) fn with_wire(&self, wire: Vec<u8>) -> Self {
        Self {
            wire,
            ..self.clone()
        }
    }

    pub(super) const fn is_alike(&self) -> bool {
        self.is_alike
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire.len() + 32);
        out.push(if self.is_alike { ALIKE } else { AS_FOUND });
        if let Some(key) = &self.key {
            let mut bytes = Vec::new();
            sortable::encode(key, &mut bytes);
            put_bytes(&bytes, &mut out);
        }
        put_bytes(&self.wire, &mut out);
        put_number(self.objects.len() as u64, &mut out);
        for object in &self.objects {
            out.push(if object.file.is_some() { FILE } else { BLOB });
            put_string(&object.mime_type, &mut out);
            put_number(object.len, &mut out);
            if let Some((name, last_modified)) = &object.file {
                put_string(name, &mut out);
                out.extend_from_slice(&last_modified.to_le_bytes());
            }
        }
        out
    }

    fn decode(bytes: &mut Bytes<'_>, has_key: bool) -> Result<Self, Bad> {
        let is_alike = match bytes.byte()? {
            ALIKE => true,
            AS_FOUND => false,
            other => return Err(Bad::Wrong(format!("a record of version {other}"))),
        };
        let mut key = None;
        if has_key {
            let decoded = sortable::decode_exact(bytes.bytes()?);
            let decoded = decoded.map_err(|error| Bad::Wrong(error.to_string()))?;
            key = Some(decoded);
        }
        let wire = bytes.bytes()?.to_vec();
        let mut objects = Vec::new();
        for _ in 0..bytes.number()? {
            let kind = bytes.byte()?;
            let (mime_type, len) = (bytes.string()?, bytes.number()?);
            let file = match kind {
                BLOB => None,
                FILE => Some((bytes.string()?, i64::from_le_bytes(bytes.array()?))),
                other => return Err(Bad::Wrong(format!("an object of kind {other}"))),
            };
            objects.push(Info {
                mime_type,
                len,
                file,
            });
        }
        Ok(Self {
            is_alike,
            key,
            wire,
            objects,
        })
    }
}

/// The bytes that every device has for a value; `None` if it does not decode.
pub(super) fn alike(wire: &[u8]) -> Option<Vec<u8>> {
    let payload = Payload::read(wire).ok()?;
    let tree = Decoder::new().decode(&payload).ok()?;
    let mut bytes = Vec::with_capacity(wire.len());
    Encoder::new().encode_alike(&tree, &mut bytes);
    Some(bytes)
}

/// A record as the page has it. The contents of its blobs are read when they are asked for.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) head: Head,
    page: Page,
    /// Keeps the pieces.
    _snapshot: Arc<Snapshot>,
    value: ObjectIdentifier,
    /// Where the contents begin.
    start: u64,
}

impl Stored {
    /// Reads the record of an entry, from `offset` on.
    pub(super) fn read(
        page: &Page,
        snapshot: &Arc<Snapshot>,
        entry_key: &[u8],
        value: ObjectIdentifier,
        offset: u64,
    ) -> Result<Self> {
        let has_key = entry_key.first() == Some(&LONG_RECORD);
        let mut reader = ObjectReader::open(page.clone(), &value)?;
        let (head, start) = read_head(&mut reader, offset, |bytes| Head::decode(bytes, has_key))?;
        let mut contents = head.objects.iter().map(|object| object.len);
        let contents = contents.try_fold(0_u64, u64::checked_add);
        if contents != reader.len().checked_sub(start) {
            let what = "the contents of a record's blobs are not as long as it says";
            return Err(Error::malformed(what));
        }
        Ok(Self {
            head,
            page: page.clone(),
            _snapshot: Arc::clone(snapshot),
            value,
            start,
        })
    }

    /// The key of an entry's record. The value is read if it alone has the key.
    pub(super) fn key_of(page: &Page, snapshot: &Arc<Snapshot>, entry: &Entry) -> Result<Key> {
        let place = place(&entry.key)?;
        match place.key {
            Some(key) => Ok(key),
            None => Self::read(page, snapshot, &entry.key, entry.value, 0)?.key(&entry.key, &place),
        }
    }

    /// The record's key, where its entry is.
    pub(super) fn key(&self, entry_key: &[u8], place: &Place) -> Result<Key> {
        if let Some(key) = &place.key {
            return Ok(key.clone());
        }
        let key = self.head.key.as_ref();
        let key = key.ok_or_else(|| Error::malformed("a record without a key"))?;
        // Or it would be put in the place of another one.
        match of_record(&place.object_store, key)? == entry_key {
            true => Ok(key.clone()),
            false => Err(Error::malformed("a record whose key is not its entry's")),
        }
    }

    pub(super) fn objects(&self) -> Vec<NewExternalObject> {
        let mut at = self.start;
        let objects = self.head.objects.iter().map(|object| {
            let content = Arc::new(Part {
                page: self.page.clone(),
                _snapshot: Arc::clone(&self._snapshot),
                value: self.value,
                start: at,
                len: object.len,
            });
            at += object.len;
            let mime_type = object.mime_type.clone();
            match object.file.clone() {
                None => NewExternalObject::Blob { mime_type, content },
                Some((name, last_modified_micros)) => NewExternalObject::File {
                    mime_type,
                    content,
                    name,
                    last_modified_micros,
                },
            }
        });
        objects.collect()
    }

    /// The value, to be put: also whether it is another engine's.
    pub(super) fn to_value(&self) -> larder_idb::Result<(Value, bool)> {
        let wire = &self.head.wire;
        if !self.head.is_alike {
            return Ok((Value::with_objects(wire.clone(), self.objects()), false));
        }
        let payload = Payload::read(wire)?;
        let tree: Tree<'_> = Decoder::new().decode(&payload)?;
        let value = match Foreign::of_tree(&tree) {
            Some(foreign) => {
                let (engine, format) = (foreign.engine(), foreign.format());
                let value = Value::foreign(engine, format, foreign.bytes(), [])?;
                return Ok((value.and_objects(self.objects()), true));
            }
            None => Value::from_tree(&tree),
        };
        Ok((value.and_objects(self.objects()), false))
    }
}

/// No record's value, without its blobs, has more bytes, and nothing else is longer that is read whole.
const HEAD_LEN_MAX: usize = 1 << 30;

/// What is decoded from the front of a value, from `offset` on, and where it ends. No more is read than that takes, and four times as much.
pub(super) fn read_head<T>(
    reader: &mut ObjectReader<Page>,
    offset: u64,
    decode: impl Fn(&mut Bytes<'_>) -> Result<T, Bad>,
) -> Result<(T, u64)> {
    let mut part = Vec::new();
    loop {
        let at = offset + part.len() as u64;
        let wanted = PART_LEN.max(3 * part.len() as u64);
        part.extend(reader.read_range(i64::try_from(at).unwrap_or(i64::MAX), wanted)?);
        let is_all = offset + part.len() as u64 >= reader.len();
        let mut bytes = Bytes(&part);
        match decode(&mut bytes) {
            Ok(decoded) => return Ok((decoded, offset + (part.len() - bytes.0.len()) as u64)),
            Err(Bad::Cut) if !is_all && part.len() > HEAD_LEN_MAX => {
                return Err(Error::malformed("a value of more than a GiB"));
            }
            Err(Bad::Cut) if !is_all => {}
            Err(bad) => return Err(bad.into()),
        }
    }
}

/// Part of a value in a page, as the content of a blob.
#[derive(Debug)]
struct Part {
    page: Page,
    _snapshot: Arc<Snapshot>,
    value: ObjectIdentifier,
    start: u64,
    len: u64,
}

impl BlobSource for Part {
    fn size_bytes(&self) -> u64 {
        self.len
    }

    fn open(&self) -> std::io::Result<Box<dyn Read + Send + '_>> {
        let mut reader = ObjectReader::open(self.page.clone(), &self.value)?;
        reader.seek(SeekFrom::Start(self.start))?;
        Ok(Box::new(reader.take(self.len)))
    }
}

/// Reads the value of an entry as bytes, from the beginning.
pub(super) fn open(page: &Page, entry: &Entry) -> Result<ObjectReader<Page>> {
    Ok(ObjectReader::open(page.clone(), &entry.value)?)
}
