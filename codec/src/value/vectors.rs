//! The vectors of `docs/format/values.md`: each decodes to the JSON beside it, and no tag that the decoder takes is
//! missing.

use super::{Decoder, Encoder, Envelope};
use crate::{ErrorKind, Result};

const DOCUMENT: &str = include_str!("../../../docs/format/values.md");
const TODAY: &str = "ff15fe000000000000000000000000ff10";

/// The rows of the document's parts that end in a vector and JSON: part, first cell, vector, JSON.
fn rows() -> Vec<(usize, &'static str, &'static str, &'static str)> {
    let mut part = 0;
    let mut rows = Vec::new();
    for line in DOCUMENT.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            part = title[..1].parse().unwrap();
        }
        let cells: Vec<_> = line.trim_matches(['|', ' ']).split(" | ").collect();
        if let [first, .., vector, json] = cells[..]
            && cells.len() == 5
            && let Some(vector) = vector.strip_prefix('`').and_then(|v| v.strip_suffix('`'))
        {
            rows.push((part, first, vector, json.trim_matches('`')));
        }
    }
    rows
}

fn json(bytes: &[u8]) -> Result<String> {
    let mut buffer = Vec::new();
    match Envelope::peel(bytes, &mut buffer)? {
        Envelope::Inline(payload) => {
            Ok(serde_json::to_string(&Decoder::new().decode(&payload)?).unwrap())
        }
        Envelope::InBlob { .. } => panic!("in a blob"),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
    assert!(odd.is_empty(), "{hex}");
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| byte(pair).unwrap()).collect()
}

/// All vectors with their envelopes, each with its part and first cell.
pub(super) fn all() -> impl Iterator<Item = (String, Vec<u8>)> {
    rows().into_iter().map(|(part, first, vector, _)| {
        let head = if part == 1 { "" } else { TODAY };
        let name = format!("part {part}, {first}");
        (name, bytes(&format!("{head}{vector}")))
    })
}

#[test]
fn every_vector_decodes_to_the_json_beside_it() {
    let rows = rows();
    assert!(rows.len() > 55, "{} rows", rows.len());
    for (part, first, vector, expected) in rows {
        let head = if part == 1 { "" } else { TODAY };
        let told = json(&bytes(&format!("{head}{vector}")));
        assert_eq!(told.as_deref(), Ok(expected), "part {part}, {first}");
    }
}

#[test]
fn every_vector_is_the_same_value_after_encoding() {
    for (name, stored) in all() {
        let (mut buffer, mut buffer_again) = (Vec::new(), Vec::new());
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&stored, &mut buffer) else {
            panic!("{name}")
        };
        let tree = Decoder::new().decode(&payload).unwrap();
        let mut out = Vec::new();
        Encoder::new().encode(&tree, &mut out);
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&out, &mut buffer_again) else {
            panic!("{name}")
        };
        let again = Decoder::new().decode(&payload).unwrap();
        assert!(again.is_same_value(&tree), "{name}");
    }
}

#[test]
fn every_tag_that_the_decoder_takes_is_listed() {
    for part in [2, 3] {
        let listed: Vec<u8> = rows()
            .iter()
            .filter(|row| row.0 == part)
            .map(|(_, first, ..)| match first.trim_matches('`') {
                "00" => 0,
                tag => tag.as_bytes()[0],
            })
            .collect();
        for tag in 0..=255 {
            let mut wire = bytes(TODAY);
            let (end, what) = match part {
                2 => (wire.len(), "tag"),
                _ => (wire.len() + 1, "host object tag"),
            };
            wire.extend(&[b'\\', tag][usize::from(part == 2)..]);
            wire.extend([0; 16]);
            let refused = json(&wire).is_err_and(|error| {
                matches!(error.kind(), ErrorKind::UnknownTag { .. })
                    && error.offset() == end
                    && (error.what() == what || error.what().contains("stored value"))
            });
            // Tags with a place of their own are met only there.
            let elsewhere = part == 2 && [b'-', b'V'].contains(&tag);
            let known = !refused || elsewhere;
            let shown = char::from(tag);
            assert_eq!(known, listed.contains(&tag), "part {part}, {shown:?}");
        }
    }
}
