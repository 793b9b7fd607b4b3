//! Makes the two small stores in `fuzz/oracles/stores` and the seeds in `fuzz/corpus` from the golden stores.
//!
//! Run twice after a change of what is taken: the seeds are made with the small stores that are compiled in.
//! ```text
//! cargo run -p larder-fuzz-oracles --example seeds
//! ```
//! It overwrites files whose names begin with `seed-` and leaves all others: those are findings.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a tool of this repository: it writes real files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{IdbComparator, OpenOptions, Store, StorePaths};
use larder_codec::{KeyPrefix, RowKey, sortable};
use larder_fuzz_oracles::files::Files;
use larder_fuzz_oracles::write;
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder};
use larder_leveldb::log::{LogEvent, LogReader};
use larder_leveldb::storage::{DiskFileSystem, FileSystem as _};
use larder_leveldb::table::TableOptions;
use larder_leveldb::version_edit::{NewFile, VersionEdit};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Comparator, Db, Options, crc};

/// One write.
struct Row {
    sequence: u64,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stores = here.join("stores");
    fs::write(stores.join("lite.store"), lite().to_archive()).expect("lite.store");
    fs::write(stores.join("killed.store"), killed().to_archive()).expect("killed.store");
    let corpus = Corpus(here.parent().expect("fuzz/").join("corpus"));
    keys(&corpus);
    values(&corpus);
    engine(&corpus);
    directories(&corpus);
    transactions(&corpus);
}

/// The seeds' folder.
struct Corpus(PathBuf);

impl Corpus {
    fn add(&self, target: &str, name: &str, content: &[u8]) {
        let dir = self.0.join(target);
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join(format!("seed-{name}")), content).expect("a seed");
    }

    /// With the byte before it that says how the rest is meant.
    fn add_as(&self, target: &str, name: &str, choice: u8, content: &[u8]) {
        self.add(target, name, &[&[choice], content].concat());
    }
}

fn history(leveldb: &Path) -> Vec<Row> {
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open_read_only(Arc::new(DiskFileSystem::new()), leveldb, options)
        .expect("a golden store opens");
    let mut entries = db.snapshot().entries();
    let mut rows = Vec::new();
    while entries.advance().expect("a golden store reads") {
        let value = entries.value().expect("a golden store reads").to_vec();
        let value = (entries.kind() == EntryKind::Value).then_some(value);
        rows.push(Row {
            sequence: entries.sequence(),
            key: entries.key().to_vec(),
            value,
        });
    }
    rows.sort_by_key(|row| row.sequence);
    rows
}

fn database_of(row: &Row) -> u64 {
    KeyPrefix::decode(&row.key).map_or(0, |(prefix, _)| prefix.database)
}

/// A store that was closed: the databases with blobs, with odd names, and with a life of upgrades, and all global rows.
fn lite() -> Files {
    let fixture = larder_fixtures::get("c156-lite");
    let open = fixture.open();
    let leveldb = open.leveldb();
    let paths = StorePaths::of_leveldb(&leveldb);
    let fs_: Arc<DiskFileSystem> = Arc::new(DiskFileSystem::new());
    let store = Store::open_read_only(fs_, paths.clone(), OpenOptions::default())
        .expect("a golden store opens");
    let databases = store
        .databases(&mut Vec::new())
        .expect("a golden store reads");
    let wanted = [
        "",
        "blobs",
        "lifecycle",
        "recreated",
        "no_stores",
        "max_version",
    ];
    let wanted: BTreeSet<u64> = databases
        .iter()
        .filter(|database| wanted.contains(&&*database.name.to_string_lossy()))
        .map(|database| database.id.get() as u64)
        .chain([0])
        .collect();
    let mut rows = history(&leveldb);
    rows.retain(|row| {
        wanted.contains(&database_of(row))
            && row.value.as_ref().is_none_or(|value| value.len() < 600)
    });
    // A few keys of each table, with all their versions; all metadata, but a few rows of the undo log.
    let mut tables = BTreeMap::<Vec<u8>, BTreeSet<Vec<u8>>>::new();
    rows.retain(|row| {
        let (prefix, rest) = KeyPrefix::decode(&row.key).expect("a golden store's key");
        let is_undo_log = prefix.database == 0 && rest.first() == Some(&50);
        let is_metadata = prefix.object_store == 0 && !is_undo_log;
        let table = row.key[..row.key.len() - rest.len()].to_vec();
        let table = tables.entry(table).or_default();
        let is_kept = is_metadata || table.len() < 5 || table.contains(&row.key);
        if is_kept && !is_metadata {
            table.insert(row.key.clone());
        }
        is_kept
    });
    let mut files = spread(&rows);
    for database in wanted {
        let dir = paths.blob.join(format!("{database:x}"));
        for part in fs::read_dir(&dir).into_iter().flatten().flatten() {
            for file in fs::read_dir(part.path()).expect("a folder").flatten() {
                let content = fs::read(file.path()).expect("a blob");
                let name = (part.file_name(), file.file_name());
                let name = (name.0.to_string_lossy(), name.1.to_string_lossy());
                if content.len() < 600 {
                    files.0.insert(
                        format!("store.indexeddb.blob/{database:x}/{}/{}", name.0, name.1),
                        content,
                    );
                }
            }
        }
    }
    files
}

