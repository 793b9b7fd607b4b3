//! The records of two object stores, side by side in key order.

use std::cmp::Ordering;
use std::io::{self, Write};

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ObjectStoreMetadata, RecordCursor, Store,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::value::Tree;
use larder_codec::{RawKey, compare};
use sha2::{Digest, Sha256};

use super::properties::{PropertyChange, Shown, property_changes};
use super::{Change, Comparison, Difference, PROPERTIES_MAX, schema};
use crate::canonical::{Browser, stream_value};
use crate::display::{Hex, Quoted, ShownKey};
use crate::record::{StoreBlobs, ValueReader};
use crate::scan::Stop;

/// Colours are compared wherever they are stored.
const BROWSER: Browser = Browser {
    shows_color_space: Some(true),
};

/// Two values.
enum Verdict {
    Equal,
    Different(Vec<PropertyChange>, u64),
    /// One cannot be read: which, and why.
    Unreadable(usize, String),
}

impl Comparison<'_> {
    pub(super) fn records(
        &mut self,
        databases: [&DatabaseMetadata; 2],
        stores: [&ObjectStoreMetadata; 2],
    ) -> Result<(), Stop> {
        let next = CursorDirection::Next;
        let open =
            |side: usize| self.stores[side].records(databases[side].id, stores[side].id, next);
        let mut cursors = [open(0), open(1)];
        let mut values = Values::new(self.stores, databases, stores)?;
        let mut has = [false; 2];
        let mut moves = [true; 2];
        loop {
            for side in [0, 1] {
                if moves[side] {
                    has[side] = self.step(side, &mut cursors[side])?;
                }
            }
            let order = match has {
                [false, false] => return Ok(()),
                [true, false] => Ordering::Less,
                [false, true] => Ordering::Greater,
                [true, true] => {
                    let keys = [cursors[0].primary_key()?, cursors[1].primary_key()?];
                    compare::compare_user_keys(keys[0].as_bytes(), keys[1].as_bytes())
                }
            };
            moves = [order.is_le(), order.is_ge()];
            let [one, other] = &cursors;
            let (change, key) = match order {
                Ordering::Less => (Change::Removed, one.primary_key()?),
                Ordering::Greater => (Change::Added, other.primary_key()?),
                Ordering::Equal => (Change::Changed, one.primary_key()?),
            };
            let mut difference = Difference {
                object_store: Some(&stores[0].name),
                key: Some(key),
                ..schema::of(change, databases[0])
            };
            if order.is_eq() {
                self.compared.records += 1;
                let keys = [key, other.primary_key()?];
                match values.compare(keys, [one.value()?, other.value()?]) {
                    Verdict::Equal => continue,
                    Verdict::Different(properties, more) => {
                        difference.properties = properties;
                        difference.more = more;
                    }
                    Verdict::Unreadable(side, why) => {
                        let place = format!(
                            "database {}, object store {}, key {}: {why}",
                            Quoted(&databases[side].name),
                            Quoted(&stores[side].name),
                            ShownKey(keys[side])
                        );
                        // Whether it differs cannot be said.
                        self.compared.problems.push((side == 1, place));
                        continue;
                    }
                }
            }
            self.report(&difference)?;
        }
    }

    fn step(&mut self, side: usize, cursor: &mut RecordCursor) -> Result<bool, Stop> {
        loop {
            match cursor.next() {
                Ok(more) => {
                    (self.tick)();
                    return Ok(more);
                }
                Err(error) => self.problem(side, error)?,
            }
        }
    }
}

