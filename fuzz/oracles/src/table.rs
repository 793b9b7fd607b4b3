//! Laws of tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_leveldb::compression::Compression;
use larder_leveldb::crc;
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder, SEQUENCE_MAX};
use larder_leveldb::table::{BlockHandle, Footer, TRAILER_LEN, TableOptions};
use larder_leveldb::version_edit::NewFile;
use larder_leveldb::{BytewiseComparator, Comparator};

use crate::files::Files;
use crate::input::{Input, noise};
use crate::log::change_byte;
use crate::reading::{self, Written};
use crate::write;

/// The first byte chooses: the rest is a table; or blocks that get right checksums and a footer; or entries to write and
/// damage to do to them.
pub fn table(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 3 {
        0 => any_bytes(input.0.to_vec()),
        1 => any_bytes(assembled(input)),
        _ => damaged_entries(input),
    }
}

fn comparator() -> Arc<dyn Comparator> {
    Arc::new(BytewiseComparator)
}

fn any_bytes(bytes: Vec<u8>) {
    let bound = |byte: u8, tag: u64| {
        let mut key = Vec::new();
        internal_key::encode_tagged(&mut key, &vec![byte; usize::from(byte) / 5], tag);
        key
    };
    let listed = NewFile {
        level: 1,
        number: 5,
        len_bytes: bytes.len() as u64,
        smallest: bound(0, SEQUENCE_MAX << 8 | 1),
        largest: bound(255, 0),
    };
    reading::read(&store(bytes.clone(), listed), &comparator());
    // A store without a MANIFEST is read by what is there.
    let orphan = reading::store([("000005.sst", bytes)]);
    reading::read(&orphan, &comparator());
}

fn store(table: Vec<u8>, listed: NewFile) -> Files {
    let mut edit = write::first_edit(&BytewiseComparator, 0, SEQUENCE_MAX);
    edit.new_files.push(listed);
    let manifest = write::manifest(&[edit]);
    reading::store([
        ("CURRENT", write::CURRENT.to_vec()),
        ("MANIFEST-000001", manifest),
        ("000005.ldb", table),
    ])
}

/// Blocks, each a compression byte, a length (2 bytes) and its bytes as stored; then the footer, whose two handles point at
/// the last two blocks. Index and metaindex blocks in the input name the other blocks by themselves.
fn assembled(mut input: Input<'_>) -> Vec<u8> {
    let (mut out, mut handles) = (Vec::new(), Vec::new());
    while !input.is_empty() {
        let (kind, len) = (input.byte(), usize::from(input.u16()));
        let block = input.bytes(len);
        handles.push(BlockHandle {
            offset: out.len() as u64,
            len: block.len() as u64,
        });
        let start = out.len();
        out.extend_from_slice(block);
        out.push(kind);
        let sum = crc::mask(crc::value(&out[start..]));
        out.extend_from_slice(&sum.to_le_bytes());
        assert_eq!(out.len() - start, block.len() + TRAILER_LEN, "a trailer");
    }
    let last = BlockHandle { offset: 0, len: 0 };
    let index = handles.pop().unwrap_or(last);
    Footer {
        metaindex: handles.pop().unwrap_or(last),
        index,
    }
    .encode(&mut out);
    out
}

fn damaged_entries(mut input: Input<'_>) {
    let options = TableOptions {
        block_len: 1 + usize::from(input.byte()) * 4,
        restart_interval: 1 + usize::from(input.byte() % 16),
        compression: if input.byte().is_multiple_of(2) {
            Compression::Snappy
        } else {
            Compression::None
        },
        bloom_bits: Some(usize::from(input.byte() % 20)).filter(|bits| *bits > 0),
    };
    let (seed, count) = (input.byte(), usize::from(input.byte()));
    let (mut written, mut entries) = (Written::default(), BTreeMap::new());
    for number in 0..count {
        let len = usize::from(input.byte() % 6);
        let (key, kind) = (input.bytes(len).to_vec(), input.byte());
        let value = (kind > 40).then(|| noise(seed, number, usize::from(kind)));
        entries.insert((key.clone(), number as u64), value.clone());
        written.note(key, value);
        if input.is_empty() {
            break;
        }
    }
    if entries.is_empty() {
        // No writer makes a table without entries.
        return;
    }
    let (table, listed) = build(&entries, options);
    let whole =
        reading::read(&store(table.clone(), listed.clone()), &comparator()).expect("it is a store");
    assert!(
        written.is(&whole.rows) && whole.is_whole,
        "what is written reads back"
    );
    let mut damaged = table;
    let changes = input.byte() % 3;
    let changed = (0..changes)
        .filter(|_| change_byte(&mut input, &mut damaged))
        .count();
    let shown = reading::read(&store(damaged, listed), &comparator()).expect("it is a store");
    if changed == 0 && changes > 0 {
        return written.check_damaged(&shown);
    }
    // Every block has a checksum of its own, so that more than one changed byte makes no difference.
    written.check_one_byte(&shown);
    assert!(
        !shown.may_be_outdated(),
        "a listed table says what it may have held"
    );
}

fn build(
    entries: &BTreeMap<(Vec<u8>, u64), Option<Vec<u8>>>,
    options: TableOptions,
) -> (Vec<u8>, NewFile) {
    let order = InternalOrder::new(comparator());
    let internal = |((key, sequence), value): (&(Vec<u8>, u64), &Option<Vec<u8>>)| {
        let kind = if value.is_some() {
            EntryKind::Value
        } else {
            EntryKind::Deletion
        };
        let mut internal = Vec::new();
        internal_key::encode(&mut internal, key, *sequence, kind);
        (internal, value.clone().unwrap_or_default())
    };
    let mut list: Vec<(Vec<u8>, Vec<u8>)> = entries.iter().map(internal).collect();
    list.sort_by(|a, b| order.compare(&a.0, &b.0));
    let (table, summary) = write::table(
        comparator(),
        options,
        list.iter().map(|(key, value)| (&**key, &**value)),
    );
    assert_eq!(
        (summary.len_bytes, summary.entries),
        (table.len() as u64, list.len() as u64)
    );
    let listed = NewFile {
        level: 1,
        number: 5,
        len_bytes: summary.len_bytes,
        smallest: summary.smallest,
        largest: summary.largest,
    };
    (table, listed)
}
