//! Cases by name: merging, removals, unique indexes, key ranges, backups.

use std::sync::Arc;

use larder_idb::{
    IndexParameters, Key, KeyPath, NewExternalObject, ObjectStoreParameters, Upgrade, Value,
};
use larder_pages::Timestamp;
use larder_sync::{MergeBy, MirrorOptions, Reason};
use serde_json::json;

use crate::device::{Device, json as shown, meet, quiet};

fn plain(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    transaction.create_object_store("notes", ObjectStoreParameters::new())?;
    transaction.set_change_feed(true)
}

fn numbered(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let numbered = ObjectStoreParameters::new().auto_increment(true);
    let transaction = &upgrade.transaction;
    transaction.create_object_store("notes", numbered.clone())?;
    transaction.create_object_store("cards", numbered.key_path("id"))?;
    transaction.set_change_feed(true)
}

fn unique(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    let notes = transaction.create_object_store("notes", ObjectStoreParameters::new())?;
    let unique = IndexParameters::new().unique(true);
    notes.create_index("by name", KeyPath::from("name"), unique)?;
    transaction.set_change_feed(true)
}

fn two(upgrade: fn(&Upgrade) -> larder_idb::Result<()>, merge_by: MergeBy) -> (Device, Device) {
    let options = MirrorOptions::new().merge_by(merge_by);
    (
        Device::new(options.clone(), upgrade),
        Device::new(options.device_number(1), upgrade),
    )
}

#[test]
fn what_one_device_writes_the_other_has_and_nothing_comes_back() {
    let (desk, pocket) = two(plain, MergeBy::Record);
    desk.put("notes", 1, &json!({ "text": "tea" }));
    desk.put("notes", 2, &json!("milk"));
    let taken = desk.take(1);
    assert_eq!((taken.put, taken.removed), (2, 0));
    meet(&desk, &pocket);
    let applied = pocket.apply(2);
    assert_eq!((applied.put, applied.merged, applied.is_one), (2, 1, true));
    assert_eq!(pocket.get("notes", 2), Some(json!("milk")));
    // What came from the page is no change of this device's.
    let commits = pocket.page.heads();
    let again = pocket.apply(3);
    assert_eq!((again.taken.put, again.put), (0, 0));
    assert_eq!(pocket.page.heads(), commits);
    desk.delete("notes", 1);
    pocket.put("notes", 3, &json!(3));
    quiet(&[&desk, &pocket], &mut 10);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(desk.get("notes", 1), None);
    assert_eq!(desk.get("notes", 3), Some(json!(3)));
    assert!(desk.mirror().conflicts().unwrap().is_empty());
}

#[test]
fn the_later_record_is_kept_and_the_other_listed_until_it_is_settled() {
    let (desk, pocket) = two(plain, MergeBy::Record);
    desk.put("notes", 1, &json!({ "a": 0, "b": 0 }));
    quiet(&[&desk, &pocket], &mut 0);
    desk.put("notes", 1, &json!({ "a": 1, "b": 0 }));
    desk.take(100);
    pocket.put("notes", 1, &json!({ "a": 0, "b": 2 }));
    pocket.take(101);
    quiet(&[&desk, &pocket], &mut 200);
    let kept = json!({ "a": 0, "b": 2 });
    assert_eq!(desk.get("notes", 1), Some(kept.clone()));
    assert_eq!(desk.content(), pocket.content());
    for device in [&desk, &pocket] {
        let conflicts = device.mirror().conflicts().unwrap();
        let [conflict] = &conflicts[..] else {
            panic!("{conflicts:?}")
        };
        assert_eq!(conflict.object_store, "notes");
        assert_eq!(conflict.key, Key::from(1));
        assert_eq!(shown(conflict.kept.as_ref()), Some(kept.clone()));
        let other = json!({ "a": 1, "b": 0 });
        assert_eq!(shown(conflict.other.as_ref()), Some(other));
        assert_ne!(conflict.commits[0], conflict.commits[1]);
    }
    let mirror = desk.mirror();
    let conflicts = mirror.conflicts().unwrap();
    assert!(mirror.settle(&conflicts[0], Timestamp(300)).unwrap());
    assert!(!mirror.settle(&conflicts[0], Timestamp(301)).unwrap());
    quiet(&[&desk, &pocket], &mut 400);
    assert!(pocket.mirror().conflicts().unwrap().is_empty());
    assert_eq!(pocket.get("notes", 1), Some(kept));
}

