//! From what stands in a record's row to the value that was put: out of its blob, uncompressed, with its generated key.

use std::io::Read;

use larder_backing_store::value_wrapper;
use larder_codec::value::{Envelope, Evaluated, Evaluator};
use larder_codec::{DatabaseId, ObjectStoreId, RawKey};

use crate::error::{Error, ErrorName, Result};
use crate::operation::{Backing, Execution, Source};
use crate::schema::StoreCell;
use crate::value::{ExternalObject, InFile};

/// Blink's version 17 never stands in front of these bytes: they mean a blob and Snappy.
const WRAPPED: [[u8; 3]; 2] = [[0xff, 0x11, 1], [0xff, 0x11, 2]];

/// What takes values out, and its memory.
#[derive(Debug, Default)]
pub(crate) struct Unwrapping {
    /// Made when there is a key to put in; it is large.
    evaluator: Option<Box<Evaluator>>,
    buffer: Vec<u8>,
}

/// What values of an object store may need done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) database_id: DatabaseId,
    pub(crate) store_id: ObjectStoreId,
    pub(crate) store: &'a StoreCell,
    /// Whether any record may have external objects.
    pub(crate) has_objects: bool,
}

impl<'a> Shape<'a> {
    /// For the object store that `source` reads.
    ///
    /// # Errors
    /// If the object store is deleted, or its rows cannot be read.
    pub(crate) fn of_source(execution: &mut Execution, source: &'a Source) -> Result<Self> {
        let store_id = source.store.id()?;
        let has_objects = execution.known(store_id)?.has_objects;
        Ok(Self {
            database_id: execution.database_id,
            store_id,
            store: &source.store,
            has_objects,
        })
    }

    /// Generated keys are not stored inside values.
    const fn injects(&self) -> bool {
        self.store.auto_increment && self.store.path.is_some()
    }

    /// Whether a value is what stands in the row.
    #[inline]
    pub(crate) fn is_plain(&self, stored: &[u8]) -> bool {
        // Other first bytes are those of values from before 2014, swapped in pairs.
        let is_bare = stored.first() == Some(&0xff) && !is_wrapped(stored);
        is_bare && !self.has_objects && !self.injects()
    }
}

/// Whether a value's bytes are wrapped or compressed.
pub(crate) fn is_wrapped(bytes: &[u8]) -> bool {
    WRAPPED.iter().any(|head| bytes.starts_with(head))
}

impl Unwrapping {
    /// Appends the value's bytes to `out` and returns its external objects.
    pub(crate) fn unwrap(
        &mut self,
        backing: &Backing,
        shape: &Shape<'_>,
        primary_key: RawKey<'_>,
        stored: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Vec<ExternalObject>> {
        if shape.is_plain(stored) {
            out.extend_from_slice(stored);
            return Ok(Vec::new());
        }
        self.unwrap_special(backing, shape, primary_key, stored, out)
    }

    fn unwrap_special(
        &mut self,
        backing: &Backing,
        shape: &Shape<'_>,
        primary_key: RawKey<'_>,
        stored: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Vec<ExternalObject>> {
        let mut objects = match shape.has_objects {
            true => objects_of(backing, shape, primary_key)?,
            false => Vec::new(),
        };
        let (content, mut inner) = (&mut Vec::new(), Vec::new());
        let payload = match Envelope::peel(stored, &mut self.buffer)? {
            Envelope::Inline(payload) => payload,
            Envelope::InBlob { size, index } => {
                *content = take_wrapper(&mut objects, index, size)?;
                Envelope::peel_blob(content, &mut inner)?
            }
        };
        let path = shape.store.path.as_ref().filter(|_| shape.injects());
        if let Some(path) = path {
            let key = primary_key.to_key();
            // A key that was given is in the value already, perhaps in another form.
            let evaluator = self.evaluator.get_or_insert_default();
            let found = evaluator.evaluate(path, &payload, &[])?;
            if found != Evaluated::Key(key.clone())
                && evaluator.inject(path, &key, &payload, out)?
            {
                return Ok(objects);
            }
        }
        out.extend_from_slice(payload.bytes());
        Ok(objects)
    }
}

/// The external objects of a record, in the order in which they stand in its row: blobs and files before handles.
fn objects_of(
    backing: &Backing,
    shape: &Shape<'_>,
    primary_key: RawKey<'_>,
) -> Result<Vec<ExternalObject>> {
    let reads = backing.reads();
    if let Backing::Write(transaction) = backing
        && let Some(new) = transaction.new_external_objects(shape.store_id, primary_key)
    {
        return Ok(new.iter().map(ExternalObject::new).collect());
    }
    let stored = reads.external_objects(shape.database_id, shape.store_id, primary_key)?;
    let file = |number| InFile {
        fs: reads.fs().clone(),
        paths: reads.paths().clone(),
        database_id: shape.database_id,
        _handle: match backing {
            Backing::Read(transaction) => transaction.hold_blob(shape.database_id, number),
            Backing::Write(transaction) => transaction.hold_blob(number),
        },
    };
    let stored = stored.into_iter();
    Ok(stored
        .map(|object| ExternalObject::stored(object, file))
        .collect())
}

/// Takes the blob that a value lies in from among the record's external objects, and reads it.
fn take_wrapper(objects: &mut Vec<ExternalObject>, index: u32, size: u64) -> Result<Vec<u8>> {
    let infos = objects.iter().map(ExternalObject::info);
    let (at, _) = value_wrapper(infos, index, size)?;
    let wrapper = objects.remove(at);
    let mut content = Vec::new();
    wrapper.open()?.read_to_end(&mut content).map_err(|error| {
        Error::new(
            ErrorName::NotReadableError,
            format!("the blob that the value lies in: {error}"),
        )
    })?;
    Ok(content)
}