/// The older half of the rows in a table of level 1, a quarter in one of level 0, the rest in a log.
fn spread(rows: &[Row]) -> Files {
    let (old, rest) = rows.split_at(rows.len() / 2);
    let (middle, new) = rest.split_at(rest.len() / 2);
    let mut files = Files::default();
    let last_sequence = middle.last().map_or(0, |row| row.sequence);
    let mut second = VersionEdit {
        last_sequence: Some(last_sequence),
        ..VersionEdit::default()
    };
    for (level, number, part) in [(1, 5, old), (0, 7, middle)] {
        let (table, listed) = table(level, number, part);
        files.0.insert(format!("store/{number:06}.ldb"), table);
        second.new_files.push(listed);
    }
    let edits = [write::first_edit(&IdbComparator, 8, 0), second];
    files
        .0
        .insert("store/MANIFEST-000001".to_owned(), write::manifest(&edits));
    files
        .0
        .insert("store/CURRENT".to_owned(), write::CURRENT.to_vec());
    files
        .0
        .insert("store/000008.log".to_owned(), write::log(&batches(new)));
    files
}

fn table(level: usize, number: u64, rows: &[Row]) -> (Vec<u8>, NewFile) {
    let order = InternalOrder::new(Arc::new(IdbComparator));
    let internal = |row: &Row| {
        let kind = if row.value.is_some() {
            EntryKind::Value
        } else {
            EntryKind::Deletion
        };
        let mut key = Vec::new();
        internal_key::encode(&mut key, &row.key, row.sequence, kind);
        (key, row.value.clone().unwrap_or_default())
    };
    let mut entries: Vec<_> = rows.iter().map(internal).collect();
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    let options = TableOptions {
        block_len: 1024,
        ..TableOptions::default()
    };
    let comparator: Arc<dyn Comparator> = Arc::new(IdbComparator);
    let entries = entries.iter().map(|(key, value)| (&**key, &**value));
    let (bytes, summary) = write::table(comparator, options, entries);
    let (smallest, largest) = (summary.smallest, summary.largest);
    let listed = NewFile {
        level,
        number,
        len_bytes: summary.len_bytes,
        smallest,
        largest,
    };
    (bytes, listed)
}

/// Batches of writes with consecutive sequence numbers.
fn batches(rows: &[Row]) -> Vec<Vec<u8>> {
    let follows = |a: &Row, b: &Row| b.sequence == a.sequence + 1 && !b.sequence.is_multiple_of(6);
    let mut records = Vec::new();
    for part in rows.chunk_by(follows) {
        let mut batch = BatchWriter::new();
        for row in part {
            match &row.value {
                Some(value) => batch.put(&row.key, value),
                None => batch.delete(&row.key),
            }
        }
        records.push(batch.finish(part[0].sequence).to_vec());
    }
    records
}

/// A store that was killed: its first and last writes, the undo log's among them.
fn killed() -> Files {
    let open = larder_fixtures::get("c156-killed-spill-small").open();
    let rows = history(&open.leveldb());
    let (count, mut kept) = (rows.len(), Vec::new());
    for (n, row) in rows.into_iter().enumerate() {
        let is_small = row.value.as_ref().is_none_or(|value| value.len() < 700);
        if is_small && (n < 200 || n + 200 > count) {
            kept.push(row);
        }
    }
    let manifest = write::manifest(&[write::first_edit(&IdbComparator, 3, 0)]);
    let mut files = Files::default();
    files.0.insert("store/MANIFEST-000001".to_owned(), manifest);
    files
        .0
        .insert("store/CURRENT".to_owned(), write::CURRENT.to_vec());
    files
        .0
        .insert("store/000003.log".to_owned(), write::log(&batches(&kept)));
    files
}

