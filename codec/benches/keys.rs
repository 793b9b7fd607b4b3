//! Nanoseconds per key and per row: encode, decode, compare.
//!
//! `cargo bench -p larder-codec --bench keys`. Each line of a table is one key or row a time.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark of keys that are known to be good"
)]

use divan::Bencher;
use divan::counter::BytesCount;
use larder_codec::row_key::{IndexDataKey, RecordKey, RecordTable};
use larder_codec::{
    DatabaseId, IndexId, Key, ObjectStoreId, RawKey, RowKey, RowValue, compare, sortable,
};

fn main() {
    divan::main();
}

const KINDS: [&str; 7] = [
    "number",
    "date",
    "string 8",
    "string 64",
    "binary 16",
    "array 2",
    "nested 4",
];

/// Two neighbouring keys of a kind: they differ as late as can be.
fn pair(kind: &str) -> [Key; 2] {
    let array = |elements| Key::array(elements).unwrap();
    let text = |len: usize, last: &str| Key::from(&*("k".repeat(len - 1) + last));
    [("a", 1.0), ("b", 2.0)].map(|(last, number)| match kind {
        "number" => Key::Number(number),
        "date" => Key::Date(1_700_000_000_000.0 + number),
        "string 8" => text(8, last),
        "string 64" => text(64, last),
        "binary 16" => Key::Binary([&[7; 15], last.as_bytes()].concat()),
        "array 2" => array(vec![text(8, "x"), Key::Number(number)]),
        _ => array(vec![array(vec![array(vec![array(vec![Key::Number(
            number,
        )])])])]),
    })
}

fn encoded(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn ids() -> (DatabaseId, ObjectStoreId, IndexId) {
    (
        DatabaseId::new(3).unwrap(),
        ObjectStoreId::new(2).unwrap(),
        IndexId::new(31).unwrap(),
    )
}

/// The stored key of a record's data row.
fn data_row(key: &Key) -> Vec<u8> {
    let (database_id, object_store_id, _) = ids();
    let user_key = encoded(key);
    let mut bytes = Vec::new();
    let key = RawKey::decode_exact(&user_key).unwrap();
    let table = RecordTable::Data;
    RecordKey {
        database_id,
        object_store_id,
        table,
        key,
    }
    .encode(&mut bytes);
    bytes
}

/// The stored key of an index entry whose index key is of a kind and whose primary key is a number.
fn index_row(key: &Key, primary: f64) -> Vec<u8> {
    let (database, store, index) = ids();
    let (index_key, primary_key) = (encoded(key), encoded(&Key::Number(primary)));
    let mut bytes = Vec::new();
    let index_key = RawKey::decode_exact(&index_key).unwrap();
    let primary_key = RawKey::decode_exact(&primary_key).unwrap();
    IndexDataKey::new(database, store, index, index_key, primary_key).encode(&mut bytes);
    bytes
}

#[divan::bench(args = KINDS)]
fn key_encode(bencher: Bencher<'_, '_>, kind: &str) {
    let [key, _] = pair(kind);
    let mut out = Vec::with_capacity(256);
    bencher
        .counter(BytesCount::new(encoded(&key).len()))
        .bench_local(|| {
            out.clear();
            divan::black_box(&key).encode(&mut out);
            out.len()
        });
}

#[divan::bench(args = KINDS)]
fn key_decode(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = encoded(&pair(kind)[0]);
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| Key::decode(divan::black_box(&bytes)).is_ok());
}

#[divan::bench(args = KINDS)]
fn key_check_raw(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = encoded(&pair(kind)[0]);
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| RawKey::decode(divan::black_box(&bytes)).is_ok());
}

#[divan::bench(args = KINDS)]
fn data_row_compare(bencher: Bencher<'_, '_>, kind: &str) {
    let [a, b] = pair(kind).map(|key| data_row(&key));
    bencher.bench_local(|| compare(divan::black_box(&a), divan::black_box(&b)));
}

#[divan::bench(args = KINDS)]
fn index_row_compare_by_primary_key(bencher: Bencher<'_, '_>, kind: &str) {
    let [key, _] = pair(kind);
    let (a, b) = (index_row(&key, 1.0), index_row(&key, 2.0));
    bencher.bench_local(|| compare(divan::black_box(&a), divan::black_box(&b)));
}

#[divan::bench(args = KINDS)]
fn data_row_decode(bencher: Bencher<'_, '_>, kind: &str) {
    let key = data_row(&pair(kind)[0]);
    let value = [&[0xac, 0x02][..], &[0xff; 100]].concat();
    bencher.bench_local(|| {
        let key = RowKey::decode_exact(divan::black_box(&key)).unwrap();
        RowValue::decode_exact(&key, divan::black_box(&value), 5).is_ok()
    });
}

#[divan::bench(args = KINDS)]
fn index_row_decode(bencher: Bencher<'_, '_>, kind: &str) {
    let key = index_row(&pair(kind)[0], 1.0);
    let value = [&[0xac, 0x02][..], &encoded(&Key::Number(1.0))].concat();
    bencher.bench_local(|| {
        let key = RowKey::decode_exact(divan::black_box(&key)).unwrap();
        RowValue::decode_exact(&key, divan::black_box(&value), 5).is_ok()
    });
}

#[divan::bench(args = KINDS)]
fn index_row_encode(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = index_row(&pair(kind)[0], 1.0);
    let key = RowKey::decode_exact(&bytes).unwrap();
    let mut out = Vec::with_capacity(256);
    bencher.bench_local(|| {
        out.clear();
        divan::black_box(&key).encode(&mut out);
        out.len()
    });
}

#[divan::bench(args = KINDS)]
fn sortable_encode(bencher: Bencher<'_, '_>, kind: &str) {
    let [key, _] = pair(kind);
    let mut out = Vec::with_capacity(256);
    bencher.bench_local(|| {
        out.clear();
        sortable::encode(divan::black_box(&key), &mut out);
        out.len()
    });
}

#[divan::bench(args = KINDS)]
fn sortable_decode(bencher: Bencher<'_, '_>, kind: &str) {
    let mut bytes = Vec::new();
    sortable::encode(&pair(kind)[0], &mut bytes);
    bencher.bench_local(|| sortable::decode(divan::black_box(&bytes)).is_ok());
}
