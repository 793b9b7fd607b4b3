//! Each implementation passes the conformance suite, and does what only it does.

use super::*;
use std::path::PathBuf;

#[cfg(unix)]
mod gates;

#[test]
#[cfg_attr(miri, ignore = "asks the system for record locks")]
fn the_disk_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    conformance::check(&DiskFileSystem::new(), dir.path()).unwrap();
}

#[test]
fn memory_keeps_the_contract() {
    let fs = MemoryFileSystem::new();
    fs.create_dir(Path::new("/files")).unwrap();
    conformance::check(&fs, Path::new("/files")).unwrap();
}

#[test]
fn a_fault_free_wrapper_keeps_the_contract() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    fs.create_dir(Path::new("root")).unwrap();
    conformance::check(&fs, Path::new("root")).unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn the_suite_notices_every_single_failing_operation() {
    let total = {
        let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
        fs.create_dir(Path::new("root")).unwrap();
        conformance::check(&fs, Path::new("root")).unwrap();
        fs.operations()
    };
    assert!(total > 50, "{total} operations");
    // The first made the directory.
    for n in 2..=total {
        let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
        fs.create_dir(Path::new("root")).unwrap();
        fs.fail_at(Fault {
            operation: n,
            kind: io::ErrorKind::Other,
            every_later_too: false,
        });
        assert!(
            conformance::check(&fs, Path::new("root")).is_err(),
            "operation {n} failed unnoticed"
        );
    }
}

fn write(fs: &MemoryFileSystem, path: &str, bytes: &[u8], sync: bool) {
    let mut file = fs.append(Path::new(path)).unwrap();
    file.append(bytes).unwrap();
    if sync {
        file.sync().unwrap();
    }
}

fn read(fs: &MemoryFileSystem, path: &str) -> Option<Vec<u8>> {
    read_small_file(fs, Path::new(path), 1 << 20).ok()
}

#[test]
fn a_crash_loses_bytes_that_were_not_synced_and_names_whose_directory_was_not() {
    let fs = MemoryFileSystem::new();
    fs.create_dir(Path::new("d")).unwrap();
    fs.sync_dir(Path::new("")).unwrap();
    write(&fs, "d/kept", b"durable", true);
    fs.sync_dir(Path::new("d")).unwrap();
    write(&fs, "d/kept", b" lost", false);
    write(&fs, "d/nameless", b"bytes", true);
    fs.rename(Path::new("d/kept"), Path::new("d/renamed"))
        .unwrap();
    let crashed = fs.crash_image(CrashImage::LoseUnsynced);
    assert_eq!(read(&crashed, "d/kept").as_deref(), Some(&b"durable"[..]));
    assert_eq!(read(&crashed, "d/renamed"), None);
    assert_eq!(read(&crashed, "d/nameless"), None);
    let killed = fs.crash_image(CrashImage::KeepWritten);
    assert_eq!(
        read(&killed, "d/renamed").as_deref(),
        Some(&b"durable lost"[..])
    );
}

#[test]
fn a_crash_loses_directories_whose_names_were_not_synced_with_all_that_is_in_them() {
    let fs = MemoryFileSystem::new();
    let dir = |name: &'static str| Path::new(name);
    for name in ["kept", "kept/below", "lost", "lost/below"] {
        fs.create_dir(dir(name)).unwrap();
    }
    for name in ["kept", "kept/below", "lost/below"] {
        write(&fs, &format!("{name}/f"), b"synced", true);
    }
    // A sync of a directory's entries is no sync of the directory's own name.
    for name in ["lost/below", "kept/below", "kept", "lost"] {
        fs.sync_dir(dir(name)).unwrap();
    }
    fs.create_dir(dir("gone")).unwrap();
    write(&fs, "gone/f", b"synced", true);
    fs.sync_dir(dir("gone")).unwrap();
    fs.remove_dir(dir("lost")).unwrap_err();
    let before = fs.crash_image(CrashImage::LoseUnsynced);
    assert!(before.list(dir("")).unwrap().is_empty());
    fs.remove(dir("lost/below/f")).unwrap();
    fs.remove_dir(dir("lost/below")).unwrap();
    fs.remove_dir(dir("lost")).unwrap();
    fs.sync_dir(dir("")).unwrap();
    fs.create_dir(dir("lost")).unwrap();
    fs.remove(dir("gone/f")).unwrap();
    fs.remove_dir(dir("gone")).unwrap();
    let after = fs.crash_image(CrashImage::LoseUnsynced);
    let names = |of: &str| {
        let mut names = after.list(Path::new(of)).unwrap();
        names.sort();
        names
    };
    // A directory whose removal was not synced is there again, with its file.
    assert_eq!(names(""), ["gone", "kept"]);
    assert_eq!(read(&after, "gone/f").as_deref(), Some(&b"synced"[..]));
    assert_eq!(names("kept"), ["below", "f"]);
    assert_eq!(
        read(&after, "kept/below/f").as_deref(),
        Some(&b"synced"[..])
    );
    fs.sync_dir(dir("")).unwrap();
    fs.create_dir(dir("gone")).unwrap();
    fs.sync_dir(dir("")).unwrap();
    let after = fs.crash_image(CrashImage::LoseUnsynced);
    assert!(after.list(dir("gone")).unwrap().is_empty());
}

