//! The layouts that Ledger's own tests have, by name, and random changes beside a map.

use super::apply::apply;
use super::cursor::Cursor;
use super::level::{self, Fanout, LevelOf};
use super::node::TreeNode;
use super::nodes::{Nodes, write};
use super::*;
use crate::entry::{Change, Entry};
use crate::object::tests::Pieces;
use crate::object::{
    ObjectDigest, ObjectIdentifier, ObjectType, Piece, PieceSink, PieceSource, PieceType, Priority,
};
use larder_fixtures::random::Random;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A value, named by its content.
pub(crate) fn value(content: &[u8]) -> ObjectIdentifier {
    ObjectIdentifier::new(ObjectDigest::of(
        PieceType::Chunk,
        ObjectType::Blob,
        content,
    ))
}

/// The level that the original tests give keys.
fn chosen_level(key: &[u8]) -> u8 {
    match key {
        b"key50" | b"key75" => 2,
        b"key03" | b"key07" | b"key30" | b"key60" | b"key89" => 1,
        _ => 0,
    }
}

/// Many levels with few keys.
fn steep_level(key: &[u8]) -> u8 {
    (level::murmur3(key, 7).trailing_zeros() / 2) as u8
}

/// Three keys of four are on two levels that lie far apart.
fn gapped_level(key: &[u8]) -> u8 {
    [0, 0, 9, 3, 17, 0, 9, 9][level::murmur3(key, 7) as usize % 8]
}

struct Forest {
    pieces: RefCell<Pieces>,
    level_of: LevelOf,
    /// Names of pieces that were put and were not there.
    new: Vec<ObjectIdentifier>,
}

impl PieceSource for Forest {
    fn piece(&self, id: &ObjectIdentifier) -> crate::Result<Option<Vec<u8>>> {
        self.pieces.borrow().piece(id)
    }
}

struct Put<'a>(&'a RefCell<Pieces>, &'a mut Vec<ObjectIdentifier>);

impl PieceSink for Put<'_> {
    fn put(&mut self, piece: Piece<'_>) -> crate::Result<()> {
        let mut pieces = self.0.borrow_mut();
        if !pieces.pieces.contains_key(&piece.identifier) {
            self.1.push(piece.identifier);
        }
        (&mut *pieces).put(piece)
    }
}

impl Forest {
    fn new(level_of: LevelOf) -> Forest {
        Forest {
            pieces: RefCell::default(),
            level_of,
            new: Vec::new(),
        }
    }

    fn nodes(&self) -> Nodes<'_> {
        Nodes::new(self, self.level_of)
    }

    fn empty() -> ObjectIdentifier {
        let bytes = TreeNode::empty(0).encode();
        ObjectIdentifier::new(ObjectDigest::of(
            PieceType::Chunk,
            ObjectType::TreeNode,
            &bytes,
        ))
    }

    fn apply(&mut self, root: &ObjectIdentifier, changes: &[Change]) -> ObjectIdentifier {
        let mut new = Vec::new();
        let source: &Forest = self;
        let nodes = Nodes::new(source, self.level_of);
        let root = apply(nodes, &mut Put(&self.pieces, &mut new), root, changes).unwrap();
        self.new = new;
        root
    }

    fn put(&mut self, root: &ObjectIdentifier, numbers: &[&str]) -> ObjectIdentifier {
        let changes: Vec<Change> = numbers.iter().map(|n| put(n)).collect();
        self.apply(root, &changes)
    }

    fn delete(&mut self, root: &ObjectIdentifier, numbers: &[&str]) -> ObjectIdentifier {
        let key = |n: &&str| Change {
            key: format!("key{n}").into_bytes(),
            value: None,
        };
        let changes: Vec<Change> = numbers.iter().map(key).collect();
        self.apply(root, &changes)
    }

    fn entries(&self, root: &ObjectIdentifier, from: &[u8]) -> Vec<Entry> {
        let mut cursor = Cursor::new(self.nodes(), root, from).unwrap();
        let mut entries = Vec::new();
        while let Some(entry) = cursor.next(self.nodes()).unwrap() {
            entries.push(entry);
        }
        entries
    }

    /// A node as text: `[50]([03]/[60])`, with a point for a child that is not there.
    fn layout(&self, id: &ObjectIdentifier) -> String {
        let node = self.nodes().root(id).unwrap();
        let keys = node
            .entries
            .iter()
            .map(|entry| String::from_utf8_lossy(&entry.key[3..]));
        let mut text = format!("[{}]", keys.collect::<Vec<_>>().join(","));
        if node.children.iter().any(Option::is_some) {
            let children = node.children.iter().map(|child| match child {
                Some(child) => self.layout(child),
                None => ".".to_owned(),
            });
            text += &format!("({})", children.collect::<Vec<_>>().join("/"));
        }
        text
    }
}

