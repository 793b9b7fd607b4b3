//! From a record's stored bytes to the value a page would see.

use std::fmt;
use std::io::{self, Read};

use larder_backing_store::{ObjectStoreMetadata, Store};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::value::{
    Decoder, Envelope, Evaluator, Foreign, HostObject, Object, ParsedKeyPath, Tree,
};
use larder_codec::{DatabaseId, RawKey};

use crate::external_blob::{BlobSource, ExternalBlob, FileInfo};

/// Why a value could not be shown. The record's bytes are still there.
#[derive(Debug)]
pub enum ValueError {
    /// The bytes are not a value of a known form.
    Codec(larder_codec::Error),
    /// What the value refers to could not be read.
    Store(larder_backing_store::Error),
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Codec(error) => write!(f, "the value cannot be decoded: {error}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Codec(error) => error,
            Self::Store(error) => error,
        })
    }
}

impl From<larder_codec::Error> for ValueError {
    fn from(error: larder_codec::Error) -> Self {
        Self::Codec(error)
    }
}

impl From<larder_backing_store::Error> for ValueError {
    fn from(error: larder_backing_store::Error) -> Self {
        Self::Store(error)
    }
}

/// A value with its bytes, neither packed nor in a blob.
pub(crate) struct WholeValue<'v> {
    /// What a page sees.
    pub(crate) tree: &'v Tree<'v>,
    /// What it refers to.
    pub(crate) objects: &'v [ExternalObject],
    /// The bytes of what a page sees: with the generated key.
    pub(crate) shown: &'v [u8],
    /// The bytes as they are stored.
    pub(crate) stored: &'v [u8],
}

/// Decodes the values of one object store; keeps its memory from record to record.
#[derive(Debug)]
pub struct ValueReader<'s> {
    store: &'s Store,
    database_id: DatabaseId,
    object_store: &'s ObjectStoreMetadata,
    /// Where keys must be put into values, if they must.
    inject: Option<ParsedKeyPath>,
    /// What the values refer to, if that is not what the store has for their records.
    objects: Option<Vec<ExternalObject>>,
    decoder: Decoder,
    evaluator: Evaluator,
    buffer: Vec<u8>,
    inner_buffer: Vec<u8>,
}

impl<'s> ValueReader<'s> {
    /// For the values of `object_store`.
    #[must_use]
    pub fn new(
        store: &'s Store,
        database_id: DatabaseId,
        object_store: &'s ObjectStoreMetadata,
    ) -> Self {
        // Generated keys are not stored inside values; a reader of such a store puts them in.
        let inject = match object_store.auto_increment {
            true => ParsedKeyPath::new(&object_store.key_path),
            false => None,
        };
        Self {
            store,
            database_id,
            object_store,
            inject,
            objects: None,
            decoder: Decoder::new(),
            evaluator: Evaluator::new(),
            buffer: Vec::new(),
            inner_buffer: Vec::new(),
        }
    }

    /// Says what the values refer to: earlier ones than those in the store have other external objects.
    #[cfg(feature = "view")]
    pub(crate) fn set_objects(&mut self, objects: Vec<ExternalObject>) {
        self.objects = Some(objects);
    }

