//! Messages against `flatc`, both ways, on schemas written from the lists of fields.

use crate::commit::{Commit, Timestamp};
use crate::entry::Entry;
use crate::object::file_index::{self, Child};
use crate::object::{ObjectDigest, ObjectIdentifier, ObjectType, PieceType, Priority};
use crate::testing::is_missing;
use crate::tree::{Fanout, TreeNode};
use larder_fixtures::random::Random;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const SCHEMA: &str = "
table ObjectIdentifierStorage { key_index: uint; object_digest: [ubyte]; }
table ObjectChild { size: ulong; object_identifier: ObjectIdentifierStorage; }
table FileIndex { size: ulong; children: [ObjectChild]; }
enum KeyPriorityStorage: byte { EAGER = 0, LAZY = 1 }
table EntryStorage { key: [ubyte]; object_id: ObjectIdentifierStorage; priority: KeyPriorityStorage; entry_id: [ubyte]; }
table ChildStorage { index: ushort; object_id: ObjectIdentifierStorage; }
table TreeNodeStorage { entries: [EntryStorage]; children: [ChildStorage]; level: ubyte; }
struct IdStorage { a: ulong; b: ulong; c: ulong; d: ulong; }
table CommitStorage { timestamp: long; generation: ulong; root_node_id: ObjectIdentifierStorage; parents: [IdStorage]; salt: [ubyte]; }
";

/// Runs flatc in a folder with the schema and a message.
#[expect(clippy::disallowed_methods, reason = "files for another program")]
fn flatc(table: &str, args: &[&str], name: &str, message: &[u8], result: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let schema = format!("{SCHEMA} root_type {table};");
    std::fs::write(folder.path().join("s.fbs"), schema).unwrap();
    std::fs::write(folder.path().join(name), message).unwrap();
    let output = Command::new("flatc")
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::read(folder.path().join(Path::new(result))).unwrap()
}

/// What flatc reads in a message.
pub(crate) fn to_json(table: &str, message: &[u8]) -> Value {
    let args = [
        "--json",
        "--strict-json",
        "--defaults-json",
        "--raw-binary",
        "s.fbs",
        "--",
        "m.bin",
    ];
    serde_json::from_slice(&flatc(table, &args, "m.bin", message, "m.json")).unwrap()
}

/// The message that flatc makes.
pub(crate) fn from_json(table: &str, value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let args = ["--binary", "s.fbs", "m.json"];
    flatc(table, &args, "m.json", text.as_bytes(), "m.bin")
}

pub(crate) fn has_flatc() -> bool {
    let has = Command::new("flatc").arg("--version").output().is_ok();
    if !has {
        is_missing("the program flatc");
    }
    has
}

pub(crate) fn identifier_json(id: &ObjectIdentifier) -> Value {
    json!({ "key_index": id.key_index, "object_digest": id.digest.as_bytes() })
}

fn identifier(random: &mut Random) -> ObjectIdentifier {
    let content = vec![random.next() as u8; random.below(80) as usize];
    let pieces = [PieceType::Chunk, PieceType::Index];
    let piece = pieces[random.below(2) as usize];
    ObjectIdentifier {
        digest: ObjectDigest::of(piece, ObjectType::Blob, &content),
        key_index: random.below(3) as u32,
    }
}

/// Keys of a level, ascending.
fn keys(level: u8, count: usize) -> Vec<Vec<u8>> {
    let keys = (0..).map(|i: u32| format!("{i:07}").into_bytes());
    keys.filter(|key| Fanout::Of256.level_of()(key) == level)
        .take(count)
        .collect()
}

fn node(random: &mut Random, level: u8, count: usize) -> TreeNode {
    let entry = |key: Vec<u8>, random: &mut Random| Entry {
        key,
        value: identifier(random),
        priority: [Priority::Eager, Priority::Lazy][random.below(2) as usize],
    };
    let entries = keys(level, count)
        .into_iter()
        .map(|key| entry(key, random))
        .collect();
    let child =
        |random: &mut Random| (level > 0 && random.below(3) > 0).then(|| identifier(random));
    let children = (0..=count).map(|_| child(random)).collect();
    TreeNode {
        level,
        entries,
        children,
    }
}

fn node_json(node: &TreeNode) -> Value {
    let entries = node.entries.iter().map(|entry| {
        json!({
            "key": entry.key,
            "object_id": identifier_json(&entry.value),
            "priority": if entry.priority == Priority::Lazy { "LAZY" } else { "EAGER" },
        })
    });
    let children = node.children.iter().enumerate().filter_map(|(i, child)| {
        Some(json!({ "index": i, "object_id": identifier_json(child.as_ref()?) }))
    });
    json!({
        "entries": entries.collect::<Vec<_>>(),
        "children": children.collect::<Vec<_>>(),
        "level": node.level,
    })
}

/// flatc leaves out vectors that are not there.
fn fill(mut value: Value) -> Value {
    for name in ["entries", "children"] {
        if value[name].is_null() {
            value[name] = json!([]);
        }
    }
    value
}

