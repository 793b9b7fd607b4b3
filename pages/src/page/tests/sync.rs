//! Pieces and commits that come from elsewhere, statuses, and the other dialect.

use super::*;

fn filled(seed: u64) -> (Page, Commit, Map) {
    let page = open();
    let (mut random, mut map) = (Random::new(seed), Map::new());
    for step in 0..6 {
        let mut journal = page.begin().unwrap();
        change(&mut random, &mut journal, &mut map, 30);
        page.commit(journal, Timestamp(step)).unwrap();
    }
    let head = page.heads().pop().unwrap();
    (page, head, map)
}

#[test]
fn a_page_takes_what_another_has() {
    for seed in 0..20 {
        let (page, head, map) = filled(seed);
        let other = open();
        let pulled = other.pull_from(&page, true).unwrap();
        assert_eq!(other.heads(), std::slice::from_ref(&head));
        assert_eq!(content(&other, &head), map, "seed {seed}");
        assert_eq!(pulled.commits, head.generation());
        assert_eq!(other.pull_from(&page, true).unwrap(), Pulled::default());
        other.collect().unwrap();
        check_rows(&other, true);
        assert_eq!(
            other.unsynced_commits().unwrap(),
            page.unsynced_commits().unwrap()
        );
    }
}

#[test]
fn lazy_values_come_when_they_are_asked_for() {
    let page = open();
    let mut journal = page.begin().unwrap();
    journal
        .put_with_priority(b"lazy", &[7; 100], Priority::Lazy)
        .unwrap();
    journal.put(b"eager", &[8; 100]).unwrap();
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    let other = open();
    other.pull_from(&page, false).unwrap();
    let snapshot = other.snapshot(&commit, b"");
    assert_eq!(snapshot.get(b"eager").unwrap().unwrap(), [8; 100]);
    assert_eq!(
        snapshot.get(b"lazy").unwrap_err().kind(),
        ErrorKind::NeedsFetch
    );
    let listed = snapshot.list_entries(b"", ListLimits::default()).unwrap();
    assert_eq!(listed.entries[1].value, None);
    let id = snapshot.entry(b"lazy").unwrap().unwrap().value;
    let mut incoming = other.incoming();
    let wrong = incoming.add_pieces(&[(id, &[9; 100])]);
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Corruption);
    let none = incoming.add_lazy_value(&id, ChangeSource::Cloud);
    assert_eq!(none.unwrap_err().kind(), ErrorKind::NeedsFetch);
    incoming.add_pieces(&[(id, &[7; 100])]).unwrap();
    incoming.add_lazy_value(&id, ChangeSource::Cloud).unwrap();
    assert_eq!(snapshot.get(b"lazy").unwrap().unwrap(), [7; 100]);
    assert_eq!(other.piece_status(&id).unwrap(), Some(PieceStatus::Synced));
    let long = b"a value of more than thirty-two bytes";
    let unknown = crate::tree::tests_value(long);
    incoming.add_pieces(&[(unknown, long)]).unwrap();
    let unknown = incoming.add_lazy_value(&unknown, ChangeSource::Cloud);
    drop(incoming);
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::NeedsFetch);
    other.collect().unwrap();
    check_rows(&other, true);
}

#[test]
fn commits_that_do_not_fit_change_nothing() {
    let (page, head, _) = filled(1);
    let other = open();
    let orphan = other.add_commits(&[head.as_bytes()], ChangeSource::Peer);
    assert_eq!(orphan.unwrap_err().kind(), ErrorKind::Usage);
    let first = page
        .commit_by_id(page.unsynced_commits().unwrap()[0])
        .unwrap()
        .unwrap();
    if !first.root().digest.is_inline() {
        let without_tree = other.add_commits(&[first.as_bytes()], ChangeSource::Peer);
        assert_eq!(without_tree.unwrap_err().kind(), ErrorKind::NeedsFetch);
    }
    assert!(
        other
            .add_commits(&[b"no commit"], ChangeSource::Peer)
            .is_err()
    );
    let high = Commit::on(&[&first], Tree::empty_root(), Timestamp(9));
    other.pull_from(&page, true).unwrap();
    other
        .add_commits(&[high.as_bytes()], ChangeSource::Cloud)
        .unwrap();
    assert_eq!(other.heads().len(), 2);
    let mut wrong = high.as_bytes().to_vec();
    let at = wrong
        .windows(8)
        .position(|eight| eight == high.generation().to_le_bytes())
        .unwrap();
    wrong[at] += 1;
    let wrong = other.add_commits(&[&wrong], ChangeSource::Peer);
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(other.heads().len(), 2);
    let error = other
        .incoming()
        .add_pieces(&[(head.root(), b"other bytes")])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    check_rows(&other, false);
}

