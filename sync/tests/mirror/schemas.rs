//! Schemas: a device that is ahead or behind, one that is made, two that differ.

use larder_idb::{IndexParameters, KeyPath, ObjectStoreParameters, Upgrade};
use larder_pages::Timestamp;
use larder_sync::{MirrorError, MirrorOptions, create_from_page};
use serde_json::json;

use crate::device::{Device, meet, open_storage, origin, page, quiet, wait};

fn one(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    if upgrade.old_version == 0 {
        transaction.create_object_store("notes", ObjectStoreParameters::new())?;
        transaction.create_object_store("old", ObjectStoreParameters::new())?;
    }
    transaction.set_change_feed(true)
}

/// The second version: an object store more, one that has another name, one that is gone, an index.
fn two(upgrade: &Upgrade) -> larder_idb::Result<()> {
    one(upgrade)?;
    let transaction = &upgrade.transaction;
    if upgrade.old_version < 2 {
        let by_id = ObjectStoreParameters::new()
            .key_path("id")
            .auto_increment(true);
        transaction.create_object_store("cards", by_id)?;
        transaction.object_store("notes")?.rename("letters")?;
        transaction.delete_object_store("old")?;
        let each = IndexParameters::new().multi_entry(true);
        let letters = transaction.object_store("letters")?;
        letters.create_index("by tag", KeyPath::from("tags"), each)?;
    }
    Ok(())
}

fn is_behind(result: Result<impl std::fmt::Debug, MirrorError>, versions: (u64, u64)) {
    match result {
        Err(MirrorError::Behind { database, page }) => assert_eq!((database, page), versions),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_that_is_behind_waits_and_comes_after_with_its_upgrade() {
    let options = MirrorOptions::new;
    let desk = Device::new(options(), one);
    let pocket = Device::new(options().device_number(1), one);
    desk.put("notes", 1, &json!({ "tags": ["a"] }));
    desk.put("old", 1, &json!("old"));
    quiet(&[&desk, &pocket], &mut 0);
    let desk = desk.reopened(2, two);
    desk.put("letters", 2, &json!({ "tags": ["b"] }));
    desk.put("cards", 0, &json!({ "text": "card" }));
    desk.take(50);
    meet(&desk, &pocket);
    pocket.put("notes", 3, &json!({ "tags": ["c"] }));
    let (before, heads) = (pocket.content(), pocket.page.heads());
    let mut mirror = pocket.mirror();
    is_behind(pocket.wait(mirror.take(Timestamp(51))), (1, 2));
    is_behind(pocket.wait(mirror.apply(Timestamp(52))), (1, 2));
    assert_eq!((pocket.content(), pocket.page.heads()), (before, heads));
    drop(mirror);
    let pocket = pocket.reopened(2, two);
    quiet(&[&desk, &pocket], &mut 60);
    assert_eq!(desk.content(), pocket.content());
    let letters = ["1.0", "2.0", "3.0"].map(|key| ("letters".to_owned(), format!("Number({key})")));
    assert!(
        letters
            .iter()
            .all(|place| desk.content().contains_key(place))
    );
    assert_eq!(desk.content().len(), 4);
    assert!(desk.mirror().conflicts().unwrap().is_empty());
}

/// Both were offline: the page gets the newer schema, and what the older device writes into an object store that is gone stays in the page.
#[test]
fn what_comes_for_an_object_store_that_is_gone_stays_in_the_page() {
    let options = MirrorOptions::new;
    let desk = Device::new(options(), one);
    let pocket = Device::new(options().device_number(1), one);
    desk.put("old", 1, &json!("old"));
    quiet(&[&desk, &pocket], &mut 0);
    let desk = desk.reopened(2, two);
    desk.take(50);
    pocket.put("old", 2, &json!("new here"));
    pocket.take(51);
    meet(&desk, &pocket);
    let applied = desk.apply(52);
    assert!(applied.is_one && applied.without_store > 0, "{applied:?}");
    let head = desk.page.heads().pop().unwrap();
    // What the database had of it is removed with the object store.
    let snapshot = desk.page.snapshot(&head, b"r");
    assert_eq!(snapshot.entries(b"r").unwrap().count(), 1);
    // The earlier head has the later version.
    let snapshot = desk.page.snapshot(&head, b"s");
    assert_eq!(snapshot.get(b"s").unwrap().unwrap(), [2]);
    assert_eq!(snapshot.entries(b"s").unwrap().count(), 3);
    // A later version has the object store again, and gets what the page has.
    fn three(upgrade: &Upgrade) -> larder_idb::Result<()> {
        let parameters = ObjectStoreParameters::new();
        upgrade
            .transaction
            .create_object_store("old", parameters)
            .map(drop)
    }
    let desk = desk.reopened(3, three);
    let applied = desk.apply(60);
    assert_eq!((applied.put, applied.is_one), (1, true));
    assert_eq!(desk.get("old", 2), Some(json!("new here")));
    assert_eq!(desk.apply(61).put, 0);
}

#[test]
fn a_database_that_is_not_there_is_made_as_the_page_has_it() {
    let desk = Device::of_version(MirrorOptions::new(), 2, two);
    desk.put("letters", 2, &json!({ "tags": ["a", "b"] }));
    desk.put("cards", 0, &json!({ "text": "card" }));
    let storage = open_storage(std::sync::Arc::new(larder_idb::MemoryFileSystem::new())).unwrap();
    let page = page();
    let factory = storage.factory(&origin());
    let made = wait(&storage, create_from_page(&factory, "db", &page));
    assert!(matches!(made, Err(MirrorError::NoSchema)), "{made:?}");
    desk.take(1);
    page.pull_from(&desk.page, false).unwrap();
    let connection = wait(&storage, create_from_page(&factory, "db", &page)).unwrap();
    let pocket = Device {
        connection,
        storage,
        page,
        options: MirrorOptions::new().device_number(1),
    };
    assert_eq!(pocket.apply(2).put, 2);
    assert_eq!(pocket.connection.version(), 2);
    assert_eq!(pocket.content(), desk.content());
    // What made it is no change of its own.
    assert_eq!(pocket.apply(3).taken.put, 0);
    let transaction = pocket.begin();
    let letters = transaction.object_store("letters").unwrap();
    let found = letters.index("by tag").unwrap().get("b").unwrap();
    assert!(pocket.wait(found).unwrap().is_some());
}

#[test]
fn two_schemas_of_one_version_are_not_merged() {
    let desk = Device::new(MirrorOptions::new(), one);
    let pocket = Device::new(MirrorOptions::new().device_number(1), |upgrade| {
        let transaction = &upgrade.transaction;
        let by_id = ObjectStoreParameters::new().key_path("id");
        transaction.create_object_store("notes", by_id)?;
        transaction.create_object_store("old", ObjectStoreParameters::new())?;
        transaction.set_change_feed(true)
    });
    desk.put("notes", 1, &json!(1));
    desk.take(1);
    pocket.take(2);
    meet(&desk, &pocket);
    let heads = pocket.page.heads();
    for device in [&desk, &pocket] {
        let mut mirror = device.mirror();
        let failed = device.wait(mirror.apply(Timestamp(3)));
        match failed {
            Err(MirrorError::SchemaDiffers { version: 1, what }) => {
                assert_eq!(what, "object store \"notes\": its key path");
            }
            other => panic!("{other:?}"),
        }
        let merged = mirror.merge();
        assert!(
            matches!(merged, Err(MirrorError::SchemaDiffers { .. })),
            "{merged:?}"
        );
        assert_eq!(device.page.heads(), heads);
    }
    assert_eq!(pocket.content().len(), 0);
}
