//! A crash, and a failure, at every single file operation of transactions that spill; and of their recovery.
//!
//! The commits of the workload have an order. What is found afterwards must be what it was after one of them: at least the
//! last that was acknowledged as durable, and at most the one under way.

use std::collections::BTreeMap;

use larder_codec::ScopeId;
use larder_codec::row_key::ScopeTask;
use larder_codec::scopes::{LockKey, ScopeLock, ScopeMetadata, UndoTask};
use larder_leveldb::storage::{CrashImage, Effect, Fault, FaultFileSystem, Manner};

use super::*;
use crate::Maintenance;
use crate::undo_log::{metadata_key, task_key};
use larder_leveldb::write_batch::BatchWriter;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Less than what most transactions write.
const MEMORY_BYTES: usize = 700;

/// Transactions of the workload, and the one among them that is open from its third on.
const TRANSACTIONS: u8 = 14;
const LONG_BEGINS: u8 = 3;
const LONG_COMMITS: u8 = 11;

fn mix(n: u32) -> u32 {
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
}

/// The rows that transaction `n` writes to a store: values, `None` for a deletion.
fn changes(n: u8, store: u8) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let count = 4 + mix(u32::from(n)) % 12;
    (0..count)
        .map(|i| {
            let random = mix(u32::from(n) * 64 + i);
            let value = (0..random % 150).map(|at| mix(at ^ random).to_le_bytes()[0]);
            let is_put = !random.is_multiple_of(4);
            let key = key(store, (random >> 8) as u8 % 30);
            (key, is_put.then(|| value.collect()))
        })
        .collect()
}

fn apply(rows: &mut Rows, n: u8, store: u8) {
    for (key, value) in changes(n, store) {
        match value {
            Some(value) => drop(rows.insert(key, value)),
            None => drop(rows.remove(&key)),
        }
    }
    if n == 6 {
        rows.retain(|row, _| !(*row >= key(store, 5) && *row < key(store, 20)));
    }
}

fn write(transaction: &mut WriteTransaction, n: u8, store: u8) -> Result<()> {
    for (key, value) in changes(n, store) {
        match value {
            Some(value) => transaction.put_row(&key, &value)?,
            None => transaction.delete_row(&key)?,
        }
    }
    if n == 6 {
        transaction.delete_rows(&key(store, 5), &key(store, 20), false)?;
    }
    Ok(())
}

/// What there was after each commit, in order. The first transaction after nothing at all.
fn states() -> Vec<Rows> {
    let mut states = vec![Rows::new()];
    for n in 1..=TRANSACTIONS {
        let mut rows = states.last().unwrap().clone();
        if n == LONG_COMMITS {
            apply(&mut rows, LONG_BEGINS, 2);
        } else if n != LONG_BEGINS && !is_rolled_back(n) {
            apply(&mut rows, n, 1);
        }
        states.push(rows);
    }
    states
}

fn is_rolled_back(n: u8) -> bool {
    matches!(n, 5 | 9)
}

/// How far it came: the last transaction that was acknowledged, and the last one that is durable.
#[derive(Debug, Clone, Copy, Default)]
struct Acknowledged {
    any: u8,
    strict: u8,
}

fn work(store: &BackingStore, acknowledged: &mut Acknowledged) -> Result<()> {
    let mut long = None;
    for n in 1..=TRANSACTIONS {
        let durability = match n % 3 {
            0 => Durability::Strict,
            _ => Durability::Relaxed,
        };
        if n == LONG_BEGINS {
            let begun = store.begin(stores(&[2]), Durability::Strict)?;
            write(long.insert(begun), LONG_BEGINS, 2)?;
        } else if let Some(long) = long.take_if(|_| n == LONG_COMMITS) {
            long.commit()?;
            acknowledged.strict = n;
        } else {
            let mut transaction = store.begin(stores(&[1]), durability)?;
            write(&mut transaction, n, 1)?;
            if is_rolled_back(n) {
                transaction.rollback();
            } else {
                transaction.commit()?;
                if durability == Durability::Strict {
                    acknowledged.strict = n;
                }
            }
        }
        acknowledged.any = n;
        store.core.db.do_background_work()?;
    }
    while store.maintain()? == Maintenance::Step {}
    Ok(())
}

/// Runs the workload as far as it goes. The store, if it was opened.
fn run(fs: &Arc<FaultFileSystem>, acknowledged: &mut Acknowledged) -> Result<Option<BackingStore>> {
    let store = open_limited(fs.clone(), MEMORY_BYTES)?;
    Ok(work(&store, acknowledged).err().map(|_| store))
}

