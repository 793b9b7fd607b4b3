//! Finds texts, keys and types in the keys and values of a store, with where they are.
//!
//! [`find`] reads every record once (a key alone is looked up) and calls back for each place that fits.

mod command;
mod pattern;

pub(crate) use command::Find;
pub use pattern::Pattern;

use std::ops::ControlFlow;

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ErrorKind, KeyRange, ObjectStoreMetadata,
};
use larder_codec::RawKey;
use larder_codec::idb_key::KeyPart;
use larder_codec::value::IsoDate;

use crate::display::js_number;
use crate::leaves::{Leaf, walk};
use crate::record::ValueReader;
use crate::scan::{Scan, Stop};

/// A place that fits.
#[derive(Debug)]
pub struct Hit<'h> {
    /// The database.
    pub database: &'h DatabaseMetadata,
    /// The object store.
    pub object_store: &'h ObjectStoreMetadata,
    /// The record's primary key.
    pub key: RawKey<'h>,
    /// Where in the record it is.
    pub place: HitPlace<'h>,
    /// The type of what fits there: `string`, `number`, `Date`, `bytes`, …
    pub kind: &'h str,
    /// What fits: the whole text; of bytes, those around it.
    pub text: &'h str,
}

/// Where in a record a hit is.
#[derive(Debug, Clone, Copy)]
pub enum HitPlace<'h> {
    /// In the primary key.
    Key,
    /// In the value, at the end of this way (`.a[0]`); empty for the value itself.
    Value(&'h str),
    /// The index of this name has the record under the key.
    Index(&'h larder_codec::JsString),
}

/// What takes hits; it breaks when it has enough.
type Sink<'s> = &'s mut dyn FnMut(&Hit<'_>) -> std::io::Result<ControlFlow<()>>;

/// Called for each record before it is looked at; it breaks when no more are wanted.
type Tick<'t> = &'t mut dyn FnMut() -> ControlFlow<()>;

/// Finds a pattern in what a scan's selection has. `tick` is called for each record that is looked at, and may end it.
///
/// # Errors
/// If the output or the store cannot be used any more.
pub fn find(
    scan: &mut Scan<'_>,
    pattern: &Pattern,
    tick: Tick<'_>,
    sink: Sink<'_>,
) -> Result<ControlFlow<()>, Stop> {
    for database in scan.databases()? {
        if database.version.is_none() {
            continue;
        }
        for object_store in scan.object_stores(&database) {
            let found = match pattern {
                Pattern::Key(key) => by_key(scan, &database, object_store, key, sink)?,
                _ => in_records(scan, &database, object_store, pattern, tick, sink)?,
            };
            if found.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The record with a key, and those that an index has under it.
fn by_key(
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    key: &[u8],
    sink: Sink<'_>,
) -> Result<ControlFlow<()>, Stop> {
    let key = RawKey::decode_exact(key).map_err(not_a_key)?;
    let text = crate::display::ShownKey(key).to_string();
    let range = KeyRange::only(key);
    let next = CursorDirection::Next;
    let mut records = scan
        .store
        .keys_in(database.id, object_store.id, &range, next);
    while scan.advance(|| records.next())? {
        let hit = Hit {
            database,
            object_store,
            key: records.primary_key()?,
            place: HitPlace::Key,
            kind: "key",
            text: &text,
        };
        if sink(&hit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    for index in &object_store.indexes {
        let store = scan.store;
        let mut entries = store.index_keys_in(database.id, object_store.id, index.id, &range, next);
        while scan.advance(|| entries.next())? {
            let hit = Hit {
                database,
                object_store,
                key: entries.primary_key()?,
                place: HitPlace::Index(&index.name),
                kind: "key",
                text: &text,
            };
            if sink(&hit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn not_a_key(error: larder_codec::Error) -> Stop {
    let what = format!("the key to look for is not a valid key: {error}");
    Stop::Store(larder_backing_store::Error::new(ErrorKind::Usage, what))
}

fn in_records(
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    pattern: &Pattern,
    tick: Tick<'_>,
    sink: Sink<'_>,
) -> Result<ControlFlow<()>, Stop> {
    let store = scan.store;
    let mut reader = ValueReader::new(store, database.id, object_store);
    let next = CursorDirection::Next;
    let mut records = store.records(database.id, object_store.id, next);
    while scan.advance(|| records.next())? {
        if tick().is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let key = records.primary_key()?;
        let mut stopped = Ok(ControlFlow::Continue(()));
        let mut hit = |place: HitPlace<'_>, kind: &str, text: &str| {
            let hit = Hit {
                database,
                object_store,
                key,
                place,
                kind,
                text,
            };
            stopped = sink(&hit);
            match stopped {
                Ok(flow) => flow,
                Err(_) => ControlFlow::Break(()),
            }
        };
        if in_key(key, pattern, &mut hit).is_continue() {
            let read = reader.read(key, records.value()?, |tree, objects| {
                walk(tree, objects, &mut |way, leaf| match pattern.find(&leaf) {
                    Some(text) => hit(HitPlace::Value(&way.to_string()), kind(&leaf), &text),
                    None => ControlFlow::Continue(()),
                })
            });
            if let Err(error) = read {
                scan.value_damage(database, object_store, key, &error);
            }
        }
        if stopped?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Breaks if a record has what fits.
#[cfg(feature = "view")]
pub(crate) fn fits(
    key: RawKey<'_>,
    tree: &larder_codec::value::Tree<'_>,
    objects: &[larder_codec::external_object::ExternalObject],
    pattern: &Pattern,
) -> ControlFlow<()> {
    in_key(key, pattern, &mut |_, _, _| ControlFlow::Break(()))?;
    walk(tree, objects, &mut |_, leaf| match pattern.find(&leaf) {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    })
}

const fn kind(leaf: &Leaf<'_>) -> &'static str {
    match leaf {
        Leaf::Text(kind, _) | Leaf::Object(kind) | Leaf::External(kind, _) => kind,
        Leaf::Bytes(_) => "bytes",
    }
}

fn in_key(
    key: RawKey<'_>,
    pattern: &Pattern,
    hit: &mut dyn FnMut(HitPlace<'_>, &str, &str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for part in key.parts() {
        let leaf = match part {
            KeyPart::Number(number) => Leaf::Text("number", js_number(number).to_string().into()),
            KeyPart::Date(time) => {
                let date = IsoDate::new(time).map(|date| date.to_string());
                Leaf::Text("Date", date.unwrap_or_default().into())
            }
            KeyPart::String(units) => {
                Leaf::Text("string", units.to_js_string().to_string_lossy().into())
            }
            KeyPart::Binary(bytes) => Leaf::Bytes(bytes),
            KeyPart::Array { .. } => continue,
        };
        if let Some(text) = pattern.find(&leaf) {
            hit(HitPlace::Key, kind(&leaf), &text)?;
        }
    }
    ControlFlow::Continue(())
}
