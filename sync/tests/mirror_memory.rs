//! A long blob goes from one database to another, on disk, in bounded memory. The test is alone in its process, since that is measured.
#![cfg(test)]

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use futures_executor::block_on;
use larder_idb::{
    BlobSource, Database, DiskFileSystem, NewExternalObject, ObjectStoreParameters, Value,
};
use larder_pages::{Page, Timestamp};
use larder_sync::{Mirror, MirrorOptions, page_options};
use peak_alloc::PeakAlloc;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

const LEN: u64 = 30 << 20;
/// Beyond what was there before: a page's write buffer and its cache of blocks among it.
const PEAK_MAX_MB: f32 = 16.0;

/// Bytes that are made as they are read.
#[derive(Debug)]
struct Made;

struct Making(u64);

impl BlobSource for Made {
    fn size_bytes(&self) -> u64 {
        LEN
    }

    fn open(&self) -> std::io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(Making(0)))
    }
}

fn byte_at(at: u64) -> u8 {
    let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        .to_be_bytes()[0]
}

impl Read for Making {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min((LEN - self.0) as usize);
        for (offset, byte) in buffer[..len].iter_mut().enumerate() {
            *byte = byte_at(self.0 + offset as u64);
        }
        self.0 += len as u64;
        Ok(len)
    }
}

fn device(folder: &Path) -> (Database, Page) {
    let opening = Database::open(folder.join("idb"), "films", 1, |upgrade| {
        let parameters = ObjectStoreParameters::new();
        upgrade
            .transaction
            .create_object_store("films", parameters)?;
        upgrade.transaction.set_change_feed(true)
    });
    let fs = Arc::new(DiskFileSystem::new());
    let page = Page::open(fs, &folder.join("page"), page_options()).unwrap();
    (opening.unwrap().wait().unwrap(), page)
}

#[test]
fn a_blob_of_30_mib_takes_no_30_mib() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (desk, desk_page) = device(folders[0].path());
    let (pocket, pocket_page) = device(folders[1].path());
    let writing = desk.write("films").unwrap();
    let mime_type = "video/x".into();
    let content = Arc::new(Made);
    let blob = NewExternalObject::Blob { mime_type, content };
    let value = Value::serialize("a film").unwrap().and_objects(vec![blob]);
    let films = writing.object_store("films").unwrap();
    films.put(value, Some(1.into())).unwrap().detach();
    writing.commit().unwrap().wait().unwrap();
    drop((films, writing));

    let before = PEAK.current_usage_as_mb();
    PEAK.reset_peak_usage();
    let options = MirrorOptions::new();
    let mirror = block_on(Mirror::new(desk.connection(), &desk_page, options.clone()));
    let taken = block_on(mirror.unwrap().take(Timestamp(1))).unwrap();
    assert_eq!(taken.put, 1);
    let peak_of_take = PEAK.peak_usage_as_mb() - before;
    pocket_page.pull_from(&desk_page, false).unwrap();
    let before = PEAK.current_usage_as_mb();
    PEAK.reset_peak_usage();
    let mirror = block_on(Mirror::new(
        pocket.connection(),
        &pocket_page,
        options.device_number(1),
    ));
    let applied = block_on(mirror.unwrap().apply(Timestamp(2))).unwrap();
    assert_eq!(applied.put, 1);
    let peak_of_apply = PEAK.peak_usage_as_mb() - before;

    let reading = pocket.read("films").unwrap();
    let found = reading.object_store("films").unwrap().get(1).unwrap();
    let found = found.wait().unwrap().unwrap();
    let mut content = found.objects()[0].open().unwrap();
    let (mut at, mut part) = (0, vec![0; 1 << 16]);
    loop {
        let len = content.read(&mut part).unwrap();
        if len == 0 {
            break;
        }
        let mut bytes = part[..len].iter().zip(at..);
        assert!(bytes.all(|(byte, at)| *byte == byte_at(at)), "behind {at}");
        at += len as u64;
    }
    assert_eq!(at, LEN);
    println!("peaks: {peak_of_take:.1} MB taken, {peak_of_apply:.1} MB applied");
    assert!(peak_of_take < PEAK_MAX_MB && peak_of_apply < PEAK_MAX_MB);
}
