//! Repositories in memory.

use super::*;
use crate::testing::page::options;
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, MemoryFileSystem};

fn open(files: &Arc<MemoryFileSystem>, now: i64) -> Repository {
    Repository::open(files.clone(), Path::new("data"), options(), Timestamp(now)).unwrap()
}

/// Puts an entry into a page and closes it.
fn fill(ledger: &Ledger, id: PageId, now: i64) {
    let page = ledger.open_page(id).unwrap();
    let mut connection = page.connect().unwrap();
    connection.put(b"key", &[5; 100], Timestamp(now)).unwrap();
    drop(connection);
    page.close(Timestamp(now)).unwrap();
}

fn sync(ledger: &Ledger, id: PageId, now: i64) {
    let page = ledger.open_page(id).unwrap();
    for piece in page.unsynced_pieces(None, 100).unwrap() {
        page.mark_synced(&[piece], &[]).unwrap();
    }
    for commit in page.unsynced_commits().unwrap() {
        page.mark_synced(&[], &[commit]).unwrap();
    }
    page.close(Timestamp(now)).unwrap();
}

const ONE: PageId = PageId([1; 16]);
const TWO: PageId = PageId([0xff; 16]);

#[test]
fn things_lie_where_the_document_says() {
    let files = Arc::new(MemoryFileSystem::new());
    let repository = open(&files, 1);
    fill(&repository.ledger(b"contacts").unwrap(), TWO, 2);
    for path in [
        "data/1/ledgers/Y29udGFjdHM=/_____________________w==/leveldb/CURRENT",
        "data/page_usage_db/CURRENT",
        "data/staging",
    ] {
        assert!(files.metadata(Path::new(path)).is_ok(), "{path}");
    }
    assert!(repository.ledger(b"").is_err() && repository.ledger(&[1; 151]).is_err());
    repository
        .ledger(&[1; 150])
        .unwrap()
        .open_page(ONE)
        .unwrap()
        .close(Timestamp(3))
        .unwrap();
}

#[test]
fn a_page_that_is_open_is_one_page_and_its_use_is_noted() {
    let files = Arc::new(MemoryFileSystem::new());
    let repository = open(&files, 1);
    let ledger = repository.ledger(b"l").unwrap();
    let closed = |repository: &Repository| repository.page_usage().unwrap()[0].closed;
    let (one, two) = (
        ledger.open_page(ONE).unwrap(),
        ledger.open_page(ONE).unwrap(),
    );
    one.connect()
        .unwrap()
        .put(b"a", b"1", Timestamp(1))
        .unwrap();
    assert_eq!(two.heads(), one.heads());
    assert_eq!(
        ledger.delete_page(ONE).unwrap_err().kind(),
        crate::ErrorKind::Usage
    );
    one.close(Timestamp(5)).unwrap();
    assert_eq!(closed(&repository), None);
    two.close(Timestamp(6)).unwrap();
    assert_eq!(closed(&repository), Some(Timestamp(6)));
    drop(ledger.open_page(ONE).unwrap());
    assert_eq!(closed(&repository), None);
    drop((ledger, repository));
    assert_eq!(
        closed(&open(&files, 9)),
        Some(Timestamp(9)),
        "a crash counts as a use until now"
    );
}

#[test]
fn only_what_is_synced_or_empty_is_evicted_the_oldest_first() {
    let files = Arc::new(MemoryFileSystem::new());
    let repository = open(&files, 1);
    let ledger = repository.ledger(b"l").unwrap();
    let empty = PageId([3; 16]);
    fill(&ledger, ONE, 2);
    ledger
        .open_page(empty)
        .unwrap()
        .close(Timestamp(4))
        .unwrap();
    fill(&ledger, TWO, 3);
    assert_eq!(repository.evict_closed_before(Timestamp(3)).unwrap(), []);
    sync(&ledger, TWO, 3);
    let held = ledger.open_page(TWO).unwrap();
    assert_eq!(
        repository.evict_least_recently_used().unwrap(),
        Some((b"l".to_vec(), empty))
    );
    held.close(Timestamp(5)).unwrap();
    assert_eq!(repository.evict_closed_before(Timestamp(4)).unwrap(), []);
    assert_eq!(
        repository.evict_least_recently_used().unwrap(),
        Some((b"l".to_vec(), TWO))
    );
    assert_eq!(repository.evict_least_recently_used().unwrap(), None);
    assert_eq!(ledger.pages().unwrap(), [ONE]);
    let uses = repository.page_usage().unwrap();
    assert_eq!((uses.len(), uses[0].page), (1, ONE));
    ledger.delete_page(ONE).unwrap();
    assert!(repository.page_usage().unwrap().is_empty());
}

#[test]
fn a_deletion_that_a_crash_cuts_short_is_finished() {
    let prepare = || {
        let memory = Arc::new(MemoryFileSystem::new());
        let ledger = open(&memory, 1).ledger(b"l").unwrap();
        fill(&ledger, ONE, 2);
        fill(&ledger, TWO, 3);
        drop(ledger);
        memory
    };
    let delete = |files: Arc<FaultFileSystem>| -> crate::Result<()> {
        let repository = Repository::open(files, Path::new("data"), options(), Timestamp(4))?;
        repository.ledger(b"l")?.delete_page(ONE)
    };
    let files = Arc::new(FaultFileSystem::new(prepare()));
    delete(files.clone()).unwrap();
    let total = files.operations();
    let (mut gone, mut whole) = (0, 0);
    for operation in 1..=total {
        let memory = prepare();
        let files = Arc::new(FaultFileSystem::new(memory.clone()));
        files.fail_at(Fault {
            operation,
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        let done = delete(files);
        for image in [
            CrashImage::KeepWritten,
            CrashImage::LoseUnsynced,
            CrashImage::Names { seed: operation },
        ] {
            let after = Arc::new(memory.crash_image(image));
            let repository = open(&after, 5);
            let ledger = repository.ledger(b"l").unwrap();
            let pages = ledger.pages().unwrap();
            match pages[..] {
                [ONE, TWO] => {
                    assert!(done.is_err());
                    whole += 1;
                    let page = ledger.open_page(ONE).unwrap();
                    let head = page.heads().pop().unwrap();
                    assert_eq!(
                        page.snapshot(&head, b"").get(b"key").unwrap().unwrap(),
                        [5; 100]
                    );
                }
                [TWO] => {
                    gone += 1;
                    assert_eq!(
                        repository.page_usage().unwrap().len(),
                        1,
                        "{operation}, {image:?}"
                    );
                }
                _ => panic!("operation {operation}, {image:?}: {pages:?}"),
            }
            assert!(after.list(Path::new("data/staging")).unwrap().is_empty());
        }
    }
    assert!(gone > 20 && whole > 20, "{gone} gone, {whole} whole");
}
