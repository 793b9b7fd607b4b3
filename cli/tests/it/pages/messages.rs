//! What is said where something is not there, or is there several times.

use larder_leveldb::{Db, Durability, Options};

use super::*;

#[test]
fn where_no_page_is_the_exit_status_is_3() {
    let dir = tempfile::tempdir().unwrap();
    let said = refused(dir.path(), &["ls"], 3);
    assert!(
        said.contains("no repository of pages here: give the folder"),
        "{said}"
    );
    refused(&dir.path().join("missing"), &["ls"], 3);
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    refused(&file, &["log"], 3);
    // A LevelDB that has no page, and a store of IndexedDB.
    let other = dir.path().join("other");
    let fs = Arc::new(DiskFileSystem::new());
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(fs, &other, options).unwrap();
    db.put(b"key", b"value", Durability::Strict).unwrap();
    db.close().unwrap();
    let before = files(&other);
    for words in [vec!["ls"], vec!["log"], vec!["show"], vec!["gc"]] {
        let said = refused(&other, &words, 3);
        assert!(said.contains("no page here"), "{said}");
    }
    assert_eq!(files(&other), before);
    let store = larder_fixtures::get("c156-lite").open();
    let said = refused(&store.leveldb(), &["ls"], 3);
    assert!(said.contains("no page here"), "{said}");
}

#[test]
fn a_name_that_fits_nothing_or_several_is_answered_with_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let one = page(&repository, b"contacts", PageId::ROOT);
    let mut commits: Vec<Commit> = Vec::new();
    for n in 0..40_u8 {
        commits.push(commit(&one, &Commit::first(), &[(&[n], Some(b"v"))], 1));
    }
    one.close(Timestamp(2)).unwrap();
    page(&repository, b"tasks", PageId([5; 16]))
        .close(Timestamp(2))
        .unwrap();
    drop(repository);
    let said = refused(dir.path(), &["log"], 2);
    for part in [
        "several pages",
        "--page",
        "ledger \"contacts\", page 00",
        "ledger \"tasks\", page 0505",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = refused(dir.path(), &["log", "--page", "07"], 3);
    assert!(
        said.contains("no page \"07\" here") && said.contains("page 0505"),
        "{said}"
    );
    refused(dir.path(), &["ls", "--ledger", "none"], 3);
    let of = |words: &[&str], code| {
        refused(
            dir.path(),
            &[words, &["--ledger", "contacts"]].concat(),
            code,
        )
    };
    // Of forty commits some begin alike.
    let ids: Vec<String> = commits.iter().map(id).collect();
    let digit = (b'1'..=b'f')
        .map(char::from)
        .find(|digit| ids.iter().filter(|id| id.starts_with(*digit)).count() > 1);
    let digit = digit.unwrap();
    let said = of(&["show", &digit.to_string()], 2);
    for id in ids.iter().filter(|id| id.starts_with(digit)) {
        assert!(said.contains(id.as_str()), "{id} is not in {said}");
    }
    assert!(said.contains("several commits are"), "{said}");
    for none in [
        "ffffffffffff",
        "",
        "headless",
        "head~x",
        "first~1",
        "~",
        "g",
        "1\u{e4}",
    ] {
        let said = of(&["show", none], 2);
        assert!(said.contains("no commit"), "{none}: {said}");
    }
    let said = of(&["diff", "first", "0123456789"], 2);
    assert!(
        said.contains("no commit \"0123456789\" here: larder pages log"),
        "{said}"
    );
    let said = of(&["show", "first", "--key", "k"], 3);
    assert!(said.contains("no entry \"k\""), "{said}");
    let said = of(&["show", "first", "--key", "bytes:0"], 2);
    assert!(said.contains("two hexadecimal digits"), "{said}");
    // Every short id that log prints is one that show takes.
    let log = printed(dir.path(), &["log", "--ledger", "contacts"]);
    assert_eq!(log.lines().count(), 41);
    for line in log.lines().take(5) {
        let short = line.split(' ').next().unwrap();
        let shown = printed(dir.path(), &["show", short, "--ledger", "contacts"]);
        assert_eq!(shown.lines().count(), 1);
    }
}

#[test]
fn any_first_digits_that_no_other_id_has_name_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let repository = open(dir.path());
    let one = page(&repository, b"l", PageId::ROOT);
    let commits: Vec<Commit> = (0..30_u8)
        .map(|n| {
            commit(
                &one,
                &Commit::first(),
                &[(&[b'a' + n % 26, n], Some(b"v"))],
                1,
            )
        })
        .collect();
    one.close(Timestamp(2)).unwrap();
    drop(repository);
    let ids: Vec<String> = commits.iter().map(id).chain(["0".repeat(64)]).collect();
    for wanted in &ids[..6] {
        for digits in (1..5).map(|len| &wanted[..len]) {
            let fitting = ids.iter().filter(|id| id.starts_with(digits)).count();
            let output = pages(dir.path(), &["show", digits]);
            let expected = if fitting == 1 { 0 } else { 2 };
            assert_eq!(
                output.status.code(),
                Some(expected),
                "{digits}: {}",
                stderr(&output)
            );
            if fitting > 1 {
                assert_eq!(
                    stderr(&output).lines().count(),
                    1 + fitting.min(11),
                    "{digits}"
                );
            }
        }
    }
    // A row whose id has the first ten digits of another.
    let listed = lines(dir.path(), &["ls", "--json"]);
    let leveldb = Path::new(listed[0]["path"].as_str().unwrap());
    let mut like = commits[0].id().0;
    like[5] ^= 0x80;
    let db = Db::open(Arc::new(DiskFileSystem::new()), leveldb, Options::default()).unwrap();
    let key = [&b"commits/"[..], &like].concat();
    db.put(&key, b"", Durability::Strict).unwrap();
    db.close().unwrap();
    let log = printed(dir.path(), &["log"]);
    let shorts: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    for id in &ids {
        let len = if *id == ids[0] { 11 } else { 8 };
        assert!(shorts.contains(&&id[..len]), "{id} is not in {shorts:?}");
    }
    let said = refused(dir.path(), &["show", &ids[0][..10]], 2);
    assert!(
        said.contains(&ids[0]) && said.contains(&hex(&like)),
        "{said}"
    );
    assert!(pages(dir.path(), &["show", &ids[0][..11]]).status.success());
}
