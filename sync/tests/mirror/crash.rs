//! Crashes at file operations of the database and of the page, at both at once: what has gone into the one or the other counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use larder_fixtures::random::Random;
use larder_idb::{ObjectStoreParameters, Upgrade};
use larder_leveldb::storage::{CrashImage, FaultFileSystem, MemoryFileSystem};
use larder_pages::{CommitId, Page};
use larder_sync::MirrorOptions;
use serde_json::json;

use crate::device::{Device, connect, open_page, open_storage, page, quiet};

fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    transaction.create_object_store("notes", ObjectStoreParameters::new())?;
    let numbered = ObjectStoreParameters::new().auto_increment(true);
    transaction.create_object_store("numbered", numbered)?;
    transaction.set_change_feed(true)
}

/// What was there when it crashed.
struct Image {
    operation: u64,
    of_page: bool,
    database: MemoryFileSystem,
    page: MemoryFileSystem,
}

type Images = Arc<Mutex<Vec<Image>>>;

/// A device on files that are copied at operations, with which nothing is lost that was written: a process that dies.
fn watched(every: u64) -> (Device, Images, Arc<Mutex<bool>>) {
    let (database, pages) = (MemoryFileSystem::new(), MemoryFileSystem::new());
    let images = Images::default();
    let is_on = Arc::new(Mutex::new(false));
    let watch = |of_page: bool, memory: &MemoryFileSystem| {
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        let (images, is_on) = (Arc::clone(&images), Arc::clone(&is_on));
        let (database, pages) = (database.clone(), pages.clone());
        let random = Mutex::new(Random::new(every));
        fs.watch(move |operation| {
            if !*is_on.lock().unwrap() || !random.lock().unwrap().one_in(every) {
                return;
            }
            for model in [CrashImage::KeepWritten, CrashImage::LoseUnsynced] {
                images.lock().unwrap().push(Image {
                    operation,
                    of_page,
                    database: database.crash_image(model),
                    page: pages.crash_image(model),
                });
            }
        });
        fs
    };
    let (of_database, of_pages) = (watch(false, &database), watch(true, &pages));
    let storage = open_storage(of_database).unwrap();
    let device = Device {
        connection: connect(&storage, 1, upgrade).unwrap(),
        storage,
        page: open_page(of_pages).unwrap(),
        options: MirrorOptions::new(),
    };
    (device, images, is_on)
}

impl Image {
    /// The device as it begins again.
    fn opened(&self, options: &MirrorOptions) -> Device {
        let storage = open_storage(Arc::new(self.database.clone())).unwrap();
        Device {
            connection: connect(&storage, 1, upgrade).unwrap(),
            storage,
            page: open_page(Arc::new(self.page.clone())).unwrap(),
            options: options.clone(),
        }
    }
}

/// How many commits of a page are no merges, from its heads down: what was taken from databases.
fn taken(page: &Page) -> usize {
    let mut open: Vec<CommitId> = page.heads().iter().map(|head| head.id()).collect();
    let mut seen = BTreeMap::new();
    while let Some(id) = open.pop() {
        if seen.contains_key(&id) {
            continue;
        }
        let commit = page.commit_by_id(id).unwrap().unwrap();
        open.extend(commit.parents());
        seen.insert(id, !commit.is_merge() && commit.generation() > 0);
    }
    seen.values().filter(|is_taken| **is_taken).count()
}

#[test]
fn after_a_crash_anywhere_each_change_counts_once() {
    let every = match std::env::var_os("LARDER_WHOLE") {
        Some(_) => 1,
        None => 3,
    };
    let (device, images, is_on) = watched(every);
    let other = Device::new(MirrorOptions::new().device_number(1), upgrade);
    let mut now = 0;
    device.put("notes", 1, &json!("one"));
    device.put("notes", 2, &json!("two"));
    other.put("notes", 3, &json!("three"));
    quiet(&[&device, &other], &mut now);
    // From here on it crashes: something of both sides, a record that both change, a removal of each.
    device.put("notes", 1, &json!("one, changed here"));
    device.put("notes", 4, &json!("both: here"));
    device.delete("notes", 2);
    other.put("notes", 4, &json!("both: there"));
    other.put("notes", 5, &json!("x".repeat(500)));
    other.delete("notes", 3);
    other.take(now + 1);
    device.page.pull_from(&other.page, false).unwrap();
    let crossed = page();
    crossed.pull_from(&other.page, false).unwrap();
    *is_on.lock().unwrap() = true;
    device.take(now + 2);
    device.apply(now + 3);
    device.put("notes", 6, &json!("six"));
    device.apply(now + 4);
    *is_on.lock().unwrap() = false;
    let final_taken = taken(&device.page);
    other.page.pull_from(&device.page, false).unwrap();
    let images = std::mem::take(&mut *images.lock().unwrap());
    let mut of_both = [0, 0];
    for image in images {
        of_both[usize::from(image.of_page)] += 1;
        let at = format!(
            "before operation {} of the {}",
            image.operation,
            if image.of_page { "page" } else { "database" }
        );
        let again = image.opened(&device.options);
        let third = Device::new(MirrorOptions::new().device_number(2), upgrade);
        third.page.pull_from(&crossed, false).unwrap();
        // What was to be done before the crash.
        if again.get("notes", 6).is_none() {
            again.apply(now + 3);
            again.put("notes", 6, &json!("six"));
        }
        again.apply(now + 4);
        assert_eq!(again.content(), device.content(), "{at}");
        let count = taken(&again.page);
        assert!(
            count <= final_taken,
            "{at}: {count} commits, not {final_taken}"
        );
        let conflicts = again.mirror().conflicts().unwrap();
        assert_eq!(conflicts.len(), 1, "{at}: {conflicts:?}");
        // Nothing is left to be taken, and nothing that came is taken.
        let heads = again.page.heads();
        let quiet_again = again.apply(now + 9);
        assert_eq!(
            (quiet_again.taken.put, quiet_again.put, quiet_again.removed),
            (0, 0, 0),
            "{at}"
        );
        assert_eq!(again.page.heads(), heads, "{at}");
        third.page.pull_from(&again.page, false).unwrap();
        third.apply(now + 20);
        assert_eq!(third.content(), device.content(), "{at}");
    }
    println!("{of_both:?} crashes at the database's and the page's operations");
    assert!(of_both[0] > 10 && of_both[1] > 10, "{of_both:?}");
}