#[test]
fn properties_that_one_side_has_changed_are_joined() {
    let (desk, pocket) = two(plain, MergeBy::Property);
    desk.put("notes", 1, &json!({ "a": 0, "b": 0, "c": 0, "gone": 1 }));
    desk.put("notes", 2, &json!({ "a": 0, "b": 0 }));
    desk.put("notes", 3, &json!([1, 2]));
    quiet(&[&desk, &pocket], &mut 0);
    desk.put("notes", 1, &json!({ "a": 1, "b": 0, "c": 0, "new": [1] }));
    desk.put("notes", 2, &json!({ "a": 1, "b": 1 }));
    desk.put("notes", 3, &json!([1]));
    desk.take(100);
    pocket.put("notes", 1, &json!({ "a": 0, "b": 2, "c": 0, "gone": 1 }));
    pocket.put("notes", 2, &json!({ "a": 2, "b": 0 }));
    pocket.put("notes", 3, &json!([2]));
    pocket.take(101);
    quiet(&[&desk, &pocket], &mut 200);
    let joint = json!({ "a": 1, "b": 2, "c": 0, "new": [1] });
    assert_eq!(desk.get("notes", 1), Some(joint));
    assert_eq!(desk.get("notes", 2), Some(json!({ "a": 2, "b": 1 })));
    assert_eq!(desk.get("notes", 3), Some(json!([2])));
    assert_eq!(desk.content(), pocket.content());
    let conflicts = desk.mirror().conflicts().unwrap();
    let others: Vec<_> = conflicts
        .iter()
        .map(|conflict| {
            (
                conflict.key.clone(),
                shown(conflict.other.as_ref()).unwrap(),
            )
        })
        .collect();
    let lossy = (Key::from(2), json!({ "a": 1, "b": 1 }));
    assert_eq!(others, [lossy, (Key::from(3), json!([1]))]);
}

#[test]
fn a_change_against_a_removal_is_kept_and_the_removal_listed() {
    for removed_later in [false, true] {
        let (desk, pocket) = two(plain, MergeBy::Record);
        desk.put("notes", 1, &json!("old"));
        quiet(&[&desk, &pocket], &mut 0);
        let (first, second) = if removed_later {
            (100, 101)
        } else {
            (101, 100)
        };
        desk.put("notes", 1, &json!("new"));
        desk.take(first);
        pocket.delete("notes", 1);
        pocket.take(second);
        quiet(&[&desk, &pocket], &mut 200);
        assert_eq!(pocket.get("notes", 1), Some(json!("new")));
        assert_eq!(desk.content(), pocket.content());
        let conflicts = desk.mirror().conflicts().unwrap();
        assert_eq!(conflicts.len(), 1);
        assert!(conflicts[0].other.is_none());
        assert_eq!(shown(conflicts[0].kept.as_ref()), Some(json!("new")));
    }
}

#[test]
fn a_record_that_a_unique_index_refuses_waits_in_the_page() {
    let (desk, pocket) = two(unique, MergeBy::Record);
    desk.put("notes", 1, &json!({ "name": "Emma" }));
    pocket.put("notes", 2, &json!({ "name": "Emma" }));
    pocket.put("notes", 3, &json!({ "name": "Fanny" }));
    desk.take(1);
    pocket.take(2);
    meet(&desk, &pocket);
    let applied = desk.apply(3);
    assert_eq!(applied.put, 1);
    let [apart] = &applied.apart[..] else {
        panic!("{applied:?}")
    };
    assert_eq!(
        (&apart.key, apart.object_store.clone()),
        (&Some(Key::from(2)), "notes".into())
    );
    assert!(matches!(apart.reason, Reason::Unique(_)), "{apart:?}");
    assert_eq!(desk.get("notes", 2), None);
    // It is still so, and the mirror says so.
    assert_eq!(desk.apply(4).apart.len(), 1);
    desk.put("notes", 1, &json!({ "name": "Anne" }));
    let applied = desk.apply(5);
    assert_eq!((applied.put, applied.apart.len()), (1, 0));
    assert_eq!(desk.get("notes", 2), Some(json!({ "name": "Emma" })));
    quiet(&[&desk, &pocket], &mut 10);
    assert_eq!(desk.content(), pocket.content());
}

