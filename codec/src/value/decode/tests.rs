//! Tests of single rules; whole values are compared in `tests/value_model` and
//! `tests/chromium_values.rs`.

use super::*;
use crate::Error;
use crate::value::{Array, BufferKind, Envelope, ErrorType, JsStr, ObjectId};

/// The envelope of these versions around V8's bytes.
fn wrap(blink: u8, v8: u8, wire: &[u8]) -> Vec<u8> {
    let mut out = match blink {
        21 => b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        16..21 => vec![0xff, blink],
        _ => vec![],
    };
    out.extend([0xff, v8]);
    out.extend(wire);
    if blink < 17 {
        if out.len() % 2 == 1 {
            out.push(0);
        }
        out.as_chunks_mut::<2>()
            .0
            .iter_mut()
            .for_each(|pair| pair.swap(0, 1));
    }
    out
}

fn with<R>(bytes: &[u8], f: impl FnOnce(&Tree<'_>) -> R) -> Result<R> {
    let mut buffer = Vec::new();
    let Envelope::Inline(payload) = Envelope::peel(bytes, &mut buffer)? else {
        panic!("in a blob");
    };
    Ok(f(&Decoder::new().decode(&payload)?))
}

fn json(bytes: &[u8]) -> std::result::Result<String, Error> {
    with(bytes, |tree| serde_json::to_string(tree).unwrap())
}

/// JSON of V8's bytes in today's envelope.
fn today(wire: &[u8]) -> String {
    json(&wrap(21, 16, wire)).unwrap()
}

/// The error that V8's bytes in today's envelope (17 bytes) give: kind, offset behind the
/// envelope, subject.
fn refused(wire: &[u8]) -> (ErrorKind, usize, &'static str) {
    let error = json(&wrap(21, 16, wire)).unwrap_err();
    (error.kind().clone(), error.offset() - 17, error.what())
}

#[test]
fn a_name_that_occurs_twice_is_refused_as_v8_refuses_it() {
    let (kind, offset, what) = refused(b"o\"\x01aT\"\x01aF{\x02");
    assert_eq!((kind, offset), (ErrorKind::Invalid { found: 2 }, 9));
    assert_eq!(what, "object with a property name twice");
    // The same name in two shapes, and as a number and a string.
    refused(b"o\"\x01aTc\x02a\0F{\x02");
    refused(b"oI\x0eT\"\x017F{\x02");
    refused(b"oN\0\0\0\0\0\0\xf8\x3fT\"\x031.5F{\x02");
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    assert_eq!(
        refused(b"o\"\x01aT{\x02").0,
        ErrorKind::Invalid { found: 2 }
    );
    assert_eq!(refused(b";TT:\x01").0, ErrorKind::Invalid { found: 1 });
    assert_eq!(refused(b"'T,\x00").0, ErrorKind::Invalid { found: 0 });
    assert_eq!(
        refused(b"A\x01T$\x00\x02").0,
        ErrorKind::Invalid { found: 2 }
    );
    assert_eq!(
        refused(b"a\x01@\x00\x02").0,
        ErrorKind::Invalid { found: 2 }
    );
    // A map ends in front of a key, never in front of a value.
    assert_eq!(refused(b";T:\x01").0, ErrorKind::UnknownTag { tag: b':' });
}

#[test]
fn a_sparse_array_of_the_greatest_length_costs_nothing() {
    let bytes = wrap(
        21,
        16,
        b"a\xff\xff\xff\xff\x0fU\xfe\xff\xff\xff\x0fT@\x01\xff\xff\xff\xff\x0f",
    );
    with(&bytes, |tree| {
        let Object::Array(array) = tree.object(ObjectId(0)) else {
            panic!()
        };
        assert_eq!((array.length, array.elements.len()), (u32::MAX, 0));
        assert!(tree.slots.capacity() < 100);
    })
    .unwrap();
    let expected = "{\"$array\":4294967295,\"properties\":[[\"4294967294\",true]]}";
    assert_eq!(json(&bytes).unwrap(), expected);
}

#[test]
fn a_dense_length_beyond_the_input_is_refused_before_anything_is_reserved() {
    let (kind, offset, what) = refused(b"A\xff\xff\xff\xff\x0f");
    assert_eq!(
        (kind, offset),
        (
            ErrorKind::Invalid {
                found: u64::from(u32::MAX)
            },
            0
        )
    );
    assert_eq!(what, "dense array length");
}

#[test]
fn sparse_elements_without_a_gap_become_elements() {
    let wire = b"a\x02I\0TI\x02F@\x02\x02";
    assert_eq!(today(wire), "[true,false]");
    with(&wrap(21, 16, wire), |tree| {
        let Object::Array(Array {
            elements,
            properties,
            ..
        }) = tree.object(ObjectId(0))
        else {
            panic!()
        };
        assert_eq!((elements.len(), properties.len()), (2, 0));
    })
    .unwrap();
}

#[test]
fn elements_written_as_properties_fill_holes_and_move_the_end() {
    // V8 defines properties after the elements: one in a hole, one beyond the length.
    let told = today(b"A\x02-T$\x00\x02");
    assert_eq!(told, "{\"$array\":2,\"properties\":[[\"1\",true]]}");
    assert_eq!(today(b"A\x02-TI\0F$\x01\x02"), "[false,true]");
    assert_eq!(
        today(b"A\x01TI\x04F$\x01\x01"),
        "{\"$array\":3,\"properties\":[[\"0\",true],[\"2\",false]]}"
    );
    assert_eq!(refused(b"A\x01TI\0F$\x01\x01").2, "array element twice");
    assert_eq!(
        refused(b"A\x01T\"\x06lengthF$\x01\x01").2,
        "array with a property \"length\""
    );
}

#[test]
fn references_name_objects_that_have_begun() {
    assert_eq!(today(b"o\"\x01a^\0{\x01"), "{\"$id\":0,\"a\":{\"$ref\":0}}");
    assert_eq!(
        refused(b"o\"\x01a^\x01{\x01").0,
        ErrorKind::Invalid { found: 1 }
    );
    assert_eq!(refused(b"^\0").2, "object reference");
}

#[test]
fn a_view_takes_the_buffer_or_the_reference_before_it() {
    let wire = b"A\x02B\x02\x07\x08VB\0\x02\0^\x01\0VB\x01\x01\0$\0\x02";
    assert_eq!(
        today(wire),
        "[{\"$view\":\"Uint8Array\",\"byteOffset\":0,\"byteLength\":2,\
         \"buffer\":{\"$id\":1,\"$arraybuffer\":\"Bwg=\"}},\
         {\"$view\":\"Uint8Array\",\"byteOffset\":1,\"byteLength\":1,\"buffer\":{\"$ref\":1}}]"
    );
}

#[test]
fn version_13_views_with_and_without_flags_are_read() {
    // Chromium 97 wrote flags under version 13 (crbug.com/1284506). Flags of 1 can only be read in
    // that way, and are refused there because the buffer is not resizable.
    assert!(json(&wrap(20, 13, b"B\x01\x07VB\0\x01")).is_ok());
    assert!(json(&wrap(20, 13, b"B\x01\x07VB\0\x01\0")).is_ok());
    assert!(json(&wrap(20, 13, b"~\x01\x02\x07VB\0\x01\x02")).is_ok());
    assert!(json(&wrap(21, 14, b"B\x01\x07VB\0\x01")).is_err());
}

#[test]
fn resizable_and_immutable_buffers_keep_their_kind() {
    with(&wrap(21, 16, b"~\x01\x08\x07"), |tree| {
        let Object::ArrayBuffer(buffer) = tree.object(ObjectId(0)) else {
            panic!()
        };
        assert_eq!(
            (buffer.bytes, buffer.kind),
            (&[7][..], BufferKind::Resizable(8))
        );
    })
    .unwrap();
    assert_eq!(
        today(b"C\x01\x07"),
        "{\"$arraybuffer\":\"Bw==\",\"immutable\":true}"
    );
    assert_eq!(
        refused(b"~\x02\x01\x07\x07").2,
        "ArrayBuffer maximum length"
    );
}

#[test]
fn undefined_in_a_dense_array_was_a_hole_before_version_11() {
    for (v8, expected) in [
        (10, "{\"$array\":1,\"properties\":[]}"),
        (11, "[{\"$undefined\":true}]"),
    ] {
        assert_eq!(json(&wrap(v8, v8, b"A\x01_$\0\x01")).unwrap(), expected);
    }
}

#[test]
fn strings_in_objects_had_no_tag_before_version_12() {
    let expected = "{\"$regexp\":\"aé\",\"flags\":\"g\"}";
    assert_eq!(
        json(&wrap(11, 11, b"R\x03a\xc3\xa9\x01")).unwrap(),
        expected
    );
    assert_eq!(json(&wrap(12, 12, b"R\"\x02a\xe9\x01")).unwrap(), expected);
    assert_eq!(
        json(&wrap(11, 11, b"s\x01x")).unwrap(),
        "{\"$stringobject\":\"x\"}"
    );
}

#[test]
fn host_objects_had_no_tag_of_v8_before_version_13() {
    assert_eq!(json(&wrap(9, 9, b"i\x02")).unwrap(), "{\"$blob\":2}");
    assert_eq!(json(&wrap(16, 12, b"e\x02")).unwrap(), "{\"$file\":2}");
    assert_eq!(json(&wrap(16, 13, b"\\e\x02")).unwrap(), "{\"$file\":2}");
    assert!(json(&wrap(16, 13, b"e\x02")).is_err());
    // 2 wide, 1 high, no settings before version 18.
    let image = json(&wrap(9, 9, b"#\x02\x01\x08abcdefgh")).unwrap();
    assert!(
        image.starts_with("{\"$imagedata\":\"YWJjZGVmZ2g=\",\"width\":2,"),
        "{image}"
    );
}

#[test]
fn files_of_old_versions_have_the_fields_of_their_time() {
    let three = json(&wrap(3, 3, b"f\x02/p\x01u\x01t")).unwrap();
    assert!(three.contains("\"path\":\"/p\",\"name\":null"), "{three}");
    // Seconds before version 8, milliseconds after.
    let snapshot = b"f\x02/p\x01n\x01r\x01u\x01t\x01\x05\0\0\0\0\0\0\xf8\x3f\x01";
    assert!(
        json(&wrap(7, 7, snapshot))
            .unwrap()
            .ends_with("\"lastModified\":1500}")
    );
    assert!(
        json(&wrap(8, 8, snapshot))
            .unwrap()
            .ends_with("\"lastModified\":1.5}")
    );
}

#[test]
fn errors_keep_type_message_stack_and_cause_in_either_order() {
    for wire in [
        &b"rTm\"\x01xc^\0s\"\x01y."[..], // Chromium 110
        b"rTm\"\x01xs\"\x01yc^\0.",      // Chromium 156
    ] {
        with(&wrap(21, 16, wire), |tree| {
            let Object::Error(error) = tree.object(ObjectId(0)) else {
                panic!()
            };
            assert_eq!(error.error_type, ErrorType::TypeError);
            assert_eq!(error.message, Some(JsStr::Latin1(b"x")));
            assert_eq!(error.stack, Some(JsStr::Latin1(b"y")));
            assert_eq!(error.cause, Some(Value::Object(ObjectId(0))));
        })
        .unwrap();
    }
    assert_eq!(refused(b"rQ.").0, ErrorKind::UnknownTag { tag: b'Q' });
}

#[test]
fn unknown_tags_are_named_with_their_place() {
    assert_eq!(
        refused(b"A\x01*$\0\x01"),
        (ErrorKind::UnknownTag { tag: b'*' }, 2, "tag")
    );
    let (kind, offset, what) = refused(b"A\x01u\0$\0\x01");
    assert_eq!((kind, offset), (ErrorKind::UnknownTag { tag: b'u' }, 2));
    assert_eq!(what, "SharedArrayBuffer in a stored value");
    let (kind, offset, what) = refused(b"\\M\0");
    assert_eq!((kind, offset), (ErrorKind::UnknownTag { tag: b'M' }, 1));
    assert_eq!(what, "MessagePort in a stored value");
    assert_eq!(refused(b"\\*").2, "host object tag");
}

#[test]
fn padding_is_skipped_and_anything_else_behind_the_value_is_refused() {
    assert_eq!(today(b"\0\0o\0\"\x01a\0T\0{\x01\0\0"), "{\"a\":true}");
    let (kind, offset, _) = refused(b"T\0F\0");
    assert_eq!((kind, offset), (ErrorKind::Trailing { extra: 2 }, 2));
}

#[test]
fn nesting_ends_at_the_limit_and_costs_no_native_stack() {
    let nested = |depth: usize| {
        let mut wire = b"A\x01".repeat(depth);
        wire.push(b'0');
        wire.extend(b"$\0\x01".repeat(depth));
        wrap(21, 16, &wire)
    };
    let depth = with(&nested(DEPTH_MAX), |tree| {
        assert!(serde_json::to_string(tree).is_ok());
        tree.depth()
    });
    assert_eq!(depth, Ok(DEPTH_MAX));
    let error = json(&nested(DEPTH_MAX + 1)).unwrap_err();
    assert_eq!(
        error.kind(),
        &ErrorKind::LimitExceeded {
            limit: DEPTH_MAX as u64
        }
    );
}

#[test]
fn a_decoder_gives_the_same_again_after_errors_and_recycling() {
    let mut decoder = Decoder::new();
    let good = wrap(21, 16, b"o\"\x01aA\x02T;:\0$\0\x02\"\x01b^\0{\x02");
    let bad = wrap(21, 16, b"o\"\x01aA\x02T;TF*");
    let mut told = Vec::new();
    for bytes in [&good, &bad, &good, &good, &bad, &good] {
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(bytes, &mut buffer) else {
            panic!()
        };
        match decoder.decode(&payload) {
            Ok(tree) => {
                told.push(serde_json::to_string(&tree).unwrap());
                decoder.recycle(tree);
            }
            Err(error) => told.push(error.to_string()),
        }
    }
    assert_eq!(
        told[0],
        "{\"$id\":0,\"a\":[true,{\"$map\":[]}],\"b\":{\"$ref\":0}}"
    );
    assert_eq!(
        [&told[0], &told[0], &told[0]],
        [&told[2], &told[3], &told[5]]
    );
    assert_eq!(told[1], told[4]);
}

#[test]
fn references_of_one_value_leave_nothing_to_the_next() {
    let mut decoder = Decoder::new();
    let mut told = Vec::new();
    for wire in [&b"A\x02y^\x01$\0\x02"[..], b"A\x02yy$\0\x02"] {
        let bytes = wrap(21, 16, wire);
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
            panic!()
        };
        let tree = decoder.decode(&payload).unwrap();
        told.push(serde_json::to_string(&tree).unwrap());
        decoder.recycle(tree);
    }
    assert_eq!(told[0], r#"[{"$id":1,"$booleanobject":true},{"$ref":1}]"#);
    assert_eq!(
        told[1],
        r#"[{"$booleanobject":true},{"$booleanobject":true}]"#
    );
}

#[test]
fn recycled_memory_is_used_again() {
    let mut decoder = Decoder::new();
    let bytes = wrap(21, 16, b"o\"\x01aA\x02TF$\0\x02{\x01");
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
        panic!()
    };
    let tree = decoder.decode(&payload).unwrap();
    let places = (
        tree.objects.as_ptr().addr(),
        tree.properties.as_ptr().addr(),
        tree.slots.as_ptr().addr(),
    );
    decoder.recycle(tree);
    let tree = decoder.decode(&payload).unwrap();
    let again = (
        tree.objects.as_ptr().addr(),
        tree.properties.as_ptr().addr(),
        tree.slots.as_ptr().addr(),
    );
    assert_eq!(places, again);
}