/// Runs the program like [`run`], and returns the error.
fn run_into_an_error(
    fs: &Arc<FaultFileSystem>,
    acknowledged: &mut Acknowledged,
) -> Result<Option<(BackingStore, Error)>> {
    let store = open_limited(fs.clone(), MEMORY_BYTES)?;
    Ok(work(&store, acknowledged).err().map(|error| (store, error)))
}

fn content(store: &BackingStore) -> Rows {
    let read = store.read();
    rows(read.view()).into_iter().collect()
}

fn check(store: &BackingStore, states: &[Rows], least: u8, most: u8, what: &str) {
    let found = content(store);
    let is_one = (least..=most).any(|n| states[usize::from(n)] == found);
    assert!(is_one, "{what}: not what it was after {least} to {most}");
}

fn check_image(fs: MemoryFileSystem, states: &[Rows], least: u8, most: u8, what: &str) {
    let store = open_limited(Arc::new(fs), MEMORY_BYTES).unwrap();
    check(&store, states, least, most, what);
    // It goes on as if nothing had been.
    let mut transaction = store.begin(stores(&[1, 2]), Durability::Strict).unwrap();
    let before = content(&store);
    write(&mut transaction, 77, 1).unwrap();
    assert_eq!(content(&store), before);
    transaction.commit().unwrap();
    let mut expected = before;
    apply(&mut expected, 77, 1);
    assert_eq!(content(&store), expected);
    store.close().unwrap();
}

fn operations() -> u64 {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let mut acknowledged = Acknowledged::default();
    assert!(run(&fs, &mut acknowledged).unwrap().is_none());
    assert_eq!(acknowledged.any, TRANSACTIONS);
    fs.operations()
}

#[test]
fn the_workload_spills_and_leaves_its_last_state() {
    let memory = MemoryFileSystem::new();
    let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
    run(&fs, &mut Acknowledged::default()).unwrap();
    let store = open_limited(Arc::new(memory), MEMORY_BYTES).unwrap();
    assert!(content(&store) == states()[usize::from(TRANSACTIONS)]);
    let mut transaction = store.begin(stores(&[1]), Durability::Relaxed).unwrap();
    let did_spill = (1..=TRANSACTIONS).filter(|n| {
        write(&mut transaction, *n, 1).unwrap();
        transaction.spilled_bytes() > 0
    });
    assert!(did_spill.count() > usize::from(TRANSACTIONS) / 2);
}

