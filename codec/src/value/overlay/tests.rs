//! Values of every kind, as Chromium wrote them, in objects of which parts are taken: each part is what it was.

use std::collections::BTreeSet;

use super::*;
use crate::value::{Decoder, JsStr, Payload, vectors};

fn tree<'a>(payload: &Payload<'a>) -> Tree<'a> {
    Decoder::new().decode(payload).unwrap()
}

fn names(names: &[&str]) -> BTreeSet<JsString> {
    names.iter().map(|name| JsString::from(*name)).collect()
}

/// What is laid over one value of another, both behind their headers, in JSON.
fn overlaid(under: &[u8], over: &[u8], of: &[&str]) -> Option<(String, Overlay)> {
    let [under, over] = [under, over].map(|wire| [b"\xff\x14\xff\x0f", wire].concat());
    let [under, over] = [&under, &over].map(|bytes| Payload::read(bytes).unwrap());
    let mut bytes = Vec::new();
    let overlay = Overlay::encode(&tree(&under), &tree(&over), &names(of), &mut bytes)?;
    let made = Payload::read(&bytes).unwrap();
    let made = tree(&made);
    // In the order in which V8 writes.
    let mut again = Vec::new();
    Encoder::new().encode(&made, &mut again);
    assert_eq!(bytes, again);
    Some((serde_json::to_string(&made).unwrap(), overlay))
}

#[test]
fn properties_keep_their_places_and_go_where_the_other_has_none() {
    // {a: 1, b: 2, c: 3}, and {7: null, d: true, b: "x", c is gone}
    let under = b"o\"\x01aI\x02\"\x01bI\x04\"\x01cI\x06{\x03";
    let over = b"oI\x0e0\"\x01dT\"\x01b\"\x01x{\x03";
    let of = |names: &[&str]| overlaid(under, over, names).unwrap().0;
    assert_eq!(of(&[]), r#"{"a":1,"b":2,"c":3}"#);
    assert_eq!(of(&["b"]), r#"{"a":1,"b":"x","c":3}"#);
    assert_eq!(of(&["c", "d"]), r#"{"a":1,"b":2,"d":true}"#);
    assert_eq!(of(&["7", "nowhere"]), r#"{"7":null,"a":1,"b":2,"c":3}"#);
    assert_eq!(
        of(&["a", "b", "c", "d", "7"]),
        r#"{"7":null,"b":"x","d":true}"#
    );
    for (under, over) in [(&b"T"[..], &over[..]), (under, b"A\0$\0\0")] {
        assert!(overlaid(under, over, &["a"]).is_none());
    }
}

#[test]
fn what_refers_to_the_whole_value_refers_to_the_new_one() {
    // {a: [self, shared, shared]}, and {b: {c: self, d: shared}, e: shared}
    let under = b"o\"\x01aA\x03^\0o{\0^\x02$\0\x03{\x01";
    let over = b"o\"\x01bo\"\x01c^\0\"\x01do{\0{\x02\"\x01e^\x02{\x02";
    let (json, _) = overlaid(under, over, &["b", "e"]).unwrap();
    // In one line of references each: object 0 is the whole.
    let expected =
        b"o\"\x01aA\x03^\0o{\0^\x02$\0\x03\"\x01bo\"\x01c^\0\"\x01do{\0{\x02\"\x01e^\x04{\x03";
    let expected = [b"\xff\x14\xff\x0f", &expected[..]].concat();
    let expected = Payload::read(&expected).unwrap();
    assert_eq!(json, serde_json::to_string(&tree(&expected)).unwrap());
    let (json, _) = overlaid(under, over, &["e"]).unwrap();
    assert!(json.contains("\"e\":{}"), "{json}");
}

#[test]
fn blobs_and_handles_get_new_places_and_each_one() {
    // {a: Blob 2, b: File 0, c: FileList of 2, 1}, and {b: [Blob 1, Blob 0, Blob 1], h: handle 3}
    let under = b"o\"\x01a\\i\x02\"\x01b\\e\0\"\x01c\\L\x02\x02\x01{\x03";
    let over = b"o\"\x01bA\x03\\i\x01\\i\0\\i\x01$\0\x03\"\x01h\\n\x01f\x03{\x02";
    let (json, overlay) = overlaid(under, over, &["b", "h"]).unwrap();
    let (ours, theirs) = (Side::Under, Side::Over);
    let mut found = overlay.blobs.clone();
    found.sort_unstable();
    assert_eq!(found, [(ours, 1), (ours, 2), (theirs, 0), (theirs, 1)]);
    assert_eq!(overlay.tokens, [(theirs, 3)]);
    let place = |of| overlay.blobs.iter().position(|place| *place == of).unwrap();
    let [a, c, zero, one] = [(ours, 2), (ours, 1), (theirs, 0), (theirs, 1)].map(place);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let blob = |at: usize| serde_json::json!({ "$blob": at });
    assert_eq!(json["a"], blob(a));
    assert_eq!(
        json["b"],
        serde_json::json!([blob(one), blob(zero), blob(one)])
    );
    assert_eq!(json["c"], serde_json::json!({ "$filelist": [a, c] }));
}

/// An object with one property, which is another value.
fn object_of<'a>(name: &'static str, mut value: Tree<'a>) -> Tree<'a> {
    let own = Property {
        name: PropertyName::from_js(JsStr::from(name)),
        value: value.root,
    };
    let span = push_all(&mut value.properties, vec![own]);
    value.root = value.push_object(Object::Plain(span));
    value
}

#[test]
fn every_kind_of_value_comes_along_whole() {
    let values: Vec<_> = vectors::all().map(|(_, bytes)| bytes).collect();
    let payloads = values.iter().filter_map(|bytes| Payload::read(bytes).ok());
    let payloads: Vec<_> = payloads.collect();
    let trees: Vec<_> = payloads.iter().map(tree).collect();
    assert!(trees.len() > 60, "{}", trees.len());
    for under in &trees {
        for over in &trees {
            let objects = [("a", under), ("b", over)];
            let [one, other] = objects.map(|(name, of)| object_of(name, of.clone()));
            let mut bytes = Vec::new();
            let overlay = Overlay::encode(&one, &other, &names(&["b"]), &mut bytes).unwrap();
            let made = Payload::read(&bytes).unwrap();
            let made = tree(&made);
            let root = plain_root(&made).unwrap();
            assert_eq!(made.own_properties(root).len(), 2);
            let has_places = !overlay.blobs.is_empty() || !overlay.tokens.is_empty();
            for (name, of) in objects {
                let name = PropertyName::from_js(JsStr::from(name));
                let found = made.get(root, &name).unwrap();
                let is_same = Encoder::new().is_same_part(of, of.root(), &made, found);
                // Places of blobs are others here, which has a test of its own.
                assert!(is_same || has_places, "{name:?} of {of:?}");
            }
        }
    }
}
