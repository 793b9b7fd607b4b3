//! `ls`.

use larder_pages::Priority;
use serde_json::json;

use super::*;

const NAMED: PageId = PageId(*b"addresses\0\0\0\0\0\0\0");

fn bytes_below(dir: &Path) -> u64 {
    files(dir).values().map(|bytes| bytes.len() as u64).sum()
}

#[test]
fn ls_says_what_was_put_into_each_page_also_while_they_are_open() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let contacts = page(&repository, b"contacts", PageId::ROOT);
    let head = commit(
        &contacts,
        &Commit::first(),
        &[(b"a", Some(&[7; 40])), (b"b", Some(b"inline"))],
        3 * SECOND,
    );
    for piece in contacts.unsynced_pieces(None, 100).unwrap() {
        contacts.mark_synced(&[piece], &[]).unwrap();
    }
    contacts.mark_synced(&[], &[head.id()]).unwrap();
    contacts.close(Timestamp(60 * SECOND)).unwrap();
    let named = page(&repository, b"\xff\x1b", NAMED);
    let one = commit(
        &named,
        &Commit::first(),
        &[(b"k", Some(&[1; 33]))],
        4 * SECOND,
    );
    let other = commit(&named, &Commit::first(), &[(b"l", Some(b"2"))], 5 * SECOND);
    let stream = named.create_value(&[9; 50][..]).unwrap();
    let before = files(dir.path());
    let listed = lines(dir.path(), &["ls", "--json"]);
    let mut expected = [
        json!({
            "ledger": "contacts",
            "page": "0".repeat(32),
            "name": null,
            "dialect": "names",
            "heads": [{ "id": id(&head), "time": "1970-01-01T00:00:03.000Z", "generation": 1, "entries": 2 }],
            "commits": 1,
            "unsyncedCommits": 0,
            // The value, and the node.
            "pieces": { "transient": 0, "local": 0, "synced": 2 },
            "isSynced": true,
            "lastUsed": "1970-01-01T00:01:00.000Z",
            "isOpen": false,
        }),
        json!({
            "ledger": { "bytes": "ff1b" },
            "page": hex(&NAMED.0),
            "name": "addresses",
            "dialect": "names",
            "heads": [
                { "id": id(&one), "time": "1970-01-01T00:00:04.000Z", "generation": 1, "entries": 1 },
                { "id": id(&other), "time": "1970-01-01T00:00:05.000Z", "generation": 1, "entries": 1 },
            ],
            "commits": 2,
            "unsyncedCommits": 2,
            // A value and two nodes; and the value of no entry.
            "pieces": { "transient": 1, "local": 3, "synced": 0 },
            "isSynced": false,
            "lastUsed": null,
            "isOpen": true,
        }),
    ];
    for (expected, listed) in expected.iter_mut().zip(&listed) {
        let path = listed["path"].as_str().unwrap();
        assert!(path.ends_with("leveldb"));
        expected["path"] = path.into();
        expected["bytesOnDisk"] = bytes_below(Path::new(path)).into();
    }
    assert_eq!(listed, expected);
    let text = printed(dir.path(), &["ls"]);
    for part in [
        "ledger \"contacts\", page 00000000000000000000000000000000 (root)\n",
        "2 entries\n",
        "1 commit, pieces: 0 transient, 0 local, 2 synced, ",
        "synced; used last 1970-01-01T00:01:00.000Z\n",
        &format!("ledger bytes:ff1b, page {} \"addresses\"\n", hex(&NAMED.0)),
        "not synced: 2 commits; open, or open when its program ended\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert!(!text.contains('\x1b'));
    drop(stream);
    assert_eq!(files(dir.path()), before, "looking changed files");
    // The page alone, by its own folder and by its LevelDB's, has the same state.
    let leveldb = Path::new(listed[1]["path"].as_str().unwrap());
    for path in [leveldb, leveldb.parent().unwrap()] {
        assert_eq!(lines(path, &["ls", "--json"]), listed[1..]);
    }
    for selection in [
        ["--page", "addresses"],
        ["--ledger", "bytes:ff1b"],
        ["--page", "6164"],
    ] {
        let words = ["ls", "--json", selection[0], selection[1]];
        assert_eq!(lines(dir.path(), &words), listed[1..]);
    }
    assert_eq!(
        lines(dir.path(), &["ls", "--json", "--page", "root"]),
        listed[..1]
    );
}

#[test]
fn a_page_that_is_being_deleted_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let held = page(&repository, b"l", NAMED);
    commit(&held, &Commit::first(), &[(b"k", Some(b"1"))], 1);
    held.close(Timestamp(2)).unwrap();
    drop(repository);
    let page_dir = files(dir.path())
        .into_keys()
        .find(|path| path.ends_with("leveldb/CURRENT"));
    let page_dir = page_dir
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let (page_name, ledger) = (page_dir.file_name().unwrap(), page_dir.parent().unwrap());
    let name = [ledger.file_name().unwrap(), page_name].map(|name| name.to_str().unwrap());
    let mark = dir.path().join("staging").join(name.join("."));
    fs::write(mark, "").unwrap();
    fs::remove_file(page_dir.join("leveldb/CURRENT")).unwrap();
    let before = files(dir.path());
    let said = stderr(&pages(dir.path(), &["ls"]));
    assert!(said.contains("is being deleted"), "{said}");
    let said = stderr(&pages(dir.path(), &["gc"]));
    assert!(
        said.contains("is being deleted: nothing is collected"),
        "{said}"
    );
    assert_eq!(files(dir.path()), before);
}

#[test]
fn lazy_values_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let page = page(&repository, b"l", PageId::ROOT);
    let mut journal = page.begin().unwrap();
    journal
        .put_stream(b"film", &[b'x'; 50][..], Priority::Lazy)
        .unwrap();
    page.commit(journal, Timestamp(1)).unwrap();
    let shown = printed(dir.path(), &["show"]);
    assert_eq!(shown, format!("\"film\" = \"{}\" (lazy)\n", "x".repeat(50)));
}

#[test]
fn each_page_has_its_own_time_of_use() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    for (ledger, id, time) in [(b"a", 0, 10), (b"a", 1, 20), (b"b", 0, 30)] {
        let page = page(&repository, ledger, PageId([id; 16]));
        page.close(Timestamp(time * SECOND)).unwrap();
    }
    let listed = lines(dir.path(), &["ls", "--json"]);
    let used: Vec<_> = listed.iter().map(|page| page["lastUsed"].clone()).collect();
    let expected = [10, 20, 30].map(|second| format!("1970-01-01T00:00:{second}.000Z"));
    assert_eq!(used, expected);
}