#[test]
fn records_that_change_places_in_a_unique_index_are_applied_together() {
    let (desk, pocket) = two(unique, MergeBy::Record);
    desk.put("notes", 1, &json!({ "name": "Emma" }));
    desk.put("notes", 2, &json!({ "name": "Fanny" }));
    quiet(&[&desk, &pocket], &mut 0);
    desk.put("notes", 1, &json!({ "name": "x" }));
    desk.put("notes", 2, &json!({ "name": "Emma" }));
    desk.put("notes", 1, &json!({ "name": "Fanny" }));
    desk.take(50);
    meet(&desk, &pocket);
    let applied = pocket.apply(51);
    assert_eq!((applied.put, applied.apart.len()), (2, 0));
    assert_eq!(desk.content(), pocket.content());
}

#[test]
fn what_waits_and_is_overwritten_is_listed() {
    let (desk, pocket) = two(unique, MergeBy::Record);
    desk.put("notes", 1, &json!({ "name": "Emma" }));
    pocket.put("notes", 2, &json!({ "name": "Emma" }));
    desk.take(1);
    pocket.take(2);
    meet(&desk, &pocket);
    assert_eq!(desk.apply(3).apart.len(), 1);
    desk.put("notes", 2, &json!({ "name": "Lucy" }));
    assert_eq!(desk.take(4).conflicts, 1);
    let conflicts = desk.mirror().conflicts().unwrap();
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].key, Key::from(2));
    assert_eq!(
        shown(conflicts[0].other.as_ref()),
        Some(json!({ "name": "Emma" }))
    );
}

fn add(device: &Device, store: &str, value: &serde_json::Value) -> Key {
    let transaction = device.begin();
    let value = Value::serialize(value).unwrap();
    let key = transaction.object_store(store).unwrap().add(value, None);
    let key = key.unwrap().wait().unwrap();
    device.commit(transaction);
    key
}

const CYCLE: f64 = (1 << 28) as f64;

#[test]
fn each_device_generates_keys_at_places_of_its_own() {
    let (desk, pocket) = two(numbered, MergeBy::Record);
    let half = CYCLE / 2.0;
    for device in [&desk, &pocket] {
        device.take(1);
    }
    assert_eq!(add(&desk, "notes", &json!("a")), Key::Number(1.0));
    assert_eq!(add(&pocket, "notes", &json!("b")), Key::Number(half + 1.0));
    assert_eq!(
        add(&pocket, "cards", &json!({ "x": 1 })),
        Key::Number(half + 1.0)
    );
    quiet(&[&desk, &pocket], &mut 10);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(desk.content().len(), 3);
    // Behind all that is there, on both.
    assert_eq!(add(&desk, "notes", &json!("c")), Key::Number(CYCLE + 1.0));
    assert_eq!(add(&desk, "cards", &json!({})), Key::Number(CYCLE + 1.0));
    assert_eq!(add(&pocket, "notes", &json!("d")), Key::Number(half + 2.0));
    quiet(&[&desk, &pocket], &mut 20);
    assert_eq!(
        add(&pocket, "notes", &json!("e")),
        Key::Number(CYCLE + half + 1.0)
    );
    quiet(&[&desk, &pocket], &mut 30);
    assert_eq!(desk.content(), pocket.content());
    assert!(desk.mirror().conflicts().unwrap().is_empty());
}

