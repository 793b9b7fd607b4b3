//! Pages whose rows are named by single bytes, as `docs/format/pages.md` has them.

use larder_leveldb::{Db, Durability, Options};

use super::*;

/// A row's key in the other dialect, by the table of the document.
fn in_bytes(key: &[u8]) -> Vec<u8> {
    let names: [(&[u8], u8); 10] = [
        (b"heads/", 0x20),
        (b"merges/", 0x21),
        (b"commits/", 0x22),
        (b"objects/", 0x23),
        (b"refcounts/", 0x24),
        (b"unsynced/commits/", 0x25),
        (b"transient/objects/", 0x26),
        (b"local/objects/", 0x27),
        (b"synced/objects/", 0x28),
        (b"sync_metadata/", 0x29),
    ];
    let found = names
        .iter()
        .find_map(|(name, byte)| Some((*byte, key.strip_prefix(*name)?)));
    let (byte, rest) = found.unwrap();
    let mut bytes = vec![byte];
    if byte != 0x24 {
        bytes.extend_from_slice(rest);
        return bytes;
    }
    let (digest, source) = rest.split_at(33);
    bytes.extend_from_slice(digest);
    let marks: [(&[u8], &[u8]); 3] = [
        (b"/object/eager/", &[0x20, 0x20]),
        (b"/object/lazy/", &[0x20, 0x21]),
        (b"/commit/", &[0x21]),
    ];
    let mark = marks
        .iter()
        .find_map(|(name, mark)| Some((mark, source.strip_prefix(*name)?)));
    let (mark, source) = mark.unwrap();
    bytes.extend_from_slice(mark);
    bytes.extend_from_slice(source);
    bytes
}

#[test]
fn a_page_in_single_bytes_is_shown_as_the_same_in_names_and_gc_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    let (new, old) = (dir.path().join("new"), dir.path().join("old"));
    let repository = open(&new);
    let page = page(&repository, b"l", PageId::ROOT);
    let one = commit(
        &page,
        &Commit::first(),
        &[(b"a", Some(&[1; 60])), (b"b", Some(b"2"))],
        1,
    );
    commit(&page, &one, &[(b"a", Some(b"3"))], 2);
    commit(&page, &one, &[(b"c", Some(&[4; 70]))], 3);
    page.merge(&mut larder_pages::MergePolicy::LastOneWins)
        .unwrap();
    page.close(Timestamp(4)).unwrap();
    drop(repository);
    let leveldb = lines(&new, &["ls", "--json"])[0]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let files_of = || Arc::new(DiskFileSystem::new());
    let from = Db::open_read_only(files_of(), Path::new(&leveldb), Options::default()).unwrap();
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let to = Db::open(files_of(), &old, options).unwrap();
    let mut iter = from.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        let key = in_bytes(iter.key());
        to.put(&key, iter.value().unwrap(), Durability::Relaxed)
            .unwrap();
        iter.next().unwrap();
    }
    to.close().unwrap();
    let before = files(&old);
    for words in [
        vec!["log"],
        vec!["log", "--json"],
        vec!["show"],
        vec!["diff", "first", "head", "--values"],
    ] {
        assert_eq!(printed(&old, &words), printed(&new, &words), "{words:?}");
    }
    let (listed, of_new) = (
        lines(&old, &["ls", "--json"]),
        lines(&new, &["ls", "--json"]),
    );
    assert_eq!(listed[0]["dialect"], "bytes");
    for member in ["heads", "commits", "pieces", "unsyncedCommits", "isSynced"] {
        assert_eq!(listed[0][member], of_new[0][member], "{member}");
    }
    let said = refused(&old, &["gc"], 2);
    assert!(said.contains("single bytes"), "{said}");
    assert_eq!(files(&old), before);
}
