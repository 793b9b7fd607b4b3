//! Laws of key paths.

use larder_codec::value::{
    Decoder, Envelope, Evaluator, JsStr, Object, ParsedKeyPath, Payload, Tree, Value,
};
use larder_codec::{JsString, Key, KeyPath};

use crate::input::Input;
use crate::value::{is_same, with_payload};

/// Key paths on bytes come to what they come to on the tree, and a key put into the bytes is where it is when put into
/// the tree. The input is a path (a length, so many Latin-1 letters, `,` between the parts of an array) and a value;
/// paths to what is in the value are tried as well.
pub fn key_paths(data: &[u8]) {
    const PATH_LEN_MAX: u8 = 24;
    let mut input = Input(data);
    let len = input.byte() % (PATH_LEN_MAX + 1);
    let text: Vec<u16> = input
        .bytes(len.into())
        .iter()
        .copied()
        .map(u16::from)
        .collect();
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(input.0, &mut buffer) else {
        return;
    };
    let tree = Decoder::new().decode(&payload).ok();
    let parts: Vec<_> = (text.split(|&unit| unit == u16::from(b',')))
        .map(|part| JsString::from_units(part.to_vec()))
        .collect();
    let mut paths = match parts.as_slice() {
        [one] => vec![KeyPath::String(one.clone())],
        several => vec![KeyPath::Array(several.to_vec())],
    };
    if let Some(tree) = &tree {
        paths.extend(paths_into(tree).map(KeyPath::String));
    }
    let mut evaluator = Evaluator::new();
    for path in &paths {
        let Some(compiled) = ParsedKeyPath::new(path) else {
            continue;
        };
        finds_the_same(&mut evaluator, &compiled, &payload, tree.as_ref());
        puts_the_same(&mut evaluator, (path, &compiled), &payload, tree.as_ref());
    }
}

/// Paths to the first things in a value, and past them.
fn paths_into(tree: &Tree<'_>) -> impl Iterator<Item = JsString> {
    const PATHS_MAX: usize = 12;
    const STEPS_MAX: usize = 4;
    const DOT: u16 = b'.' as u16;
    let mut found: Vec<(Vec<u16>, Value<'_>, usize)> = vec![(Vec::new(), tree.root(), 0)];
    let mut at = 0;
    while let Some((path, Value::Object(id), steps)) = found.get(at).cloned() {
        at += 1;
        if !matches!(tree.object(id), Object::Plain(_) | Object::Array(_)) || steps == STEPS_MAX {
            continue;
        }
        for property in tree.own_properties(id) {
            if found.len() < PATHS_MAX {
                let mut longer = path.clone();
                if steps > 0 {
                    longer.push(DOT);
                }
                property.name.with_str(|name| longer.extend(name.units()));
                found.push((longer, property.value, steps + 1));
            }
        }
    }
    let past = ["zz", "length", "zz.y"];
    let paths = found.into_iter().flat_map(move |(path, _, steps)| {
        let dot = if steps > 0 { vec![DOT] } else { Vec::new() };
        let past =
            past.map(|name| [&path[..], &dot, &name.encode_utf16().collect::<Vec<_>>()].concat());
        [path].into_iter().chain(past)
    });
    paths.map(JsString::from_units)
}

fn finds_the_same(
    evaluator: &mut Evaluator,
    path: &ParsedKeyPath,
    payload: &Payload<'_>,
    tree: Option<&Tree<'_>>,
) {
    let evaluated = evaluator.evaluate(path, payload, &[]);
    let can_inject = evaluator.can_inject(path, payload);
    let keys = [false, true].map(|multi| evaluator.index_keys(path, multi, payload, &[]));
    if let Some(tree) = tree {
        assert_eq!(evaluated, Ok(tree.evaluate(path, &[])), "{path:?}");
        assert_eq!(can_inject, Ok(tree.can_inject(path)), "{path:?}");
        let expected = [false, true].map(|multi| Ok(tree.index_keys(path, multi, &[])));
        assert_eq!(keys, expected, "{path:?}");
    }
}

fn puts_the_same(
    evaluator: &mut Evaluator,
    (path, compiled): (&KeyPath, &ParsedKeyPath),
    payload: &Payload<'_>,
    tree: Option<&Tree<'_>>,
) {
    const KEY: f64 = 5.5;
    let mut out = Vec::new();
    let done = evaluator.inject(compiled, &Key::Number(KEY), payload, &mut out);
    let (Some(tree), KeyPath::String(path)) = (tree, path) else {
        return;
    };
    assert_eq!(done, Ok(tree.can_inject(compiled)), "{path:?}");
    if done != Ok(true) {
        assert!(out.is_empty(), "what cannot be done leaves nothing");
        return;
    }
    let steps = path.units().split(|&unit| unit == u16::from(b'.'));
    let steps: Vec<Vec<u8>> = steps
        .map(|step| step.iter().flat_map(|unit| unit.to_le_bytes()).collect())
        .collect();
    let steps: Vec<_> = steps.iter().map(|step| JsStr::Utf16Le(step)).collect();
    let mut expected: Tree<'_> = tree.clone();
    assert!(expected.inject(&steps, Value::Number(KEY)), "{path:?}");
    with_payload(&out, |payload| {
        let told = Decoder::new()
            .decode(payload)
            .expect("it decodes with a key in it");
        is_same(&told, &expected);
    });
}
