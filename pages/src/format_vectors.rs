//! The vectors in `docs/format/pages.md`.

use crate::object::{ObjectDigest, ObjectType, PieceType, sha256_with_length};
use crate::tree::{Fanout, Tree};
use std::path::Path;

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks_exact(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that reads the document")]
fn the_document_says_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/format/pages.md");
    let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    let mut count = 0;
    for block in text.split("```vectors\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            let [kind, input, result] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let input = bytes(input);
            let is = match kind {
                "hash" => hex(&sha256_with_length(&input)),
                "digest" => {
                    let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &input);
                    hex(digest.as_bytes())
                }
                "level" => Fanout::Of256.level_of()(&input).to_string(),
                "level-16" => Fanout::Of16.level_of()(&input).to_string(),
                "empty-root" => hex(Tree::empty_root().digest.as_bytes()),
                _ => panic!("{line}"),
            };
            assert_eq!(is, result, "{line}");
            count += 1;
        }
    }
    assert!(count >= 8, "{count}");
}