#[test]
fn a_torn_crash_keeps_a_prefix_of_what_was_not_synced() {
    let fs = MemoryFileSystem::new();
    fs.create_dir(Path::new("d")).unwrap();
    fs.sync_dir(Path::new("")).unwrap();
    write(&fs, "d/f", b"durable", true);
    fs.sync_dir(Path::new("d")).unwrap();
    write(&fs, "d/f", &[b'x'; 100], false);
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let bytes = read(&fs.crash_image(CrashImage::Tear { seed }), "d/f").unwrap();
        assert!(
            bytes.starts_with(b"durable") && bytes[7..].iter().all(|&b| b == b'x'),
            "seed {seed}"
        );
        lengths.insert(bytes.len());
    }
    assert!(lengths.len() > 10, "{lengths:?}");
}

#[test]
fn a_fault_is_met_at_its_number_and_names_no_other() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    fs.fail_at(Fault {
        operation: 2,
        kind: io::ErrorKind::StorageFull,
        every_later_too: false,
    });
    let dir = PathBuf::from("d");
    fs.create_dir(&dir).unwrap();
    assert_eq!(
        fs.list(&dir).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
    fs.list(&dir).unwrap();
    assert_eq!(fs.failed(), ["list"]);
}

/// As Linux does: see decision 20.
#[test]
fn what_a_failed_sync_gave_up_is_on_the_medium_only_when_it_is_cut_off_and_written_anew() {
    let memory = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(memory.clone()));
    let path = PathBuf::from("f");
    let on_medium = || {
        let after = memory.crash_image(CrashImage::LoseUnsynced);
        let file = after.open_random(&path).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, 0, &mut bytes).unwrap();
        bytes
    };
    let mut file = fs.create(&path).unwrap();
    fs.sync_dir(Path::new("")).unwrap();
    file.append(b"one").unwrap();
    file.sync().unwrap();
    file.append(b"two").unwrap();
    fs.fail_at(Fault {
        operation: fs.operations() + 1,
        kind: io::ErrorKind::Other,
        every_later_too: false,
    });
    file.sync().unwrap_err();
    file.sync().unwrap();
    file.append(b"three").unwrap();
    file.sync().unwrap();
    assert_eq!(on_medium(), b"one");
    file.truncate(3).unwrap();
    file.append(b"four").unwrap();
    file.sync().unwrap();
    assert_eq!(on_medium(), b"onefour");
}

#[test]
fn an_append_that_fails_leaves_half_and_every_operation_is_announced() {
    let memory = Arc::new(MemoryFileSystem::new());
    let fs = FaultFileSystem::new(memory.clone());
    let announced = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = announced.clone();
    fs.watch(move |n| heard.lock().unwrap().push(n));
    fs.fail_at(Fault {
        operation: 3,
        kind: io::ErrorKind::StorageFull,
        every_later_too: false,
    });
    let mut file = fs.create(&PathBuf::from("f")).unwrap();
    file.append(b"whole ").unwrap();
    assert!(file.append(b"half").is_err());
    assert_eq!(read(&memory, "f").unwrap(), b"whole ha");
    assert_eq!((fs.failed(), fs.operations()), (vec!["append bytes"], 3));
    assert_eq!(*announced.lock().unwrap(), [1, 2, 3]);
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "asks the system for record locks")]
fn the_disk_reports_the_holder_of_a_lock_without_giving_it_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let fs = DiskFileSystem::new();
    assert_eq!(fs.lock_holder(&path).unwrap(), None);
    assert!(fs.metadata(&path).is_err(), "asking made the file");
    let lock = fs.lock(&path).unwrap();
    // A record lock goes when any handle of the file is closed: asking must not open it.
    assert_eq!(
        fs.lock_holder(&path).unwrap(),
        Some(LockHolder {
            pid: Some(std::process::id())
        })
    );
    assert!(DiskFileSystem::new().lock(&path).is_err());
    let seen = std::process::Command::new("python3")
        .args(["-c", ASK])
        .arg(&path)
        .output();
    if let Ok(output) = seen {
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            "held",
            "{output:?}"
        );
    }
    drop(lock);
    assert_eq!(fs.lock_holder(&path).unwrap(), None);
    fs.lock(&path).unwrap();
}

#[cfg(unix)]
const ASK: &str = "
import fcntl, sys
try:
    fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)
    print('free')
except OSError:
    print('held')
";
