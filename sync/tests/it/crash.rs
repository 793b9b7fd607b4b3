//! Crashes at operations of the files: of a device's page, and of the folder that is the cloud.

use crate::device::{Device, PAGE, SEGMENT_MAX, content, open_page};
use crate::random::value;
use larder_fixtures::random::Random;
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, FileSystem, MemoryFileSystem};
use larder_pages::{MergePolicy, Timestamp};
use larder_sync::{DeviceId, ErrorKind, FolderCloud, PageSync, Result};
use std::path::Path;
use std::sync::Arc;

fn folder(files: Arc<dyn FileSystem>) -> Result<Arc<FolderCloud>> {
    FolderCloud::open(files, Path::new("cloud")).map(Arc::new)
}

type Committed = Vec<(Vec<u8>, Vec<u8>)>;

/// A device that changes and syncs until something fails: the values that it has committed.
fn run(page: Arc<dyn FileSystem>, cloud: Arc<dyn FileSystem>) -> (Committed, Result<()>) {
    let mut committed = Vec::new();
    let done = steps(page, cloud, &mut committed);
    (committed, done)
}

fn steps(
    page: Arc<dyn FileSystem>,
    cloud: Arc<dyn FileSystem>,
    committed: &mut Committed,
) -> Result<()> {
    let page = open_page(page)?;
    let mut sync = PageSync::open(page.clone(), PAGE, folder(cloud)?, None, DeviceId([1; 16]))?;
    sync.set_segment_max(SEGMENT_MAX.0, SEGMENT_MAX.1);
    let mut random = Random::new(3);
    for now in 0..4 {
        let (key, value) = (format!("mine{now}").into_bytes(), value(&mut random));
        let mut journal = page.begin()?;
        journal.put(&key, &value)?;
        page.commit(journal, Timestamp(now))?;
        committed.push((key, value));
        sync.run(&mut MergePolicy::LastOneWins)?;
    }
    drop(sync);
    page.close()?;
    Ok(())
}

/// What another device has put into the cloud before.
fn cloud_of_another() -> MemoryFileSystem {
    let files = Arc::new(MemoryFileSystem::new());
    let mut other = Device::new(folder(files.clone()).unwrap(), None, 2);
    let mut random = Random::new(4);
    for now in 0..3 {
        other.put(format!("other{now}").as_bytes(), &value(&mut random), now);
        other.run().unwrap();
    }
    files.crash_image(CrashImage::KeepWritten)
}

#[test]
fn a_crash_at_any_operation_is_gone_on_from() {
    let stride = std::env::var("LARDER_FAULT_STRIDE").map_or(5, |n| n.parse().unwrap());
    let whole = cloud_of_another();
    for side in ["page", "cloud"] {
        let mut at = 1;
        loop {
            let page = Arc::new(MemoryFileSystem::new());
            let cloud = Arc::new(whole.crash_image(CrashImage::KeepWritten));
            let failing: Arc<dyn FileSystem> = match side {
                "page" => page.clone(),
                _ => cloud.clone(),
            };
            let faults = Arc::new(FaultFileSystem::new(failing));
            faults.fail_at(Fault {
                operation: at,
                kind: std::io::ErrorKind::Other,
                every_later_too: true,
            });
            let (committed, done) = match side {
                "page" => run(faults, cloud.clone()),
                _ => run(page.clone(), faults),
            };
            if done.is_ok() {
                assert!(at > 60, "{side}: {at} operations");
                break;
            }
            for image in [
                CrashImage::KeepWritten,
                CrashImage::LoseUnsynced,
                CrashImage::Tear { seed: at },
            ] {
                let what = format!("{side}, operation {at}, {image:?}");
                let page = Arc::new(page.crash_image(image));
                let cloud = Arc::new(cloud.crash_image(image));
                let cloud = folder(cloud).unwrap();
                let mut device = Device::on(page, cloud.clone(), None, 9);
                device
                    .run()
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                device.put(b"after", b"the crash", 100);
                device.run().unwrap();
                let mut reader = Device::new(cloud, None, 3);
                reader.run().unwrap();
                assert_eq!(reader.head(), device.head(), "{what}");
                let map = content(&reader.page, &reader.head());
                for (key, value) in &committed {
                    assert!(map.get(key) == Some(value), "{what}");
                }
                assert_eq!(
                    map.keys().filter(|key| key.starts_with(b"other")).count(),
                    3,
                    "{what}"
                );
                assert!(device.page.is_synced().unwrap(), "{what}");
            }
            at += stride;
        }
    }
}

/// A put whose end was not seen, and then another commit, put without looking at the cloud first.
#[test]
fn a_segment_that_was_put_and_not_noted_is_noted_before_the_next() {
    let cloud = folder(Arc::new(MemoryFileSystem::new())).unwrap();
    let mut device = Device::new(cloud.clone(), None, 1);
    device.put(b"one", &[1; 50], 1);
    let before = Arc::new(device.files.crash_image(CrashImage::KeepWritten));
    device.run().unwrap();
    drop(device);
    let mut device = Device::on(before, cloud.clone(), None, 1);
    device.put(b"two", &[2; 50], 2);
    device.sync.upload().unwrap();
    assert_eq!(device.sync.device(), DeviceId([1; 16]));
    let mut reader = Device::new(cloud, None, 3);
    reader.run().unwrap();
    assert_eq!(reader.map().len(), 2);
}

/// In whatever state that leaves the page, the next rounds bring everything into the new cloud.
#[test]
fn starting_over_can_crash_anywhere() {
    let first = folder(Arc::new(MemoryFileSystem::new())).unwrap();
    let mut device = Device::new(first, None, 1);
    let mut random = Random::new(5);
    for now in 0..3 {
        device.put(format!("key{now}").as_bytes(), &value(&mut random), now);
        device.run().unwrap();
    }
    let (expected, files) = (
        device.map(),
        device.files.crash_image(CrashImage::KeepWritten),
    );
    let mut at = 1;
    loop {
        let page = Arc::new(files.crash_image(CrashImage::KeepWritten));
        let faults = Arc::new(FaultFileSystem::new(page.clone()));
        faults.fail_at(Fault {
            operation: at,
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        let cloud = folder(Arc::new(MemoryFileSystem::new())).unwrap();
        let started = open_page(faults)
            .map_err(larder_sync::Error::from)
            .and_then(|page| {
                PageSync::open(page, PAGE, cloud.clone(), None, DeviceId([9; 16]))?.start_over()
            });
        let is_done = started.is_ok();
        for image in [CrashImage::KeepWritten, CrashImage::LoseUnsynced] {
            let page = Arc::new(page.crash_image(image));
            let cloud = folder(Arc::new(MemoryFileSystem::new())).unwrap();
            let mut device = Device::on(page, cloud.clone(), None, 10);
            if let Err(error) = device.run() {
                assert_eq!(error.kind(), ErrorKind::Erased, "operation {at}");
                device.sync.start_over().unwrap();
                device.run().unwrap();
            }
            device.put(b"after", b"it", 100);
            device.run().unwrap();
            let mut reader = Device::new(cloud, None, 3);
            reader.run().unwrap();
            let mut map = reader.map();
            map.remove(&b"after"[..]);
            assert!(map == expected, "operation {at}, {image:?}");
        }
        if is_done {
            assert!(at > 5, "{at} operations");
            return;
        }
        at += 1;
    }
}