/// A put moves a generator behind its key, and the mirror cannot see it before the next one.
#[test]
fn a_record_of_another_device_put_again_leads_to_no_key_that_is_there() {
    let (desk, pocket) = two(numbered, MergeBy::Record);
    for device in [&desk, &pocket] {
        device.take(1);
    }
    let keys: Vec<Key> = (0..3)
        .map(|number| add(&pocket, "notes", &json!(number)))
        .collect();
    add(&desk, "notes", &json!("mine"));
    quiet(&[&desk, &pocket], &mut 10);
    let before = desk.content();
    assert_eq!(before.len(), 4);
    desk.put("notes", keys[0].clone(), &json!("changed"));
    // A put without a key would overwrite what an add stumbles over.
    let transaction = desk.begin();
    let notes = transaction.object_store("notes").unwrap();
    let value = Value::serialize("new").unwrap();
    let new = notes.put(value, None).unwrap().wait().unwrap();
    desk.commit(transaction);
    assert_eq!(desk.content().len(), before.len() + 1, "{new:?}");
    quiet(&[&desk, &pocket], &mut 20);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(desk.content().len(), before.len() + 1);
}

/// At once, without another round of the mirror.
#[test]
fn what_comes_moves_a_generator_to_a_place_of_the_device() {
    let (desk, pocket) = two(numbered, MergeBy::Record);
    let half = CYCLE / 2.0;
    // Before the mirror has seen it, the other device generates a number at this one's place.
    assert_eq!(add(&pocket, "notes", &json!("a")), Key::Number(1.0));
    pocket.take(1);
    assert_eq!(add(&pocket, "notes", &json!("b")), Key::Number(half + 1.0));
    pocket.take(2);
    desk.take(3);
    desk.page.pull_from(&pocket.page, false).unwrap();
    assert_eq!(desk.apply(4).put, 2);
    assert_eq!(add(&desk, "notes", &json!("c")), Key::Number(CYCLE + 1.0));
    desk.take(5);
    meet(&desk, &pocket);
    pocket.apply(6);
    assert_eq!(
        add(&pocket, "notes", &json!("d")),
        Key::Number(CYCLE + half + 1.0)
    );
}

/// No generator gives such a number, and a generator behind it is used up.
#[test]
fn a_number_behind_all_that_generators_give_uses_up_no_other_generator() {
    let (desk, pocket) = two(numbered, MergeBy::Record);
    for key in [1e300, -5.0, 9_007_199_254_740_992.0] {
        pocket.put("notes", key, &json!("far"));
    }
    pocket.put("notes", 7.5, &json!("near"));
    quiet(&[&desk, &pocket], &mut 10);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(add(&desk, "notes", &json!("a")), Key::Number(8.0));
}

#[test]
fn a_key_that_two_devices_choose_is_a_conflict() {
    let (desk, pocket) = two(numbered, MergeBy::Record);
    desk.put("notes", 7, &json!("one"));
    pocket.put("notes", 7, &json!("two"));
    desk.put("notes", 8, &json!("same"));
    pocket.put("notes", 8, &json!("same"));
    quiet(&[&desk, &pocket], &mut 10);
    assert_eq!(desk.content(), pocket.content());
    let conflicts = desk.mirror().conflicts().unwrap();
    assert_eq!(conflicts.len(), 1);
    let mut both = [&conflicts[0].kept, &conflicts[0].other]
        .map(|value| shown(value.as_ref()).unwrap().to_string());
    both.sort();
    assert_eq!(both, ["\"one\"", "\"two\""]);
}

#[test]
fn a_handle_stays_on_its_device_and_is_not_overwritten() {
    let (desk, pocket) = two(plain, MergeBy::Record);
    desk.put("notes", 1, &json!("old"));
    quiet(&[&desk, &pocket], &mut 0);
    desk.put_handle(1);
    let taken = desk.take(20);
    assert_eq!((taken.put, taken.skipped.len()), (0, 1));
    assert_eq!(taken.skipped[0].reason, Reason::Handle);
    assert_eq!(taken.skipped[0].key, Some(Key::from(1)));
    pocket.put("notes", 1, &json!("theirs"));
    pocket.take(21);
    meet(&desk, &pocket);
    let applied = desk.apply(22);
    assert_eq!((applied.put, applied.apart.len()), (0, 1));
    assert_eq!(desk.get("notes", 1), Some(json!("with a handle")));
    // What has come meanwhile is not lost when the record is put again.
    desk.put("notes", 1, &json!("ours"));
    assert_eq!(desk.take(23).conflicts, 1);
    quiet(&[&desk, &pocket], &mut 30);
    assert_eq!(pocket.get("notes", 1), Some(json!("ours")));
    let conflicts = desk.mirror().conflicts().unwrap();
    assert_eq!(shown(conflicts[0].other.as_ref()), Some(json!("theirs")));
    assert!(desk.apply(99).apart.is_empty());
}

