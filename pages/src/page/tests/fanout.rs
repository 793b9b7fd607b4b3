//! Pages of two fan-outs.

use super::*;
use crate::ErrorKind;

fn open_on(files: &MemoryFileSystem, fanout: Fanout) -> Page {
    let options = PageOptions {
        fanout,
        ..options()
    };
    Page::open(Arc::new(files.clone()), Path::new("page"), options).unwrap()
}

fn filled(page: &Page) -> Commit {
    let mut journal = page.begin().unwrap();
    for i in 0..1000 {
        journal.put(format!("{i:04}").as_bytes(), &[7; 40]).unwrap();
    }
    page.commit(journal, Timestamp(1)).unwrap()
}

fn node_count(page: &Page, commit: &Commit) -> usize {
    let mut open = vec![commit.root()];
    let mut count = 0;
    while let Some(node) = open.pop() {
        count += 1;
        let references = page.0.tree(node).references().unwrap();
        let is_node = |id: &ObjectIdentifier| page.0.tree(*id).references().is_ok();
        open.extend(references.iter().map(|one| one.identifier).filter(is_node));
    }
    count
}

#[test]
fn a_page_keeps_the_fanout_that_it_was_made_with() {
    for fanout in [Fanout::Of256, Fanout::Of16] {
        let files = MemoryFileSystem::new();
        let page = open_on(&files, fanout);
        assert_eq!(page.fanout(), fanout);
        drop(page);
        for other in [Fanout::Of16, Fanout::Of256] {
            let page = open_on(&files, other);
            assert_eq!(page.fanout(), fanout);
            if page.heads()[0].id() == CommitId::FIRST {
                filled(&page);
            }
            let nodes = node_count(&page, &page.heads()[0]);
            let expected = match fanout {
                Fanout::Of256 => 2..10,
                Fanout::Of16 => 50..80,
            };
            assert!(expected.contains(&nodes), "{nodes}");
            check_rows(&page, false);
            drop(page);
            let fs = Arc::new(files.clone());
            let read = Page::open_read_only(fs, Path::new("page"), options()).unwrap();
            assert_eq!(read.fanout(), fanout);
            assert_eq!(content(&read, &read.heads()[0]).len(), 1000);
        }
    }
}

#[test]
fn an_empty_page_adopts_the_fanout_of_the_one_that_it_meets_and_another_refuses() {
    for fanout in [Fanout::Of256, Fanout::Of16] {
        let other = match fanout {
            Fanout::Of256 => Fanout::Of16,
            Fanout::Of16 => Fanout::Of256,
        };
        let there = open_on(&MemoryFileSystem::new(), fanout);
        let head = filled(&there);
        let files = MemoryFileSystem::new();
        let here = open_on(&files, other);
        here.pull_from(&there, false).unwrap();
        assert_eq!(here.heads(), std::slice::from_ref(&head));
        let key = &b"0500"[..];
        let mut journal = here.begin().unwrap();
        journal.put(key, b"changed").unwrap();
        let next = here.commit(journal, Timestamp(2)).unwrap();
        drop(here);
        let here = open_on(&files, other);
        assert_eq!(here.fanout(), fanout);
        there.pull_from(&here, false).unwrap();
        assert_eq!(there.heads(), [next]);
        // A page that was not empty.
        let apart = open_on(&MemoryFileSystem::new(), other);
        let before = filled(&apart);
        let refused = apart.pull_from(&there, false).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage);
        assert!(refused.to_string().contains("nodes of"), "{refused}");
        assert_eq!(apart.heads(), [before]);
        assert_eq!(apart.fanout(), other);
        let empty = open_on(&MemoryFileSystem::new(), fanout);
        assert_eq!(apart.pull_from(&empty, false).unwrap().commits, 0);
    }
}

#[test]
fn a_fanout_that_is_none_is_damage() {
    for value in [&[][..], &[5], &[4, 4]] {
        let files = MemoryFileSystem::new();
        let page = open_on(&files, Fanout::Of16);
        let mut batch = BatchWriter::new();
        batch.put(b"fanout", value);
        page.0.write(&mut batch).unwrap();
        drop(page);
        let fs = Arc::new(files);
        let error = Page::open(fs, Path::new("page"), options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{value:?}");
    }
}

#[test]
fn what_was_left_of_the_fanout_before_is_collected() {
    let there = open_on(&MemoryFileSystem::new(), Fanout::Of256);
    let head = filled(&there);
    let here = open_on(&MemoryFileSystem::new(), Fanout::Of256);
    let mut incoming = here.incoming();
    let mut outgoing = there.outgoing();
    let taken = outgoing.eager_pieces(&head, |id, content| incoming.add_pieces(&[(id, content)]));
    taken.unwrap();
    // Cut off before the commit.
    drop(incoming);
    here.adopt_fanout(Fanout::Of16).unwrap();
    assert!(here.collect().unwrap().pieces > 5);
    check_rows(&here, true);
    filled(&here);
}

/// Node over node, each of which says that it is of level 1.
#[test]
fn a_hostile_chain_of_nodes_is_not_gone_down_for_ever() {
    use crate::object::{ObjectDigest, ObjectType, PieceType};
    use crate::tree::TreeNode;
    let there = open();
    let mut incoming = there.incoming();
    let mut child = None;
    for _ in 0..2000 {
        let node = TreeNode {
            children: vec![child],
            ..TreeNode::empty(1)
        };
        let content = node.encode();
        let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::TreeNode, &content);
        let id = ObjectIdentifier::new(digest);
        if !digest.is_inline() {
            incoming.add_pieces(&[(id, &content)]).unwrap();
        }
        child = Some(id);
    }
    let commit = Commit::on(&[&Commit::first()], child.unwrap(), Timestamp(1));
    let added = incoming.add_commits(&[commit.as_bytes()], ChangeSource::Peer);
    added.unwrap();
    let refused = open().pull_from(&there, false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corruption);
    assert!(refused.to_string().contains("below a root"), "{refused}");
    let refused = there.outgoing().eager_pieces(&commit, |_, _| Ok(()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Corruption);
}
