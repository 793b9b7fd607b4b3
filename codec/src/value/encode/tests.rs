//! Bytes that Chromium wrote come out again; trees of every age and shape come out as the same
//! value.

use crate::DataVersion;
use crate::value::{
    ArrayBuffer, BufferKind, Decoder, Encoder, Envelope, JsStr, Object, Tree, Value,
};

fn with_tree<R>(bytes: &[u8], f: impl FnOnce(&mut Tree<'_>) -> R) -> R {
    let mut buffer = Vec::new();
    match Envelope::peel(bytes, &mut buffer).unwrap() {
        Envelope::Inline(payload) => f(&mut Decoder::new().decode(&payload).unwrap()),
        Envelope::InBlob { .. } => panic!("in a blob"),
    }
}

fn encoded(tree: &Tree<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::new().encode(tree, &mut out);
    out
}

fn json(bytes: &[u8]) -> String {
    with_tree(bytes, |tree| serde_json::to_string(tree).unwrap())
}

/// Producer, name and bytes of the values that Chromiums wrote.
fn chromium_values() -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    include_str!("../../../tests/data/chromium-values.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<_> = line.split('\t').collect();
            let (digits, _) = fields[2].as_bytes().as_chunks::<2>();
            let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
            let bytes = digits.iter().map(|pair| byte(pair).unwrap()).collect();
            (fields[0], fields[1], bytes)
        })
}

#[test]
fn values_of_blink_21_come_out_byte_for_byte() {
    let mut count = 0;
    for (producer, name, mut bytes) in chromium_values() {
        if bytes.starts_with(b"\xff\x15") {
            let again = with_tree(&bytes, |tree| encoded(tree));
            // The usual version is 15, and 16 where that has no form.
            bytes[16] = again[16];
            assert!(matches!(again[16], 15 | 16), "{producer} {name}");
            assert_eq!(again, bytes, "{producer} {name}");
            count += 1;
        }
    }
    assert!(count > 130, "{count} values");
}

#[test]
fn values_of_every_age_come_out_byte_for_byte_in_their_own_versions() {
    let mut count = 0;
    for (producer, name, bytes) in chromium_values() {
        let again = with_tree(&bytes, |tree| {
            let (version, mut out) = (tree.versions().into(), Vec::new());
            let written = Encoder::new().encode_in(version, tree, &mut out);
            written.map(|()| out)
        });
        let again = again.unwrap_or_else(|needs| panic!("{producer} {name}: {needs}"));
        // Chromium 64 pads values to even lengths.
        if bytes.strip_suffix(&[0]) != Some(&again) {
            assert_eq!(again, bytes, "{producer} {name}");
        }
        count += 1;
    }
    assert!(count > 250, "{count} values");
}