#[test]
fn a_crash_at_any_file_operation_leaves_the_state_after_a_commit_and_none_that_was_durable_is_lost()
{
    let (states, operations) = (states(), operations());
    for operation in 1..=operations {
        let memory = MemoryFileSystem::new();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        fs.fail_at(Fault {
            operation,
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        let mut done = Acknowledged::default();
        let store = run(&fs, &mut done);
        let most = (done.any + 1).min(TRANSACTIONS);
        let mut images = vec![
            (CrashImage::KeepWritten, done.any),
            (CrashImage::LoseUnsynced, done.strict),
        ];
        images.extend(CrashImage::POWER_CUTS.map(|model| (model(operation), done.strict)));
        for (image, least) in images {
            let what = format!("operation {operation}, {image:?}");
            check_image(memory.crash_image(image), &states, least, most, &what);
        }
        drop(store);
    }
    println!("{operations} operations");
}

/// Errors of the system by their numbers (Linux): EIO, EACCES, ENOSPC, ETIMEDOUT, EDQUOT.
const SYSTEM_ERRORS: [i32; 5] = [5, 13, 28, 110, 122];

/// The transactions after number `done`, one by one: a handle that still takes writes goes on as if nothing had been.
fn go_on(store: &BackingStore, states: &[Rows], done: u8) {
    for n in done + 1..=TRANSACTIONS {
        if n == LONG_BEGINS || is_rolled_back(n) {
            continue;
        }
        let (of, number) = match n {
            LONG_COMMITS => (LONG_BEGINS, 2_u8),
            n => (n, 1),
        };
        let mut transaction = store
            .begin(stores(&[i64::from(number)]), Durability::Relaxed)
            .unwrap();
        write(&mut transaction, of, number).unwrap();
        transaction.commit().unwrap();
        assert!(
            content(store) == states[usize::from(n)],
            "going on with {n}"
        );
    }
}

#[test]
fn a_failure_at_any_file_operation_loses_nothing_that_was_acknowledged_and_leaves_nothing_that_failed()
 {
    let (states, operations) = (states(), operations());
    let (mut went_on, mut refused, mut uncertain) = (0, 0, 0);
    let manners = [Effect::Part, Effect::All].map(|effect| [(effect, false), (effect, true)]);
    for operation in 1..=operations {
        let chosen = (0..)
            .zip(manners.as_flattened())
            .filter(|(i, _)| (operation + i) % 2 == 0);
        for (i, &(effect, every_later_too)) in chosen {
            let memory = MemoryFileSystem::new();
            let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
            let error = SYSTEM_ERRORS[usize::try_from(operation + i).unwrap() % 5];
            let manner = Manner {
                raw_os_error: Some(error),
                effect,
            };
            fs.set_manner(manner);
            fs.fail_at(Fault {
                operation,
                kind: std::io::ErrorKind::Other,
                every_later_too,
            });
            let what = format!("operation {operation}, {manner:?}, {every_later_too}");
            let mut done = Acknowledged::default();
            let ran = run_into_an_error(&fs, &mut done);
            fs.heal();
            let mut most = done.any;
            if let Ok(Some((store, error))) = ran {
                // What was acknowledged is read on; what failed is not there.
                check(&store, &states, done.any, done.any, &what);
                if error.kind() == ErrorKind::Uncertain {
                    uncertain += 1;
                    most = (done.any + 1).min(TRANSACTIONS);
                } else if store.check_writable().is_ok() {
                    went_on += 1;
                    go_on(&store, &states, done.any);
                    (done.any, most) = (TRANSACTIONS, TRANSACTIONS);
                } else {
                    refused += 1;
                }
            }
            let image = memory.crash_image(CrashImage::KeepWritten);
            check_image(image, &states, done.any, most, &what);
        }
    }
    println!(
        "{operations} operations: {went_on} went on, {refused} refused, {uncertain} uncertain"
    );
    assert!(
        went_on > 100 && refused > 10 && uncertain > 10,
        "{went_on} {refused} {uncertain}"
    );
}

#[test]
fn recovery_that_crashes_at_any_file_operation_is_done_again() {
    let memory = MemoryFileSystem::new();
    let store = open_limited(Arc::new(memory.clone()), MEMORY_BYTES).unwrap();
    let mut first = store.begin(stores(&[1]), Durability::Relaxed).unwrap();
    write(&mut first, 1, 1).unwrap();
    write(&mut first, 2, 1).unwrap();
    first.commit().unwrap();
    let expected = content(&store);
    // As two transactions of Chromium's leave it that have not committed, and one that has and was not cleaned up.
    for (scope, number) in [(7, 1), (8, 2)] {
        for n in 4..8 {
            leave_undone(&store, ScopeId::new(scope).unwrap(), n, number);
        }
    }
    let committed = metadata_key(ScopeId::new(9).unwrap());
    store
        .core
        .db
        .put(&committed, &[], Durability::Relaxed)
        .unwrap();
    assert!(content(&store) != expected);
    let image = memory.crash_image(CrashImage::KeepWritten);
    let mut operation = 1;
    loop {
        let memory = image.crash_image(CrashImage::KeepWritten);
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        fs.fail_at(Fault {
            operation,
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        let opened = open_limited(fs, MEMORY_BYTES).map(drop);
        let cut = CrashImage::POWER_CUTS[operation as usize % CrashImage::POWER_CUTS.len()];
        for image in [CrashImage::KeepWritten, cut(operation)] {
            let after = open_limited(Arc::new(memory.crash_image(image)), MEMORY_BYTES).unwrap();
            assert!(
                content(&after) == expected,
                "operation {operation}, {image:?}"
            );
        }
        if opened.is_ok() {
            break;
        }
        operation += 1;
    }
    assert!(operation > 20, "{operation}");
}

/// Writes a transaction's rows into the engine with undo rows, and the scope's metadata with a lock.
fn leave_undone(store: &BackingStore, scope: ScopeId, n: u8, number: u8) {
    let db = &store.core.db;
    let mut batch = BatchWriter::new();
    let lock = [number];
    let locks = vec![ScopeLock {
        partition: 1,
        key: LockKey::Key(&lock),
    }];
    let mut metadata = Vec::new();
    let ignore_cleanup_tasks = false;
    ScopeMetadata {
        locks,
        ignore_cleanup_tasks,
    }
    .encode(&mut metadata);
    batch.put(&metadata_key(scope), &metadata);
    let mut task_at = i64::MAX.cast_unsigned() - u64::from(n) * 1000;
    for (key, value) in changes(n, number) {
        let before = db.get(&key).unwrap();
        let task = match &before {
            Some(value) => UndoTask::Put { key: &key, value },
            None => UndoTask::Delete { key: &key },
        };
        let (mut task_row, mut bytes) = (Vec::new(), Vec::new());
        task_key(scope, ScopeTask::Undo, task_at, &mut task_row);
        task.encode(&mut bytes);
        task_at -= 1;
        batch.put(&task_row, &bytes);
        match value {
            Some(value) => batch.put(&key, &value),
            None => batch.delete(&key),
        }
        db.write(&mut batch, Durability::Relaxed).unwrap();
    }
}