#[test]
fn a_piece_comes_after_what_it_refers_to() {
    let page = open();
    let noise: Vec<u8> = (0..300_000_u32)
        .flat_map(|i| i.wrapping_mul(i).to_le_bytes())
        .collect();
    let value = page.create_value(&noise[..]).unwrap();
    let id = value.identifier();
    let content = page.piece(&id).unwrap().unwrap();
    let error = open().incoming().add_pieces(&[(id, &content)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn the_tree_before_an_unsynced_commit_stays_and_older_ones_go() {
    let page = open();
    let mut commits = Vec::new();
    for i in 0..3 {
        let mut journal = page.begin().unwrap();
        journal.put(b"k", &[i; 100]).unwrap();
        commits.push(page.commit(journal, Timestamp(i.into())).unwrap());
    }
    for id in page.unsynced_pieces(None, 100).unwrap() {
        page.mark_synced(&[id], &[]).unwrap();
    }
    for commit in &commits[..2] {
        page.mark_synced(&[], &[commit.id()]).unwrap();
    }
    page.collect().unwrap();
    let has_tree = |commit: &Commit| page.piece(&commit.root()).unwrap().is_some();
    assert_eq!(
        commits.iter().map(has_tree).collect::<Vec<_>>(),
        [false, true, true]
    );
    page.mark_synced(&[], &[commits[2].id()]).unwrap();
    page.collect().unwrap();
    assert_eq!(
        commits.iter().map(has_tree).collect::<Vec<_>>(),
        [false, false, true]
    );
}

#[test]
fn what_is_synced_is_counted_down_to_nothing() {
    let (page, head, map) = filled(2);
    assert!(!page.is_synced().unwrap() && !page.is_online().unwrap());
    let mut pieces = Vec::new();
    loop {
        let part = page.unsynced_pieces(pieces.last(), 3).unwrap();
        pieces.extend_from_slice(&part);
        if part.len() < 3 {
            break;
        }
    }
    for id in &pieces {
        assert_eq!(page.piece_status(id).unwrap(), Some(PieceStatus::Local));
        page.mark_synced(&[*id], &[]).unwrap();
    }
    assert!(page.unsynced_pieces(None, 9).unwrap().is_empty() && !page.is_synced().unwrap());
    for id in page.unsynced_commits().unwrap() {
        page.mark_synced(&[], &[id]).unwrap();
    }
    page.set_sync_metadata(b"position", b"42").unwrap();
    assert_eq!(page.sync_metadata(b"position").unwrap().unwrap(), b"42");
    assert!(page.is_synced().unwrap() && page.is_online().unwrap() && !page.is_empty());
    // The trees of older commits may be fetched again, so they go; the head's stays.
    assert!(page.collect().unwrap().pieces > 0);
    assert_eq!(content(&page, &head), map);
}

#[test]
fn a_note_is_written_with_the_commit_and_also_if_that_changes_nothing() {
    let (page, head, _) = filled(1);
    let noted = |page: &Page| page.sync_metadata(b"note").unwrap();
    let mut journal = page.begin().unwrap();
    journal.put(b"new", b"entry").unwrap();
    journal.set_sync_metadata(b"note", b"one");
    assert_eq!(noted(&page), None);
    let second = page.commit(journal, Timestamp(7)).unwrap();
    assert_ne!(second, head);
    assert_eq!(noted(&page).unwrap(), b"one");
    let mut journal = page.begin().unwrap();
    journal.put(b"new", b"entry").unwrap();
    journal.set_sync_metadata(b"note", b"two");
    assert_eq!(page.commit(journal, Timestamp(8)).unwrap(), second);
    assert_eq!(noted(&page).unwrap(), b"two");
    // With the commit's name, too.
    let mut journal = page.begin().unwrap();
    journal.set_sync_metadata_and_commit(b"note", b"two");
    page.commit(journal, Timestamp(8)).unwrap();
    assert_eq!(
        noted(&page).unwrap(),
        [&b"two"[..], &second.id().0].concat()
    );
    // A commit that is there already notes, too.
    let mut journal = page.begin_on(&head);
    journal.put(b"new", b"entry").unwrap();
    journal.set_sync_metadata(b"note", b"three");
    assert_eq!(page.commit(journal, Timestamp(7)).unwrap(), second);
    assert_eq!(noted(&page).unwrap(), b"three");
    assert_eq!(page.heads(), [second]);
    // A journal that is dropped has noted nothing.
    let mut journal = page.begin().unwrap();
    journal.set_sync_metadata(b"note", b"four");
    drop(journal);
    assert_eq!(noted(&page).unwrap(), b"three");
}

/// A commit of many pieces, which are written before it, with a note: at every file operation.
#[test]
fn after_a_crash_the_note_is_there_if_the_commit_is() {
    use larder_leveldb::storage::{CrashImage, FaultFileSystem};
    use std::sync::Mutex;
    let memory = MemoryFileSystem::new();
    let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
    let images = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&images);
    fs.watch(move |operation| {
        let torn = CrashImage::Tear { seed: operation };
        for model in [torn, CrashImage::LoseUnsynced, CrashImage::KeepWritten] {
            taken.lock().unwrap().push(memory.crash_image(model));
        }
    });
    let page = Page::open(fs, Path::new("page"), options()).unwrap();
    let mut journal = page.begin().unwrap();
    for at in 0..60_u32 {
        let value: Vec<u8> = (0..2000_u32).map(|n| (n * at % 251) as u8).collect();
        journal.put(&at.to_be_bytes(), &value).unwrap();
    }
    journal.set_sync_metadata(b"note", b"one");
    page.commit(journal, Timestamp(1)).unwrap();
    let images = std::mem::take(&mut *images.lock().unwrap());
    let (mut with, mut without) = (0, 0);
    for image in images {
        let page = Page::open(Arc::new(image), Path::new("page"), options()).unwrap();
        let has_commit = page.heads()[0].generation() > 0;
        assert_eq!(page.sync_metadata(b"note").unwrap().is_some(), has_commit);
        match has_commit {
            true => with += 1,
            false => without += 1,
        }
    }
    assert!(with > 0 && without > 10, "{with} with, {without} without");
}

#[test]
fn a_page_in_single_bytes_is_read_and_not_written() {
    let files = Arc::new(MemoryFileSystem::new());
    let (page, head, map) = filled(3);
    let db = Db::open(
        files.clone(),
        Path::new("old"),
        Options {
            create_if_missing: true,
            ..options().db
        },
    )
    .unwrap();
    let kinds = [
        RowKind::Heads,
        RowKind::Merges,
        RowKind::Commits,
        RowKind::Objects,
        RowKind::References,
        RowKind::UnsyncedCommits,
        RowKind::SyncMetadata,
        RowKind::Status(PieceStatus::Local),
    ];
    let (names, bytes) = (Dialect::Names, Dialect::Bytes);
    for kind in kinds {
        let prefix = names.prefix(kind);
        let mut iter = super::super::rows(&page.0.db, prefix).unwrap();
        while iter.valid() {
            let rest = &iter.key()[prefix.len()..];
            let key = match kind {
                RowKind::References => {
                    let (digest, source) = rest.split_at(33);
                    let digest = crate::ObjectDigest::decode(digest).unwrap();
                    bytes.reference(&digest, names.reference_source(&source[1..]).unwrap())
                }
                _ => bytes.key(kind, &[rest]),
            };
            db.put(
                &key,
                iter.value().unwrap(),
                larder_leveldb::Durability::Strict,
            )
            .unwrap();
            iter.next().unwrap();
        }
    }
    db.close().unwrap();
    let refused = Page::open(files.clone(), Path::new("old"), options()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let old = Page::open_read_only(files, Path::new("old"), options()).unwrap();
    assert_eq!(
        (old.dialect(), old.heads()),
        (Dialect::Bytes, vec![head.clone()])
    );
    assert_eq!(content(&old, &head), map);
    check_rows(&old, false);
    let mut journal = old.begin().unwrap();
    journal.put(b"k", b"v").unwrap();
    assert_eq!(
        old.commit(journal, Timestamp(1)).unwrap_err().kind(),
        ErrorKind::Usage
    );
}

#[test]
fn what_goes_out_comes_in_elsewhere_and_goes_out_once() {
    for seed in 0..20 {
        let (page, other) = (open(), open());
        let (mut random, mut map) = (Random::new(seed), Map::new());
        let mut sent = std::collections::HashSet::new();
        for step in 0..6 {
            for part in 0..=random.below(3) {
                let mut journal = page.begin().unwrap();
                change(&mut random, &mut journal, &mut map, 30);
                let now = Timestamp(10 * step + part as i64);
                page.commit(journal, now).unwrap();
            }
            let commits = page.unsynced_commits().unwrap();
            let commits: Vec<Commit> = commits
                .iter()
                .map(|id| page.commit_by_id(*id).unwrap().unwrap())
                .collect();
            let (mut outgoing, mut eager, mut lazy) = (page.outgoing(), Vec::new(), Vec::new());
            let mut passed = Vec::new();
            for commit in &commits {
                let of_commit = outgoing.eager_pieces(commit, |id, content| {
                    eager.push((id, content.to_vec()));
                    Ok(())
                });
                passed.extend(of_commit.unwrap());
            }
            passed.retain(|value| !value.digest.is_inline());
            for value in &passed {
                let take = |id, content: &[u8]| {
                    lazy.push((id, content.to_vec()));
                    Ok(())
                };
                outgoing.lazy_pieces(*value, take).unwrap();
            }
            let all: Vec<_> = eager.iter().chain(&lazy).map(|(id, _)| *id).collect();
            assert!(all.iter().all(|id| sent.insert(*id)), "seed {seed}: twice");
            let mut incoming = other.incoming();
            for few in eager.chunks(1 + random.below(9) as usize) {
                let few: Vec<_> = few.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
                incoming.add_pieces(&few).unwrap();
                other.collect().unwrap();
            }
            let bytes: Vec<&[u8]> = commits.iter().map(Commit::as_bytes).collect();
            incoming.add_commits(&bytes, ChangeSource::Cloud).unwrap();
            for (id, content) in &lazy {
                incoming.add_pieces(&[(*id, content)]).unwrap();
            }
            for value in &passed {
                incoming.add_lazy_value(value, ChangeSource::Cloud).unwrap();
            }
            let ids: Vec<CommitId> = commits.iter().map(Commit::id).collect();
            page.mark_synced(&all, &ids).unwrap();
            assert!(page.is_synced().unwrap() && other.is_synced().unwrap());
            let head = page.heads().pop().unwrap();
            assert_eq!(content(&other, &head), map, "seed {seed}");
            check_rows(&other, false);
        }
    }
}

#[test]
fn what_is_missing_for_a_piece_is_named_and_a_tree_may_come_at_once() {
    let page = open();
    let noise: Vec<u8> = (0..300_000_u32)
        .flat_map(|i| i.wrapping_mul(i).to_le_bytes())
        .collect();
    let mut journal = page.begin().unwrap();
    journal.put(b"k", &noise).unwrap();
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    let mut pieces = Vec::new();
    page.outgoing()
        .eager_pieces(&commit, |id, content| {
            pieces.push((id, content.to_vec()));
            Ok(())
        })
        .unwrap();
    let mut incoming = open().incoming();
    let (root, content) = pieces.last().unwrap();
    let value = page.snapshot(&commit, b"").entry(b"k").unwrap().unwrap();
    assert_eq!(incoming.missing_for(root, content).unwrap(), [value.value]);
    let all: Vec<_> = pieces.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
    incoming.add_pieces(&all).unwrap();
    assert!(incoming.missing_for(root, content).unwrap().is_empty());
}
