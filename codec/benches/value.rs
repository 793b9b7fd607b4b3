//! How fast values decode, encode and become JSON: bytes in V8's format per second.
//!
//! Records are written here, in V8's format, as Chromium 156 would write them: what applications
//! keep (a contact, a chat message), long text, arrays of numbers, a dictionary.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use larder_codec::KeyPath;
use larder_codec::value::{Decoder, Encoder, Envelope, Evaluator, ParsedKeyPath};

fn main() {
    divan::main();
}

const KINDS: [&str; 6] = [
    "contact",
    "messages",
    "long text",
    "integers",
    "doubles",
    "dictionary",
];

/// Appends V8's bytes, piece by piece.
struct Wire(Vec<u8>);

impl Wire {
    fn new() -> Self {
        Self(b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x10".to_vec())
    }

    fn varint(&mut self, mut value: usize) {
        while value > 127 {
            self.0.push((value & 127) as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn text(&mut self, text: &str) {
        if text.is_ascii() {
            self.0.push(b'"');
            self.varint(text.len());
            self.0.extend(text.bytes());
        } else {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            self.0.push(b'c');
            self.varint(units.len());
            self.0.extend(units);
        }
    }

    fn int(&mut self, value: usize) {
        self.0.push(b'I');
        self.varint(value * 2);
    }

    fn double(&mut self, value: f64) {
        self.0.push(b'N');
        self.0.extend(value.to_le_bytes());
    }

    fn end(&mut self, tag: u8, counts: &[usize]) {
        self.0.push(tag);
        for count in counts {
            self.varint(*count);
        }
    }

    fn array(&mut self, len: usize, mut element: impl FnMut(&mut Self, usize)) {
        self.end(b'A', &[len]);
        for at in 0..len {
            element(self, at);
        }
        self.end(b'$', &[0, len]);
    }
}

fn contact(wire: &mut Wire, at: usize) {
    wire.0.push(b'o');
    wire.text("id");
    wire.int(at);
    for (name, value) in [
        ("firstName", "Ada"),
        ("lastName", "Lovelace"),
        ("email", "ada.lovelace@example.org"),
        ("city", "København"),
        (
            "note",
            "met at the conference; asked about the analytical engine",
        ),
    ] {
        wire.text(name);
        wire.text(value);
    }
    wire.text("created");
    wire.0.push(b'D');
    wire.0.extend(1.7e12_f64.to_le_bytes());
    wire.text("active");
    wire.0.push(b'T');
    wire.text("tags");
    wire.array(3, |wire, at| wire.text(["maths", "engine", "poetry"][at]));
    wire.end(b'{', &[9]);
}

fn value(kind: &str) -> Vec<u8> {
    let mut wire = Wire::new();
    match kind {
        "contact" => contact(&mut wire, 1),
        "messages" => wire.array(200, contact),
        "long text" => wire.text(&"The quick brown fox jumps over the lazy dog. ".repeat(2000)),
        "integers" => wire.array(20_000, |wire, at| wire.int(at)),
        "doubles" => wire.array(20_000, |wire, at| wire.double(at as f64 / 7.0)),
        _ => {
            wire.0.push(b'o');
            for at in 0..5000 {
                wire.text(&format!("key-{at:05}"));
                wire.int(at);
            }
            wire.end(b'{', &[5000]);
        }
    }
    wire.0
}

#[divan::bench(args = KINDS)]
fn decode(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = value(kind);
    let mut decoder = Decoder::new();
    let mut buffer = Vec::new();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| {
            if let Ok(Envelope::Inline(payload)) = Envelope::peel(black_box(&bytes), &mut buffer)
                && let Ok(tree) = decoder.decode(&payload)
            {
                decoder.recycle(black_box(tree));
            }
        });
}

#[divan::bench(args = KINDS)]
fn encode(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = value(kind);
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
        return;
    };
    let Ok(tree) = Decoder::new().decode(&payload) else {
        return;
    };
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| {
            out.clear();
            encoder.encode(black_box(&tree), &mut out);
            black_box(out.len())
        });
}

/// Key paths into a contact: its first property, its last, an array, two properties.
const PATHS: [&str; 4] = ["id", "active", "tags", "id,city"];

fn key_path(text: &str) -> Option<ParsedKeyPath> {
    ParsedKeyPath::new(&match text.split_once(',') {
        Some((one, two)) => KeyPath::Array(vec![one.into(), two.into()]),
        None => KeyPath::String(text.into()),
    })
}

/// The keys of one record on its bytes.
#[divan::bench(args = PATHS)]
fn index_keys(bencher: Bencher<'_, '_>, path: &str) {
    let bytes = value("contact");
    let mut evaluator = Evaluator::new();
    let mut buffer = Vec::new();
    let Some(key_path) = key_path(path) else {
        return;
    };
    bencher.bench_local(|| {
        let Ok(Envelope::Inline(payload)) = Envelope::peel(black_box(&bytes), &mut buffer) else {
            return 0;
        };
        let keys = evaluator.index_keys(&key_path, true, &payload, &[]);
        black_box(keys.map_or(0, |keys| keys.len()))
    });
}

/// Index keys by way of the tree.
#[divan::bench(args = PATHS)]
fn index_keys_of_tree(bencher: Bencher<'_, '_>, path: &str) {
    let bytes = value("contact");
    let mut decoder = Decoder::new();
    let mut buffer = Vec::new();
    let Some(key_path) = key_path(path) else {
        return;
    };
    bencher.bench_local(|| {
        let Ok(Envelope::Inline(payload)) = Envelope::peel(black_box(&bytes), &mut buffer) else {
            return 0;
        };
        let Ok(tree) = decoder.decode(&payload) else {
            return 0;
        };
        let count = tree.index_keys(&key_path, true, &[]).len();
        decoder.recycle(tree);
        black_box(count)
    });
}

#[divan::bench(args = KINDS)]
fn to_json(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = value(kind);
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
        return;
    };
    let Ok(tree) = Decoder::new().decode(&payload) else {
        return;
    };
    let mut out = Vec::new();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| {
            out.clear();
            black_box(serde_json::to_writer(&mut out, black_box(&tree)).is_ok())
        });
}
