//! Trouble at any file operation of a script, with the process going on and the storage opened again: what succeeded is there,
//! what failed is not, and the page hears the right name.

use std::collections::BTreeMap;

use larder_idb::{ErrorKind, MemoryFileSystem};
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem, Manner};

use super::*;

/// Small, so that files have little room of their own.
const BLOCK_LEN: u64 = 256;

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// Tests on a disk look at every so-manieth file operation; `LARDER_FAULT_STRIDE` says otherwise, and 1 is all.
fn fault_stride(default: usize) -> usize {
    std::env::var("LARDER_FAULT_STRIDE").map_or(default, |stride| stride.parse().unwrap())
}

/// Where the files are.
#[derive(Debug, Clone, Copy)]
enum Place {
    Memory,
    Folder,
}

impl Place {
    /// A new disk of small blocks, and what lets its operations fail.
    fn disk(self) -> (Disk, Arc<FaultFileSystem>) {
        let inner: Arc<dyn FileSystem> = match self {
            Self::Memory => Arc::new(MemoryFileSystem::new()),
            Self::Folder => Arc::new(DiskFileSystem::new()),
        };
        let fs = Arc::new(FaultFileSystem::new(inner));
        let disk = match self {
            Self::Memory => Disk::over(fs.clone(), BLOCK_LEN),
            Self::Folder => Disk::in_a_folder_over(fs.clone(), BLOCK_LEN),
        };
        (disk, fs)
    }
}

/// Records by key: their lengths.
type Records = BTreeMap<u32, usize>;
type Databases = BTreeMap<&'static str, Records>;