fn put(number: &str) -> Change {
    Change {
        key: format!("key{number}").into_bytes(),
        value: Some((value(format!("object{number}").as_bytes()), Priority::Eager)),
    }
}

const UP_TO_TEN: [&str; 11] = [
    "00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10",
];

#[test]
fn entries_make_the_layouts_of_the_original() {
    let mut forest = Forest::new(chosen_level);
    let root = forest.put(&Forest::empty(), &UP_TO_TEN);
    assert_eq!(
        forest.layout(&root),
        "[03,07]([00,01,02]/[04,05,06]/[08,09,10])"
    );
    assert_eq!(forest.new.len(), 4);
    forest.put(&root, &["071"]);
    assert_eq!(forest.new.len(), 2, "the root and the third leaf");
    let few = forest.put(&Forest::empty(), &["00", "04"]);
    let few = forest.put(&few, &["03"]);
    assert_eq!(forest.layout(&few), "[03]([00]/[04])");
}

#[test]
fn deletions_make_the_layouts_of_the_original() {
    let mut forest = Forest::new(chosen_level);
    let root = forest.put(&Forest::empty(), &UP_TO_TEN);
    let without = forest.delete(&root, &["03"]);
    assert_eq!(
        forest.layout(&without),
        "[07]([00,01,02,04,05,06]/[08,09,10])"
    );
    let without = forest.delete(&root, &["02", "04"]);
    assert_eq!(forest.new.len(), 3);
    assert_eq!(
        forest.layout(&without),
        "[03,07]([00,01]/[05,06]/[08,09,10])"
    );
    assert_eq!(forest.delete(&root, &UP_TO_TEN), Forest::empty());
    assert_eq!(
        forest.delete(&root, &["99", "055"]),
        root,
        "what is not there"
    );
    assert!(forest.new.is_empty());
}

#[test]
fn split_merge_update_makes_the_layouts_of_the_original() {
    let mut forest = Forest::new(chosen_level);
    let numbers = ["03", "50", "55", "60", "65", "74", "76", "89", "99"];
    let root = forest.put(&Forest::empty(), &numbers);
    assert_eq!(
        forest.layout(&root),
        "[50]([03]/[60,89]([55]/[65,74,76]/[99]))"
    );
    let split = forest.put(&root, &["75"]);
    assert_eq!(
        forest.layout(&split),
        "[50,75]([03]/[60]([55]/[65,74])/[89]([76]/[99]))"
    );
    assert_eq!(forest.new.len(), 5);
    assert_eq!(forest.delete(&split, &["75"]), root);
}

#[test]
fn nodes_without_entries_stand_between_levels() {
    let mut forest = Forest::new(chosen_level);
    let root = forest.put(&Forest::empty(), &["00", "50", "99"]);
    assert_eq!(forest.layout(&root), "[50]([]([00])/[]([99]))");
    let root = forest.delete(&root, &["50"]);
    assert_eq!(forest.layout(&root), "[00,99]");
    assert_eq!(
        forest.new.len(),
        1,
        "no node that only leads to others is stored on the way"
    );
}

type Map = BTreeMap<Vec<u8>, (ObjectIdentifier, Priority)>;

fn random_changes(random: &mut Random, keys: u64, count: u64) -> Vec<Change> {
    let mut changes = BTreeMap::new();
    for _ in 0..count {
        let key = format!("{:x}", random.below(keys)).into_bytes();
        let new = (random.below(3) > 0).then(|| {
            let content = vec![random.next() as u8; random.below(60) as usize];
            let priority = [Priority::Eager, Priority::Lazy][random.below(2) as usize];
            (value(&content), priority)
        });
        changes.insert(key, new);
    }
    let change = |(key, value)| Change { key, value };
    changes.into_iter().map(change).collect()
}

