//! Strict transactions beside the least that durability takes: the same bytes appended to a file and synced. By turns, one
//! transaction and one sync at a time, since the time of a sync depends on what the disk does besides.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::ours::{Manner, Ours, Setup};
use crate::rows::{Subject, Workload, measured};
use crate::table::{goal, median};

const ROUNDS: usize = 5;

/// How much longer than the bare sync a strict transaction may take.
const BARE_MAX: f64 = 1.2;

pub(crate) fn compare(dir: &Path, size: usize, workload: &Workload) {
    let dir = dir.join("strict");
    std::fs::create_dir_all(&dir).unwrap();
    let rows = crate::ours::rows_of(workload);
    let mut ours = Ours::create(&dir, false, Setup::of(Manner::Bytes), &rows);
    let before = log_len(&dir);
    ours.put_one(&workload.singles[0], true);
    let bytes = vec![7; (log_len(&dir) - before) as usize];
    let mut bare = File::create(dir.join("bare")).unwrap();
    let (mut transactions, mut syncs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for record in &workload.singles {
            let sync = measured(|| {
                bare.write_all(&bytes).unwrap();
                bare.sync_data().unwrap();
            });
            syncs.push(sync.1.wall_ms);
            transactions.push(measured(|| ours.put_one(record, true)).1.wall_ms);
        }
    }
    drop(ours);
    std::fs::remove_dir_all(&dir).unwrap();
    let (ours, bare) = (median(&transactions).unwrap(), median(&syncs).unwrap());
    println!(
        "{size} B: a strict transaction with one put {ours:.3} ms; its {} bytes written and synced {bare:.3} ms",
        bytes.len()
    );
    let what = format!("{size} B, strict transaction beside write and fdatasync");
    goal(&what, ours / bare, "<=", BARE_MAX, "");
}

/// The bytes of the store's logs.
fn log_len(dir: &Path) -> u64 {
    let mut len = 0;
    for folder in std::fs::read_dir(dir).unwrap() {
        let folder = folder.unwrap();
        if folder.file_type().unwrap().is_dir() {
            for file in std::fs::read_dir(folder.path()).unwrap() {
                let file = file.unwrap();
                if file.path().extension().is_some_and(|end| end == "log") {
                    len += file.metadata().unwrap().len();
                }
            }
        }
    }
    len
}
