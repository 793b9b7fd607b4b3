//! Values and keys of any bytes and lengths, whole and cut, and missing ones.

use larder_fixtures::random::Random;
use larder_pages::Priority;
use serde_json::json;

use super::*;

fn with_entries(dir: &Path, entries: &[(&[u8], &[u8])]) {
    let repository = open(dir);
    let page = page(&repository, b"l", PageId::ROOT);
    let changes: Vec<_> = entries
        .iter()
        .map(|(key, value)| (*key, Some(*value)))
        .collect();
    commit(&page, &Commit::first(), &changes, 1);
    page.close(Timestamp(2)).unwrap();
}

#[test]
fn a_long_value_comes_out_whole_as_bytes_as_text_and_as_digits() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random::new(5);
    let noise: Vec<u8> = (0..3_000_000).map(|_| random.next() as u8).collect();
    // Characters of one to four bytes lie across the ends of parts.
    let text = "a\u{e4}\u{4e2d}\u{1f600}\"\\\n".repeat(40_000);
    with_entries(
        dir.path(),
        &[(b"noise", &noise), (b"text", text.as_bytes())],
    );
    let file = dir.path().join("out");
    let words = ["show", "--key", "noise", "--output", file.to_str().unwrap()];
    assert_eq!(printed(dir.path(), &words), "");
    assert!(fs::read(&file).unwrap() == noise);
    let output = pages(dir.path(), &["show", "head", "--key", "text"]);
    assert!(output.stdout == text.as_bytes());
    let digits = printed(dir.path(), &["show", "--key", "noise", "--hex"]);
    assert!(digits == format!("bytes:{}\n", hex(&noise)));
    let differs = lines(dir.path(), &["diff", "first", "head", "--json", "--values"]);
    assert!(differs[0]["new"]["value"] == json!({ "bytes": hex(&noise) }));
    assert!(differs[1]["new"]["value"] == text);
    let shown = printed(
        dir.path(),
        &["diff", "first", "head", "--values", "--prefix", "t"],
    );
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\u{a}");
    assert!(shown == format!("+ \"text\" = \"{escaped}\"\n"));
    // It is cut within a character, of which nothing is shown.
    let cut = lines(
        dir.path(),
        &["diff", "first", "head", "--json", "--prefix", "t"],
    );
    let new = &cut[0]["new"];
    let start = new["value"].as_str().unwrap();
    assert!(
        text.starts_with(start) && (97..=100).contains(&start.len()),
        "{start}"
    );
    assert_eq!(
        (&new["isCut"], &new["size"]),
        (&json!(true), &json!(text.len()))
    );
}

#[test]
fn nothing_that_is_stored_can_drive_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let evil: [&[u8]; 5] = [
        b"\x1b[2J\x07",
        b"\xc2\x9b31m",
        "\u{202e}txt.exe".as_bytes(),
        b"\xff\x00",
        b"quote\"\\",
    ];
    let entries: Vec<(&[u8], &[u8])> = evil.iter().map(|bytes| (*bytes, *bytes)).collect();
    with_entries(dir.path(), &entries);
    let repository = open(dir.path());
    let ledger = b"evil\x1b]0;ledger\x07";
    let other = page(&repository, ledger, PageId(*b"\x1b[31m evil page!"));
    commit(&other, &Commit::first(), &[(b"\x1b", Some(b"\x1b"))], 1);
    other.close(Timestamp(2)).unwrap();
    drop(repository);
    let ledger_name = "bytes:".to_owned() + &hex(ledger);
    for words in [
        vec!["ls"],
        vec!["ls", "--json"],
        vec!["show"],
        vec!["show", "--ledger", "l"],
        vec!["show", "--ledger", &ledger_name],
        vec!["show", "--ledger", "l", "--hex"],
        vec!["show", "--ledger", "l", "--key", "\x1b[no"],
        vec!["show", "\x1b[no", "--ledger", "l"],
        vec!["show", "--ledger", "\x1b[no"],
        vec!["show", "--page", "\x1b[no"],
        vec!["log", "--ledger", "l"],
        vec!["diff", "first", "head", "--ledger", "l"],
        vec!["diff", "first", "head", "--ledger", "l", "--values"],
        vec!["diff", "first", "head", "--ledger", "l", "--json"],
        vec!["gc"],
    ] {
        let output = pages(dir.path(), &words);
        let all = [output.stdout, output.stderr].concat();
        let all = String::from_utf8(all).unwrap();
        let is_bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!all.contains(is_bad), "{words:?}: {all:?}");
    }
    let shown = printed(dir.path(), &["show", "--ledger", "l"]);
    let mut sorted = evil;
    sorted.sort_unstable();
    let expected = sorted.map(|bytes| match bytes {
        b"quote\"\\" => "\"quote\\\"\\\\\" = \"quote\\\"\\\\\"\n".to_owned(),
        _ => format!("bytes:{0} = bytes:{0}\n", hex(bytes)),
    });
    assert_eq!(shown, expected.concat());
    // What was shown is a key to ask for.
    let one = pages(
        dir.path(),
        &["show", "--ledger", "l", "--key", "bytes:ff00"],
    );
    assert_eq!(one.stdout, b"\xff\x00");
}

#[test]
fn a_value_that_is_not_here_is_said_to_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let (there, here) = (
        page(&repository, b"l", PageId([1; 16])),
        page(&repository, b"l", PageId([2; 16])),
    );
    let mut journal = there.begin().unwrap();
    journal
        .put_stream(b"film", &[7; 50][..], Priority::Lazy)
        .unwrap();
    journal.put(b"name", b"x").unwrap();
    there.commit(journal, Timestamp(1)).unwrap();
    here.pull_from(&there, false).unwrap();
    assert_eq!(
        printed(dir.path(), &["show", "--page", "02"]),
        "\"film\" = (not on this device) (lazy)\n\"name\" = \"x\"\n"
    );
    let words = [
        "diff", "first", "head", "--json", "--page", "02", "--prefix", "film",
    ];
    let new = json!({ "isLazy": true, "value": null, "isMissing": true });
    assert_eq!(lines(dir.path(), &words)[0]["new"], new);
    let said = refused(dir.path(), &["show", "--page", "02", "--key", "film"], 1);
    assert!(said.contains("not on this device"), "{said}");
    let file = dir.path().join("out");
    let words = [
        "show",
        "--page",
        "02",
        "--key",
        "film",
        "--output",
        file.to_str().unwrap(),
    ];
    refused(dir.path(), &words, 1);
    assert!(!file.exists());
}
