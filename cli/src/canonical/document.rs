//! The canonical document of one store: databases, object stores, records, indexes, cursor orders.

use std::collections::HashMap;
use std::io::{self, Write};

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ErrorKind, IndexMetadata, KEY_GENERATOR_MAX,
    ObjectStoreMetadata, StoreOrder,
};
use larder_codec::{Key, RawKey};

use super::key::{write_key, write_key_path, write_name};
use super::text::{push, push_json_str, push_member};
use super::value::{Browser, stream_value, write_value};
use crate::record::{StoreBlobs, ValueReader};
use crate::scan::{Scan, Stop};

/// How much of long strings and bytes is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Strings over 512 units and bytes over 256 are replaced by their length and SHA-256: the form of comparisons.
    /// Also stacks of errors, key material and other things that no script is shown are left out.
    Digests,
}

/// Writes the document of a scan's store. Memory holds one record and the keys of one object store or index at a time.
///
/// Databases and the stores and indexes in them stand in ascending order of name, databases without a version are
/// left out. A value that cannot be read is `{"t":"UNREADABLE","error":…}` and is reported. With [`Extent::Whole`] a blob
/// that cannot be read is that for itself alone: it has a member `error`.
///
/// # Errors
/// If the output or the store cannot be used any more.
pub fn write_document(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    origin: &str,
    bucket: Option<&str>,
    extent: Extent,
) -> Result<(), Stop> {
    let mut databases = scan.databases()?;
    databases.retain(|database| database.version.is_some());
    databases.sort_by(|a, b| a.name.cmp(&b.name));
    let mut head = Vec::new();
    head.extend_from_slice(b"{\"origin\":");
    push_json_str(&mut head, origin);
    if let Some(bucket) = bucket {
        head.extend_from_slice(b",\"bucket\":");
        push_json_str(&mut head, bucket);
    }
    if let Some(order) = order_name(scan.store.order()) {
        head.extend_from_slice(b",\"order\":");
        push_json_str(&mut head, order);
    }
    head.extend_from_slice(b",\"databases\":[");
    out.write_all(&head)?;
    for (n, database) in databases.iter().enumerate() {
        if n > 0 {
            out.write_all(b",")?;
        }
        write_database(out, scan, database, extent)?;
    }
    out.write_all(b"]}\n")?;
    Ok(())
}

/// The order of keys, where it is not Chromium's.
const fn order_name(order: StoreOrder) -> Option<&'static str> {
    match order {
        StoreOrder::Chromium => None,
        StoreOrder::SignedBytes => Some("signed bytes"),
        StoreOrder::Mixed => Some("mixed"),
    }
}

fn write_database(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    extent: Extent,
) -> Result<(), Stop> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"name\":");
    write_name(&mut text, &database.name);
    push(
        &mut text,
        format_args!(
            ",\"version\":\"{}\",\"stores\":[",
            database.version.unwrap_or(0)
        ),
    );
    out.write_all(&text)?;
    let mut stores: Vec<_> = scan.object_stores(database).collect();
    stores.sort_by(|a, b| a.name.cmp(&b.name));
    for (n, object_store) in stores.into_iter().enumerate() {
        if n > 0 {
            out.write_all(b",")?;
        }
        write_object_store(out, scan, database, object_store, extent)?;
    }
    out.write_all(b"]}")?;
    Ok(())
}

fn write_object_store(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    extent: Extent,
) -> Result<(), Stop> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"name\":");
    write_name(&mut text, &object_store.name);
    push_member(&mut text, "keyPath");
    write_key_path(&mut text, &object_store.key_path);
    push(
        &mut text,
        format_args!(",\"autoIncrement\":{}", object_store.auto_increment),
    );
    if object_store.auto_increment {
        push_member(&mut text, "nextKey");
        write_next_key(&mut text, scan, database, object_store)?;
    }
    text.extend_from_slice(b",\"records\":[");
    out.write_all(&text)?;
    let keys = write_records(out, scan, database, object_store, extent)?;
    text.clear();
    push(
        &mut text,
        format_args!("],\"count\":{},\"orders\":", keys.len()),
    );
    write_orders(&mut text, &keys, |direction| {
        record_keys(scan, database, object_store, direction)
    })?;
    text.extend_from_slice(b",\"indexes\":[");
    out.write_all(&text)?;
    drop(keys);
    let mut indexes: Vec<_> = object_store.indexes.iter().collect();
    indexes.sort_by(|a, b| a.name.cmp(&b.name));
    for (n, index) in indexes.into_iter().enumerate() {
        if n > 0 {
            out.write_all(b",")?;
        }
        write_index(out, scan, database, object_store, index)?;
    }
    out.write_all(b"]}")?;
    Ok(())
}

