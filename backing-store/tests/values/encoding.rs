//! Decoding and encoding gives Chromium's own bytes; wrapping moves where Chromium moved.

use larder_codec::DataVersion;
use larder_codec::value::{Decoder, Encoder, INLINE_LEN_BYTES_MAX, Wrapped, wrap};

use crate::stores::{Stored, each_object_store, each_value, open};

const SNAPPY: &[u8] = b"\xff\x11\x02";

/// What was counted over all stores.
#[derive(Debug, Default)]
struct Count {
    values: usize,
    /// Errors whose cause stands in front of their stack, as Chromium 110 and 119 wrote it.
    cause_first: usize,
    in_blob: usize,
    snappy: usize,
    /// The number of those whose compressed bytes are Chromium's own.
    snappy_equal: usize,
}

#[test]
fn values_come_out_byte_for_byte_and_are_wrapped_as_they_were() {
    let mut count = Count::default();
    for fixture in larder_fixtures::all() {
        let (_files, store) = open(&fixture);
        each_object_store(&store, |database, object_store| {
            each_value(&store, database, object_store, |key, stored| {
                // Older versions of Blink or V8 have another form.
                if stored.payload.versions().blink < 21 {
                    return;
                }
                let name = format!("{} {} {key:?}", fixture.name, object_store.name);
                again(stored, &name, &mut count);
                wrapped(stored, &name, &mut count);
            });
        });
    }
    println!("{count:?}");
    assert!(count.values > 24_000, "{count:?}");
    assert!(count.cause_first <= 3, "{count:?}");
    assert!(count.in_blob > 50 && count.snappy > 35, "{count:?}");
    assert!(count.snappy_equal > 25, "{count:?}");
}

/// Decodes and encodes.
fn again(stored: &Stored<'_>, name: &str, count: &mut Count) {
    let tree = Decoder::new().decode(&stored.payload).unwrap();
    let mut out = Vec::new();
    Encoder::new().encode(&tree, &mut out);
    let mut expected = stored.payload.bytes().to_vec();
    // The usual version is 15, and 16 where not every browser of that has the form.
    assert!(
        [15, 16].contains(&expected[16]) && [15, 16].contains(&out[16]),
        "{name}"
    );
    expected[16] = out[16];
    count.values += 1;
    if out == expected {
        return;
    }
    let is_error = expected.windows(2).any(|pair| pair == b"rm");
    assert!(is_error && name.starts_with("c11"), "{name}");
    // The same bytes in another order.
    out.sort_unstable();
    expected.sort_unstable();
    assert_eq!(out, expected, "{name}");
    count.cause_first += 1;
}

/// Wraps what was unwrapped.
fn wrapped(stored: &Stored<'_>, name: &str, count: &mut Count) {
    count.in_blob += usize::from(stored.blob.is_some());
    // Chromium before 131 did not compress.
    if name.starts_with("c11") {
        let long = stored.payload.bytes().len() > INLINE_LEN_BYTES_MAX;
        assert_eq!(stored.blob.is_some(), long, "{name}");
        let version = DataVersion { v8: 15, blink: 21 };
        let ours = wrap(stored.payload.bytes().to_vec(), 0, version);
        assert_eq!(ours.blob.is_some(), long, "{name}");
        return;
    }
    // 131 and 143 compress under version 15, which we leave to them: 126 has the same version and does not read it.
    let version = DataVersion { v8: 16, blink: 21 };
    let (outer, index) = stored.blob.unwrap_or((stored.inline, 0));
    let compressed = outer.starts_with(SNAPPY);
    let Wrapped { inline, blob } = wrap(stored.payload.bytes().to_vec(), index, version);
    let ours = blob.as_ref().unwrap_or(&inline);
    assert_eq!(ours.starts_with(SNAPPY), compressed, "{name}");
    assert_eq!(blob.is_some(), stored.blob.is_some(), "{name}");
    if ours != outer {
        assert!(compressed, "{name}");
    } else if blob.is_some() {
        assert_eq!(inline, stored.inline, "{name}");
    }
    count.snappy += usize::from(compressed);
    count.snappy_equal += usize::from(compressed && ours == outer);
}