#[test]
fn what_is_added_to_a_value_that_was_read_needs_its_own_versions() {
    let resizable = Object::ArrayBuffer(ArrayBuffer {
        bytes: b"ab",
        kind: BufferKind::Resizable(8),
    });
    // As Chromium 143 has written one; and an object in place of it, with one put in.
    let read = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f~\x02\x08ab";
    let needs = with_tree(read, |tree| Encoder::new().encode(tree, &mut Vec::new()));
    assert_eq!(needs.version(), DataVersion { v8: 15, blink: 21 });
    let empty = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fo{\0";
    let needs = with_tree(empty, |tree| {
        let mut tree = tree.clone();
        let added = tree.push_object(resizable.clone());
        assert!(tree.inject(&["added".into()], added));
        Encoder::new().encode(&tree, &mut Vec::new())
    });
    assert_eq!(needs.version(), DataVersion { v8: 16, blink: 21 });
}

#[test]
fn a_value_with_other_headers_is_what_is_written_in_these_versions_or_is_written_anew() {
    let versions = [
        (16, 21),
        (15, 21),
        (14, 20),
        (13, 21),
        (13, 20),
        (13, 18),
        (13, 17),
        (12, 17),
    ];
    let versions = versions.map(|(v8, blink)| DataVersion { v8, blink });
    let (mut restated, mut anew, mut refused) = (0, 0, 0);
    for (producer, name, bytes) in chromium_values() {
        with_tree(&bytes, |tree| {
            let mut usual = Vec::new();
            let needs = Encoder::new().encode(tree, &mut usual);
            for version in versions {
                let what = format!("{producer} {name} in {version:?}");
                let (mut written, mut headed) = (Vec::new(), usual.clone());
                let encoded = Encoder::new().encode_in(version, tree, &mut written);
                assert_eq!(encoded.is_ok(), needs.fit(version), "{what}");
                if encoded.is_ok() {
                    let same = with_tree(&written, |ours| ours.is_same_value(tree));
                    let told = with_tree(&written, |ours| ours.versions());
                    assert!(same && DataVersion::from(told) == version, "{what}");
                }
                if needs.restate(version, &mut headed) {
                    let same = with_tree(&headed, |ours| ours.is_same_value(tree));
                    let told = with_tree(&headed, |ours| ours.versions());
                    assert!(same && DataVersion::from(told) == version, "{what}");
                    // Wide strings may stand at other places, behind one padding byte.
                    assert!(headed == written || headed[4] == 0, "{what}");
                    restated += 1;
                    continue;
                }
                assert_eq!(headed, usual, "{what}");
                match encoded {
                    Ok(()) => anew += 1,
                    Err(found) => {
                        assert!(written.is_empty() && found.version() == needs.version());
                        refused += 1;
                    }
                }
            }
        });
    }
    assert!(
        restated > 900 && anew > 50 && refused > 200,
        "{restated} with other headers, {anew} anew, {refused} refused"
    );
}

#[test]
fn older_values_come_out_as_the_same_value_of_today() {
    let mut count = 0;
    for (producer, name, bytes) in chromium_values() {
        let again = with_tree(&bytes, |tree| encoded(tree));
        assert!(again.starts_with(b"\xff\x15\xfe"), "{producer} {name}");
        assert_eq!(json(&again), json(&bytes), "{producer} {name}");
        let same = with_tree(&again, |ours| with_tree(&bytes, |t| ours.is_same_value(t)));
        assert!(same, "{producer} {name}");
        let twice = with_tree(&again, |tree| encoded(tree));
        assert_eq!(twice, again, "{producer} {name}");
        count += 1;
    }
    assert!(count > 250, "{count} values");
}

/// The bytes behind the headers of what becomes of these.
fn again(wire: &[u8]) -> Vec<u8> {
    let bytes = [&b"\xff\x14\xff\x0d"[..], wire].concat();
    with_tree(&bytes, |tree| encoded(tree)).split_off(17)
}

#[test]
fn objects_are_numbered_in_the_order_of_first_appearance() {
    // `b` holds object 1, `0` object 2; index names come first now.
    let wire = b"o\"\x01bo{\0I\x00o{\0\"\x01c^\x01{\x03";
    assert_eq!(again(wire), b"oI\x00o{\0\"\x01bo{\0\"\x01c^\x02{\x03");
}

#[test]
fn a_view_seen_first_and_one_of_a_buffer_seen_before_keep_their_numbers() {
    // Buffer 1, view 2, reference to the buffer with view 3, references to view 2 and the buffer.
    let wire = b"A\x04B\x02abVB\0\x02^\x01VB\x01\x01^\x02^\x01$\0\x04";
    let expected = b"A\x04B\x02abVB\0\x02\0^\x01VB\x01\x01\0^\x02^\x01$\0\x04";
    assert_eq!(again(wire), expected);
}

#[test]
fn arrays_with_holes_are_sparse_and_others_are_what_they_were() {
    // Written densely with a hole, which V8 does only if an array changes under its hands.
    assert_eq!(again(b"A\x03-T-$\0\x03"), b"a\x03I\x02T@\x01\x03");
    assert_eq!(
        again(b"a\x02I\x00TI\x02F@\x02\x02"),
        b"a\x02I\x00TI\x02F@\x02\x02"
    );
    assert_eq!(
        again(b"A\x01T\"\x01xF$\x01\x01"),
        b"A\x01T\"\x01xF$\x01\x01"
    );
    // A property that fills the hole makes it whole.
    assert_eq!(again(b"A\x01-I\x00T$\x01\x01"), b"A\x01T$\0\x01");
}

#[test]
fn numbers_keep_their_form_until_the_tree_is_changed() {
    let wire = b"o\"\x01aN\0\0\0\0\0\0\xf0?\"\x01bI\x02\"\x01cN\0\0\0\0\0\0\xf0?{\x03";
    assert_eq!(again(wire), wire);
    let bytes = [&b"\xff\x14\xff\x0d"[..], wire].concat();
    let changed = with_tree(&bytes, |tree| {
        assert!(tree.inject(&[JsStr::from("z")], Value::Null));
        encoded(tree)
    });
    let expected = b"o\"\x01aI\x02\"\x01bI\x02\"\x01cI\x02\"\x01z0{\x04";
    assert_eq!(changed[17..], expected[..]);
}

#[test]
fn a_new_array_with_a_fraction_is_of_doubles_throughout() {
    let element = |number: f64| [&b"N"[..], &number.to_le_bytes()].concat();
    let told = |numbers: &[f64]| {
        let numbers: Vec<_> = numbers.iter().copied().map(Value::Number).collect();
        with_tree(b"\xff\x14\xff\x0do{\0", |tree| {
            let array = tree.push_array(&numbers);
            assert!(tree.inject(&[JsStr::from("k")], array));
            encoded(tree)
        })
        .split_off(17)
    };
    let doubles = [
        &b"o\"\x01kA\x02"[..],
        &element(1.0),
        &element(1.5),
        b"$\0\x02{\x01",
    ]
    .concat();
    assert_eq!(told(&[1.0, 1.5]), doubles);
    assert_eq!(told(&[1.0, 2.0]), b"o\"\x01kA\x02I\x02I\x04$\0\x02{\x01");
    assert_eq!(told(&[]), b"o\"\x01kA\0$\0\0{\x01");
}

#[test]
fn nesting_costs_no_native_stack() {
    let depth = crate::value::DEPTH_MAX;
    let mut bytes = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f".to_vec();
    bytes.extend(b"A\x01".repeat(depth - 1));
    bytes.extend(b"A\0$\0\0");
    bytes.extend(b"$\0\x01".repeat(depth - 1));
    let worker = std::thread::Builder::new().stack_size(64 * 1024);
    let again = worker.spawn(move || (with_tree(&bytes, |tree| encoded(tree)), bytes));
    let (again, bytes) = again.unwrap().join().unwrap();
    assert!(again == bytes);
}

#[test]
fn an_error_is_written_as_chromium_131_and_later_write_it() {
    // Chromium 119 wrote the cause in front of the stack.
    let old = b"rTm\"\x01mcA\0$\0\0s\"\x01s.";
    assert_eq!(again(old), b"rTm\"\x01ms\"\x01scA\0$\0\0.");
    assert_eq!(again(b"r."), b"r.");
}

#[test]
fn values_are_equal_or_not_whatever_their_bytes() {
    let compare = |a: &[u8], b: &[u8]| {
        let [a, b] = [a, b].map(|wire| [&b"\xff\x14\xff\x0d"[..], wire].concat());
        with_tree(&a, |a| with_tree(&b, |b| a.is_same_value(b)))
    };
    for (a, b) in [
        (&b"N\0\0\0\0\0\0\xf0?"[..], &b"I\x02"[..]),
        (b"c\x02a\0", b"\"\x01a"),
        (b"S\x02\xc3\xa9", b"\"\x01\xe9"),
        (b"A\x01T$\0\x01", b"a\x01I\0T@\x01\x01"),
        (b"o\"\x01bTI\0F{\x02", b"oI\0F\"\x01bT{\x02"),
        (b"A\x02o{\0^\x01$\0\x02", b"a\x02I\0o{\0I\x02^\x01@\x02\x02"),
    ] {
        assert!(compare(a, b), "{a:?} {b:?}");
    }
    for (a, b) in [
        (&b"N\0\0\0\0\0\0\0\x80"[..], &b"I\0"[..]),
        (b"A\x02o{\0^\x01$\0\x02", b"A\x02o{\0o{\0$\0\x02"),
        (b"o\"\x01aT\"\x01bT{\x02", b"o\"\x01bT\"\x01aT{\x02"),
        (b"a\x01@\0\x01", b"A\x01_$\0\x01"),
        (b"s\"\x01a", b"\"\x01a"),
    ] {
        assert!(!compare(a, b), "{a:?} {b:?}");
    }
}

#[test]
fn equal_values_have_alike_bytes_that_decode_to_them() {
    let values: Vec<_> = chromium_values().map(|(_, _, bytes)| bytes).collect();
    let alike = |bytes: &[u8]| {
        let mut out = b"before".to_vec();
        with_tree(bytes, |tree| Encoder::new().encode_alike(tree, &mut out));
        out.split_off(6)
    };
    let alikes: Vec<_> = values.iter().map(|bytes| alike(bytes)).collect();
    let mut greatest = 0;
    for (bytes, out) in values.iter().zip(&alikes) {
        assert!(with_tree(bytes, |one| with_tree(out, |other| one
            .is_same_value(other))));
        assert_eq!(alike(out), *out);
        greatest += usize::from(out[16] == 16);
    }
    let mut pairs = 0;
    for (at, one) in values.iter().enumerate() {
        for (other, out) in values.iter().zip(&alikes).take(at) {
            let same = with_tree(one, |one| {
                with_tree(other, |other| one.is_same_value(other))
            });
            // Without the headers: a value that only the greatest versions have may be read in lesser ones.
            assert_eq!(same, alikes[at][17..] == out[17..]);
            pairs += usize::from(same && one != other);
        }
    }
    assert!(pairs > 20, "{pairs}");
    println!("{pairs} pairs of equal values in other bytes, {greatest} in the greatest versions");
}