#[derive(Debug, Clone, Copy)]
enum Step {
    Open(&'static str),
    Put(&'static str, u32, usize),
    PutBlob(&'static str, u32, usize),
    Clear(&'static str),
    Delete(&'static str),
    /// All connections and the store.
    Close,
}

const SCRIPT: [Step; 14] = [
    Step::Open("one"),
    Step::Put("one", 1, 300),
    Step::Put("one", 2, 3000),
    Step::Open("two"),
    Step::PutBlob("two", 3, 2000),
    Step::Put("two", 1, 700),
    Step::Close,
    Step::Put("one", 1, 900),
    Step::PutBlob("two", 4, 100),
    Step::Clear("one"),
    Step::Delete("two"),
    Step::Put("one", 5, 500),
    Step::Open("three"),
    Step::Put("three", 1, 400),
];

impl Step {
    /// Whether there is anything to do it with, and what there is then.
    fn apply(self, before: &Databases) -> Option<Databases> {
        let mut after = before.clone();
        match self {
            Self::Open(name) => drop(after.entry(name).or_default()),
            Self::Put(name, key, len) => drop(after.get_mut(name)?.insert(key, len)),
            // The record itself has a fixed text.
            Self::PutBlob(name, key, _) => drop(after.get_mut(name)?.insert(key, 0)),
            Self::Clear(name) => after.get_mut(name)?.clear(),
            Self::Delete(name) => drop(after.remove(name)?),
            Self::Close => {}
        }
        Some(after)
    }

    fn run(self, storage: &Storage) -> Result<()> {
        let durability = TransactionDurability::Strict;
        match self {
            Self::Open(name) => open(storage, name).map(drop),
            Self::Put(name, key, len) => write(
                &open(storage, name)?,
                durability,
                [(key, text_of(key, len))],
            ),
            Self::PutBlob(name, key, len) => write(
                &open(storage, name)?,
                durability,
                [(key, blob_of(key, len))],
            ),
            Self::Clear(name) => {
                let options = TransactionOptions::default();
                let connection = open(storage, name)?;
                let transaction =
                    connection.transaction(["a"], TransactionMode::ReadWrite, options)?;
                transaction.object_store("a")?.clear()?.wait()?;
                transaction.commit()?.wait()
            }
            Self::Delete(name) => {
                let deleted = factory(storage).delete_database(name).done().wait();
                deleted.map(drop)
            }
            Self::Close => factory(storage).close().wait(),
        }
    }
}

fn content(storage: &Storage, candidates: &[Databases]) -> Databases {
    let mut found = Databases::new();
    for name in names(storage) {
        let of_name = |databases: &Databases| {
            let mut names = databases.keys();
            names.find(|other| name == **other).copied()
        };
        let name = candidates.iter().find_map(of_name);
        let name = name.unwrap_or_else(|| panic!("a database that is none: {candidates:?}"));
        let connection = open(storage, name).unwrap();
        let mut records = Records::new();
        for key in 1..6 {
            if let Some(text) = read(&connection, key) {
                let len = if text == "with a blob" { 0 } else { text.len() };
                assert!(len == 0 || text == noise(key, len));
                records.insert(key, len);
            }
        }
        found.insert(name, records);
    }
    found
}

/// What may be there: one, or after a failure of which nothing is certain two.
struct Model(Vec<Databases>);

impl Model {
    fn check(&mut self, storage: &Storage, what: &str) {
        let found = content(storage, &self.0);
        assert!(
            self.0.contains(&found),
            "{what}: {found:?}, not one of {:?}",
            self.0
        );
        self.0 = vec![found];
    }
}

#[derive(Debug, Default)]
struct Outcomes {
    failed: u64,
    uncertain: u64,
    deleted: u64,
    not_deleted: u64,
    silent: u64,
}

/// Does all of the script, whatever fails.
fn run(storage: &Storage, name: ErrorName, outcomes: &mut Outcomes, what: &str) -> Model {
    let mut model = Model(vec![Databases::new()]);
    for step in SCRIPT {
        if model.0.len() > 1 {
            // Only a read shows the outcome, and a read may not work yet.
            break;
        }
        let Some(after) = step.apply(&model.0[0]) else {
            continue;
        };
        match step.run(storage) {
            Ok(()) => model.0 = vec![after],
            Err(error) => {
                outcomes.failed += 1;
                let why = match error.kind() {
                    // What nothing is certain of is no matter of room any more.
                    ErrorKind::Uncertain => ErrorName::UnknownError,
                    _ => name,
                };
                // What an upgrade ends with, and requests of a transaction that could not begin, is an abort that says why.
                let is_known = [why, ErrorName::AbortError].contains(&error.name());
                assert!(is_known, "{what}, {step:?}: {error}");
                let says_why = error.to_string().contains(why.as_str());
                assert!(says_why, "{what}, {step:?}: {error}");
                if error.kind() == ErrorKind::Uncertain {
                    outcomes.uncertain += 1;
                    model.0.push(after);
                }
            }
        }
    }
    model
}

pub(crate) fn has_reserve(disk: &Disk) -> bool {
    let names = disk.fs.list(&disk.folder).unwrap();
    let mut folders = names.iter().map(|name| disk.folder.join(name));
    folders.any(|folder| disk.fs.metadata(&folder.join("RESERVE")).is_ok())
}

fn operations() -> u64 {
    let (disk, fs) = Place::Memory.disk();
    let storage = storage(&disk, DRIVEN);
    let model = run(
        &storage,
        ErrorName::UnknownError,
        &mut Outcomes::default(),
        "no trouble",
    );
    let last = SCRIPT
        .iter()
        .try_fold(Databases::new(), |before, step| step.apply(&before));
    assert_eq!(model.0, [last.unwrap()]);
    storage.close().unwrap();
    fs.operations()
}

/// After the trouble, and after opening again: all is as it has to be, and everything works.
fn goes_on(disk: &Disk, mut storage: Storage, mut model: Model, what: &str) {
    model.check(&storage, what);
    for _ in 0..2 {
        let _ = storage.close();
        storage = self::storage(disk, DRIVEN);
        model.check(&storage, what);
    }
    let step = Step::Put("one", 4, 50);
    Step::Open("one").run(&storage).unwrap();
    step.run(&storage)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    model.0 = vec![Step::Open("one").apply(&model.0[0]).unwrap()];
    model.0 = vec![step.apply(&model.0[0]).unwrap()];
    storage.close().unwrap();
    // A store that was written to with room has one again.
    assert!(has_reserve(disk), "{what}");
    model.check(&self::storage(disk, DRIVEN), what);
}

/// Fills a disk from an operation on, deletes what is there, and goes on when there is room.
fn fill_from(n: u64, place: Place, outcomes: &mut Outcomes) {
    let what = format!("{place:?}, full from operation {n} on");
    let (disk, fs) = place.disk();
    // The limit is outside, so that it fills when the operation comes.
    let limited = disk.limited.clone().unwrap();
    let error = if n.is_multiple_of(2) { ENOSPC } else { EDQUOT };
    fs.watch(move |operation| {
        if operation == n {
            limited.leave(n % 5, Some(error));
        }
    });
    let storage = storage(&disk, DRIVEN);
    let mut model = run(&storage, ErrorName::QuotaExceededError, outcomes, &what);
    model.check(&storage, &what);
    let _ = storage.close();
    let storage = self::storage(&disk, DRIVEN);
    if model.0[0].is_empty() && factory(&storage).databases().wait().is_err() {
        // Nothing was ever there.
        disk.extend();
        return goes_on(&disk, storage, model, &what);
    }
    model.check(&storage, &what);
    for name in model.0[0].clone().into_keys() {
        let step = Step::Delete(name);
        let has_reserve = has_reserve(&disk);
        if let Err(error) = step.run(&storage) {
            is_about_room(&error, &what);
            assert!(!has_reserve, "{what}, {step:?}: {error}");
            outcomes.not_deleted += 1;
            continue;
        }
        outcomes.deleted += 1;
        model.0 = vec![step.apply(&model.0[0]).unwrap()];
        model.check(&storage, &what);
    }
    disk.extend();
    goes_on(&disk, storage, model, &what);
}

fn fill_from_every(stride: usize, place: Place) {
    let (mut outcomes, total) = (Outcomes::default(), operations());
    let mut tried = 0;
    for n in (1..=total).step_by(stride) {
        tried += 1;
        fill_from(n, place, &mut outcomes);
    }
    println!("{place:?}, full from {tried} of {total} operations on: {outcomes:?}");
    assert!(
        outcomes.failed > tried && outcomes.deleted > tried / 2,
        "{outcomes:?}"
    );
}

#[test]
fn a_disk_that_is_full_from_any_operation_on_is_read_and_deleted_from() {
    fill_from_every(1, Place::Memory);
}

#[test]
fn a_real_disk_that_is_full_from_an_operation_on_is_read_and_deleted_from_too() {
    fill_from_every(fault_stride(19), Place::Folder);
}

/// Lets an operation fail, or it and all later ones until the disk is mended.
fn trouble(place: Place, fault: Fault, error: i32, outcomes: &mut Outcomes) {
    let what = format!("{place:?}, {fault:?}, error {error}");
    let (disk, fs) = place.disk();
    fs.set_manner(Manner {
        raw_os_error: Some(error),
        ..Manner::default()
    });
    fs.fail_at(fault);
    let storage = storage(&disk, DRIVEN);
    let name = match [ENOSPC, EDQUOT].contains(&error) {
        true => ErrorName::QuotaExceededError,
        false => ErrorName::UnknownError,
    };
    let before = outcomes.failed;
    let model = run(&storage, name, outcomes, &what);
    outcomes.silent += u64::from(outcomes.failed == before);
    fs.heal();
    goes_on(&disk, storage, model, &what);
}

fn faults(operation: u64) -> [(Fault, i32); 4] {
    let errors = [EIO, EACCES, ENOSPC, EDQUOT];
    let fault = |i: usize| Fault {
        operation,
        kind: std::io::ErrorKind::Other,
        every_later_too: (operation as usize + i).is_multiple_of(2),
    };
    std::array::from_fn(|i| (fault(i), errors[i]))
}

fn trouble_at_every(stride: usize, place: Place) {
    let (mut outcomes, total) = (Outcomes::default(), operations());
    let mut tried = 0;
    for n in (1..=total).step_by(stride) {
        tried += 1;
        for (fault, error) in faults(n) {
            trouble(place, fault, error, &mut outcomes);
        }
    }
    println!("{place:?}, four errors of {tried} of {total} operations: {outcomes:?}");
    assert!(
        outcomes.failed > tried && outcomes.uncertain > 0,
        "{outcomes:?}"
    );
}

#[test]
fn an_error_of_any_operation_takes_nothing_and_leaves_nothing_of_what_failed() {
    trouble_at_every(1, Place::Memory);
}

#[test]
fn an_error_of_an_operation_on_a_real_disk_takes_and_leaves_nothing_either() {
    trouble_at_every(fault_stride(19), Place::Folder);
}
