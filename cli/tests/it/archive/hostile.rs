//! Archives that are damaged, or were made to harm: an error with the line, no panic, and no memory that the archive does not have itself.

use larder::archive::check_bytes;
use larder_fixtures::random::Random;

use super::{folder, run};
use crate::support::stderr;

const HEAD: &str = "{\"archive\":\"larder\",\"format\":1}\n";

#[test]
fn values_that_no_store_can_have_are_refused_with_their_line() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(2000), close.repeat(2000));
    let far = format!("{{\"$root\":{{\"$ref\":0}},\"$deep\":[{}]}}", {
        let items =
            (0..20_000).map(|n| format!("{{\"$id\":{n},\"$items\":[{{\"$ref\":{}}}]}}", n + 1));
        items.collect::<Vec<_>>().join(",")
    });
    for value in [
        deep("[", "]"),
        far,
        "{\"$ref\":0}".to_owned(),
        "{\"$array\":4294967295,\"properties\":1}".to_owned(),
        "{\"$array\":4294967296,\"properties\":[]}".to_owned(),
        "{\"$view\":\"Uint8Array\",\"byteOffset\":0,\"byteLength\":9007199254740992,\"buffer\":{\"$arraybuffer\":\"\"}}".to_owned(),
        "{\"$view\":\"Uint16Array\",\"byteOffset\":1,\"byteLength\":2,\"buffer\":{\"$arraybuffer\":\"AAAA\"}}".to_owned(),
        "{\"$view\":\"Uint8Array\",\"byteOffset\":0,\"byteLength\":0,\"buffer\":{\"$ref\":7}}".to_owned(),
        "{\"$arraybuffer\":\"AA==\",\"maxByteLength\":0}".to_owned(),
        "{\"$arraybuffer\":\"A\"}".to_owned(),
        "{\"$bigint\":\"--1\"}".to_owned(),
        format!("{{\"$bigint\":\"{}\"}}", "9".repeat(1 << 20)),
        "{\"$regexp\":\"a\",\"flags\":\"uv\"}".to_owned(),
        "{\"$date\":\"1970-01-01\"}".to_owned(),
        "{\"$utf16\":\"d8\"}".to_owned(),
        "{\"$cryptokey\":\"AA==\"}".to_owned(),
        "{\"$map\":[[1]]}".to_owned(),
        "[{\"$id\":1,\"$set\":[]},{\"$id\":1,\"$set\":[]}]".to_owned(),
    ] {
        let archive = format!("{HEAD}{{\"key\":1,\"value\":{value}}}\n");
        let error = check_bytes(archive.as_bytes()).unwrap_err();
        let start: String = value.chars().take(60).collect();
        assert_eq!(error.line(), Some(2), "{start}");
    }
}

#[test]
fn an_archive_that_is_changed_anywhere_is_read_or_refused() {
    let source = larder_fixtures::get("c156-lite").open();
    let dir = folder();
    let archive = dir.path().join("a.jsonl");
    let output = run("export", &source.leveldb(), &archive, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let whole = std::fs::read(&archive).unwrap();
    assert!(check_bytes(&whole).unwrap() > 100);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let long = std::env::var_os("LARDER_WHOLE").is_some();
    let seed = std::env::var("LARDER_SEED").map_or(1, |text| text.parse().unwrap());
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut refused = 0;
    for _ in 0..if long { 20_000 } else { 600 } {
        let line = lines[random.index(lines.len())];
        // What is long is mostly base64.
        let mut line = line[..line.len().min(4000)].to_vec();
        for _ in 0..=random.below(3) {
            if line.is_empty() {
                break;
            }
            let at = random.index(line.len());
            match random.below(4) {
                0 => line[at] = b"{}[]\",:$0-e"[random.index(11)],
                1 => drop(line.remove(at)),
                2 => line.insert(at, b"{}[]\",:$0-e"[random.index(11)]),
                _ => line.truncate(at.max(1)),
            }
        }
        line.push(b'\n');
        refused += u32::from(check_bytes(&line).is_err());
    }
    println!("{refused} refused");
    assert!(refused > 100);
}

#[test]
fn an_archive_that_is_cut_anywhere_is_not_imported() {
    let source = larder_fixtures::get("c156-lite").open();
    let dir = folder();
    for name in ["a.jsonl", "a.jsonl.zst"] {
        let archive = dir.path().join(name);
        let output = run("export", &source.leveldb(), &archive, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let whole = std::fs::read(&archive).unwrap();
        for len in [0, 1, 30, whole.len() / 2, whole.len() - 20, whole.len() - 1] {
            let cut = dir.path().join(format!("cut-{name}"));
            std::fs::write(&cut, &whole[..len]).unwrap();
            let to = dir.path().join("to");
            let output = run("import", &cut, &to, &[]);
            assert_eq!(output.status.code(), Some(2), "{name}, {len} bytes");
            assert!(
                stderr(&output).contains("line "),
                "{name}, {len} bytes: {}",
                stderr(&output)
            );
            assert!(!to.exists() || std::fs::read_dir(&to).unwrap().count() == 0);
        }
    }
}
