//! Batches of rows that say of themselves whether they are whole.

use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, Options, Result};
use std::collections::BTreeMap;

const NUMBER: &[u8] = b"number of the last batch";

/// Small tables, so that there are many; no thread.
pub(crate) fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 4000,
        table_file_bytes: 3000,
        manifest_bytes: 2000,
        background: Background::Caller,
        ..Options::default()
    }
}

fn mix(n: u32) -> u32 {
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
}

fn rows(batch: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    let row = |i| {
        let random = mix(batch * 16 + i);
        let value = (0..random % 300).map(|n| mix(n ^ random) as u8).collect();
        (format!("key {:02}", random % 40).into_bytes(), value)
    };
    (0..1 + mix(batch) % 6).map(row).collect()
}

/// Writes so many batches after one, strictly each; the last one that was acknowledged.
pub(crate) fn write(db: &Db, after: u32, count: u32) -> u32 {
    for batch in after + 1..=after + count {
        let mut writer = BatchWriter::new();
        writer.put(NUMBER, &batch.to_be_bytes());
        for (key, value) in rows(batch) {
            writer.put(&key, &value);
        }
        if db.write(&mut writer, Durability::Strict).is_err() {
            return batch - 1;
        }
    }
    after + count
}

/// The last batch that is there.
pub(crate) fn found(db: &Db) -> Result<u32> {
    let number = db.get(NUMBER)?;
    Ok(number.map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().unwrap())))
}

/// All rows are those of the batches up to one.
pub(crate) fn check(db: &Db, upto: u32) {
    let wanted: BTreeMap<Vec<u8>, Vec<u8>> = (1..=upto).flat_map(rows).collect();
    let rows = db.range(..).map(|row| row.unwrap());
    let found: BTreeMap<Vec<u8>, Vec<u8>> = rows.filter(|(key, _)| key != NUMBER).collect();
    assert!(
        found == wanted,
        "batch {upto}: {} rows, and {} are to be there",
        found.len(),
        wanted.len()
    );
}
