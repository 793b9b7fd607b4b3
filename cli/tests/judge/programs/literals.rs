//! Keys, ranges, values and key paths of random programs, as JavaScript.

use larder_fixtures::random::Random;

/// One of some kinds, each so often as the number beside it says.
pub(crate) fn weighted(random: &mut Random, weights: &[u64]) -> usize {
    let mut left = random.below(weights.iter().sum());
    for (n, weight) in weights.iter().enumerate() {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return n,
        }
    }
    0
}

const ODD_NUMBERS: [&str; 8] = [
    "-0",
    "Infinity",
    "-Infinity",
    "2 ** 53",
    "2 ** 53 - 1",
    "1e300",
    "5e-324",
    "-1.5",
];
const STRINGS: [&str; 8] = [
    "'a'",
    "'b'",
    "'ab'",
    "''",
    "'k\\u00e9'",
    "'\\ud800'",
    "'\\udc00x'",
    "'\\ud83d\\ude00'",
];
const NO_KEYS: [&str; 14] = [
    "NaN",
    "null",
    "undefined",
    "true",
    "{}",
    "new Date(NaN)",
    "/x/",
    "Symbol.iterator",
    "1n",
    "[1, , 2]",
    "[1, {}]",
    "(() => { const a = []; a[0] = a; return a; })()",
    "(() => { const b = new ArrayBuffer(2); structuredClone(b, { transfer: [b] }); return b; })()",
    "new Proxy([1], {})",
];

