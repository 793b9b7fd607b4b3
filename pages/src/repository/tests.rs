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

#[test]
fn a_repository_is_looked_at_while_it_is_open_and_nothing_in_it_changes() {
    let files = Arc::new(MemoryFileSystem::new());
    let dir = Path::new("data");
    let read = || Repository::open_read_only(files.clone(), dir, options());
    assert!(read().is_none());
    assert!(files.metadata(dir).is_err(), "looking made a folder");
    let repository = open(&files, 1);
    let reader = read().unwrap();
    assert!(reader.ledgers().unwrap().is_empty() && reader.page_usage().unwrap().is_empty());
    fill(&repository.ledger(b"tasks").unwrap(), ONE, 2);
    fill(&repository.ledger(b"\xff").unwrap(), TWO, 3);
    let tasks = repository.ledger(b"tasks").unwrap();
    let held = tasks.open_page(TWO).unwrap();
    let mut connection = held.connect().unwrap();
    connection.put(b"open", b"yes", Timestamp(4)).unwrap();
    let before = files.crash_image(CrashImage::KeepWritten);
    assert_eq!(reader.ledgers().unwrap(), [b"tasks".to_vec(), vec![0xff]]);
    assert_eq!(reader.pages(b"tasks").unwrap(), [ONE, TWO]);
    assert_eq!(reader.pages(b"none").unwrap(), []);
    assert_eq!(
        reader.page_usage().unwrap(),
        repository.page_usage().unwrap()
    );
    assert_eq!(reader.page_usage().unwrap().len(), 3);
    let place = (b"tasks".to_vec(), TWO);
    let seen = reader.open_page(&place).unwrap();
    assert_eq!(seen.heads(), held.heads());
    assert_eq!(
        place_of(reader.page_dir(&place).parent().unwrap()),
        Some(place)
    );
    assert_eq!(reader.deletions().unwrap(), []);
    let marked = (b"tasks".to_vec(), ONE);
    let after = files.crash_image(CrashImage::KeepWritten);
    assert_eq!(listing(&before, dir), listing(&after, dir));
    staging::mark(&repository.0.folders, &marked).unwrap();
    assert_eq!(reader.deletions().unwrap(), [marked]);
}

#[test]
fn a_repository_without_rows_of_uses_is_looked_at_and_ledgers_are_in_their_order() {
    let files = Arc::new(MemoryFileSystem::new());
    let names: [&[u8]; 5] = [b"a", b"aa", b"b", b"~", &[0xff]];
    let ledgers = Path::new("data/1/ledgers");
    for dir in ["data", "data/1", "data/1/ledgers"] {
        files.create_dir(Path::new(dir)).unwrap();
    }
    for n in [3, 0, 4, 2, 1] {
        use base64ct::{Base64Url, Encoding};
        let name = Base64Url::encode_string(names[n]);
        files.create_dir(&ledgers.join(name)).unwrap();
    }
    files.create_dir(&ledgers.join("no base64!")).unwrap();
    let reader = Repository::open_read_only(files, Path::new("data"), options()).unwrap();
    assert_eq!(reader.ledgers().unwrap(), names);
    assert_eq!(reader.page_usage().unwrap(), []);
    assert_eq!(reader.deletions().unwrap(), []);
}

/// Every file below a folder, with its bytes.
fn listing(files: &MemoryFileSystem, dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for name in files.list(dir).unwrap() {
        let path = dir.join(name);
        match files.metadata(&path).unwrap() {
            metadata if metadata.is_dir => found.extend(listing(files, &path)),
            metadata => {
                let mut bytes = vec![0; metadata.len_bytes as usize];
                let read = files.open_random(&path).unwrap().read_at(0, &mut bytes);
                assert_eq!(read.unwrap(), bytes.len());
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}
