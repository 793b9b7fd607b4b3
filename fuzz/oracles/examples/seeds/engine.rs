//! Seeds of the engine's files, of whole stores and of transactions.

use std::fs;
use std::path::Path;

use larder_fuzz_oracles::files::Files;
use larder_leveldb::crc;
use larder_leveldb::log::{LogEvent, LogReader};
use larder_leveldb::storage::FileSystem as _;

use super::Corpus;
use super::stores::{killed, lite};

/// Logs, tables, MANIFESTs.
pub(crate) fn files(corpus: &Corpus) {
    let read = |fixture: &str, name: &str| {
        let open = larder_fixtures::get(fixture).open();
        fs::read(open.leveldb().join(name)).expect("a file of a golden store")
    };
    let log = read("y-indexeddb", "000003.log");
    corpus.add_as("log", "y-indexeddb", 0, &log[..33_000]);
    corpus.add_as(
        "log",
        "killed",
        0,
        &read("c156-killed-spill-small", "000003.log")[..3000],
    );
    for at in [4, 30, 60] {
        // Three records: of 10, 33280 and 5 bytes. No cut, one changed byte.
        let records = [7, 3, 10, 0, 0, 130, 5, 0, 0, 1, at, 0, 0, 4];
        corpus.add_as("log", &format!("records-{at}"), 1, &records);
        // Five batches of three writes: a value, a deletion, a long value. One changed byte.
        let batch = [2, 1, 200, 2, 10, 3, 255];
        let batches = [&[1, 5][..], &batch.repeat(5), &[1, at, 30, 0, 64]].concat();
        corpus.add_as("log", &format!("batches-{at}"), 2, &batches);
        // Blocks of 33 bytes, not packed; twelve writes of two keys, values and deletions. One changed byte.
        let writes = [&[2, b'a', b'b', 200][..], &[1, b'z', 10], &[1, b'z', 100]].concat();
        let entries = [
            &[8, 4, 1, 10, 3, 12][..],
            &writes.repeat(4),
            &[1, at, 0, 0, 64],
        ]
        .concat();
        corpus.add_as("table", &format!("entries-{at}"), 2, &entries);
    }
    for (fixture, name) in [
        ("c64-lite", "000009.ldb"),
        ("c156-lite", "000007.ldb"),
        ("c110-lite", "000007.ldb"),
    ] {
        let bytes = read(fixture, name);
        corpus.add_as("table", fixture, 0, &bytes);
        corpus.add_as("table", &format!("{fixture}-blocks"), 1, &blocks(&bytes));
    }
    for fixture in ["c156", "c64-lite", "c156-lite"] {
        let bytes = read(fixture, "MANIFEST-000001");
        corpus.add_as("manifest", fixture, 0, &bytes);
        corpus.add_as(
            "manifest",
            &format!("{fixture}-records"),
            1,
            &records(&bytes),
        );
    }
    let small = lite()
        .0
        .remove("store/MANIFEST-000001")
        .expect("a store has one");
    corpus.add_as("manifest", "small", 0, &small);
    corpus.add_as("manifest", "small-records", 1, &records(&small));
    corpus.add_as("manifest", "small-damaged", 2, &[60, 0, 0, 4]);
}

/// The blocks of a table, each with its compression and length before it.
fn blocks(table: &[u8]) -> Vec<u8> {
    let (mut out, mut start) = (Vec::new(), 0);
    for end in 1..table.len().saturating_sub(4) {
        // Behind the block and its compression byte: their checksum.
        let is_end =
            |block: &[u8]| table[end..end + 4] == crc::mask(crc::value(block)).to_le_bytes();
        if start < end && is_end(&table[start..end]) {
            let len = u16::try_from(end - 1 - start).expect("a small block");
            out.push(table[end - 1]);
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(&table[start..end - 1]);
            start = end + 4;
        }
    }
    out
}

/// The records of a log, each with its length before it.
fn records(log: &[u8]) -> Vec<u8> {
    let files = Files([("log".to_owned(), log.to_vec())].into());
    let file = files
        .mount()
        .open_random(Path::new("log"))
        .expect("it is there");
    let mut reader = LogReader::new(file).expect("memory has lengths");
    let mut out = Vec::new();
    while let LogEvent::Record = reader.next_event() {
        out.extend_from_slice(
            &u16::try_from(reader.record().len())
                .expect("a short record")
                .to_le_bytes(),
        );
        out.extend_from_slice(reader.record());
    }
    out
}

/// Whole stores, and damage to them.
pub(crate) fn directories(corpus: &Corpus) {
    corpus.add_as("store_directory", "lite", 0, &lite().to_archive());
    corpus.add_as("store_directory", "killed", 0, &killed().to_archive());
    let open = larder_fixtures::get("y-indexeddb").open();
    let mut files = Files::default();
    for name in ["CURRENT", "MANIFEST-000001", "000003.log"] {
        let mut content = fs::read(open.leveldb().join(name)).expect("a file of a golden store");
        content.truncate(20_000);
        files.0.insert(format!("store/{name}"), content);
    }
    corpus.add_as("store_directory", "y-indexeddb", 0, &files.to_archive());
    for file in 0..5 {
        corpus.add_as(
            "store_directory",
            &format!("lite-byte-{file}"),
            1,
            &[file, 2, 90, 1, 0, 64],
        );
        corpus.add_as(
            "store_directory",
            &format!("killed-byte-{file}"),
            4,
            &[file, 2, 200, 0, 0, 3],
        );
        corpus.add_as(
            "store_directory",
            &format!("lite-cut-{file}"),
            1,
            &[file, 0, 50, 0, 0, 1, 2, 9, 0, 0, 1],
        );
    }
    let change = [
        10, 0, 0, 3, 0, 0, 1, 40, 0, 1, 2, 0, 0, 7, 90, 0, 3, 1, 0, 0, 7, 1, 5, 30, 1, 4, 2, 0xff,
        0xff,
    ];
    corpus.add_as("store_directory", "lite-rows", 2, &change);
    corpus.add_as("store_directory", "killed-rows", 5, &change);
    // The global schema version row: schema 3.
    corpus.add_as(
        "store_directory",
        "schema-3",
        2,
        &[0, 0, 6, 5, 1, 0, 0, 0, 0, 0, 3],
    );
}

/// Choices of hostile stores: what follows from eight bytes.
pub(crate) fn hostile(corpus: &Corpus) {
    for seed in 1..=12_u64 {
        corpus.add("hostile_store", &seed.to_string(), &seed.to_be_bytes());
    }
}

/// Transactions: the first makes two object stores with indexes, the others do anything.
pub(crate) fn transactions(corpus: &Corpus) {
    // The number of steps but one; step by step: two object stores, three indexes.
    let first = [
        4, 0, 1, 1, 0, 16, 1, 2, 1, 1, 0, 1, 1, 17, 1, 2, 3, 1, 0, 5, 2,
    ];
    for seed in 1..=16_u64 {
        let mut program = first.to_vec();
        let mut state = seed;
        for _ in 0..8 {
            // SplitMix64.
            let bytes = std::iter::repeat_with(|| {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (z ^ (z >> 31)).to_le_bytes()[0]
            });
            let steps: Vec<u8> = bytes.take(4 * 12).collect();
            program.push(11);
            program.extend_from_slice(&steps);
        }
        corpus.add("transactions", &seed.to_string(), &program);
    }
}
