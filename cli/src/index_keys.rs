//! The keys that the indexes of an object store have of a value.

use larder_backing_store::{IndexKeys, ObjectStoreMetadata};
use larder_codec::external_object::ExternalObject;
use larder_codec::value::{Decoder, Envelope, Evaluator, Foreign, ParsedKeyPath, Payload};
use larder_codec::{IndexId, Key, RawKey};

/// The keys of one index, in bytes.
pub(crate) type KeysOfIndex = (IndexId, Vec<Vec<u8>>);

/// The keys of indexes, as a put takes them.
pub(crate) struct RawKeysOfIndexes<'k>(Vec<(IndexId, Vec<RawKey<'k>>)>);

impl<'k> RawKeysOfIndexes<'k> {
    pub(crate) fn new(all: &'k [KeysOfIndex]) -> Self {
        let raw = |(id, keys): &'k KeysOfIndex| {
            let keys = keys.iter().filter_map(|key| RawKey::decode_exact(key).ok());
            (*id, keys.collect())
        };
        Self(all.iter().map(raw).collect())
    }

    pub(crate) fn to_put(&self) -> Vec<IndexKeys<'_>> {
        let all = self.0.iter();
        all.map(|(id, keys)| IndexKeys {
            index_id: *id,
            keys,
        })
        .collect()
    }
}

/// Works them out, and keeps its memory from value to value.
pub(crate) struct IndexKeyFinder {
    /// Where keys are put into values, if they are.
    inject: Option<ParsedKeyPath>,
    paths: Vec<Option<ParsedKeyPath>>,
    decoder: Decoder,
    evaluator: Evaluator,
}

impl IndexKeyFinder {
    pub(crate) fn new(metadata: &ObjectStoreMetadata) -> Self {
        let indexes = metadata.indexes.iter();
        Self {
            inject: match metadata.auto_increment {
                true => ParsedKeyPath::new(&metadata.key_path),
                false => None,
            },
            paths: indexes
                .map(|index| ParsedKeyPath::new(&index.key_path))
                .collect(),
            decoder: Decoder::new(),
            evaluator: Evaluator::new(),
        }
    }

    /// The primary key that a value has; none if there is none at the key path.
    pub(crate) fn primary_key(
        &mut self,
        metadata: &ObjectStoreMetadata,
        bytes: &[u8],
        objects: &[ExternalObject],
    ) -> Result<Option<Key>, String> {
        let undecodable = |error| format!("the value cannot be decoded: {error}");
        let Some(path) = ParsedKeyPath::new(&metadata.key_path) else {
            return Ok(None);
        };
        let mut swapped = Vec::new();
        let Envelope::Inline(payload) = Envelope::peel(bytes, &mut swapped).map_err(undecodable)?
        else {
            return Err("a value's bytes do not lie in a blob".to_owned());
        };
        let found = self.evaluator.evaluate(&path, &payload, objects);
        Ok(found.map_err(undecodable)?.key())
    }

    /// The keys that a value has in each index.
    pub(crate) fn find(
        &mut self,
        metadata: &ObjectStoreMetadata,
        key: RawKey<'_>,
        bytes: &[u8],
        objects: &[ExternalObject],
    ) -> Result<Vec<KeysOfIndex>, String> {
        let undecodable = |error| format!("the value cannot be decoded: {error}");
        let mut swapped = Vec::new();
        let Envelope::Inline(mut payload) =
            Envelope::peel(bytes, &mut swapped).map_err(undecodable)?
        else {
            return Err("a value's bytes do not lie in a blob".to_owned());
        };
        let mut with_key = Vec::new();
        if let Some(path) = &self.inject {
            let is_in = self
                .evaluator
                .inject(path, &key.to_key(), &payload, &mut with_key);
            if is_in.map_err(undecodable)? {
                payload = Payload::read(&with_key).map_err(undecodable)?;
            }
        }
        let tree = self.decoder.decode(&payload).map_err(undecodable)?;
        let mut all = Vec::new();
        if Foreign::of_tree(&tree).is_none() {
            for (index, path) in metadata.indexes.iter().zip(&self.paths) {
                let Some(path) = path else { continue };
                let keys = tree.index_keys(path, index.multi_entry, objects);
                let encoded = |key: &Key| {
                    let mut bytes = Vec::new();
                    key.encode(&mut bytes);
                    bytes
                };
                let keys: Vec<Vec<u8>> = keys.iter().map(encoded).collect();
                if !keys.is_empty() {
                    all.push((index.id, keys));
                }
            }
        }
        self.decoder.recycle(tree);
        Ok(all)
    }
}
