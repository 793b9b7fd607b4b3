//! Feeds that were cleaned up behind a mirror: all is taken again, and what is gone is missed.

use larder_feed::{CleanUp, Feed};
use larder_idb::{Key, ObjectStoreParameters, Upgrade};
use larder_pages::Timestamp;
use larder_sync::{MirrorOptions, Reason};
use serde_json::json;

use crate::device::{Device, meet, quiet};

fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    transaction.create_object_store("notes", ObjectStoreParameters::new())?;
    transaction.set_change_feed(true)
}

fn two() -> [Device; 2] {
    let options = |number| MirrorOptions::new().device_number(number);
    [0, 1].map(|number| Device::new(options(number), upgrade))
}

/// Cleans up everything, whatever consumers have yet to read.
fn clean(device: &Device) {
    let feed = Feed::of(&device.connection).unwrap();
    let options = CleanUp::new().lag_max(0);
    while device.wait(feed.clean(options)).unwrap().is_more {}
}

#[test]
fn what_was_changed_and_cleaned_up_is_taken() {
    let [desk, pocket] = two();
    let long = || Key::from("k".repeat(3000).as_str());
    for key in [1, 2, 3].map(Key::from).into_iter().chain([long()]) {
        desk.put("notes", key, &json!("old"));
    }
    quiet(&[&desk, &pocket], &mut 0);
    // One that no mirror writes lies among its records.
    let head = desk.page.heads().remove(0);
    let first = desk.page.snapshot(&head, b"").entries(b"r").unwrap().next();
    let foreign = [&first.unwrap().unwrap().key[..], b"\xff"].concat();
    let mut journal = desk.page.begin().unwrap();
    journal.put(&foreign, b"of another program").unwrap();
    desk.page.commit(journal, Timestamp(40)).unwrap();
    assert_eq!(desk.apply(41).apart.len(), 1);
    desk.put("notes", 2, &json!("new"));
    desk.put("notes", 4, &json!("more"));
    for key in [Key::from(3), long()] {
        desk.delete("notes", key);
    }
    clean(&desk);
    let taken = desk.take(50);
    // Which of them have changed cannot be known.
    assert_eq!((taken.put, taken.removed), (3, 2));
    assert_eq!(desk.take(51).put, 0);
    meet(&desk, &pocket);
    pocket.apply(60);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(pocket.get("notes", 2), Some(json!("new")));
    assert_eq!(pocket.content().len(), 3);
    assert_eq!(desk.mirror().conflict_count().unwrap(), 0);
}

/// A record with a handle is not taken, and its page has the one before. If it is gone, so is that one.
#[test]
fn a_record_that_was_apart_and_is_gone_is_missed() {
    let [desk, pocket] = two();
    desk.put("notes", 1, &json!("old"));
    quiet(&[&desk, &pocket], &mut 0);
    desk.put_handle(1);
    assert_eq!(desk.take(50).skipped[0].reason, Reason::Handle);
    desk.delete("notes", 1);
    clean(&desk);
    assert_eq!(desk.take(51).removed, 1);
    quiet(&[&desk, &pocket], &mut 60);
    assert_eq!(pocket.get("notes", 1), None);
}

/// The handle was in another object store of that name. It keeps nothing from the new one.
#[test]
fn what_was_apart_in_an_object_store_that_is_gone_keeps_nothing_away() {
    fn again(upgrade: &Upgrade) -> larder_idb::Result<()> {
        let transaction = &upgrade.transaction;
        transaction.delete_object_store("notes")?;
        transaction.create_object_store("notes", ObjectStoreParameters::new())?;
        Ok(())
    }
    for is_cleaned in [false, true] {
        let [desk, pocket] = two();
        desk.put("notes", 2, &json!("old"));
        quiet(&[&desk, &pocket], &mut 0);
        desk.put_handle(1);
        desk.take(50);
        let [desk, pocket] = [desk, pocket].map(|device| device.reopened(2, again));
        if is_cleaned {
            clean(&desk);
        }
        desk.take(51);
        quiet(&[&desk, &pocket], &mut 60);
        pocket.put("notes", 1, &json!("new"));
        pocket.take(90);
        meet(&desk, &pocket);
        desk.apply(91);
        assert_eq!(desk.get("notes", 1), Some(json!("new")), "{is_cleaned}");
        assert!(desk.apply(92).apart.is_empty());
    }
}

/// A new object store of a name of which the page has records: they were not applied yet when the feed was cleaned up.
#[test]
fn what_the_database_never_had_is_not_missed() {
    fn without(upgrade: &Upgrade) -> larder_idb::Result<()> {
        let transaction = &upgrade.transaction;
        transaction.delete_object_store("notes")?;
        transaction.create_object_store("other", ObjectStoreParameters::new())?;
        Ok(())
    }
    fn again(upgrade: &Upgrade) -> larder_idb::Result<()> {
        let transaction = &upgrade.transaction;
        transaction.create_object_store("notes", ObjectStoreParameters::new())?;
        Ok(())
    }
    let [desk, pocket] = two();
    desk.put("notes", 1, &json!("old"));
    quiet(&[&desk, &pocket], &mut 0);
    let desk = desk.reopened(2, without);
    desk.take(50);
    pocket.put("notes", 2, &json!("new there"));
    pocket.take(51);
    meet(&desk, &pocket);
    assert!(desk.apply(52).without_store > 0);
    let desk = desk.reopened(3, again);
    desk.take(53);
    desk.put("other", 1, &json!("x"));
    clean(&desk);
    desk.take(54);
    desk.apply(55);
    assert_eq!(desk.get("notes", 2), Some(json!("new there")));
}
