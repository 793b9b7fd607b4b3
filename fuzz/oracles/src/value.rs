//! Laws of values.

use larder::canonical::{Browser, NoBlobs, write_value};
use larder_codec::value::{Decoder, Envelope, Tree};

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
