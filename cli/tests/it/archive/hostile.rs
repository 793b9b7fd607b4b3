//! Archives that are damaged, or were made to harm: an error with the line, no panic, and no memory that the archive does not have itself.

use std::path::Path;

use larder::archive::check_bytes;
use larder_fixtures::random::Random;

use super::{folder, run, small_archive};
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

/// Imports an archive in a folder with a blob whose file has this name: what is said. `None` if it was imported.
fn imported_with_blob(dir: &Path, name: &str, size: usize) -> Option<String> {
    let record = format!(
        "{{\"key\":1,\"value\":{{\"$blob\":0}},\"external\":[{{\"kind\":\"blob\",\"type\":\"\",\"size\":{size},\"file\":{}}}]}}",
        serde_json::json!(name)
    );
    let lines = small_archive("", &[&record], 1);
    std::fs::write(dir.join("archive/archive.jsonl"), lines).unwrap();
    let to = dir.join("to");
    let output = run("import", &dir.join("archive"), &to, &[]);
    if output.status.success() {
        std::fs::remove_dir_all(&to).unwrap();
        return None;
    }
    assert_eq!(output.status.code(), Some(2), "{name}");
    assert!(!to.exists() || std::fs::read_dir(&to).unwrap().count() == 0);
    Some(stderr(&output))
}

#[test]
fn no_name_of_a_blob_leads_out_of_the_archive() {
    const SECRET: &[u8] = b"what an archive has no business to read";
    let dir = folder();
    let dir = dir.path();
    std::fs::create_dir_all(dir.join("archive/blobs/inner")).unwrap();
    for place in [
        "secret",
        "archive/secret",
        "archive/blobs/own",
        "archive/blobs/inner/secret",
    ] {
        std::fs::write(dir.join(place), SECRET).unwrap();
    }
    let said = |name: &str| imported_with_blob(dir, name, SECRET.len());
    assert_eq!(said("blobs/own"), None);
    let absolute = dir.join("secret").to_str().unwrap().to_owned();
    let behind = format!("blobs/{absolute}");
    let names = [
        "secret",
        "../secret",
        "blobs/../secret",
        "blobs/../../secret",
        "blobs/inner/secret",
        "blobs/inner/../own",
        "blobs/./own",
        "blobs//own",
        "./blobs/own",
        "blobs/",
        "blobs/.",
        "blobs/..",
        "blobs",
        "",
        "blobs/..\\secret",
        "blobs\\own",
        "blobs/own:stream",
        "blobs/own\0",
        &absolute,
        &behind,
    ];
    for name in names {
        let said = said(name).unwrap_or_else(|| panic!("{name:?} was imported"));
        assert!(
            said.contains("line 5: ") && said.contains("is no file in the archive's folder blobs"),
            "{name:?}: {said}"
        );
    }
}

/// A link has the length of the name that it leads to; the blobs have that length, so that no length gives them away.
#[cfg(unix)]
#[test]
fn no_link_among_the_blobs_leads_out_of_the_archive() {
    use std::os::unix::fs::symlink;
    let dir = folder();
    let dir = dir.path();
    std::fs::create_dir_all(dir.join("archive/blobs")).unwrap();
    let target = dir.join("secret");
    let len = target.as_os_str().len();
    std::fs::write(&target, vec![b'x'; len]).unwrap();
    symlink(&target, dir.join("archive/blobs/link")).unwrap();
    let said = imported_with_blob(dir, "blobs/link", len).expect("a link was followed");
    assert!(
        said.contains("line 5: ")
            && said.contains("blobs/link: is a symbolic link, which is not followed"),
        "{said}"
    );

    std::fs::create_dir(dir.join("elsewhere")).unwrap();
    std::fs::rename(&target, dir.join("elsewhere/own")).unwrap();
    std::fs::remove_dir_all(dir.join("archive/blobs")).unwrap();
    symlink(dir.join("elsewhere"), dir.join("archive/blobs")).unwrap();
    let said = imported_with_blob(dir, "blobs/own", len).expect("a linked folder was read");
    assert!(
        said.contains("blobs is a symbolic link, which is not followed"),
        "{said}"
    );
}