/// The first meeting crashes, too.
#[test]
fn after_a_crash_of_the_first_meeting_it_begins_anew() {
    let (device, images, is_on) = watched(1);
    device.put("notes", 1, &json!("one"));
    *is_on.lock().unwrap() = true;
    device.take(5);
    *is_on.lock().unwrap() = false;
    let images = std::mem::take(&mut *images.lock().unwrap());
    assert!(images.len() > 20);
    for image in images {
        let again = image.opened(&device.options);
        again.apply(6);
        assert_eq!(
            again.page.heads(),
            device.page.heads(),
            "{}",
            image.operation
        );
        assert_eq!(again.content(), device.content());
    }
}

/// A device whose first take of seven records was four commits, and what a crash at each operation of that would have left.
fn first_take_in_parts() -> (Device, Vec<Image>) {
    let (mut device, images, is_on) = watched(1);
    device.options = MirrorOptions::new().records_per_commit(2);
    for number in 0..7 {
        device.put("notes", number, &json!(number));
    }
    *is_on.lock().unwrap() = true;
    assert_eq!(device.take(5).put, 7);
    *is_on.lock().unwrap() = false;
    assert_eq!(taken(&device.page), 4);
    let images = std::mem::take(&mut *images.lock().unwrap());
    assert!(images.len() > 40);
    (device, images)
}

/// In several commits, each of which may be the last before the crash. What is changed then is kept, whatever is in the page already.
#[test]
fn after_a_crash_of_a_first_take_in_parts_it_goes_on() {
    let (device, images) = first_take_in_parts();
    let mut parts = BTreeSet::new();
    for image in images {
        let again = image.opened(&device.options);
        parts.insert(taken(&again.page));
        again.put("notes", 1, &json!("changed since"));
        again.delete("notes", 2);
        again.apply(6);
        assert_eq!(again.page.heads().len(), 1, "{}", image.operation);
        let expected = (0..7).map(|number| match number {
            1 => Some(json!("changed since")),
            2 => None,
            _ => Some(json!(number)),
        });
        let found = (0..7).map(|number| again.get("notes", number));
        assert!(found.eq(expected), "{}", image.operation);
        assert_eq!(again.mirror().conflict_count().unwrap(), 0);
        let other = Device::new(MirrorOptions::new().device_number(1), upgrade);
        other.page.pull_from(&again.page, false).unwrap();
        other.apply(7);
        assert_eq!(other.content(), again.content());
    }
    assert_eq!(parts, (0..=4).collect());
}

/// The database is lost, or the page goes on as another device's: what was taken by then is the page's, and the new database gets it.
#[test]
fn a_first_take_that_was_cut_off_is_no_take_of_another_database() {
    let (device, images) = first_take_in_parts();
    let mut parts = BTreeSet::new();
    for image in images {
        let page = image.opened(&device.options).page;
        let there = taken(&page);
        parts.insert(there);
        let fresh = Device {
            page,
            ..Device::new(device.options.clone(), upgrade)
        };
        fresh.put("notes", 100, &json!("its own"));
        fresh.apply(6);
        // Two records in each commit, but for the last; the last has the note as well.
        let found = (0..7).filter(|number| fresh.get("notes", *number).is_some());
        let expected = (2 * there).min(7);
        assert_eq!(found.count(), expected, "{}", image.operation);
        assert_eq!(fresh.get("notes", 100), Some(json!("its own")));
        let other = Device::new(MirrorOptions::new().device_number(1), upgrade);
        other.page.pull_from(&fresh.page, false).unwrap();
        other.apply(7);
        assert_eq!(other.content(), fresh.content());
    }
    assert_eq!(parts, (0..=4).collect());
}
