//! `gc`.

use larder_pages::{MergePolicy, Snapshot};

use super::*;

fn map(snapshot: &Snapshot) -> Map {
    let entries = snapshot
        .entries(b"")
        .unwrap()
        .map(|entry| entry.unwrap().key);
    let keys: Vec<_> = entries.collect();
    let value = |key: &Vec<u8>| snapshot.get(key).unwrap().unwrap();
    keys.iter().map(|key| (key.clone(), value(key))).collect()
}

/// A page with five commits, a merge on top, and a value of no entry.
fn prepare(dir: &Path) -> (Repository, OpenPage, Map) {
    let repository = open(dir);
    let page = page(&repository, b"l", PageId::ROOT);
    let mut base = Commit::first();
    for n in 0..5_u8 {
        base = commit(
            &page,
            &base,
            &[(b"k", Some(&[n; 100])), (&[n], Some(&[n; 50]))],
            1,
        );
    }
    commit(&page, &base, &[(b"left", Some(b"1"))], 2);
    commit(&page, &base, &[(b"right", Some(b"2"))], 3);
    page.merge(&mut MergePolicy::LastOneWins).unwrap();
    for id in page.unsynced_commits().unwrap() {
        page.mark_synced(&[], &[id]).unwrap();
    }
    drop(page.create_value(&[9; 5000][..]).unwrap());
    let map = (0..5_u8).map(|n| (vec![n], vec![n; 50]));
    let rest = [
        ("k", vec![4; 100]),
        ("left", b"1".to_vec()),
        ("right", b"2".to_vec()),
    ];
    let map = map.chain(rest.map(|(key, value)| (key.as_bytes().to_vec(), value)));
    let map = map.collect();
    (repository, page, map)
}

#[test]
fn gc_deletes_what_it_had_said_and_no_entry_of_the_head() {
    let dir = tempfile::tempdir().unwrap();
    let (repository, page, expected) = prepare(dir.path());
    page.close(Timestamp(5 * SECOND)).unwrap();
    drop(repository);
    let before = files(dir.path());
    let would = printed(dir.path(), &["gc", "--dry-run"]);
    assert_eq!(
        would,
        "ledger \"l\", page 00000000000000000000000000000000 (root): would delete 1 piece (4.9 KiB)\n"
    );
    let would_prune = printed(dir.path(), &["gc", "--dry-run", "--prune"]);
    assert!(
        would_prune.contains(": would delete 4 commits and "),
        "{would_prune}"
    );
    assert_eq!(files(dir.path()), before, "a dry run changed files");
    let done = printed(dir.path(), &["gc"]);
    assert_eq!(done, would.replace("would delete", "deleted"));
    let would_prune = printed(dir.path(), &["gc", "--dry-run", "--prune"]);
    let pruned = printed(dir.path(), &["gc", "--prune"]);
    assert_eq!(pruned, would_prune.replace("would delete", "deleted"));
    assert!(!pruned.contains(" 0 pieces"), "{pruned}");
    let again = printed(dir.path(), &["gc", "--prune"]);
    assert!(
        again.contains(": deleted 0 commits and 0 pieces (0 B)"),
        "{again}"
    );
    // What is left is the merge, both that it came of, and the one before them; what that came of is not here.
    let log = lines(dir.path(), &["log", "--json"]);
    let generations: Vec<_> = log.iter().map(|line| &line["generation"]).collect();
    assert_eq!(generations, [7, 6, 6, 5]);
    let is_known: Vec<_> = log.iter().map(|line| line["changes"].is_object()).collect();
    assert_eq!(is_known, [true, true, true, false]);
    let said = refused(dir.path(), &["show", "head~3"], 2);
    assert!(said.contains("which is not here"), "{said}");
    // When the page was used last is what its program has said.
    let listed = lines(dir.path(), &["ls", "--json"]);
    assert_eq!(listed[0]["lastUsed"], "1970-01-01T00:00:05.000Z");
    let repository = open(dir.path());
    let page = super::page(&repository, b"l", PageId::ROOT);
    let head = page.heads().remove(0);
    assert_eq!(map(&page.snapshot(&head, b"")), expected);
}

#[test]
fn a_page_in_use_is_refused_and_so_is_one_of_a_repository_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let (repository, held, _) = prepare(dir.path());
    let closed = page(&repository, b"l", PageId([1; 16]));
    closed.close(Timestamp(5)).unwrap();
    let before = files(dir.path());
    let said = refused(dir.path(), &["gc"], 2);
    assert_eq!(
        said.matches("has it open: close it, and try again").count(),
        2,
        "{said}"
    );
    // A page by its own folder belongs to its repository all the same.
    let leveldb = lines(dir.path(), &["ls", "--json", "--page", "01"])[0]["path"].clone();
    let said = refused(Path::new(leveldb.as_str().unwrap()), &["gc", "--prune"], 2);
    assert!(said.contains("page_usage_db"), "{said}");
    let would = printed(dir.path(), &["gc", "--dry-run", "--page", "root"]);
    assert!(would.contains("would delete 1 piece"), "{would}");
    assert_eq!(files(dir.path()), before, "a refused page was changed");
    drop(held);
}

/// The trees of old commits are what it is merged by with a device that was away.
#[test]
fn a_page_that_is_synced_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (repository, held, _) = prepare(dir.path());
    held.set_sync_metadata(b"position", b"1").unwrap();
    held.close(Timestamp(5)).unwrap();
    drop(repository);
    let before = files(dir.path());
    for arguments in [&["gc"][..], &["gc", "--prune"], &["gc", "--dry-run"]] {
        let said = refused(dir.path(), arguments, 2);
        assert!(said.contains("synced with other devices"), "{said}");
    }
    assert_eq!(files(dir.path()), before);
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_that_has_a_page_open_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let fs = Arc::new(DiskFileSystem::new());
    let leveldb = dir.path().join("leveldb");
    let page = Page::open(fs, &leveldb, PageOptions::default()).unwrap();
    let said = refused(dir.path(), &["gc"], 2);
    let holder = format!("process {} has it open", std::process::id());
    assert!(said.contains(&holder), "{said}");
    page.close().unwrap();
    assert!(printed(dir.path(), &["gc"]).contains(": deleted 0 pieces"));
}

#[cfg(unix)]
#[test]
fn no_link_below_the_path_is_followed() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (repository, held, _) = prepare(dir.path());
    held.close(Timestamp(5)).unwrap();
    drop(repository);
    let ledger = fs::read_dir(dir.path().join("1/ledgers"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::rename(&ledger, other.path().join("ledger")).unwrap();
    std::os::unix::fs::symlink(other.path().join("ledger"), &ledger).unwrap();
    let before = files(other.path());
    for words in [vec!["ls"], vec!["show"], vec!["gc"]] {
        let output = pages(dir.path(), &words);
        assert_ne!(output.status.code(), Some(0), "{words:?}");
        let said = stderr(&output);
        assert!(said.contains("symbolic link"), "{words:?}: {said}");
    }
    assert_eq!(files(other.path()), before);
}