fn change_map(map: &mut Map, changes: &[Change]) {
    for change in changes {
        match change.value {
            Some(value) => map.insert(change.key.clone(), value),
            None => map.remove(&change.key),
        };
    }
}

fn entries_of(map: &Map, from: &[u8]) -> Vec<Entry> {
    let entry = |(key, value): (&Vec<u8>, &(ObjectIdentifier, Priority))| Entry {
        key: key.clone(),
        value: value.0,
        priority: value.1,
    };
    map.range(from.to_vec()..).map(entry).collect()
}

fn diff_of(old: &Map, new: &Map, from: &[u8]) -> Vec<EntryDiff> {
    let all: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
    let entry = |map: &Map, key: &Vec<u8>| {
        let value = map.get(key)?;
        let (value, priority) = *value;
        Some(Entry {
            key: key.clone(),
            value,
            priority,
        })
    };
    all.into_iter()
        .filter(|key| old.get(*key) != new.get(*key) && key[..] >= *from)
        .map(|key| EntryDiff {
            key: key.clone(),
            old: entry(old, key),
            new: entry(new, key),
        })
        .collect()
}

fn levels() -> [LevelOf; 4] {
    let [wide, narrow] = [Fanout::Of256, Fanout::Of16].map(Fanout::level_of);
    [wide, narrow, steep_level, gapped_level]
}

/// A tree and a map change alike, in batches of any size; the tree's root is that of the map built at once, in another order.
#[test]
fn trees_are_their_entries_whatever_the_changes() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let level_of = levels()[seed as usize % 4];
        let mut forest = Forest::new(level_of);
        let (mut root, mut map) = (Forest::empty(), Map::new());
        let mut history = vec![(root, map.clone())];
        for _ in 0..12 {
            let count = [0, 1, 3, 30, 600][random.below(5) as usize];
            let changes = random_changes(&mut random, [20, 900][seed as usize % 2], count);
            root = forest.apply(&root, &changes);
            change_map(&mut map, &changes);
            history.push((root, map.clone()));
        }
        assert_eq!(
            forest.entries(&root, b""),
            entries_of(&map, b""),
            "seed {seed}"
        );
        let from = format!("{:x}", random.below(900)).into_bytes();
        assert_eq!(
            forest.entries(&root, &from),
            entries_of(&map, &from),
            "seed {seed}"
        );
        let mut other = Forest::new(level_of);
        let mut changes: Vec<Change> = entries_of(&map, b"")
            .into_iter()
            .map(|entry| Change {
                key: entry.key,
                value: Some((entry.value, entry.priority)),
            })
            .collect();
        for i in (1..changes.len()).rev() {
            changes.swap(i, random.below(i as u64 + 1) as usize);
        }
        let mut rebuilt = Forest::empty();
        while !changes.is_empty() {
            let count = 1 + random.below(changes.len() as u64) as usize;
            let mut batch = changes.split_off(changes.len() - count);
            batch.sort_by(|a, b| a.key.cmp(&b.key));
            rebuilt = other.apply(&rebuilt, &batch);
        }
        assert_eq!(rebuilt, root, "seed {seed}: equal entries, equal roots");
        compare_histories(&forest, &history, &mut random, seed);
    }
}

