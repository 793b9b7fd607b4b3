//! Laws of values.

use larder::canonical::{Browser, NoBlobs, write_value};
use larder_codec::DataVersion;
use larder_codec::value::serde::{from_tree, to_bytes};
use larder_codec::value::{
    DEPTH_MAX, Decoder, Encoder, Envelope, Foreign, HostObject, Object, Overlay, Payload, Tree,
    Value, wrap,
};

/// Any bytes decode or err, twice the same, and whatever decodes is written as JSON that parsers take.
pub fn value_decoding(data: &[u8]) {
    let (mut buffer, mut buffer_again) = (Vec::new(), Vec::new());
    let peeled = Envelope::peel(data, &mut buffer);
    assert_eq!(
        peeled,
        Envelope::peel(data, &mut buffer_again),
        "peeling twice"
    );
    let Ok(Envelope::Inline(payload)) = peeled else {
        return;
    };
    let mut decoder = Decoder::new();
    match decoder.decode(&payload) {
        Err(error) => {
            assert_eq!(
                Foreign::read(&payload),
                None,
                "what does not decode is no engine's"
            );
            assert!(error.offset() <= payload.bytes().len(), "{error}");
            assert_eq!(
                Decoder::new().decode(&payload).err(),
                Some(error),
                "a used decoder errs alike"
            );
        }
        Ok(tree) => {
            let json = serde_json::to_string(&tree).expect("every value is JSON");
            // The default limit of 128 levels is what many parsers have.
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
            assert!(parsed.is_ok(), "{:?} in {json}", parsed.err());
            canonical(&tree);
            foreign(&payload, &tree);
            decoder.recycle(tree);
            let again = decoder.decode(&payload).expect("it decoded before");
            assert_eq!(
                serde_json::to_string(&again).ok(),
                Some(json),
                "decoding twice"
            );
        }
    }
}

/// Bytes of another engine are the same in the tree, and come back from what is written of them.
fn foreign(payload: &Payload<'_>, tree: &Tree<'_>) {
    let found = Foreign::read(payload);
    assert_eq!(found, Foreign::of_tree(tree), "both ways of reading");
    let Some(found) = found else {
        return;
    };
    let mut written = Vec::new();
    found.write(&mut written);
    with_payload(&written, |payload| {
        assert_eq!(Foreign::read(payload), Some(found), "there and back");
    });
}

/// Canonical JSON has a form for every value that refers to no blob. It nests as the value does.
fn canonical(tree: &Tree<'_>) {
    for schema in [4, 5] {
        let mut out = b"before".to_vec();
        if write_value(
            &mut out,
            tree,
            &mut NoBlobs,
            Browser::of_schema(Some(schema)),
        )
        .is_err()
        {
            assert_eq!(
                out, b"before",
                "a value that cannot be written leaves nothing"
            );
            continue;
        }
        let text = out.strip_prefix(b"before").expect("what was there stays");
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(text);
        let too_deep = parsed
            .as_ref()
            .is_err_and(|error| error.to_string().starts_with("recursion limit exceeded"));
        assert!(
            parsed.is_ok() || too_deep,
            "{:?} in {}",
            parsed.err(),
            String::from_utf8_lossy(text)
        );
    }
}

/// Laid over itself, an object is what it was, whichever of its properties come from where.
fn overlay(tree: &Tree<'_>) {
    let Value::Object(root) = tree.root() else {
        return;
    };
    let names = tree.own_properties(root).iter().step_by(2);
    let names = names.map(|own| own.name.to_js_string()).collect();
    let mut bytes = Vec::new();
    let Some(overlay) = Overlay::encode(tree, tree, &names, &mut bytes) else {
        return;
    };
    if overlay.needs.depth() > DEPTH_MAX {
        return;
    }
    with_payload(&bytes, |payload| {
        let made = Decoder::new().decode(payload);
        let made = made.expect("what was laid together decodes");
        let Value::Object(made_root) = made.root() else {
            panic!("an object stays one")
        };
        let (ours, theirs) = (tree.own_properties(root), made.own_properties(made_root));
        assert!(
            ours.iter()
                .map(|own| own.name)
                .eq(theirs.iter().map(|own| own.name))
        );
        // Places of blobs are others, and what the two halves share is there twice: to be seen in parts that refer to the whole.
        if overlay.blobs.is_empty() && overlay.tokens.is_empty() {
            let mut encoder = Encoder::new();
            for (our, their) in ours.iter().zip(theirs) {
                let is_same = encoder.is_same_part(tree, our.value, &made, their.value);
                assert!(is_same || tree.is_shared(root), "{:?}", our.name);
            }
        }
    });
}