fn write_next_key(
    out: &mut Vec<u8>,
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
) -> Result<(), Stop> {
    match scan.store.key_generator(database.id, object_store.id) {
        Ok(next) if next > KEY_GENERATOR_MAX => push_json_str(out, "error ConstraintError"),
        Ok(next) => {
            let mut bytes = Vec::new();
            #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
            Key::Number(next as f64).encode(&mut bytes);
            if let Ok(key) = RawKey::decode_exact(&bytes) {
                write_key(out, key);
            }
        }
        Err(error) if error.kind() == ErrorKind::Corruption => {
            write_unreadable(out, &error.to_string());
            scan.damage(&error);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn write_unreadable(out: &mut Vec<u8>, error: &str) {
    out.extend_from_slice(b"{\"t\":\"UNREADABLE\",\"error\":");
    push_json_str(out, error);
    out.push(b'}');
}

/// Writes what stands for a value that cannot be read, and returns why.
fn unreadable(out: &mut Vec<u8>, error: &dyn std::error::Error) {
    write_unreadable(out, &error.to_string());
}

/// Writes the records and returns their keys.
fn write_records(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    extent: Extent,
) -> Result<Vec<Vec<u8>>, Stop> {
    let store = scan.store;
    let mut reader = ValueReader::new(store, database.id, object_store);
    let browser = Browser::of_schema(store.schema_version());
    let mut keys = Vec::new();
    let mut text = Vec::new();
    let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
    while scan.advance(|| records.next())? {
        text.clear();
        if !keys.is_empty() {
            text.push(b',');
        }
        let key = records.primary_key()?;
        text.push(b'[');
        write_key(&mut text, key);
        text.push(b',');
        let read = reader.read(key, records.value()?, |tree, objects| {
            let mut blobs = StoreBlobs {
                store,
                database_id: database.id,
                objects,
            };
            if extent == Extent::Whole {
                return Ok(stream_value(out, &mut text, tree, &mut blobs, browser));
            }
            write_value(&mut text, tree, &mut blobs, browser).map(|()| Ok(Vec::new()))
        });
        let mut report = |problem: &(dyn std::error::Error + 'static)| {
            scan.value_damage(database, object_store, key, problem);
        };
        match read {
            Ok(Ok(written)) => written?.iter().for_each(|problem| report(problem)),
            Ok(Err(error)) => {
                unreadable(&mut text, &error);
                report(&error);
            }
            Err(error) => {
                unreadable(&mut text, &error);
                report(&error);
            }
        }
        text.push(b']');
        out.write_all(&text)?;
        keys.push(key.as_bytes().to_vec());
    }
    Ok(keys)
}

fn record_keys(
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    direction: CursorDirection,
) -> Result<Vec<Vec<u8>>, Stop> {
    let mut keys = Vec::new();
    let mut records = scan.store.records(database.id, object_store.id, direction);
    while scan.advance(|| records.next())? {
        keys.push(records.primary_key()?.as_bytes().to_vec());
    }
    Ok(keys)
}

fn write_index(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    index: &IndexMetadata,
) -> Result<(), Stop> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"name\":");
    write_name(&mut text, &index.name);
    push_member(&mut text, "keyPath");
    write_key_path(&mut text, &index.key_path);
    let (unique, multi_entry) = (index.unique, index.multi_entry);
    push(
        &mut text,
        format_args!(",\"unique\":{unique},\"multiEntry\":{multi_entry},\"entries\":["),
    );
    out.write_all(&text)?;
    let mut entries = scan.store.index_entries(
        database.id,
        object_store.id,
        index.id,
        CursorDirection::Next,
    );
    let mut list = Vec::new();
    while scan.advance(|| entries.next())? {
        text.clear();
        if !list.is_empty() {
            text.push(b',');
        }
        let (key, primary_key) = (entries.index_key()?, entries.primary_key()?);
        text.push(b'[');
        write_key(&mut text, key);
        text.push(b',');
        write_key(&mut text, primary_key);
        text.push(b']');
        out.write_all(&text)?;
        list.push([key.as_bytes(), primary_key.as_bytes()].concat());
    }
    text.clear();
    push(
        &mut text,
        format_args!("],\"count\":{},\"orders\":", list.len()),
    );
    write_orders(&mut text, &list, |direction| {
        let mut visited = Vec::new();
        let mut entries =
            scan.store
                .index_entries(database.id, object_store.id, index.id, direction);
        while scan.advance(|| entries.next())? {
            visited.push(
                [
                    entries.index_key()?.as_bytes(),
                    entries.primary_key()?.as_bytes(),
                ]
                .concat(),
            );
        }
        Ok(visited)
    })?;
    text.push(b'}');
    out.write_all(&text)?;
    Ok(())
}

/// Writes in which order the other three directions visit what `next` visited.
fn write_orders(
    out: &mut Vec<u8>,
    next: &[Vec<u8>],
    mut visit: impl FnMut(CursorDirection) -> Result<Vec<Vec<u8>>, Stop>,
) -> Result<(), Stop> {
    let directions = [
        ("nextunique", CursorDirection::NextUnique),
        ("prev", CursorDirection::Prev),
        ("prevunique", CursorDirection::PrevUnique),
    ];
    for (n, (name, direction)) in directions.into_iter().enumerate() {
        push(
            out,
            format_args!("{}\"{name}\":", if n == 0 { '{' } else { ',' }),
        );
        write_order(out, next, &visit(direction)?);
    }
    out.push(b'}');
    Ok(())
}

fn write_order(out: &mut Vec<u8>, next: &[Vec<u8>], visited: &[Vec<u8>]) {
    if visited == next {
        out.extend_from_slice(b"\"same\"");
    } else if visited.len() == next.len() && visited.iter().eq(next.iter().rev()) {
        out.extend_from_slice(b"\"reverse\"");
    } else {
        let positions: HashMap<&[u8], usize> = next
            .iter()
            .enumerate()
            .map(|(n, entry)| (&**entry, n))
            .collect();
        out.push(b'[');
        for (n, entry) in visited.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            match positions.get(&**entry) {
                Some(position) => push(out, position),
                // Seen in one direction and not in the other: only in a damaged store.
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b']');
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
