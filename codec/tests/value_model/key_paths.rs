//! Key paths on bytes against key paths on trees.

use larder_codec::value::{
    Decoder, Encoder, Envelope, Evaluator, JsStr, ParsedKeyPath, Payload, Tree,
};
use larder_codec::{JsString, Key, KeyPath};
use quickcheck::{Arbitrary, Gen};

use super::checker;
use super::encode::encode;
use super::model::Model;

/// A value with few names, so that paths meet something, and many things that are keys.
#[derive(Debug, Clone)]
struct Keyed(Model);

const NAMES: [&str; 6] = ["a", "b", "é", "キー", "length", "7"];

impl Arbitrary for Keyed {
    fn arbitrary(g: &mut Gen) -> Self {
        Self(keyed(g, 4))
    }
}

fn below(g: &mut Gen, end: u64) -> u64 {
    u64::arbitrary(g) % end
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn keyed(g: &mut Gen, levels: u64) -> Model {
    if levels == 0 || below(g, 4) == 0 {
        return leaf(g);
    }
    match below(g, 8) {
        0 => {
            let len = below(g, 4);
            Model::Dense((0..len).map(|_| element(g, levels)).collect())
        }
        1 => {
            let len = below(g, 3) as u32;
            let elements = (0..len).map(|at| (at, keyed(g, levels - 1))).collect();
            Model::Sparse(len + below(g, 2) as u32, elements, Vec::new())
        }
        2 => Model::Map(vec![(leaf(g), keyed(g, levels - 1))]),
        3 => Model::Error(None, Some(units("s")), Some(Box::new(keyed(g, levels - 1)))),
        _ => {
            let mut names = NAMES.to_vec();
            names.retain(|_| bool::arbitrary(g));
            let own = names
                .into_iter()
                .map(|name| (units(name), keyed(g, levels - 1)));
            Model::Object(own.collect())
        }
    }
}

fn element(g: &mut Gen, levels: u64) -> Option<Model> {
    (below(g, 12) > 0).then(|| keyed(g, levels - 1))
}

fn leaf(g: &mut Gen) -> Model {
    match below(g, 14) {
        0 => Model::Undefined,
        1 => Model::Bool(bool::arbitrary(g)),
        2 => Model::Double(f64::NAN),
        3 => Model::Double(-0.0),
        4 => Model::Date(below(g, 3) as f64 * 1e12),
        5 => Model::Date(f64::NAN),
        6 => Model::Buffer(vec![1, 2]),
        7 => Model::View(1, vec![1, 2, 3]),
        8 | 9 => Model::Ref(usize::arbitrary(g)),
        10 => Model::Str(units("あい")),
        11 => Model::Str(units("x")),
        _ => Model::Int(below(g, 5) as i32),
    }
}

/// A key path over the same names.
#[derive(Debug, Clone)]
struct Path(KeyPath);

impl Arbitrary for Path {
    fn arbitrary(g: &mut Gen) -> Self {
        let one = |g: &mut Gen| {
            let steps: Vec<_> = (0..below(g, 4))
                .map(|_| *g.choose(&NAMES).unwrap())
                .collect();
            JsString::from(steps.join("."))
        };
        Self(match below(g, 5) {
            0 => KeyPath::Array((0..below(g, 3)).map(|_| one(g)).collect()),
            _ => KeyPath::String(one(g)),
        })
    }
}

fn key(g: &mut Gen) -> Key {
    match below(g, 7) {
        0 => Key::from("plain"),
        1 => Key::from("あ"),
        2 => Key::Date(5.0),
        3 => Key::Binary(vec![9; 3]),
        4 => Key::array(vec![Key::from("b"), Key::array(vec![]).unwrap(), key(g)]).unwrap(),
        _ => Key::Number(below(g, 1 << 40) as f64 / 2.0),
    }
}

#[derive(Debug, Clone)]
struct Injected(Key);

impl Arbitrary for Injected {
    fn arbitrary(g: &mut Gen) -> Self {
        Self(key(g))
    }
}

fn with_payload<R>(bytes: &[u8], f: impl FnOnce(&Payload<'_>, &Tree<'_>) -> R) -> R {
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(bytes, &mut buffer) else {
        panic!("a model is never in a blob")
    };
    f(&payload, &Decoder::new().decode(&payload).unwrap())
}

#[test]
fn key_paths_on_bytes_find_what_they_find_on_trees() {
    fn holds(value: Keyed, path: Path) -> bool {
        let (bytes, _) = encode(&value.0);
        let path = ParsedKeyPath::new(&path.0).unwrap();
        with_payload(&bytes, |payload, tree| {
            let mut evaluator = Evaluator::new();
            let found = evaluator.evaluate(&path, payload, &[]);
            assert_eq!(found, Ok(tree.evaluate(&path, &[])));
            for multi_entry in [false, true] {
                let found = evaluator.index_keys(&path, multi_entry, payload, &[]);
                assert_eq!(found, Ok(tree.index_keys(&path, multi_entry, &[])));
            }
            assert_eq!(
                evaluator.can_inject(&path, payload),
                Ok(tree.can_inject(&path))
            );
        });
        true
    }
    checker(20)
        .tests(20_000)
        .quickcheck(holds as fn(Keyed, Path) -> bool);
}

#[test]
fn keys_put_into_bytes_are_where_they_are_when_put_into_trees() {
    fn holds(value: Keyed, path: Path, Injected(key): Injected) -> bool {
        let KeyPath::String(text) = &path.0 else {
            return true;
        };
        let path = ParsedKeyPath::new(&path.0).unwrap();
        let (bytes, _) = encode(&value.0);
        // Bytes as the encoder writes them, so that those of the result are known, too.
        let bytes = with_payload(&bytes, |_, tree| {
            let mut out = Vec::new();
            Encoder::new().encode(tree, &mut out);
            out
        });
        with_payload(&bytes, |payload, tree| {
            let mut out = b"before".to_vec();
            let done = Evaluator::new()
                .inject(&path, &key, payload, &mut out)
                .unwrap();
            assert_eq!(done, tree.can_inject(&path));
            let ours = out.strip_prefix(b"before").unwrap();
            if !done {
                assert!(ours.is_empty());
                return;
            }
            let expected = naive_inject(tree, &text.to_string_lossy(), &key);
            with_payload(ours, |_, ours| {
                with_payload(&expected, |_, expected| {
                    assert!(ours.is_same_value(expected))
                });
            });
            // Numbers keep their form here, and not in a tree that was changed.
            assert_eq!(canonical(ours), canonical(&expected));
        });
        true
    }
    checker(20)
        .tests(20_000)
        .quickcheck(holds as fn(Keyed, Path, Injected) -> bool);
}

/// The bytes of the value with all numbers in the form that a changed tree gives them.
fn canonical(bytes: &[u8]) -> Vec<u8> {
    with_payload(bytes, |_, tree| {
        let mut tree = tree.clone();
        // Putting a property into a property that is there already changes nothing else.
        let _ = tree.inject(&[JsStr::from("zz")], larder_codec::value::Value::Null);
        let mut out = Vec::new();
        Encoder::new().encode(&tree, &mut out);
        out
    })
}

/// Puts a key into a tree step by step: the key as a value of its own, taken over by hand.
fn naive_inject(tree: &Tree<'_>, path: &str, key: &Key) -> Vec<u8> {
    use larder_codec::value::{ArrayBuffer, BufferKind, Object, Value};
    fn value<'a>(tree: &mut Tree<'a>, key: &'a Key) -> Value<'a> {
        match key {
            Key::Number(number) => Value::Number(*number),
            Key::Date(time_ms) => tree.push_object(Object::Date(*time_ms)),
            Key::String(string) => {
                let bytes: Vec<u8> = match string.to_utf8() {
                    Some(text) => text.into_bytes(),
                    None => panic!("keys here are well formed"),
                };
                Value::String(JsStr::Utf8(bytes.leak()))
            }
            Key::Binary(bytes) => {
                let kind = BufferKind::Fixed;
                tree.push_object(Object::ArrayBuffer(ArrayBuffer { bytes, kind }))
            }
            Key::Array(array) => {
                let elements: Vec<_> = array.iter().map(|key| value(tree, key)).collect();
                tree.push_array(&elements)
            }
        }
    }
    let mut tree: Tree<'_> = tree.clone();
    let inner = value(&mut tree, key);
    let steps: Vec<_> = path.split('.').map(JsStr::from).collect();
    assert!(tree.inject(&steps, inner));
    let mut out = Vec::new();
    Encoder::new().encode(&tree, &mut out);
    out
}
