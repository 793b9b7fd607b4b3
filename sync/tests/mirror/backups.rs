//! One of the two is older than the other says: a backup was restored. And what comes between the steps of an `apply`.

use std::sync::Arc;

use larder_idb::{MemoryFileSystem, ObjectStoreParameters, Upgrade};
use larder_leveldb::storage::CrashImage;
use larder_pages::Timestamp;
use larder_sync::{MirrorError, MirrorOptions};
use serde_json::json;

use crate::device::{Device, connect, json as shown, meet, open_page, open_storage, quiet};

fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let parameters = ObjectStoreParameters::new();
    upgrade
        .transaction
        .create_object_store("notes", parameters)?;
    upgrade.transaction.set_change_feed(true)
}

fn on(database: &MemoryFileSystem, pages: &MemoryFileSystem) -> Device {
    let storage = open_storage(Arc::new(database.clone())).unwrap();
    Device {
        connection: connect(&storage, 1, upgrade).unwrap(),
        storage,
        page: open_page(Arc::new(pages.clone())).unwrap(),
        options: MirrorOptions::new(),
    }
}

fn image(files: &MemoryFileSystem) -> MemoryFileSystem {
    files.crash_image(CrashImage::KeepWritten)
}

#[test]
fn a_database_of_a_backup_meets_its_page_again() {
    for changes_after in [false, true] {
        let (database, pages) = (MemoryFileSystem::new(), MemoryFileSystem::new());
        let desk = on(&database, &pages);
        let pocket = Device::new(MirrorOptions::new().device_number(1), upgrade);
        desk.put("notes", 1, &json!("one"));
        desk.put("notes", 2, &json!("two"));
        desk.put("notes", 3, &json!("three"));
        quiet(&[&desk, &pocket], &mut 0);
        let backup = image(&database);
        desk.put("notes", 1, &json!("one, later"));
        desk.delete("notes", 2);
        pocket.put("notes", 4, &json!("four"));
        quiet(&[&desk, &pocket], &mut 50);
        drop(desk);
        let desk = on(&backup, &image(&pages));
        if changes_after {
            // So many that the feed is as long as it was.
            for _ in 0..9 {
                desk.put("notes", 5, &json!("five"));
            }
        }
        quiet(&[&desk, &pocket], &mut 100);
        assert_eq!(desk.content(), pocket.content());
        // What the page had is kept, what the backup had is listed, and what was removed since is back: but for a backup that is what the
        // first commit was, which is in the page.
        assert_eq!(desk.get("notes", 1), Some(json!("one, later")));
        let (two, one) = (json!("two"), Some(json!("one")));
        assert_eq!(desk.get("notes", 2), changes_after.then_some(two));
        assert_eq!(desk.get("notes", 3), Some(json!("three")));
        assert_eq!(desk.get("notes", 4), Some(json!("four")));
        assert_eq!(desk.get("notes", 5).is_some(), changes_after);
        let conflicts = desk.mirror().conflicts().unwrap();
        let others: Vec<_> = conflicts
            .iter()
            .map(|found| shown(found.other.as_ref()))
            .collect();
        assert_eq!(others, if changes_after { vec![one] } else { vec![] });
    }
}

/// One take between backup and restoration looks like a crash in the middle of a take, but for what is noted before.
#[test]
fn a_database_from_before_one_take_is_no_crash() {
    let (database, pages) = (MemoryFileSystem::new(), MemoryFileSystem::new());
    let desk = on(&database, &pages);
    let pocket = Device::new(MirrorOptions::new().device_number(1), upgrade);
    desk.put("notes", 1, &json!("one"));
    quiet(&[&desk, &pocket], &mut 0);
    let backup = image(&database);
    desk.put("notes", 2, &json!("only in the page"));
    desk.take(50);
    drop(desk);
    let desk = on(&backup, &image(&pages));
    for number in 3..6 {
        desk.put("notes", number, &json!("since"));
    }
    quiet(&[&desk, &pocket], &mut 100);
    assert_eq!(desk.content(), pocket.content());
    assert_eq!(desk.get("notes", 2), Some(json!("only in the page")));
    for number in 3..6 {
        assert_eq!(pocket.get("notes", number), Some(json!("since")));
    }
}

