//! A crash, and a failure, at every single file operation of transactions with blobs.

use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem};

use super::*;

const TRANSACTIONS: u8 = 8;

/// What transaction `n` does to both sides: some put, some overwrite, some delete, some clear, some roll back.
fn write(transaction: &mut WriteTransaction, n: u8) -> Result<()> {
    if n == 6 {
        transaction.clear(STORE)?;
    }
    put(transaction, n, &[blob(&[n; 20]), file(&[n; 3])])?;
    put(transaction, n % 3, &[blob(&[n])])?;
    if n.is_multiple_of(2) {
        delete(transaction, n / 2)?;
    }
    put(transaction, 100, &[])
}

fn apply(contents: &mut Contents, n: u8) {
    if n == 6 {
        contents.clear();
    }
    contents.insert(n, vec![vec![n; 20], vec![n; 3]]);
    contents.insert(n % 3, vec![vec![n]]);
    if n.is_multiple_of(2) {
        contents.remove(&(n / 2));
    }
    contents.insert(100, vec![]);
}

fn is_rolled_back(n: u8) -> bool {
    n == 4
}

fn durability(n: u8) -> Durability {
    if n.is_multiple_of(3) {
        Durability::Relaxed
    } else {
        Durability::Strict
    }
}

/// After each transaction.
fn states() -> Vec<Contents> {
    let mut states = vec![Contents::new()];
    for n in 1..=TRANSACTIONS {
        let mut state = states[usize::from(n) - 1].clone();
        if !is_rolled_back(n) {
            apply(&mut state, n);
        }
        states.push(state);
    }
    states
}

#[derive(Debug, Default)]
struct Acknowledged {
    any: u8,
    strict: u8,
}

fn run(fs: Arc<FaultFileSystem>, done: &mut Acknowledged) -> Result<()> {
    let store = open(fs)?;
    let id = set_up(&store)?;
    for n in 1..=TRANSACTIONS {
        let reader = store.read();
        let mut transaction = begin(&store, id, durability(n))?;
        write(&mut transaction, n)?;
        if is_rolled_back(n) {
            transaction.rollback();
        } else {
            transaction.commit()?;
        }
        done.any = n;
        if durability(n) == Durability::Strict && !is_rolled_back(n) {
            done.strict = n;
        }
        // Sometimes a reader holds what goes.
        if n.is_multiple_of(2) {
            drop(reader);
        }
    }
    store.close()
}

/// Opens what a crash left: one of the states, and exactly its files.
fn check(fs: MemoryFileSystem, states: &[Contents], least: u8, most: u8, what: &str) {
    let store = open(Arc::new(fs.clone())).unwrap_or_else(|error| panic!("{what}: {error}"));
    let databases = store.databases().unwrap();
    let has_store = databases
        .iter()
        .any(|found| !found.object_stores.is_empty());
    let found = match databases.first() {
        Some(found) if has_store => contents(&store.read(), found.id),
        _ => Contents::new(),
    };
    let is_one = (least..=most).any(|n| states[usize::from(n)] == found);
    assert!(
        is_one,
        "{what}: not what it was after {least} to {most}: {found:?}"
    );
    // As before the first write; nothing of what is seen changes by it.
    store.settle().unwrap();
    if let Some(first) = databases.first().filter(|_| has_store) {
        assert_eq!(contents(&store.read(), first.id), found, "{what}");
    }
    let files: usize = found.values().map(Vec::len).sum();
    assert_eq!(
        file_count(&fs),
        files,
        "{what}: files that nothing refers to"
    );
    // It goes on.
    let id = set_up(&store).unwrap();
    let mut transaction = begin(&store, id, Durability::Strict).unwrap();
    write(&mut transaction, 77).unwrap();
    transaction.commit().unwrap();
    let mut expected = found;
    apply(&mut expected, 77);
    assert!(contents(&store.read(), id) == expected, "{what}");
    store.close().unwrap();
}

fn faulty(
    operation: u64,
    kind: std::io::ErrorKind,
    every_later_too: bool,
) -> (MemoryFileSystem, Arc<FaultFileSystem>) {
    let memory = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(memory.clone()));
    fs.fail_at(Fault {
        operation,
        kind,
        every_later_too,
    });
    (memory, Arc::new(fs))
}

fn operations() -> u64 {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let mut done = Acknowledged::default();
    run(fs.clone(), &mut done).unwrap();
    assert_eq!(done.any, TRANSACTIONS);
    fs.operations()
}

#[test]
fn after_a_crash_at_any_file_operation_every_record_has_its_blobs_and_every_blob_a_record() {
    let (states, operations) = (states(), operations());
    for operation in 1..=operations {
        let (memory, fs) = faulty(operation, std::io::ErrorKind::Other, true);
        let mut done = Acknowledged::default();
        let _ = run(fs, &mut done);
        let most = (done.any + 1).min(TRANSACTIONS);
        for (image, least) in [
            (CrashImage::KeepWritten, done.any),
            (CrashImage::LoseUnsynced, done.strict),
            (CrashImage::Tear { seed: operation }, done.strict),
        ] {
            let what = format!("operation {operation}, {image:?}");
            check(memory.crash_image(image), &states, least, most, &what);
        }
    }
    println!("{operations} operations");
}

#[test]
fn a_failure_at_any_file_operation_loses_no_blob_of_an_acknowledged_record() {
    let (states, operations) = (states(), operations());
    for operation in 1..=operations {
        let (memory, fs) = faulty(operation, std::io::ErrorKind::StorageFull, false);
        let mut done = Acknowledged::default();
        let _ = run(fs, &mut done);
        let most = (done.any + 1).min(TRANSACTIONS);
        let image = memory.crash_image(CrashImage::KeepWritten);
        check(
            image,
            &states,
            done.any,
            most,
            &format!("operation {operation}"),
        );
    }
}