/// Whatever decodes, encodes to bytes that are the same value, and these to themselves; wrapping hides nothing; and what
/// serde reads of it, serde writes.
pub fn value_encoding(data: &[u8]) {
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(data, &mut buffer) else {
        return;
    };
    let Ok(tree) = Decoder::new().decode(&payload) else {
        return;
    };
    let encoded = encode(&tree);
    with_payload(&encoded, |payload| {
        let again = Decoder::new()
            .decode(payload)
            .expect("what was encoded decodes");
        is_same(&again, &tree);
        assert_eq!(encode(&again), encoded, "encoding twice");
    });
    overlay(&tree);
    let version = DataVersion { v8: 16, blink: 21 };
    let wrapped = wrap(encoded.clone(), 0, version);
    let (mut buffer, mut blob_buffer) = (Vec::new(), Vec::new());
    let unwrapped = match Envelope::peel(&wrapped.inline, &mut buffer).expect("a wrapped value") {
        Envelope::Inline(payload) => payload,
        Envelope::InBlob { size, index } => {
            let content = wrapped.blob.as_deref().expect("the blob that was named");
            assert_eq!((size, index), (content.len() as u64, 0));
            Envelope::peel_blob(content, &mut blob_buffer).expect("a blob's content")
        }
    };
    assert_eq!(unwrapped.bytes(), encoded, "wrapping");
    if let Ok(read) = from_tree::<serde_json::Value>(&tree) {
        let mut written = Vec::new();
        to_bytes(&read, &mut written).expect("serde's values can be written");
        with_payload(&written, |payload| {
            let tree = Decoder::new().decode(payload).expect("they decode");
            assert_eq!(from_tree(&tree), Ok(read), "serde there and back");
        });
    }
}

/// Checks that two trees hold equal values: for the encoder, and for canonical JSON, which does not depend on bytes but for pictures of old
/// browsers.
pub(crate) fn is_same(ours: &Tree<'_>, theirs: &Tree<'_>) {
    assert!(ours.is_same_value(theirs), "the same value");
    if [ours, theirs].into_iter().any(has_unsure_pixels) {
        return;
    }
    let written = [ours, theirs].map(|tree| {
        let mut out = Vec::new();
        let written = write_value(&mut out, tree, &mut NoBlobs, Browser::of_schema(Some(5)));
        written.map(|()| out).ok()
    });
    assert_eq!(written[0], written[1], "the same canonical JSON");
}

/// What Chromium 64 wrote for pixels does not say in which order their parts are; so canonical JSON does not show them.
fn has_unsure_pixels(tree: &Tree<'_>) -> bool {
    const ORDER_BLINK_MIN: u32 = 20;
    let is_bitmap = |object: &Object<'_>| matches!(object, Object::Host(host) if matches!(**host, HostObject::ImageBitmap(_)));
    tree.versions().blink < ORDER_BLINK_MIN && tree.objects().any(is_bitmap)
}

fn encode(tree: &Tree<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::new().encode(tree, &mut out);
    out
}

/// Calls `f` with what is in bytes that were just encoded.
pub(crate) fn with_payload<R>(bytes: &[u8], f: impl FnOnce(&Payload<'_>) -> R) -> R {
    let mut buffer = Vec::new();
    match Envelope::peel(bytes, &mut buffer).expect("an envelope that was just made") {
        Envelope::Inline(payload) => f(&payload),
        Envelope::InBlob { .. } => panic!("nothing was put into a blob"),
    }
}