#[test]
fn long_keys_and_names_have_hashes() {
    let (desk, pocket) = two(plain, MergeBy::Record);
    let long = |end: &str| Key::from(format!("{}{end}", "k".repeat(3000)).as_str());
    desk.put("notes", long("a"), &json!(1));
    desk.put("notes", long("b"), &json!(2));
    desk.put("notes", "k".repeat(1000).as_str(), &json!(3));
    quiet(&[&desk, &pocket], &mut 0);
    assert_eq!(desk.content().len(), 3);
    assert_eq!(desk.content(), pocket.content());
    desk.put("notes", long("a"), &json!("desk"));
    desk.take(50);
    pocket.put("notes", long("a"), &json!("pocket"));
    pocket.delete("notes", long("b"));
    pocket.take(51);
    quiet(&[&desk, &pocket], &mut 60);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(desk.get("notes", long("b")), None);
    let conflicts = desk.mirror().conflicts().unwrap();
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].key, long("a"));
    assert_eq!(shown(conflicts[0].other.as_ref()), Some(json!("desk")));
}

#[test]
fn a_conflict_of_a_key_that_is_very_long_is_listed_and_settled() {
    let (desk, pocket) = two(plain, MergeBy::Record);
    let long = |end: &str| Key::from(format!("{}{end}", "k".repeat(90_000)).as_str());
    for end in ["a", "b"] {
        desk.put("notes", long(end), &json!("old"));
    }
    quiet(&[&desk, &pocket], &mut 0);
    desk.put("notes", long("a"), &json!("desk"));
    desk.delete("notes", long("b"));
    desk.take(50);
    for end in ["a", "b"] {
        pocket.put("notes", long(end), &json!("pocket"));
    }
    pocket.take(51);
    quiet(&[&desk, &pocket], &mut 60);
    let mirror = desk.mirror();
    assert_eq!(mirror.conflict_count().unwrap(), 2);
    let conflicts = mirror.conflicts().unwrap();
    let mut found: Vec<_> = (conflicts.iter())
        .map(|conflict| (conflict.key.clone(), shown(conflict.other.as_ref())))
        .collect();
    found.sort_by_key(|(key, _)| *key == long("b"));
    assert_eq!(found, [(long("a"), Some(json!("desk"))), (long("b"), None)]);
    assert!(mirror.settle(&conflicts[0], Timestamp(90)).unwrap());
    assert_eq!(mirror.settle_all(Timestamp(91)).unwrap(), 1);
    assert!(mirror.conflicts().unwrap().is_empty());
    drop(mirror);
    quiet(&[&desk, &pocket], &mut 100);
    assert_eq!(pocket.mirror().conflict_count().unwrap(), 0);
}

