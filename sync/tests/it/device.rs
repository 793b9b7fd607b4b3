//! Devices: a page on files in memory, and its sync.

use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::{Background, Options};
use larder_pages::{
    CollectPolicy, Commit, Fanout, ListLimits, MergePolicy, Page, PageId, PageOptions,
};
use larder_sync::{Cloud, CloudKey, DeviceId, Error, PageSync, Result, Round};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) const PAGE: PageId = PageId([0x5a; 16]);

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn options() -> PageOptions {
    PageOptions {
        // Small trees have several levels then.
        fanout: Fanout::Of16,
        collect: CollectPolicy::Never,
        db: Options {
            background: Background::Caller,
            write_buffer_bytes: 64 << 10,
            ..Options::default()
        },
        ..PageOptions::default()
    }
}

pub(crate) fn open_page(files: Arc<dyn FileSystem>) -> larder_pages::Result<Page> {
    Page::open(files, Path::new("page"), options())
}

pub(crate) fn key() -> CloudKey {
    CloudKey::new([9; 32])
}

/// Small, so that a commit is several segments.
pub(crate) const SEGMENT_MAX: (usize, usize) = (100 << 10, 30);

pub(crate) struct Device {
    pub(crate) files: Arc<MemoryFileSystem>,
    pub(crate) page: Page,
    pub(crate) sync: PageSync,
}

impl Device {
    pub(crate) fn new(cloud: Arc<dyn Cloud>, key: Option<&CloudKey>, name: u8) -> Device {
        Device::on(Arc::new(MemoryFileSystem::new()), cloud, key, name)
    }

    pub(crate) fn on(
        files: Arc<MemoryFileSystem>,
        cloud: Arc<dyn Cloud>,
        key: Option<&CloudKey>,
        name: u8,
    ) -> Device {
        let page = open_page(files.clone()).unwrap();
        let mut sync =
            PageSync::open(page.clone(), PAGE, cloud, key, DeviceId([name; 16])).unwrap();
        let (body_len, pieces) = SEGMENT_MAX;
        sync.set_segment_max(body_len, pieces);
        Device { files, page, sync }
    }

    /// As after the process has ended and begun again.
    pub(crate) fn restarted(
        self,
        cloud: Arc<dyn Cloud>,
        key: Option<&CloudKey>,
        name: u8,
    ) -> Device {
        let Device { files, page, sync } = self;
        drop(sync);
        assert!(page.close().unwrap());
        Device::on(files, cloud, key, name)
    }

    pub(crate) fn put(&self, key: &[u8], value: &[u8], now: i64) {
        let mut connection = self.page.connect().unwrap();
        connection
            .put(key, value, larder_pages::Timestamp(now))
            .unwrap();
    }

    pub(crate) fn run(&mut self) -> Result<Round> {
        self.sync.run(&mut MergePolicy::LastOneWins)
    }

    /// What another device has spoilt, in a round that is done.
    pub(crate) fn problem(&mut self) -> Option<Error> {
        self.run().unwrap().downloaded.problem
    }

    pub(crate) fn head(&self) -> Commit {
        let heads = self.page.heads();
        assert_eq!(heads.len(), 1);
        heads[0].clone()
    }

    pub(crate) fn map(&self) -> Map {
        content(&self.page, &self.head())
    }
}

pub(crate) fn content(page: &Page, commit: &Commit) -> Map {
    let snapshot = page.snapshot(commit, b"");
    let (mut map, mut from) = (Map::new(), Vec::new());
    loop {
        let listed = snapshot.list_entries(&from, ListLimits::default()).unwrap();
        let entries = listed.entries.into_iter();
        map.extend(entries.map(|entry| (entry.key, entry.value.unwrap())));
        match listed.next {
            Some(next) => from = next,
            None => return map,
        }
    }
}