/// Keys and rows, one of each shape; three keys of each shape to compare.
fn keys(corpus: &Corpus) {
    for fixture in ["c156-lite", "c64-lite", "c156-killed-spill-small"] {
        let mut shapes = BTreeMap::<_, Vec<Vec<u8>>>::new();
        for row in history(&larder_fixtures::get(fixture).open().leveldb()) {
            let value = row.value.unwrap_or_default();
            let Ok(key) = RowKey::decode_exact(&row.key) else {
                continue;
            };
            if row.key.len() > 120 || value.len() > 200 {
                continue;
            }
            let number = shapes.len();
            let alike = shapes.entry(shape(&row.key, &value)).or_default();
            if alike.len() > 2 || alike.contains(&row.key) {
                continue;
            }
            alike.push(row.key.clone());
            let name = format!("{fixture}-{number}");
            match &alike[..] {
                [_] => {
                    let pair = [&[row.key.len() as u8], &*row.key, &value].concat();
                    corpus.add("codec_round_trip", &name, &pair);
                    if let RowKey::Record(record) = &key {
                        let mut memcmp = Vec::new();
                        sortable::encode(&record.key.to_key(), &mut memcmp);
                        corpus.add(
                            "codec_round_trip",
                            &format!("{name}-key"),
                            record.key.as_bytes(),
                        );
                        corpus.add("codec_round_trip", &format!("{name}-sortable"), &memcmp);
                        corpus.add("codec_round_trip", &format!("{name}-value"), &value);
                    }
                }
                [a, b, c] => {
                    let three = [&[a.len() as u8], &**a, &[b.len() as u8], b, c].concat();
                    corpus.add(
                        "comparator_laws",
                        &format!("{fixture}-{}-{}", a.len(), hex(&a[..a.len().min(6)])),
                        &three,
                    );
                }
                _ => {}
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What kind of row it is, and of what kind the key in it, or the external object in its value.
fn shape(key: &[u8], value: &[u8]) -> Option<(u32, Option<u8>, Option<u8>)> {
    let (prefix, rest) = KeyPrefix::decode(key).ok()?;
    let is_metadata = prefix.database == 0 || prefix.object_store == 0;
    let row = if is_metadata {
        100 + u32::from(prefix.database > 0)
    } else {
        prefix.index.min(30)
    };
    let external = value.first().filter(|_| row == 3).copied();
    Some((row, rest.first().copied(), external))
}

/// Values that browsers wrote, the newest and the oldest of each name.
fn values(corpus: &Corpus) {
    let path = larder_fixtures::root().join("../codec/tests/data/chromium-values.tsv");
    let vectors = fs::read_to_string(path).expect("the codec's vectors");
    let mut names = BTreeSet::new();
    let mut lines: Vec<&str> = vectors
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    lines.reverse();
    for line in lines {
        let mut fields = line.split('\t');
        let (Some(producer), Some(name), Some(hex)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if hex.len() > 1200 || !names.insert(name.to_owned()) {
            continue;
        }
        let (pairs, _) = hex.as_bytes().as_chunks::<2>();
        let digits =
            |pair: &[u8; 2]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("hex");
        let bytes: Vec<u8> = pairs.iter().map(digits).collect();
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        corpus.add("value_decoding", &format!("{producer}-{plain}"), &bytes);
    }
    key_paths(corpus);
}

/// Values with something to find, each with a key path in front.
fn key_paths(corpus: &Corpus) {
    let header = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f";
    let old = b"\xff\x14\xff\x0d";
    let trailer = b"\xff\x15\xfe\0\0\0\0\0\0\0\x25\0\0\0\x06\xff\x0f";
    let seeds: [(&str, &[u8], &str, &[u8]); 11] = [
        (
            "behind",
            header,
            "p.q.r",
            b"o\"\x01po{\0\"\x01xA\x05o{\0^\x03^\x02^\0^\x01$\0\x05{\x02",
        ),
        (
            "trailer",
            trailer,
            "o.id",
            b"o\"\x01oo\"\x01xI\x02{\x01\"\x01b\\i\0{\x02\xa0\0\0\0\x01i",
        ),
        (
            "plain",
            header,
            "id",
            b"o\"\x02idI\x0e\"\x04tagsA\x02\"\x01b\"\x01a$\0\x02{\x02",
        ),
        (
            "parts",
            header,
            "a,b.c",
            b"o\"\x01aI\x02\"\x01bo\"\x01cN\0\0\0\0\0\0\xf8?{\x01{\x02",
        ),
        (
            "reference",
            header,
            "b.x",
            b"o\"\x01ao\"\x01xI\x02{\x01\"\x01b^\x01\"\x01c^\0{\x03",
        ),
        (
            "wide",
            header,
            "k.i",
            b"o\"\x01ko{\0\"\x01s\0c\x02\x42\x30c\x02\x42\x30\"\x01t{\x03",
        ),
        (
            "views",
            header,
            "v",
            b"o\"\x01bB\x04\x01\x02\x03\x04VB\x01\x02\0\"\x01v^\x01VW\x02\x02\0{\x02",
        ),
        (
            "sparse",
            header,
            "a",
            b"o\"\x01aa\x03I\0I\x02I\x02A\x01-I\0T$\x01\x01@\x02\x03{\x01",
        ),
        (
            "more",
            header,
            "e.cause.z",
            b"o\"\x01erTm\"\x01mco{\0.\"\x01m;I\x02'^\0,\x01:\x02{\x02",
        ),
        (
            "old",
            old,
            "id",
            b"o\"\x01aB\x02\x01\x02VB\0\x02D\0\0\0\0\0\0\0\0{\x01",
        ),
        (
            "blob",
            header,
            "b.size",
            b"o\"\x01b\\i\0\"\x01fR\"\x01x\x01\"\x01zZ\x10\x01\0\0\0\0\0\0\0{\x03",
        ),
    ];
    for (name, header, path, wire) in seeds {
        let content = [path.as_bytes(), header, wire].concat();
        corpus.add_as("key_paths", name, path.len() as u8, &content);
    }
}

/// Logs, tables, MANIFESTs.
fn engine(corpus: &Corpus) {
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
fn directories(corpus: &Corpus) {
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

/// Transactions: the first makes two object stores with indexes, the others do anything.
fn transactions(corpus: &Corpus) {
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
