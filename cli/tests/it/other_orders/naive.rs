//! A reader of whole LevelDB folders that relies on no order: every table and log from its first byte to its last, of each key
//! the entry with the greatest sequence number. Checksums are not looked at; nothing of the engine is used but its codecs of
//! single records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use larder_leveldb::compression::{Compression, decompress};
use larder_leveldb::version_edit::VersionEdit;
use larder_leveldb::write_batch::{BatchReader, Operation};

/// Rows by the bytes of their keys.
pub(crate) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Sequence number, and value or deletion, by key.
type Newest = BTreeMap<Vec<u8>, (u64, Option<Vec<u8>>)>;

pub(crate) fn rows(dir: &Path) -> Rows {
    let current = fs::read_to_string(dir.join("CURRENT")).unwrap();
    let (tables, first_log) = live_files(&fs::read(dir.join(current.trim_end())).unwrap());
    let mut newest = Newest::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        match (
            path.extension().and_then(|extension| extension.to_str()),
            number,
        ) {
            (Some("log"), Some(number)) if number >= first_log => {
                log(&fs::read(&path).unwrap(), &mut newest);
            }
            (Some("ldb" | "sst"), Some(number)) if tables.contains(&number) => {
                table(&fs::read(&path).unwrap(), &mut newest);
            }
            _ => {}
        }
    }
    newest
        .into_iter()
        .filter_map(|(key, (_, value))| Some((key, value?)))
        .collect()
}

fn live_files(manifest: &[u8]) -> (BTreeSet<u64>, u64) {
    let (mut tables, mut first_log) = (BTreeSet::new(), 0);
    for record in records(manifest) {
        let edit = VersionEdit::decode_exact(&record).unwrap();
        for (_, number) in &edit.deleted_files {
            tables.remove(number);
        }
        tables.extend(edit.new_files.iter().map(|file| file.number));
        first_log = edit.log_number.unwrap_or(first_log);
    }
    (tables, first_log)
}

/// The records of a log: blocks of 32 KiB, each with fragments of seven bytes of header.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut records, mut record) = (Vec::new(), Vec::new());
    for block in bytes.chunks(32 << 10) {
        let mut rest = block;
        while let Some((&[_, _, _, _, low, high, kind], after)) = rest.split_first_chunk::<7>() {
            let len = usize::from(u16::from_le_bytes([low, high]));
            // Nothing more, or a torn end.
            let Some((fragment, after)) = after.split_at_checked(len).filter(|_| kind != 0) else {
                break;
            };
            if matches!(kind, 1 | 2) {
                record.clear();
            }
            record.extend_from_slice(fragment);
            if matches!(kind, 1 | 4) {
                records.push(std::mem::take(&mut record));
            }
            rest = after;
        }
    }
    records
}

fn note(newest: &mut Newest, key: &[u8], sequence: u64, value: Option<&[u8]>) {
    let before = newest.get(key).map(|(sequence, _)| *sequence);
    if before.is_none_or(|before| before < sequence) {
        newest.insert(key.to_vec(), (sequence, value.map(<[u8]>::to_vec)));
    }
}

fn log(bytes: &[u8], newest: &mut Newest) {
    for record in records(bytes) {
        for entry in BatchReader::new(&record).unwrap() {
            let entry = entry.unwrap();
            match entry.operation {
                Operation::Put(key, value) => note(newest, key, entry.sequence, Some(value)),
                Operation::Delete(key) => note(newest, key, entry.sequence, None),
            }
        }
    }
}

fn var_int(bytes: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return number;
        }
    }
}

fn block(table: &[u8], mut handle: &[u8]) -> Vec<u8> {
    let (offset, len) = (var_int(&mut handle), var_int(&mut handle));
    let compression = Compression::from_byte(table[offset + len]).unwrap();
    let mut unpacked = Vec::new();
    decompress(compression, &table[offset..offset + len], &mut unpacked).unwrap();
    unpacked
}

fn entries(block: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (body, count) = block.split_at(block.len() - 4);
    let restarts = u32::from_le_bytes(count.try_into().unwrap()) as usize;
    let mut rest = &body[..body.len() - 4 * restarts];
    let (mut key, mut entries) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let [shared, added, value_len] = [(); 3].map(|()| var_int(&mut rest));
        key.truncate(shared);
        key.extend_from_slice(&rest[..added]);
        entries.push((key.clone(), rest[added..added + value_len].to_vec()));
        rest = &rest[added + value_len..];
    }
    entries
}

fn table(bytes: &[u8], newest: &mut Newest) {
    let mut footer = &bytes[bytes.len() - 48..];
    // Past the handle of the metaindex.
    for _ in 0..2 {
        var_int(&mut footer);
    }
    for (_, handle) in entries(&block(bytes, footer)) {
        for (internal, value) in entries(&block(bytes, &handle)) {
            let (key, tag) = internal.split_at(internal.len() - 8);
            let tag = u64::from_le_bytes(tag.try_into().unwrap());
            let value = (tag & 0xff == 1).then_some(&value[..]);
            note(newest, key, tag >> 8, value);
        }
    }
}