fn compare_histories(
    forest: &Forest,
    history: &[(ObjectIdentifier, Map)],
    random: &mut Random,
    seed: u64,
) {
    let any = |random: &mut Random| &history[random.below(history.len() as u64) as usize];
    for _ in 0..6 {
        let (base, left, right) = (any(random), any(random), any(random));
        let from = match random.below(2) {
            0 => Vec::new(),
            _ => format!("{:x}", random.below(900)).into_bytes(),
        };
        let diff = Diff::new(forest.nodes(), &base.0, &left.0, &from).unwrap();
        let diff: Vec<EntryDiff> = diff.map(Result::unwrap).collect();
        assert_eq!(diff, diff_of(&base.1, &left.1, &from), "seed {seed}");
        let three = ThreeWay::new(forest.nodes(), &base.0, &left.0, &right.0, &from).unwrap();
        for one in three {
            let one = one.unwrap();
            let value = |map: &Map| map.get(&one.key).copied();
            let entry =
                |entry: &Option<Entry>| entry.as_ref().map(|entry| (entry.value, entry.priority));
            assert_eq!(entry(&one.base), value(&base.1), "seed {seed}");
            assert_eq!(entry(&one.left), value(&left.1), "seed {seed}");
            assert_eq!(entry(&one.right), value(&right.1), "seed {seed}");
            assert!(one.left != one.base || one.right != one.base);
        }
        let keys: BTreeSet<Vec<u8>> = diff_of(&base.1, &left.1, &from)
            .into_iter()
            .chain(diff_of(&base.1, &right.1, &from))
            .map(|diff| diff.key)
            .collect();
        let three = ThreeWay::new(forest.nodes(), &base.0, &left.0, &right.0, &from).unwrap();
        let found: Vec<Vec<u8>> = three.map(|one| one.unwrap().key).collect();
        assert_eq!(found, keys.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn a_diff_reads_nodes_of_the_difference_only() {
    for (fanout, nodes) in [(Fanout::Of256, 700), (Fanout::Of16, 6000)] {
        let mut forest = Forest::new(fanout.level_of());
        let changes: Vec<Change> = (0..100_000).map(|i| put(&format!("{i:06}"))).collect();
        let root = forest.apply(&Forest::empty(), &changes);
        let all = forest.pieces.borrow().pieces.len();
        let few: Vec<Change> = (0..10)
            .map(|i| put(&format!("{:06}", i * 10_007 + 5)))
            .map(|change| Change {
                value: None,
                ..change
            })
            .collect();
        let changed = forest.apply(&root, &few);
        let written = forest.new.len();
        assert!(written < 100, "{written} pieces written of {all}");
        forest.pieces.borrow().asked.borrow_mut().clear();
        let diff = Diff::new(forest.nodes(), &root, &changed, b"").unwrap();
        assert_eq!(diff.count(), 10);
        let asked = forest.pieces.borrow().asked.borrow().len();
        assert!(asked < 200 && all > nodes, "{asked} pieces read of {all}");
    }
}

#[test]
fn a_key_of_another_level_is_damage() {
    let mut forest = Forest::new(chosen_level);
    let root = forest.put(&Forest::empty(), &["01", "02"]);
    forest.level_of = |_| 1;
    let error = forest.nodes().root(&root).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Corruption);
}

#[test]
fn nodes_that_do_not_fit_together_are_damage() {
    let mut forest = Forest::new(chosen_level);
    let good = forest.put(&Forest::empty(), &UP_TO_TEN);
    let leaf = |forest: &mut Forest, numbers: &[&str]| forest.put(&Forest::empty(), numbers);
    let far = leaf(&mut forest, &["99"]);
    let mut node = Arc::unwrap_or_clone(forest.nodes().root(&good).unwrap());
    node.children[0] = Some(far);
    let bad = write(&mut Put(&forest.pieces, &mut Vec::new()), &node).unwrap();
    let apply_to = |bad: &ObjectIdentifier| {
        let changes = [put("001")];
        let mut new = Vec::new();
        apply(
            forest.nodes(),
            &mut Put(&forest.pieces, &mut new),
            bad,
            &changes,
        )
        .unwrap_err()
    };
    assert_eq!(apply_to(&bad).kind(), crate::ErrorKind::Corruption);
    let read = |bad: &ObjectIdentifier| {
        let mut cursor = Cursor::new(forest.nodes(), bad, b"")?;
        while cursor.next(forest.nodes())?.is_some() {}
        Ok::<_, crate::Error>(())
    };
    assert_eq!(read(&bad).unwrap_err().kind(), crate::ErrorKind::Corruption);
    node.children[0] = Some(good);
    let bad = write(&mut Put(&forest.pieces, &mut Vec::new()), &node).unwrap();
    assert_eq!(apply_to(&bad).kind(), crate::ErrorKind::Corruption);
    assert_eq!(read(&bad).unwrap_err().kind(), crate::ErrorKind::Corruption);
}