    /// Decodes one value and calls `use_tree` with it and the external objects that it refers to.
    ///
    /// # Errors
    /// If the value, or what it refers to, cannot be read. Contents of blobs are not touched here, except of the one
    /// that holds the value itself.
    pub fn read<R>(
        &mut self,
        primary_key: RawKey<'_>,
        bytes: &[u8],
        use_tree: impl FnOnce(&Tree<'_>, &[ExternalObject]) -> R,
    ) -> Result<R, ValueError> {
        self.read_whole(primary_key, bytes, |value| {
            use_tree(value.tree, value.objects)
        })
    }

    /// As [`read`](Self::read), with the bytes besides.
    pub(crate) fn read_whole<R>(
        &mut self,
        primary_key: RawKey<'_>,
        bytes: &[u8],
        use_value: impl FnOnce(&WholeValue<'_>) -> R,
    ) -> Result<R, ValueError> {
        let mut objects = None;
        let content;
        let payload = match Envelope::peel(bytes, &mut self.buffer)? {
            Envelope::Inline(payload) => payload,
            Envelope::InBlob { size, index } => {
                let mut list = external_objects(
                    &self.objects,
                    self.store,
                    self.database_id,
                    self.object_store,
                    primary_key,
                )?;
                content = self
                    .store
                    .wrapped_value(self.database_id, &list, index, size)?;
                // The blob with the value is none of the value's own.
                if let Some(at) = usize::try_from(index).ok().filter(|at| *at < list.len()) {
                    list.remove(at);
                }
                objects = Some(list);
                Envelope::peel_blob(&content, &mut self.inner_buffer)?
            }
        };
        let (mut with_key, mut unpacked) = (Vec::new(), Vec::new());
        let stored = payload.bytes();
        let mut payload = payload;
        if let Some(path) = &self.inject {
            // Given ones, too, over what is there: a binary key is then an array buffer, whatever it was made from.
            let key = primary_key.to_key();
            let is_in = self.evaluator.inject(path, &key, &payload, &mut with_key)?;
            if is_in && let Envelope::Inline(whole) = Envelope::peel(&with_key, &mut unpacked)? {
                payload = whole;
            }
        }
        let tree = self.decoder.decode(&payload)?;
        let objects = match objects {
            Some(objects) => objects,
            None if refers_to_external_objects(&tree) => external_objects(
                &self.objects,
                self.store,
                self.database_id,
                self.object_store,
                primary_key,
            )?,
            None => Vec::new(),
        };
        let result = use_value(&WholeValue {
            tree: &tree,
            objects: &objects,
            shown: payload.bytes(),
            stored,
        });
        self.decoder.recycle(tree);
        Ok(result)
    }
}

/// What a record refers to: `given`, or what the store has for it.
fn external_objects(
    given: &Option<Vec<ExternalObject>>,
    store: &Store,
    database_id: DatabaseId,
    object_store: &ObjectStoreMetadata,
    primary_key: RawKey<'_>,
) -> Result<Vec<ExternalObject>, larder_backing_store::Error> {
    match given {
        Some(objects) => Ok(objects.clone()),
        None => store.external_objects(database_id, object_store.id, primary_key),
    }
}

/// Whether it may have any. What the bytes of another engine refer to, only that engine can say.
fn refers_to_external_objects(tree: &Tree<'_>) -> bool {
    let is_foreign = Foreign::of_tree(tree).is_some();
    is_foreign
        || tree.objects().any(|object| match object {
            Object::Host(host) => matches!(
                **host,
                HostObject::Blob(_)
                    | HostObject::File(_)
                    | HostObject::FileList(_)
                    | HostObject::FileSystemHandle(_)
            ),
            _ => false,
        })
}

/// Calls `use_foreign` with the bytes of another engine in a value as its row has it. One that lies in a blob is not looked for.
pub(crate) fn with_foreign<R>(
    stored: &[u8],
    buffer: &mut Vec<u8>,
    use_foreign: impl FnOnce(&Foreign<'_>) -> R,
) -> Option<R> {
    match Envelope::peel(stored, buffer) {
        Ok(Envelope::Inline(payload)) => Foreign::read(&payload).as_ref().map(use_foreign),
        Ok(Envelope::InBlob { .. }) | Err(_) => None,
    }
}

/// Whether the cause of an error is that a file is not there.
pub(crate) fn is_missing_file(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::NotFound)
}

/// The external objects of one record, opened in the store's blob folder.
#[derive(Debug)]
pub struct StoreBlobs<'s> {
    /// The store.
    pub store: &'s Store,
    /// The record's database.
    pub database_id: DatabaseId,
    /// The record's external objects.
    pub objects: &'s [ExternalObject],
}

impl BlobSource for StoreBlobs<'_> {
    fn open(&mut self, index: u32) -> io::Result<Option<ExternalBlob<'_>>> {
        external_blob(self.objects, index, |blob| {
            Ok(Box::new(self.open_content(blob)?))
        })
    }
}

/// What a record's list says of the external object at this position, with the content that `open` gives; `None` if there is no blob.
pub(crate) fn external_blob<'c>(
    objects: &[ExternalObject],
    index: u32,
    open: impl FnOnce(&BlobInfo) -> io::Result<Box<dyn Read + 'c>>,
) -> io::Result<Option<ExternalBlob<'c>>> {
    let object = usize::try_from(index)
        .ok()
        .and_then(|index| objects.get(index));
    let (blob, file) = match object {
        None | Some(ExternalObject::FileSystemAccessHandle { .. }) => return Ok(None),
        Some(ExternalObject::Blob(blob)) => (blob, None),
        Some(ExternalObject::File {
            blob,
            name,
            last_modified_micros,
        }) => (blob, Some(FileInfo::new(name, *last_modified_micros))),
    };
    Ok(Some(ExternalBlob {
        mime_type: blob.mime_type.units().to_vec(),
        size: u64::try_from(blob.size_bytes).ok(),
        file,
        content: open(blob)?,
    }))
}

impl StoreBlobs<'_> {
    fn open_content(&self, blob: &BlobInfo) -> io::Result<impl Read + 'static> {
        self.store
            .open_blob(self.database_id, blob)
            .map_err(|error| {
                let kind = match is_missing_file(&error) {
                    true => io::ErrorKind::NotFound,
                    false => io::ErrorKind::Other,
                };
                io::Error::new(kind, error.to_string())
            })
    }
}
