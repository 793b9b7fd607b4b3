//! What is shown of a page that is looked at: names of commits, heads that are lost, entries beside a damaged node.

use super::*;
use crate::commit::Timestamp;

fn filled(files: &Arc<MemoryFileSystem>, count: i64) -> (Page, Vec<CommitId>) {
    let page = Page::open(files.clone(), Path::new("page"), options()).unwrap();
    let mut ids = Vec::new();
    for n in 1..=count {
        let mut journal = page.begin().unwrap();
        journal.put(format!("key{n}").as_bytes(), b"value").unwrap();
        ids.push(page.commit(journal, Timestamp(n)).unwrap().id());
    }
    (page, ids)
}

fn skipping() -> PageOptions {
    let mut options = options();
    options.db.on_damage = OnDamage::Skip;
    options
}

fn look(files: &Arc<MemoryFileSystem>, options: PageOptions) -> Result<Page> {
    Page::open_read_only(files.clone(), Path::new("page"), options)
}

#[test]
fn names_of_commits_are_found_by_their_first_bytes() {
    let (page, mut ids) = filled(&Arc::new(MemoryFileSystem::new()), 300);
    ids.sort_unstable();
    let found = |start: &[u8]| {
        let found = page.commit_ids(start).unwrap();
        found.collect::<Result<Vec<_>>>().unwrap()
    };
    assert_eq!(found(b""), ids);
    for byte in [0, 7, 0x7f, 0xff] {
        let expected = ids.iter().filter(|id| id.0[0] == byte).copied();
        assert_eq!(found(&[byte]), expected.collect::<Vec<_>>());
    }
    assert_eq!(found(&ids[9].0), [ids[9]]);
    assert_eq!(found(&[0; 33]), []);
}

#[test]
fn a_name_that_is_none_is_an_error_between_the_others() {
    let (page, ids) = filled(&Arc::new(MemoryFileSystem::new()), 2);
    let key = [&b"commits/"[..], &[0x80]].concat();
    page.0.db.put(&key, b"", Durability::Relaxed).unwrap();
    let found: Vec<_> = page.commit_ids(b"").unwrap().collect();
    let mut named: Vec<_> = found.iter().flatten().copied().collect();
    named.sort_by_key(|id| ids.iter().position(|made| made == id));
    assert_eq!((found.len(), named), (3, ids));
}

#[test]
fn a_head_that_cannot_be_read_is_left_out_only_where_damage_is_skipped() {
    let files = Arc::new(MemoryFileSystem::new());
    let (page, ids) = filled(&files, 1);
    for (n, key) in [(2, b"a"), (3, b"b")] {
        let mut journal = page.begin_on(&Commit::first());
        journal.put(key, b"value").unwrap();
        page.commit(journal, Timestamp(n)).unwrap();
    }
    let heads = page.heads();
    assert_eq!(heads.len(), 3);
    let lost = page.0.dialect.commit(heads[1].id());
    page.0.db.delete(&lost, Durability::Strict).unwrap();
    let garbled = page.0.dialect.commit(heads[2].id());
    page.0.db.put(&garbled, b"\0", Durability::Strict).unwrap();
    page.close().unwrap();
    assert_eq!(
        look(&files, options()).unwrap_err().kind(),
        ErrorKind::Corruption
    );
    let seen = look(&files, skipping()).unwrap();
    assert_eq!(seen.heads().iter().map(Commit::id).collect::<Vec<_>>(), ids);
    let kinds: Vec<_> = seen.unreadable_heads().iter().map(Error::kind).collect();
    assert_eq!(kinds, [ErrorKind::Corruption; 2]);
}

#[test]
fn entries_go_on_behind_a_node_that_is_not_there() {
    let page = open();
    let mut journal = page.begin().unwrap();
    let keys: Vec<Vec<u8>> = (0..3000)
        .map(|n| format!("key{n:05}").into_bytes())
        .collect();
    for key in &keys {
        journal
            .put(key, b"a value that is in a piece of its own, not inline")
            .unwrap();
    }
    let head = page.commit(journal, Timestamp(1)).unwrap();
    let mut nodes = Vec::new();
    let prefix = page.0.dialect.prefix(RowKind::Objects);
    page.0
        .each_key(prefix, |digest| {
            let digest = crate::ObjectDigest::decode(digest)?;
            let is_node = digest.object_type() == crate::ObjectType::TreeNode;
            nodes.extend((is_node && digest != head.root().digest).then_some(digest));
            Ok(true)
        })
        .unwrap();
    assert!(nodes.len() > 5);
    let mut lost_in_all = 0;
    for lost in [vec![nodes[1]], vec![nodes[0], nodes[3]]] {
        for digest in &lost {
            let key = page.0.dialect.object(digest);
            page.0.db.delete(&key, Durability::Relaxed).unwrap();
        }
        let tree = page.tree(&head);
        let there = keys.iter().filter(|key| tree.get(key).is_ok());
        let there: Vec<_> = there.cloned().collect();
        let (found, errors): (Vec<_>, Vec<_>) = tree
            .entries(b"")
            .unwrap()
            .past_unreadable()
            .partition(Result::is_ok);
        let found: Vec<_> = found.into_iter().map(|entry| entry.unwrap().key).collect();
        assert_eq!(found, there);
        lost_in_all += errors.len();
        assert!(there.len() < keys.len());
        let usual: Vec<_> = tree.entries(b"").unwrap().collect();
        assert!(usual.last().unwrap().is_err(), "an error is the last item");
        assert_eq!(usual.iter().filter(|entry| entry.is_err()).count(), 1);
    }
    assert_eq!(lost_in_all, 1 + 3);
}

#[test]
fn a_mark_beside_a_status_is_no_piece_more() {
    let page = open();
    let mut journal = page.begin().unwrap();
    journal.put(b"key", &[7; 50]).unwrap();
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    let mark = page
        .0
        .dialect
        .status(PieceStatus::Transient, &commit.root());
    page.0.db.put(&mark, b"", Durability::Relaxed).unwrap();
    let counts = PieceCounts {
        transient: 0,
        local: 2,
        synced: 0,
    };
    assert_eq!(page.piece_counts().unwrap(), counts);
    check_rows(&page, false);
}
