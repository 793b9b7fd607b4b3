//! One record into an object store of another store: its index entries follow from its value, its blobs come along.

use std::sync::Arc;

use larder_backing_store::blob::{BlobSource, NewExternalObject};
use larder_backing_store::{
    Error, ErrorKind, ObjectStoreMetadata, Put, PutKey, PutMode, Store, WriteTransaction,
};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::value::Foreign;
use larder_codec::{DatabaseId, Key, RawKey};

use crate::file_part::FilePart;
use crate::index_keys::{IndexKeyFinder, RawKeysOfIndexes};
use crate::record::ValueReader;

/// A record on its way.
pub(super) struct Coming<'a> {
    pub(super) key: RawKey<'a>,
    pub(super) value: &'a [u8],
}

/// Puts records of one object store into another.
pub(super) struct Putter<'a> {
    pub(super) store: &'a Store,
    pub(super) database: DatabaseId,
    pub(super) ours: &'a ObjectStoreMetadata,
    pub(super) theirs: &'a ObjectStoreMetadata,
    pub(super) finder: &'a mut IndexKeyFinder,
}

impl Putter<'_> {
    /// Puts a record; why it cannot be, inside, if the others can.
    pub(super) fn put(
        self,
        transaction: &mut WriteTransaction,
        reader: &mut ValueReader<'_>,
        coming: &Coming<'_>,
        (is_there, is_new_key): (bool, bool),
    ) -> Result<Result<(), String>, Error> {
        let mut new_key = Vec::new();
        if is_new_key {
            let number =
                transaction.key_generator(transaction.scope().database_id(), self.theirs.id)?;
            #[expect(clippy::cast_precision_loss, reason = "2^53 at most")]
            Key::Number(number as f64).encode(&mut new_key);
        }
        let key = match is_new_key {
            true => RawKey::decode_exact(&new_key)
                .map_err(|error| Error::new(ErrorKind::Corruption, error.to_string()))?,
            false => coming.key,
        };
        let has_indexes = !self.theirs.indexes.is_empty();
        let keys = reader.read_whole(coming.key, coming.value, |value| match has_indexes {
            false => Ok(Vec::new()),
            true if Foreign::of_tree(value.tree).is_some() => Err(
                "its value is another engine's, and only that knows what indexes have of it"
                    .to_owned(),
            ),
            true => self
                .finder
                .find(self.theirs, key, value.stored, value.objects),
        });
        let keys = match keys {
            Ok(Ok(keys)) => keys,
            Ok(Err(problem)) => return Ok(Err(problem)),
            Err(error) => return Ok(Err(error.to_string())),
        };
        let keys = RawKeysOfIndexes::new(&keys);
        let objects = self
            .store
            .external_objects(self.database, self.ours.id, coming.key)?;
        let objects: Vec<NewExternalObject> = objects
            .into_iter()
            .map(|object| self.new_object(object))
            .collect();
        let put = transaction.put(
            self.theirs.id,
            &Put {
                key: if is_new_key {
                    PutKey::Generated
                } else {
                    PutKey::Given(key)
                },
                value: coming.value,
                // One that was not there must not have come meanwhile.
                mode: match is_there && !is_new_key {
                    true => PutMode::Put,
                    false => PutMode::Add,
                },
                index_keys: &keys.to_put(),
                external_objects: &objects,
            },
        );
        match put {
            Ok(_) => Ok(Ok(())),
            Err(error) if error.kind() == ErrorKind::Constraint => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// An external object as it is put; its bytes stay where they are until the transaction is committed.
    fn new_object(&self, object: ExternalObject) -> NewExternalObject {
        let content = |blob: &BlobInfo| -> Arc<dyn BlobSource> {
            let path = self.store.paths().blob_file(self.database, blob.number);
            match u64::try_from(blob.size_bytes).unwrap_or(0) {
                // An empty blob has no file.
                0 => Arc::new(Vec::new()),
                size => Arc::new(FilePart::whole(Arc::clone(self.store.fs()), path, size)),
            }
        };
        match object {
            ExternalObject::FileSystemAccessHandle { token } => {
                NewExternalObject::FileSystemAccessHandle { token }
            }
            ExternalObject::Blob(blob) => NewExternalObject::Blob {
                content: content(&blob),
                mime_type: blob.mime_type,
            },
            ExternalObject::File {
                blob,
                name,
                last_modified_micros,
            } => NewExternalObject::File {
                content: content(&blob),
                mime_type: blob.mime_type,
                name,
                last_modified_micros,
            },
        }
    }
}
