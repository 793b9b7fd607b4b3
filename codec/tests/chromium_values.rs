//! Values that Chromium 64 to 156 wrote: each decodes, no damage to it makes anything panic.
//!
//! What they must decode to is what the same Chromium read back; the command's tests compare that
//! (`cli/tests/canonical_values.rs`).

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use larder_codec::value::{Decoder, Encoder, Envelope, Payload};

fn vectors() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    include_str!("data/chromium-values.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut fields = line.split('\t').skip(1);
            let (name, hex) = (fields.next().unwrap(), fields.next().unwrap());
            let (digits, _) = hex.as_bytes().as_chunks::<2>();
            let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
            (
                name,
                digits.iter().map(|pair| byte(pair).unwrap()).collect(),
            )
        })
}

fn peel<'a>(bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> larder_codec::Result<Option<Payload<'a>>> {
    Ok(match Envelope::peel(bytes, buffer)? {
        Envelope::Inline(payload) => Some(payload),
        Envelope::InBlob { .. } => None,
    })
}

#[test]
fn every_value_decodes_and_serialises() {
    let mut decoder = Decoder::new();
    let mut count = 0;
    for (name, bytes) in vectors() {
        let mut buffer = Vec::new();
        let payload = peel(&bytes, &mut buffer).unwrap().expect("inline");
        let tree = decoder
            .decode(&payload)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let json = serde_json::to_string(&tree).unwrap();
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|e| panic!("{name}: {e}"));
        decoder.recycle(tree);
        count += 1;
    }
    assert!(count > 250, "{count} vectors");
}

#[test]
fn every_prefix_is_refused_or_padding() {
    let mut decoder = Decoder::new();
    for (name, bytes) in vectors() {
        // A value may end in padding; without it the value is still whole.
        let end = bytes.iter().rposition(|&b| b != 0).unwrap_or(0);
        for cut in 0..bytes.len() {
            let mut buffer = Vec::new();
            let Ok(Some(payload)) = peel(&bytes[..cut], &mut buffer) else {
                continue;
            };
            let result = decoder.decode(&payload);
            assert!(
                result.is_err() || cut > end || has_count_at_end(&bytes),
                "{name} cut at {cut}"
            );
        }
    }
}

/// Whether the value ends in counts that are zero and look like padding.
fn has_count_at_end(bytes: &[u8]) -> bool {
    bytes.ends_with(&[0, 0])
}

#[test]
fn every_flipped_bit_decodes_or_errs_and_what_decodes_serialises_and_encodes() {
    let mut decoder = Decoder::new();
    let (mut decoded, mut refused) = (0_u32, 0_u32);
    let mut again = Vec::new();
    for (name, mut bytes) in vectors() {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                let mut buffer = Vec::new();
                match peel(&bytes, &mut buffer).map(|p| p.map(|p| decoder.decode(&p))) {
                    Ok(Some(Ok(tree))) => {
                        serde_json::to_writer(std::io::sink(), &tree).unwrap();
                        again.clear();
                        Encoder::new().encode(&tree, &mut again);
                        let mut buffer = Vec::new();
                        let payload = peel(&again, &mut buffer).unwrap().expect("inline");
                        let shown = Decoder::new().decode(&payload).unwrap();
                        assert!(shown.is_same_value(&tree), "{name}");
                        decoder.recycle(tree);
                        decoded += 1;
                    }
                    Ok(None) => {}
                    Ok(Some(Err(error))) | Err(error) => {
                        assert!(error.offset() <= bytes.len(), "{error}");
                        refused += 1;
                    }
                }
                bytes[at] ^= 1 << bit;
            }
        }
    }
    println!("{decoded} decoded, {refused} refused");
    assert!(decoded > 0 && refused > 0);
}