/// A backup from before the page's changes were applied: the page's note alone says that they were.
#[test]
fn a_database_from_before_an_apply_gets_it_again() {
    let (database, pages) = (MemoryFileSystem::new(), MemoryFileSystem::new());
    let desk = on(&database, &pages);
    let pocket = Device::new(MirrorOptions::new().device_number(1), upgrade);
    desk.put("notes", 1, &json!("one"));
    quiet(&[&desk, &pocket], &mut 0);
    pocket.put("notes", 2, &json!("two"));
    pocket.take(50);
    meet(&desk, &pocket);
    let backup = image(&database);
    assert_eq!(desk.apply(51).put, 1);
    let desk = on(&backup, &image(&pages));
    desk.apply(60);
    assert_eq!(desk.get("notes", 2), Some(json!("two")));
    assert_eq!(desk.content(), pocket.content());
    assert!(desk.mirror().conflicts().unwrap().is_empty());
}

#[test]
fn a_page_of_a_backup_or_another_one_gets_everything() {
    let (database, pages) = (MemoryFileSystem::new(), MemoryFileSystem::new());
    let desk = on(&database, &pages);
    desk.put("notes", 1, &json!("one"));
    desk.take(1);
    let backup = image(&pages);
    desk.put("notes", 2, &json!("two"));
    desk.take(2);
    drop(desk);
    for pages in [backup, MemoryFileSystem::new()] {
        let desk = on(&image(&database), &pages);
        desk.apply(10);
        let pocket = Device::new(MirrorOptions::new().device_number(1), upgrade);
        meet(&desk, &pocket);
        pocket.apply(11);
        assert_eq!(pocket.content(), desk.content());
        assert_eq!(pocket.content().len(), 2);
        assert!(desk.mirror().conflicts().unwrap().is_empty());
    }
}

/// Another connection changes the database in the middle of each try.
#[test]
fn a_change_that_slips_in_is_taken_before_anything_is_applied() {
    let desk = Device::new(MirrorOptions::new(), upgrade);
    let pocket = Device::new(MirrorOptions::new().device_number(1), upgrade);
    desk.put("notes", 1, &json!("old"));
    quiet(&[&desk, &pocket], &mut 0);
    pocket.put("notes", 1, &json!("there"));
    pocket.take(50);
    desk.page.pull_from(&pocket.page, false).unwrap();
    // The transaction that applies waits for this one, which was made before it and after what is taken was read.
    let mut mirror = desk.mirror();
    let mut applying = Box::pin(mirror.apply(Timestamp(60)));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut slipped = 0;
    let applied = loop {
        if let std::task::Poll::Ready(done) = applying.as_mut().poll(&mut context) {
            break done;
        }
        if slipped < 3 {
            let transaction = desk.begin();
            let store = transaction.object_store("notes").unwrap();
            let value = larder_idb::Value::serialize(&format!("here {slipped}")).unwrap();
            store.put(value, Some(1.into())).unwrap().detach();
            transaction.commit().unwrap().detach();
            slipped += 1;
        }
        desk.storage.run_one();
    };
    applied.unwrap();
    drop(applying);
    drop(mirror);
    quiet(&[&desk, &pocket], &mut 100);
    assert_eq!(desk.content(), pocket.content());
    let conflicts = desk.mirror().conflicts().unwrap();
    let mut both = vec![desk.get("notes", 1).unwrap()];
    both.extend(
        conflicts
            .iter()
            .filter_map(|found| shown(found.other.as_ref())),
    );
    assert!(
        both.contains(&json!("here 2")) && both.contains(&json!("there")),
        "{both:?}"
    );
}

#[test]
fn a_page_of_short_keys_and_a_database_without_a_feed_are_refused() {
    let desk = Device::new(MirrorOptions::new(), upgrade);
    let short = larder_pages::Page::open(
        Arc::new(MemoryFileSystem::new()),
        std::path::Path::new("page"),
        larder_pages::PageOptions::default(),
    );
    let refused = Device {
        page: short.unwrap(),
        ..desk
    };
    assert!(matches!(
        refused.try_mirror(),
        Err(MirrorError::KeysTooShort)
    ));
    let bare = Device::new(MirrorOptions::new(), |upgrade| {
        let parameters = ObjectStoreParameters::new();
        upgrade
            .transaction
            .create_object_store("notes", parameters)
            .map(drop)
    });
    let failed = bare.try_mirror();
    assert!(
        matches!(failed, Err(MirrorError::Feed(larder_feed::Error::NoFeed))),
        "{failed:?}"
    );
}
