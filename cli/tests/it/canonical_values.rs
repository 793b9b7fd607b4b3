//! Values that Chromium 64 to 156 wrote, in canonical JSON, equal what the same Chromium said.

use larder::canonical::{Browser, NoBlobs, write_value};
use larder_codec::value::{Decoder, Envelope};
use serde::Deserialize as _;
use serde_json::Value;

/// Parses canonical JSON, which nests as deep as the value does.
fn parse(json: &[u8]) -> Value {
    let mut parser = serde_json::Deserializer::from_slice(json);
    parser.disable_recursion_limit();
    Value::deserialize(&mut parser).unwrap()
}

/// Takes out what is not in the store.
fn strip(json: &mut Value) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(members) => {
            for member in ["jwk", "rgba", "has_stack"] {
                members.remove(member);
            }
            let name = members.get("t").and_then(Value::as_str);
            if name.is_some_and(|name| name.starts_with("FileSystem")) {
                members.remove("name");
                members.remove("kind");
            }
            members.values_mut().for_each(strip);
        }
        _ => {}
    }
}

#[test]
fn canonical_json_equals_what_chromium_read_back() {
    let mut decoder = Decoder::new();
    let mut count = 0;
    let vectors = include_str!("../../../codec/tests/data/chromium-values.tsv");
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('\t').collect();
        let [producer, name, hex, expected] = fields[..] else {
            panic!("{line}")
        };
        let (digits, _) = hex.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        let bytes: Vec<u8> = digits.iter().map(|pair| byte(pair).unwrap()).collect();
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
            panic!("{producer} {name}")
        };
        let tree = decoder.decode(&payload).unwrap();
        let mut out = Vec::new();
        write_value(&mut out, &tree, &mut NoBlobs, Browser::default()).unwrap();
        decoder.recycle(tree);
        let mut ours = parse(&out);
        let mut theirs = parse(expected.as_bytes());
        strip(&mut ours);
        strip(&mut theirs);
        assert_eq!(ours, theirs, "{producer} {name}");
        count += 1;
    }
    assert!(count > 250, "{count} vectors");
}
