//! Every row of a page, held against every other.

use super::*;
use crate::object::{ObjectDigest, ObjectType};
use crate::page::pieces::references;
use crate::rows::ReferenceSource;
use std::collections::{BTreeSet, HashMap, HashSet};

fn keys(page: &Page, kind: RowKind) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let prefix = page.0.dialect.prefix(kind);
    page.0
        .each_key(prefix, |rest| {
            keys.push(rest.to_vec());
            Ok(true)
        })
        .unwrap();
    keys
}

fn commits(page: &Page) -> HashMap<CommitId, Commit> {
    let ids = keys(page, RowKind::Commits);
    let ids = ids.iter().map(|id| CommitId::decode(id).unwrap());
    ids.map(|id| (id, page.commit_by_id(id).unwrap().unwrap()))
        .collect()
}

/// Rows agree with one another: heads with commits, merges with parents, references with what refers. After a collection, whatever is
/// there is needed by something.
pub(crate) fn check_rows(page: &Page, is_collected: bool) {
    let commits = commits(page);
    let heads: BTreeSet<CommitId> = page.heads().iter().map(Commit::id).collect();
    let head_rows = keys(page, RowKind::Heads);
    let head_rows: BTreeSet<CommitId> = head_rows
        .iter()
        .map(|id| CommitId::decode(id).unwrap())
        .collect();
    assert_eq!(heads, head_rows);
    let parents: HashSet<CommitId> = commits
        .values()
        .flat_map(|commit| commit.parents().to_vec())
        .collect();
    let without_children = commits.keys().filter(|id| !parents.contains(*id)).copied();
    let mut expected: BTreeSet<CommitId> = without_children.collect();
    if commits.is_empty() {
        expected.insert(CommitId::FIRST);
    }
    assert_eq!(heads, expected, "heads are the commits without children");
    let merges = commits
        .values()
        .filter_map(|commit| match *commit.parents() {
            [first, second] => Some([&first.0[..], b"/", &second.0, b"/", &commit.id().0].concat()),
            _ => None,
        });
    assert_eq!(
        merges.collect::<BTreeSet<_>>(),
        keys(page, RowKind::Merges)
            .into_iter()
            .collect::<BTreeSet<_>>()
    );
    check_objects(page, &commits, is_collected);
}

fn check_objects(page: &Page, commits: &HashMap<CommitId, Commit>, is_collected: bool) {
    let objects = keys(page, RowKind::Objects);
    let objects: BTreeSet<ObjectDigest> = objects
        .iter()
        .map(|digest| ObjectDigest::decode(digest).unwrap())
        .collect();
    let mut references_found = BTreeSet::new();
    let mut referred: HashMap<ObjectDigest, Vec<ObjectDigest>> = HashMap::new();
    for digest in &objects {
        let id = ObjectIdentifier::new(*digest);
        let content = page.0.content(&id).unwrap();
        assert!(digest.is_of(&content));
        for reference in references(&*page.0, Some(page.fanout()), &id, &content).unwrap() {
            let to = reference.identifier.digest;
            let source = ReferenceSource::Object(*digest, reference.priority);
            references_found.insert(page.0.dialect.reference(&to, source));
            referred.entry(*digest).or_default().push(to);
            let is_lazy = reference.priority == Priority::Lazy;
            assert!(is_lazy || objects.contains(&to), "{digest:?} lacks {to:?}");
        }
    }
    for commit in commits
        .values()
        .filter(|commit| !commit.root().digest.is_inline())
    {
        let source = ReferenceSource::Commit(commit.id());
        references_found.insert(page.0.dialect.reference(&commit.root().digest, source));
        let is_synced = page.0.state().is_pinned(&commit.root().digest)
            || page.unsynced_commits().unwrap().contains(&commit.id());
        assert!(!is_synced || objects.contains(&commit.root().digest));
    }
    let rows: BTreeSet<Vec<u8>> = keys(page, RowKind::References)
        .into_iter()
        .map(|rest| [page.0.dialect.prefix(RowKind::References), &rest].concat())
        .collect();
    assert_eq!(rows, references_found, "reference rows, and what refers");
    let mut statuses: HashMap<ObjectDigest, Vec<PieceStatus>> = HashMap::new();
    for status in ALL_STATUSES {
        for key in keys(page, RowKind::Status(status)) {
            let id = ObjectIdentifier::decode(&key).unwrap();
            assert!(objects.contains(&id.digest), "{status:?} of nothing");
            statuses.entry(id.digest).or_default().push(status);
        }
    }
    assert_eq!(statuses.len(), objects.len(), "each piece has a status");
    let highest = statuses.values().map(|of_piece| of_piece.iter().max());
    let highest: Vec<_> = highest.flatten().collect();
    let count = |status| highest.iter().filter(|found| ***found == status).count() as u64;
    let counts = PieceCounts {
        transient: count(PieceStatus::Transient),
        local: count(PieceStatus::Local),
        synced: count(PieceStatus::Synced),
    };
    assert_eq!(page.piece_counts().unwrap(), counts);
    // From commits and pins down everything is reached that is there; what commits need is no more transient.
    let roots = commits.values().map(|commit| commit.root().digest);
    let mut open: Vec<ObjectDigest> = roots.collect();
    let mut needed = HashSet::new();
    while let Some(digest) = open.pop() {
        if needed.insert(digest) && objects.contains(&digest) {
            let highest = statuses[&digest].iter().max().unwrap();
            assert!(
                *highest > PieceStatus::Transient,
                "{digest:?} is in a commit"
            );
            open.extend(referred.get(&digest).into_iter().flatten());
        }
    }
    open.extend(&needed);
    open.extend(
        objects
            .iter()
            .filter(|digest| page.0.state().is_pinned(digest)),
    );
    let mut reached = HashSet::new();
    while let Some(digest) = open.pop() {
        if reached.insert(digest) {
            open.extend(referred.get(&digest).into_iter().flatten());
            let is_node = digest.object_type() == ObjectType::TreeNode;
            assert!(!is_node || is_collected || digest.is_inline() || objects.contains(&digest));
        }
    }
    if is_collected {
        let left: Vec<_> = objects
            .iter()
            .filter(|digest| !reached.contains(*digest))
            .collect();
        assert!(left.is_empty(), "nothing needs {left:?}");
    }
}
