//! Seeds of keys, values and key paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use larder_codec::{KeyPrefix, RowKey, sortable};

use super::Corpus;
use super::stores::history;

/// Keys and rows, one of each shape; three keys of each shape to compare.
pub(crate) fn keys(corpus: &Corpus) {
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
pub(crate) fn values(corpus: &Corpus) {
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
    foreign(corpus);
    key_paths(corpus);
}

/// Values of other engines: as they are put, with a generated key behind, and with a view in the buffer's place.
fn foreign(corpus: &Corpus) {
    let header = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f";
    let three =
        b"o\"\x0dlarder:engine\"\x05gecko\"\x0dlarder:formatI\x10\"\x0clarder:bytesB\x02\x01\x02";
    let seeds: [(&str, &[u8]); 3] = [
        ("foreign", b"{\x03"),
        ("foreign-keyed", b"\"\x02idI\x02{\x04"),
        ("foreign-view", b"VB\0\x02\0{\x03"),
    ];
    for (name, end) in seeds {
        let content = [&header[..], three, end].concat();
        corpus.add("value_decoding", name, &content);
    }
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