/// A valid key.
pub(crate) fn key(random: &mut Random, depth: u32) -> String {
    match weighted(random, &[50, 6, 14, 5, 7, 6, 6]) {
        0 => random.below(7).to_string(),
        1 => format!("{}.5", random.below(5)),
        2 => random.pick(&STRINGS).into(),
        3 => format!("new Date({})", random.below(4) * 1000),
        4 if depth < 3 => {
            let items = (0..random.below(3)).map(|_| key(random, depth + 1));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        5 => match random.below(4) {
            0 => format!("new Uint8Array([{}]).buffer", random.below(3)),
            1 => format!(
                "new DataView(new Uint8Array([9, {}, 8]).buffer, 1, 1)",
                random.below(3)
            ),
            2 => format!("new Uint16Array([{}, 7]).subarray(0, 1)", random.below(3)),
            _ => format!("new Uint8Array([{}, 200])", random.below(3)),
        },
        _ => random.pick(&ODD_NUMBERS).into(),
    }
}

/// Mostly a valid key.
pub(crate) fn any_key(random: &mut Random) -> String {
    match random.one_in(25) {
        true => random.pick(&NO_KEYS).into(),
        false => key(random, 0),
    }
}

/// A key as part of a value.
///
/// Known difference: an array with a hole gives a multi-entry index no entries at all in Chromium; the specification
/// takes the hole for `undefined` and leaves out that member. So there is nothing beside holes that could be an entry.
fn key_inside(random: &mut Random) -> String {
    let key = any_key(random);
    if key == "[1, , 2]" {
        return "[, ]".into();
    }
    match ["Symbol", "Proxy", "transfer"]
        .iter()
        .any(|sort| key.contains(sort))
    {
        true => format!("t.odd({key})"),
        false => key,
    }
}

/// A member of an array that a multi-entry index may be on.
///
/// Known difference: where an array in such an array holds itself or has a hole, Chromium makes no entries at all; the
/// specification leaves out that one.
fn member_of_many(random: &mut Random) -> String {
    let key = key_inside(random);
    match key.contains("a[0] = a") || key == "[, ]" {
        true => "NaN".into(),
        false => key,
    }
}

/// A key where a generator's key path may lead.
///
/// Known difference: Chromium keeps generated keys out of values and puts them in when it reads, and does the same with
/// keys that were given; then a view has become its bytes in a buffer.
fn key_in_value(random: &mut Random) -> String {
    let key = key_inside(random);
    match key.contains("new Uint8Array")
        || key.contains("new DataView")
        || key.contains("new Uint16Array")
    {
        true => "new ArrayBuffer(2)".into(),
        false => key,
    }
}

/// A range, sometimes of the wrong order or of what is no key.
pub(crate) fn range(random: &mut Random) -> String {
    let flag = |random: &mut Random| random.pick(&["", ", true", ", false"]);
    match random.below(6) {
        0 => format!("IDBKeyRange.only({})", any_key(random)),
        1 => format!(
            "IDBKeyRange.lowerBound({}{})",
            any_key(random),
            flag(random)
        ),
        2 => format!(
            "IDBKeyRange.upperBound({}{})",
            any_key(random),
            flag(random)
        ),
        3 => format!(
            "IDBKeyRange.bound({}, {})",
            any_key(random),
            any_key(random)
        ),
        _ => {
            let low = random.below(5);
            let (open_low, open_high) = (random.one_in(2), random.one_in(2));
            let high = low + random.below(4);
            format!("IDBKeyRange.bound({low}, {high}, {open_low}, {open_high})")
        }
    }
}

/// What may stand where a key or a range is asked for.
pub(crate) fn query(random: &mut Random) -> String {
    match weighted(random, &[45, 45, 5, 5]) {
        0 => any_key(random),
        1 => range(random),
        2 => "undefined".into(),
        _ => "null".into(),
    }
}

/// The arrays with holes have nothing else that could be an entry of a multi-entry index: see `key_inside`.
const CLONEABLE: [&str; 42] = [
    "undefined",
    "null",
    "true",
    "0",
    "-0",
    "1.5",
    "NaN",
    "-Infinity",
    "2 ** 31",
    "1 << 30",
    "-(2 ** 31) - 1",
    "''",
    "'\\u00e9'",
    "'\\u20ac\\ud800'",
    "'a'.repeat(300)",
    "'compressible '.repeat(9000)",
    "12345678901234567890n",
    "-(2n ** 70n)",
    "new Date(5)",
    "new Date(NaN)",
    "/a\\/b/giu",
    "Object(false)",
    "Object('s')",
    "Object(-0)",
    "Object(1n)",
    "[1, 2.5, 3]",
    "[{}, , { s: 'x' }]",
    "Object.assign([1, 2], { name: 'n', length: 7 })",
    "(() => { const o = { list: [] }; o.self = o; o.list.push(o, o.list); return o; })()",
    "(() => { const s = {}; return [s, s, new Map([[s, new Set([s, 1])]])]; })()",
    "(() => { const m = new Map(); m.set(m, m); m.set(-0, NaN); return m; })()",
    "new Uint8Array([1, 2, 255]).buffer",
    "new Uint16Array(new Uint8Array([1, 2, 3, 4]).buffer, 2, 1)",
    "new DataView(new ArrayBuffer(5), 1, 3)",
    "new Float64Array([0.5, -0, NaN])",
    "(() => { const b = new ArrayBuffer(4); return [new Uint8Array(b), new Int16Array(b)]; })()",
    "{ 10: 1, 2: 2, z: 1, a: 2, '\\ud800': 3 }",
    "new RangeError('r', { cause: { c: 1 } })",
    "new DOMException('m', 'DataError')",
    "Object.create({ id: 3, x: 4 }, { own: { value: 1, enumerable: true }, hidden: { value: 2 } })",
    "new Blob(['some bytes'], { type: 'text/plain' })",
    "new File(['of a file'], 'n\\u00e4me.txt', { type: 'a/b', lastModified: 1234567890123 })",
];
const NOT_CLONEABLE: [&str; 7] = [
    "() => 1",
    "Symbol('s')",
    "{ deep: { f() {} } }",
    "new WeakMap()",
    "Promise.resolve()",
    "{ get g() { throw new RangeError('thrown by a getter'); } }",
    "new Proxy({}, {})",
];

fn anything(random: &mut Random) -> String {
    match random.one_in(20) {
        true => format!("t.odd({})", random.pick(&NOT_CLONEABLE)),
        false => random.pick(&CLONEABLE).into(),
    }
}

/// An object with what key paths lead to, or anything.
pub(crate) fn value(random: &mut Random, without_id: bool) -> String {
    match weighted(random, &[85, 10, 5]) {
        0 => object(random, without_id),
        1 => anything(random),
        _ => format!("t.meddling({})", object(random, without_id)),
    }
}

fn object(random: &mut Random, without_id: bool) -> String {
    let mut members = Vec::new();
    if !without_id || random.one_in(4) {
        members.push(format!("id: {}", key_in_value(random)));
    }
    if !random.one_in(5) {
        members.push(format!("x: {}", key_inside(random)));
    }
    match random.below(6) {
        0 | 1 => members.push(format!("y: {{ z: {} }}", key_in_value(random))),
        2 => members.push(format!("y: {}", key_inside(random))),
        _ => {}
    }
    match random.below(6) {
        0..3 => {
            let tags = (0..random.below(4)).map(|_| member_of_many(random));
            let tags = tags.collect::<Vec<_>>().join(", ");
            members.push(format!("tags: [{tags}]"));
        }
        3 => members.push(format!("tags: {}", key_inside(random))),
        _ => {}
    }
    if random.one_in(3) {
        members.push(format!("v: {}", anything(random)));
    }
    format!("{{ {} }}", members.join(", "))
}

/// The key path of an object store, as an option: `keyPath: 'id', `, or nothing.
pub(crate) fn store_key_path(random: &mut Random) -> &'static str {
    const PATHS: [&str; 8] = [
        "'y.z'",
        "['id', 'x']",
        "''",
        "'tags'",
        "'x.length'",
        "[]",
        "'a b'",
        "null",
    ];
    match weighted(random, &[45, 40, 15]) {
        0 => "undefined",
        1 => "'id'",
        _ => random.pick(&PATHS),
    }
}

/// The key path of an index.
pub(crate) fn index_key_path(random: &mut Random) -> &'static str {
    const PATHS: [&str; 14] = [
        "'x'",
        "'x'",
        "'x'",
        "'tags'",
        "'tags'",
        "'tags'",
        "'y.z'",
        "['x', 'id']",
        "['x', 'y.z']",
        "''",
        "'id'",
        "'tags.length'",
        "'v.size'",
        "'1x'",
    ];
    random.pick(&PATHS)
}
