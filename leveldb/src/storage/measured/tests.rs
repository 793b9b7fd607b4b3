//! What is counted is what a walk over the folders adds up.

use super::*;
use crate::storage::{Fault, FaultFileSystem, MemoryFileSystem, conformance};
use quickcheck::quickcheck;

const ROOTS: [&str; 2] = ["db", "blobs"];

/// The bytes of all files below a folder, by asking for each.
fn walked(fs: &dyn FileSystem, dir: &Path) -> u64 {
    let names = fs.list(dir).unwrap_or_default();
    let of = |name| {
        let path = dir.join(name);
        let metadata = fs.metadata(&path).unwrap();
        match metadata.is_dir {
            true => walked(fs, &path),
            false => metadata.len_bytes,
        }
    };
    names.into_iter().map(of).sum()
}

fn totals(fs: &MeasuredFileSystem) -> Vec<u64> {
    let used = fs.used().unwrap();
    used.iter().map(UsedBytes::total).collect()
}

fn folders() -> Arc<MemoryFileSystem> {
    let memory = Arc::new(MemoryFileSystem::new());
    for dir in ["db", "db/lost", "blobs", "blobs/1", "elsewhere"] {
        memory.create_dir(Path::new(dir)).unwrap();
    }
    memory
}

fn over(inner: Arc<dyn FileSystem>) -> MeasuredFileSystem {
    MeasuredFileSystem::new(inner, ROOTS.map(PathBuf::from).to_vec())
}

#[test]
fn it_is_as_what_it_stands_on() {
    let memory = Arc::new(MemoryFileSystem::new());
    memory.create_dir(Path::new("db")).unwrap();
    conformance::check(&over(memory), Path::new("db")).unwrap();
}

const NAMES: [&str; 7] = [
    "db/000001.log",
    "db/000002.ldb",
    "db/CURRENT",
    "db/lost/000003.log",
    "blobs/1/2",
    "blobs/1/000004.log",
    "elsewhere/000005.log",
];

/// Files that are open for writing, by the name that each was opened by: no two by the same.
type Open = Vec<(usize, Box<dyn WritableFile>)>;

/// Does one thing that a number says, also to files that have lost their names.
fn act(fs: &MeasuredFileSystem, open: &mut Open, number: u32) {
    let (what, n) = (number % 9, number as usize / 9);
    let (name, other) = (n % NAMES.len(), n / 7 % NAMES.len());
    let path = |name: usize| Path::new(NAMES[name]);
    match what {
        0 | 1 => {
            // One that was renamed onto this name, or from it, is gone, too.
            open.clear();
            let opened = match what {
                0 => fs.create(path(name)),
                _ => fs.append(path(name)),
            };
            open.extend(opened.ok().map(|file| (name, file)));
            let second = (name + 1) % NAMES.len();
            open.extend(fs.append(path(second)).ok().map(|file| (second, file)));
        }
        2 => _ = fs.remove(path(name)),
        3 => _ = fs.rename(path(name), path(other)),
        4 if !open.is_empty() => drop(open.swap_remove(n % open.len())),
        5 => {
            if let Some((_, file)) = open.last_mut() {
                let _ = file.truncate(0);
            }
        }
        _ => {
            let at = n % open.len().max(1);
            if let Some((_, file)) = open.get_mut(at) {
                let _ = file.append(&vec![7; n % 1000]);
            }
        }
    }
}

#[test]
fn files_are_classed_by_their_names_and_only_in_the_folder_itself() {
    let fs = over(folders());
    for (n, name) in NAMES.iter().enumerate() {
        let mut file = fs.create(Path::new(name)).unwrap();
        file.append(&vec![0; 1 << n]).unwrap();
    }
    let of = |tables, logs, others| UsedBytes {
        tables,
        logs,
        others,
    };
    assert_eq!(fs.used().unwrap(), [of(2, 1, 4 + 8), of(0, 0, 16 + 32)]);
}

#[test]
fn what_others_write_shows_when_it_is_measured_again() {
    let memory = folders();
    let fs = over(memory.clone());
    assert_eq!(totals(&fs), [0, 0]);
    let mut theirs = memory.create(Path::new(NAMES[1])).unwrap();
    theirs.append(b"theirs").unwrap();
    assert_eq!(totals(&fs), [0, 0]);
    fs.measure_again();
    assert_eq!(totals(&fs), [6, 0]);
}

quickcheck! {
    fn the_count_is_what_a_walk_adds_up(before: Vec<u32>, numbers: Vec<u32>, failing: Option<u64>) -> bool {
        let memory = folders();
        // There before it is measured, made by others and by itself.
        let mut open = Vec::new();
        for number in before {
            let mut theirs = Vec::new();
            act(&over(memory.clone()), &mut theirs, number);
        }
        let faults = FaultFileSystem::new(memory.clone());
        if let Some(operation) = failing {
            faults.fail_at(Fault {
                operation: operation % 64 + 1,
                kind: io::ErrorKind::Other,
                every_later_too: false,
            });
        }
        let fs = over(Arc::new(faults));
        let is_equal = |fs: &MeasuredFileSystem| match fs.used() {
            Ok(_) => totals(fs) == ROOTS.map(|root| walked(&*memory, Path::new(root))),
            // Measuring was what failed.
            Err(_) => true,
        };
        numbers.into_iter().all(|number| {
            act(&fs, &mut open, number);
            number % 3 == 0 || is_equal(&fs)
        })
    }
}
