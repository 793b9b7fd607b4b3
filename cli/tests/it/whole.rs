//! The canonical form says everything, unless digests are asked for. (Before, there were digests only, and the help called
//! that what Chromium would show.)

use std::fs;
use std::path::Path;

use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::support::{dump_canonical, larder, run_script, stderr};

/// Members that only the whole form has.
const ONLY_WHOLE: [&str; 4] = ["stored", "stack", "immutable", "lengthTracking"];

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of_hex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn units_of(object: &Map<String, Value>) -> Option<Vec<u16>> {
    if let Some(text) = object.get("v").and_then(Value::as_str) {
        return Some(text.encode_utf16().collect());
    }
    let hex = object.get("utf16")?.as_str()?;
    let bytes = bytes_of_hex(hex);
    Some(
        bytes
            .chunks(2)
            .map(|unit| u16::from_be_bytes([unit[0], unit[1]]))
            .collect(),
    )
}

/// The form with digests of a whole value, by the words of `docs/format/canonical.md`.
fn digested(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(digested),
        Value::Object(object) => {
            let kind = object.get("t").and_then(Value::as_str).map(str::to_owned);
            if kind.is_some() {
                ONLY_WHOLE
                    .iter()
                    .for_each(|name| drop(object.remove(*name)));
            }
            if matches!(kind.as_deref(), Some("string" | "StringObject"))
                && let Some(units) = units_of(object)
                && units.len() > 512
            {
                let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
                object.remove("v");
                object.remove("utf16");
                object.insert("units".into(), json!(units.len()));
                object.insert("sha256_utf16le".into(), json!(sha256(&bytes)));
            }
            if let (Some(len), Some(Value::String(hex))) = (object.get("len"), object.get("hex")) {
                let (len, bytes) = (len.as_u64().unwrap(), bytes_of_hex(hex));
                assert_eq!(bytes.len() as u64, len);
                if len > 256 {
                    object.remove("hex");
                    object.insert("sha256".into(), json!(sha256(&bytes)));
                }
            }
            object.values_mut().for_each(digested);
        }
        _ => {}
    }
}

/// Strings that are keys are whole in both forms.
fn digested_values(databases: &mut Value) {
    for database in databases.as_array_mut().unwrap() {
        for store in database["stores"].as_array_mut().unwrap() {
            for record in store["records"].as_array_mut().unwrap() {
                digested(&mut record[1]);
            }
        }
    }
}

fn dump_whole(store: &Path) -> std::process::Output {
    larder([
        "dump".as_ref(),
        store.as_os_str(),
        "--format=canonical".as_ref(),
    ])
}

#[test]
fn the_whole_form_of_every_golden_store_digested_is_what_its_browser_showed() {
    with_large_stack(|| {
        let (mut stores, mut longer) = (0, 0);
        for fixture in larder_fixtures::all() {
            let output = dump_whole(&fixture.copy().leveldb());
            assert!(
                output.status.success(),
                "{}: {}",
                fixture.name,
                stderr(&output)
            );
            assert!(!output.stdout.windows(9).any(|part| part == b"\"sha256\":"));
            let mut ours = comparable(&output.stdout);
            let before = ours.to_string().len();
            digested_values(&mut ours);
            longer += usize::from(ours.to_string().len() < before);
            let theirs = comparable(&fixture.expected());
            let difference = first_difference(&ours, &theirs, "databases");
            assert_eq!(difference, None, "{}", fixture.name);
            stores += 1;
        }
        assert!(stores >= 10 && longer >= 10, "{longer} of {stores}");
    });
}

const LONG: &str = "
    const request = indexedDB.open('d');
    request.onupgradeneeded = () => {
      const s = request.result.createObjectStore('s');
      s.put('é𝒳\"\\\\\\n'.repeat(200001), 1);
      s.put('\\ud800' + 'x'.repeat(70000), 2);
      s.put(new Uint8Array(200001).map((_, i) => i * 7), 3);
      s.put([new Blob(['z'.repeat(300000)]), 'behind it'], 4);
      const error = new TypeError('m'); error.stack = 'somewhere';
      s.put(error, 5);
    };";

#[test]
fn long_strings_bytes_and_blobs_come_out_whole_and_stacks_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let storage = dir.path().join("IndexedDB");
    run_script(&storage, &[], LONG);
    let output = dump_whole(&storage);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = &document["databases"][0]["stores"][0]["records"];
    assert_eq!(records[0][1]["v"], "é𝒳\"\\\n".repeat(200001));
    let lone = format!("d800{}", "0078".repeat(70000));
    assert_eq!(records[1][1]["utf16"], lone);
    let bytes: String = (0..200_001_u32)
        .map(|i| format!("{:02x}", (i * 7) as u8))
        .collect();
    assert_eq!(
        records[2][1]["buffer"]["bytes"],
        json!({"len": 200_001, "hex": bytes})
    );
    let blob = &records[3][1]["props"][0][1];
    assert_eq!(blob["size"], 300_000);
    assert_eq!(
        blob["bytes"],
        json!({"len": 300_000, "hex": "7a".repeat(300_000)})
    );
    assert_eq!(records[3][1]["props"][1][1]["v"], "behind it");
    assert_eq!(records[4][1]["stack"], "somewhere");
}

#[test]
fn a_blob_that_is_gone_costs_the_whole_form_that_blob_alone() {
    let dir = tempfile::tempdir().unwrap();
    let storage = dir.path().join("IndexedDB");
    run_script(&storage, &[], LONG);
    let blobs = storage.join("https_localhost_0.indexeddb.blob");
    for folder in fs::read_dir(blobs.join("1")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.metadata().unwrap().len() == 300_000 {
                fs::remove_file(path).unwrap();
            }
        }
    }
    let output = dump_whole(&storage);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("key 4"), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = &document["databases"][0]["stores"][0]["records"];
    let parts = &records[3][1]["props"];
    assert!(parts[0][1]["error"].is_string(), "{}", parts[0][1]);
    assert_eq!(parts[1][1]["v"], "behind it");
    assert_eq!(
        records[0][1]["v"].as_str().unwrap().chars().count(),
        5 * 200_001
    );
    let digests = dump_canonical(&storage);
    let document: Value = serde_json::from_slice(&digests.stdout).unwrap();
    let record = &document["databases"][0]["stores"][0]["records"][3][1];
    assert_eq!(record["t"], "UNREADABLE");
}

#[test]
fn digests_are_of_the_canonical_form_alone() {
    let store = larder_fixtures::get("c156-lite").open();
    for format in ["text", "jsonl"] {
        let path = store.leveldb();
        let output = larder([
            "dump".as_ref(),
            "--digests".as_ref(),
            "--format".as_ref(),
            format.as_ref(),
            path.as_os_str(),
        ]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
    }
}