/// Reads and compares the values of two object stores.
struct Values<'a> {
    stores: [&'a Store; 2],
    databases: [&'a DatabaseMetadata; 2],
    readers: [ValueReader<'a>; 2],
    /// Whether equal bytes are equal values: no blob is in either, and a key is put into both or neither.
    bytes_suffice: bool,
}

impl<'a> Values<'a> {
    fn new(
        stores: [&'a Store; 2],
        databases: [&'a DatabaseMetadata; 2],
        object_stores: [&'a ObjectStoreMetadata; 2],
    ) -> Result<Self, Stop> {
        let of =
            |side: usize| ValueReader::new(stores[side], databases[side].id, object_stores[side]);
        let [one, other] = object_stores;
        let mut bytes_suffice =
            one.key_path == other.key_path && one.auto_increment == other.auto_increment;
        for side in [0, 1] {
            let (database, object_store) = (databases[side].id, object_stores[side].id);
            bytes_suffice &= !stores[side].has_external_objects(database, object_store)?;
        }
        Ok(Self {
            stores,
            databases,
            readers: [of(0), of(1)],
            bytes_suffice,
        })
    }

    fn compare(&mut self, keys: [RawKey<'_>; 2], bytes: [&[u8]; 2]) -> Verdict {
        let is_same_key = keys[0].as_bytes() == keys[1].as_bytes();
        if self.bytes_suffice && is_same_key && bytes[0] == bytes[1] {
            return Verdict::Equal;
        }
        let (stores, databases) = (self.stores, self.databases);
        let [one, other] = &mut self.readers;
        let read = one.read(keys[0], bytes[0], |a, objects_of_a| {
            other.read(keys[1], bytes[1], |b, objects_of_b| {
                let (of_a, of_b) = (
                    source(stores[0], databases[0], objects_of_a),
                    source(stores[1], databases[1], objects_of_b),
                );
                compare_trees((a, of_a), (b, of_b), keys)
            })
        });
        match read {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(error)) => Verdict::Unreadable(1, error.to_string()),
            Err(error) => Verdict::Unreadable(0, error.to_string()),
        }
    }
}

fn source<'s>(
    store: &'s Store,
    database: &DatabaseMetadata,
    objects: &'s [ExternalObject],
) -> StoreBlobs<'s> {
    StoreBlobs {
        store,
        database_id: database.id,
        objects,
    }
}

fn compare_trees(
    (a, mut of_a): (&Tree<'_>, StoreBlobs<'_>),
    (b, mut of_b): (&Tree<'_>, StoreBlobs<'_>),
    keys: [RawKey<'_>; 2],
) -> Verdict {
    let (digest_of_a, digest_of_b) = (digest(a, &mut of_a), digest(b, &mut of_b));
    let (digest_of_a, digest_of_b) = match (digest_of_a, digest_of_b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) => return Verdict::Unreadable(0, error),
        (_, Err(error)) => return Verdict::Unreadable(1, error),
    };
    let mut changes = Vec::new();
    // 0 and -0 are one key.
    if keys[0].as_bytes() != keys[1].as_bytes() {
        let shown = |key| Shown {
            kind: "key",
            text: ShownKey(key).to_string(),
        };
        changes.push(PropertyChange {
            path: "key".to_owned(),
            change: Change::Changed,
            from: Some(shown(keys[0])),
            to: Some(shown(keys[1])),
        });
    }
    if digest_of_a != digest_of_b {
        let before = changes.len();
        changes.extend(property_changes((a, &of_a), (b, &of_b)));
        if changes.len() == before {
            // Something that has no text of its own.
            changes.push(PropertyChange {
                path: String::new(),
                change: Change::Changed,
                from: None,
                to: None,
            });
        }
    }
    if changes.is_empty() {
        return Verdict::Equal;
    }
    let more = changes.len().saturating_sub(PROPERTIES_MAX);
    changes.truncate(PROPERTIES_MAX);
    Verdict::Different(changes, more as u64)
}

/// The digest of everything that canonical JSON says of a value.
pub(crate) fn digest(tree: &Tree<'_>, blobs: &mut StoreBlobs<'_>) -> Result<[u8; 32], String> {
    let mut sink = Hashing(Sha256::new());
    let mut waiting = Vec::new();
    let problems = stream_value(&mut sink, &mut waiting, tree, blobs, BROWSER);
    let problems = problems.map_err(|error| error.to_string())?;
    if let Some(problem) = problems.first() {
        return Err(problem.to_string());
    }
    sink.0.update(&waiting);
    Ok(sink.0.finalize().into())
}

struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The content of a blob or file, as far as it can be read: its length and its digest.
pub(super) fn content(blobs: &StoreBlobs<'_>, object: &ExternalObject) -> Option<String> {
    let (ExternalObject::Blob(blob) | ExternalObject::File { blob, .. }) = object else {
        return None;
    };
    let mut sink = Hashing(Sha256::new());
    let mut content = blobs.store.open_blob(blobs.database_id, blob).ok()?;
    let len = io::copy(&mut content, &mut sink).ok()?;
    let digest: [u8; 32] = sink.0.finalize().into();
    Some(format!("{len} bytes, SHA-256 {}", Hex(&digest)))
}
