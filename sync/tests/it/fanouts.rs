//! Pages of two fan-outs.

use larder_leveldb::storage::MemoryFileSystem;
use larder_pages::{Fanout, MergePolicy, Page, PageOptions, Timestamp};
use larder_sync::{DeviceId, ErrorKind, PageSync};
use std::path::Path;
use std::sync::Arc;

use crate::device::{Device, PAGE, content, key, options};
use crate::shared::Replicas;

fn of_256(cloud: &Replicas) -> (Page, PageSync) {
    let options = PageOptions {
        fanout: Fanout::Of256,
        ..options()
    };
    let files = Arc::new(MemoryFileSystem::new());
    let page = Page::open(files, Path::new("page"), options).unwrap();
    let id = DeviceId([2; 16]);
    let sync = PageSync::open(page.clone(), PAGE, cloud.of(0), Some(&key()), id);
    (page, sync.unwrap())
}

fn put(page: &Page, keys: std::ops::Range<u32>) {
    let mut journal = page.begin().unwrap();
    for i in keys {
        journal.put(format!("{i:04}").as_bytes(), b"v").unwrap();
    }
    page.commit(journal, Timestamp(1)).unwrap();
}

#[test]
fn an_empty_page_takes_on_the_fanout_of_the_clouds() {
    let cloud = Replicas::new(1);
    let mut narrow = Device::new(cloud.of(0), Some(&key()), 1);
    put(&narrow.page, 0..300);
    narrow.run().unwrap();
    let (page, mut sync) = of_256(&cloud);
    assert_eq!(page.fanout(), Fanout::Of256);
    sync.download().unwrap();
    assert_eq!(page.fanout(), Fanout::Of16);
    assert_eq!(page.heads(), narrow.page.heads());
    put(&page, 300..600);
    sync.upload().unwrap();
    narrow.run().unwrap();
    assert_eq!(narrow.map().len(), 600);
    assert_eq!(content(&page, &page.heads()[0]), narrow.map());
}

#[test]
fn pages_of_two_fanouts_do_not_meet_and_say_so() {
    let cloud = Replicas::new(1);
    let mut narrow = Device::new(cloud.of(0), Some(&key()), 1);
    put(&narrow.page, 0..300);
    narrow.run().unwrap();
    let (page, mut sync) = of_256(&cloud);
    put(&page, 0..10);
    let before = page.heads();
    let names = cloud.of(0).names.lock().unwrap().clone();
    let refused = sync.run(&mut MergePolicy::LastOneWins).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Fanout);
    assert_eq!(*cloud.of(0).names.lock().unwrap(), names);
    assert!(
        refused.to_string().contains("nodes of about 256 entries"),
        "{refused}"
    );
    assert_eq!(page.heads(), before);
}