/// A page comes of other devices, whose programs may be others, and of a cloud.
#[test]
fn entries_that_no_mirror_writes_stop_nothing_beside_them_and_overwrite_nothing() {
    for merge_by in [MergeBy::Record, MergeBy::Property] {
        let (desk, pocket) = two(plain, merge_by);
        let long = |end: &str| Key::from(format!("{}{end}", "k".repeat(3000)).as_str());
        for key in [Key::from(1), Key::from(2), long("a"), long("b")] {
            desk.put("notes", key, &json!({ "text": "old" }));
        }
        quiet(&[&desk, &pocket], &mut 0);
        let snapshot = pocket.page.snapshot(&pocket.page.heads()[0], b"");
        let entries = |prefix: &[u8]| -> Vec<_> {
            let entries = snapshot.entries(prefix).unwrap().map(Result::unwrap);
            entries
                .take_while(|entry| entry.key.starts_with(prefix))
                .collect()
        };
        let (short, long_ones) = (entries(b"r"), entries(b"R"));
        let mut journal = pocket.page.begin().unwrap();
        journal
            .put(&short[0].key, b"\x07 of a version to come")
            .unwrap();
        // The record of one key in the entry of another.
        let other = snapshot.get(&long_ones[1].key).unwrap().unwrap();
        journal.put(&long_ones[0].key, &other).unwrap();
        let mut misplaced = long_ones[0].key.clone();
        *misplaced.last_mut().unwrap() ^= 1;
        journal.put(&misplaced, &other).unwrap();
        // A key that is too long for an entry of this kind.
        let longer = Key::from("k".repeat(1020).as_str());
        let mut not_its_own = vec![b'r'];
        let array = Key::array(vec![Key::from("notes"), longer.clone()]).unwrap();
        larder_idb::codec::sortable::encode(&array, &mut not_its_own);
        assert!(
            (1025..1057).contains(&not_its_own.len()),
            "{}",
            not_its_own.len()
        );
        let value = snapshot.get(&short[1].key).unwrap().unwrap();
        journal.put(&not_its_own, &value).unwrap();
        journal.put(b"r\xff", b"no key").unwrap();
        journal.put(b"R\x01", b"no key either").unwrap();
        pocket.page.commit(journal, Timestamp(50)).unwrap();
        desk.put("notes", 1, &json!({ "text": "changed" }));
        desk.put("notes", 3, &json!({ "text": "new" }));
        for end in ["a", "b"] {
            desk.delete("notes", long(end));
        }
        desk.take(51);
        let before = desk.content();
        desk.page.pull_from(&pocket.page, false).unwrap();
        let applied = desk.apply(52);
        assert!(applied.is_one && !applied.apart.is_empty(), "{applied:?}");
        assert_eq!(desk.content(), before);
        desk.mirror().conflicts().unwrap();
        assert!(desk.mirror().conflict_count().unwrap() > 0);
        desk.mirror().settle_all(Timestamp(53)).unwrap();
        let mut journal = pocket.page.begin_on(&pocket.page.heads()[0]);
        journal.delete(&misplaced).unwrap();
        pocket.page.commit(journal, Timestamp(54)).unwrap();
        // What is apart and what is not go on, however often.
        desk.put("notes", 4, &json!({ "text": "newer" }));
        pocket.page.pull_from(&desk.page, false).unwrap();
        quiet(&[&desk, &pocket], &mut 60);
        assert_eq!(pocket.get("notes", 4), desk.get("notes", 4));
        assert_eq!(pocket.get("notes", 3), desk.get("notes", 3));
    }
}

#[test]
fn equal_blobs_share_pieces_and_a_change_beside_one_does_not_write_it_again() {
    let (desk, pocket) = two(plain, MergeBy::Record);
    let mut random = larder_fixtures::random::Random::new(1);
    let blob: Vec<u8> = (0..900_000).map(|_| random.next() as u8).collect();
    let put = |key: u32, text: &str| {
        let transaction = desk.begin();
        let blob = NewExternalObject::Blob {
            mime_type: "a/b".into(),
            content: Arc::new(blob.clone()),
        };
        let value = Value::serialize(text).unwrap().and_objects(vec![blob]);
        let store = transaction.object_store("notes").unwrap();
        store.put(value, Some(key.into())).unwrap().wait().unwrap();
        desk.commit(transaction);
    };
    put(1, "one");
    desk.take(1);
    let first = desk.page.unsynced_pieces(None, 10_000).unwrap().len();
    put(1, "another text");
    put(2, "a second record");
    desk.take(2);
    let both = desk.page.unsynced_pieces(None, 10_000).unwrap().len();
    pocket.page.pull_from(&desk.page, false).unwrap();
    assert!(
        first > 20 && both < first + 12,
        "{first} pieces, then {both}"
    );
    pocket.apply(3);
    assert_eq!(desk.content(), pocket.content());
}