#[test]
fn nodes_are_what_flatc_reads_and_writes() {
    let mut random = Random::new(1);
    for (level, count) in [(0, 0), (0, 1), (0, 40), (1, 0), (1, 30), (2, 2)] {
        let node = node(&mut random, level, count);
        let bytes = node.encode();
        assert_eq!(
            TreeNode::decode(&bytes, Fanout::Of256.level_of()).unwrap(),
            node
        );
        if has_flatc() {
            let json = node_json(&node);
            assert_eq!(fill(to_json("TreeNodeStorage", &bytes)), json);
            let theirs = from_json("TreeNodeStorage", &json);
            assert_eq!(
                TreeNode::decode(&theirs, Fanout::Of256.level_of()).unwrap(),
                node
            );
        }
    }
}

#[test]
fn a_later_field_of_entries_is_passed_over() {
    if has_flatc() {
        let node = node(&mut Random::new(2), 0, 2);
        let mut json = node_json(&node);
        json["entries"][0]["entry_id"] = json!([1, 2, 3]);
        let theirs = from_json("TreeNodeStorage", &json);
        assert_eq!(
            TreeNode::decode(&theirs, Fanout::Of256.level_of()).unwrap(),
            node
        );
    }
}

#[test]
fn indexes_are_what_flatc_reads_and_writes() {
    let mut random = Random::new(3);
    for count in [0, 1, 2, 77] {
        let child = |random: &mut Random| Child {
            size: 1 + random.below(1 << 40),
            identifier: identifier(random),
        };
        let children: Vec<Child> = (0..count).map(|_| child(&mut random)).collect();
        let bytes = file_index::encode(&children);
        if has_flatc() {
            let parts = children.iter().map(|child| {
                json!({ "size": child.size, "object_identifier": identifier_json(&child.identifier) })
            });
            let size: u64 = children.iter().map(|child| child.size).sum();
            let json = json!({ "size": size, "children": parts.collect::<Vec<_>>() });
            assert_eq!(to_json("FileIndex", &bytes), json);
            let theirs = from_json("FileIndex", &json);
            assert_eq!(file_index::decode(&theirs).unwrap(), children);
        }
    }
}

/// Commits on one parent and on two.
fn commits() -> Vec<Commit> {
    let root = identifier(&mut Random::new(7));
    let first = Commit::first();
    let one = Commit::on(&[&first], root, Timestamp(-5));
    let two = Commit::on(&[&first], root, Timestamp(i64::MAX));
    let merge = Commit::on(&[&one, &two], root, Timestamp(0));
    vec![one, two, merge]
}

#[test]
fn commits_are_what_flatc_reads_and_writes() {
    for commit in commits() {
        assert_eq!(Commit::decode(commit.as_bytes()).unwrap(), commit);
        if has_flatc() {
            let part =
                |id: &[u8; 32], i: usize| u64::from_le_bytes(*id[8 * i..].first_chunk().unwrap());
            let parents = commit.parents().iter().map(|parent| {
                let id = &parent.0;
                json!({ "a": part(id, 0), "b": part(id, 1), "c": part(id, 2), "d": part(id, 3) })
            });
            let mut json = json!({
                "timestamp": commit.timestamp().0,
                "generation": commit.generation(),
                "root_node_id": identifier_json(&commit.root()),
                "parents": parents.collect::<Vec<_>>(),
            });
            assert_eq!(to_json("CommitStorage", commit.as_bytes()), json);
            json["salt"] = json!([1, 2, 3]);
            let bytes = from_json("CommitStorage", &json);
            let theirs = Commit::decode(&bytes).unwrap();
            assert_eq!(
                (theirs.root(), theirs.parents()),
                (commit.root(), commit.parents())
            );
            assert_eq!(
                (theirs.timestamp(), theirs.generation()),
                (commit.timestamp(), commit.generation())
            );
            assert_eq!(
                theirs.as_bytes(),
                bytes,
                "kept as they came, and so is the name"
            );
            assert_ne!(theirs.id(), commit.id());
        }
    }
}

#[test]
fn the_empty_node_is_inline() {
    let bytes = TreeNode::empty(0).encode();
    assert_eq!(bytes, [8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0]);
}

#[test]
fn any_bytes_are_read_or_refused() {
    let mut random = Random::new(4);
    let node = node(&mut random, 1, 20).encode();
    let index = file_index::encode(
        &[Child {
            size: 3,
            identifier: identifier(&mut random),
        }; 9],
    );
    let commit = commits()[2].as_bytes().to_vec();
    for _ in 0..10_000 {
        for message in [&node, &index, &commit] {
            let mut bytes = message.clone();
            bytes.truncate(
                bytes.len()
                    - random.below(bytes.len() as u64) as usize * (random.below(2) as usize),
            );
            for _ in 0..=random.below(3) {
                if !bytes.is_empty() {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] = [random.next() as u8, 0, 255][random.below(3) as usize];
                }
            }
            if let Ok(node) = TreeNode::decode(&bytes, Fanout::Of256.level_of()) {
                assert_eq!(
                    TreeNode::decode(&node.encode(), Fanout::Of256.level_of()).unwrap(),
                    node
                );
            }
            if let Ok(commit) = Commit::decode(&bytes) {
                assert_eq!(commit.as_bytes(), bytes);
            }
            if let Ok(children) = file_index::decode(&bytes) {
                assert_eq!(
                    file_index::decode(&file_index::encode(&children)).unwrap(),
                    children
                );
            }
        }
    }
}
