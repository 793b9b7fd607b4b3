//! What every file system must do, as one suite: an implementation outside this crate runs it, too.

use super::{FileSystem, read_exact_at};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What an implementation did wrong.
#[derive(Debug)]
pub struct Violation(String);

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

impl From<io::Error> for Violation {
    fn from(error: io::Error) -> Violation {
        Violation(format!("an operation that must succeed failed: {error}"))
    }
}

type Check = Result<(), Violation>;

/// Runs the suite in an empty directory, and leaves it empty.
///
/// ```
/// use larder_leveldb::storage::{conformance, FileSystem, MemoryFileSystem};
/// use std::path::Path;
/// let fs = MemoryFileSystem::new();
/// fs.create_dir(Path::new("d")).unwrap();
/// conformance::check(&fs, Path::new("d")).unwrap();
/// ```
pub fn check(fs: &dyn FileSystem, dir: &Path) -> Check {
    reading_and_writing(fs, dir)?;
    truncating_and_appending(fs, dir)?;
    renaming_and_removing(fs, dir)?;
    handles_outlive_names(fs, dir)?;
    directories(fs, dir)?;
    directories_are_no_files(fs, dir)?;
    locks(fs, dir)?;
    lost_locks(fs, dir)?;
    missing_names(fs, dir)?;
    expect(fs.list(dir)?.is_empty(), "the suite removed all it made")
}

fn expect(condition: bool, what: &str) -> Check {
    if condition {
        Ok(())
    } else {
        Err(Violation(format!("not so: {what}")))
    }
}

fn expect_error<T>(result: io::Result<T>, kind: io::ErrorKind, what: &str) -> Check {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => Err(Violation(format!("{what}: {kind:?} expected, got {error}"))),
        Ok(_) => Err(Violation(format!(
            "{what}: {kind:?} expected, but it succeeded"
        ))),
    }
}

fn write(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Check {
    let mut file = fs.create(path)?;
    file.append(bytes)?;
    Ok(file.flush()?)
}

fn read(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>, Violation> {
    let mut file = fs.open_sequential(path)?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4099]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(bytes),
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

fn reading_and_writing(fs: &dyn FileSystem, dir: &Path) -> Check {
    let path = dir.join("file");
    let mut file = fs.create(&path)?;
    let content: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
    for piece in content.chunks(70_001) {
        file.append(piece)?;
    }
    file.append(b"")?;
    file.sync()?;
    drop(file);
    fs.sync_dir(dir)?;
    expect(
        read(fs, &path)? == content,
        "sequential reading gives what was written",
    )?;
    let random = fs.open_random(&path)?;
    expect(
        random.len()? == 200_000 && !random.is_empty()?,
        "the length of a file",
    )?;
    let mut buffer = [0; 100];
    read_exact_at(&*random, 131_000, &mut buffer)?;
    expect(
        buffer == content[131_000..131_100],
        "random reading gives what was written",
    )?;
    expect(
        random.read_at(199_990, &mut buffer)? <= 10,
        "a read stops at the end",
    )?;
    expect(
        random.read_at(200_000, &mut buffer)? == 0,
        "a read at the end gives nothing",
    )?;
    expect(
        random.read_at(1 << 40, &mut buffer)? == 0,
        "a read past the end gives nothing",
    )?;
    let metadata = fs.metadata(&path)?;
    expect(
        metadata.len_bytes == 200_000 && !metadata.is_dir && !metadata.is_link,
        "metadata of a file",
    )?;
    Ok(fs.remove(&path)?)
}

fn truncating_and_appending(fs: &dyn FileSystem, dir: &Path) -> Check {
    let path = dir.join("file");
    let mut file = fs.append(&path)?;
    file.append(b"one ")?;
    drop(file);
    expect(
        read(fs, &path)? == b"one ",
        "append makes a file, and dropping it flushes",
    )?;
    let mut file = fs.append(&path)?;
    file.append(b"two")?;
    file.flush()?;
    expect(
        read(fs, &path)? == b"one two",
        "append goes on at the end, and flushed bytes are seen",
    )?;
    write(fs, &path, b"new")?;
    expect(read(fs, &path)? == b"new", "create truncates")?;
    let mut file = fs.create(&path)?;
    file.append(b"dated")?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234_567);
    file.set_modified(time)?;
    drop(file);
    expect(
        fs.metadata(&path)?.modified == Some(time) && read(fs, &path)? == b"dated",
        "a time that was set stays, and so do the bytes",
    )?;
    truncating(fs, &path)?;
    Ok(fs.remove(&path)?)
}

fn truncating(fs: &dyn FileSystem, path: &Path) -> Check {
    for len_bytes in [0, 3, 70_000] {
        let content = vec![b'a'; 70_000];
        let mut file = fs.create(path)?;
        file.append(&content)?;
        file.flush()?;
        file.append(b"that waits")?;
        file.truncate(len_bytes)?;
        file.append(b"after")?;
        file.sync()?;
        let cut = [&content[..len_bytes as usize], b"after"].concat();
        expect(
            read(fs, path)? == cut,
            "a truncated file is gone on with at its new end",
        )?;
    }
    Ok(())
}

fn renaming_and_removing(fs: &dyn FileSystem, dir: &Path) -> Check {
    let (a, b) = (dir.join("a"), dir.join("b"));
    write(fs, &a, b"A")?;
    write(fs, &b, b"B")?;
    fs.rename(&a, &b)?;
    expect(read(fs, &b)? == b"A", "rename replaces")?;
    expect_error(
        fs.metadata(&a),
        io::ErrorKind::NotFound,
        "the old name after a rename",
    )?;
    expect(
        fs.list(dir)? == [OsString::from("b")],
        "list shows the one name that is left",
    )?;
    fs.remove(&b)?;
    expect(fs.list(dir)?.is_empty(), "list shows no removed name")
}

fn handles_outlive_names(fs: &dyn FileSystem, dir: &Path) -> Check {
    let (a, b) = (dir.join("a"), dir.join("b"));
    write(fs, &a, b"first")?;
    let removed = fs.open_random(&a)?;
    fs.remove(&a)?;
    write(fs, &a, b"other")?;
    write(fs, &b, b"third")?;
    let replaced = fs.open_random(&a)?;
    fs.rename(&b, &a)?;
    let mut buffer = [0; 5];
    read_exact_at(&*removed, 0, &mut buffer)?;
    expect(&buffer == b"first", "an open handle reads a removed file")?;
    read_exact_at(&*replaced, 0, &mut buffer)?;
    expect(&buffer == b"other", "an open handle reads a replaced file")?;
    Ok(fs.remove(&a)?)
}

fn directories(fs: &dyn FileSystem, dir: &Path) -> Check {
    let sub = dir.join("sub");
    fs.create_dir(&sub)?;
    expect_error(
        fs.create_dir(&sub),
        io::ErrorKind::AlreadyExists,
        "making a directory twice",
    )?;
    expect(fs.metadata(&sub)?.is_dir, "metadata of a directory")?;
    fs.sync_dir(dir)?;
    fs.sync_dir(Path::new(""))?;
    write(fs, &sub.join("file"), b"x")?;
    expect(
        fs.list(dir)? == [OsString::from("sub")],
        "list shows directories, and not what is in them",
    )?;
    expect(
        fs.list(&sub)? == [OsString::from("file")],
        "list of a directory below",
    )?;
    expect_error(
        fs.remove_dir(&sub),
        io::ErrorKind::DirectoryNotEmpty,
        "removing a directory with a file",
    )?;
    fs.remove(&sub.join("file"))?;
    fs.remove_dir(&sub)?;
    expect_error(
        fs.list(&sub),
        io::ErrorKind::NotFound,
        "listing a removed directory",
    )
}

fn directories_are_no_files(fs: &dyn FileSystem, dir: &Path) -> Check {
    let sub = dir.join("000005.ldb");
    fs.create_dir(&sub)?;
    let kind = io::ErrorKind::IsADirectory;
    expect_error(fs.open_random(&sub), kind, "opening a directory")?;
    expect_error(fs.open_sequential(&sub), kind, "opening a directory")?;
    expect_error(
        fs.create(&sub),
        kind,
        "making a file in a directory's place",
    )?;
    expect_error(fs.append(&sub), kind, "appending to a directory")?;
    expect_error(fs.lock(&sub), kind, "locking a directory")?;
    let metadata = fs.metadata(&sub)?;
    expect(
        metadata.is_dir && !metadata.is_link,
        "a directory stays one",
    )?;
    Ok(fs.remove_dir(&sub)?)
}

fn locks(fs: &dyn FileSystem, dir: &Path) -> Check {
    let path = dir.join("LOCK");
    expect(
        fs.lock_holder(&path)?.is_none(),
        "a missing file is not locked",
    )?;
    expect_error(
        fs.metadata(&path),
        io::ErrorKind::NotFound,
        "asking makes no file",
    )?;
    let lock = fs.lock(&path)?;
    expect(fs.lock_holder(&path)?.is_some(), "a held lock has a holder")?;
    expect_error(
        fs.lock(&path),
        io::ErrorKind::WouldBlock,
        "taking a held lock",
    )?;
    expect(
        fs.lock_holder(&path)?.is_some(),
        "a refused attempt frees nothing",
    )?;
    expect(lock.is_held()?, "a lock is held where it was taken")?;
    drop(lock);
    expect(fs.lock_holder(&path)?.is_none(), "a dropped lock is free")?;
    drop(fs.lock(&path)?);
    Ok(fs.remove(&path)?)
}

fn lost_locks(fs: &dyn FileSystem, dir: &Path) -> Check {
    let (path, other) = (dir.join("LOCK"), dir.join("other"));
    let lock = fs.lock(&path)?;
    fs.remove(&path)?;
    expect(!lock.is_held()?, "a lock whose file was removed is lost")?;
    write(fs, &path, b"")?;
    expect(!lock.is_held()?, "another file of its name is not its own")?;
    expect(
        fs.lock_holder(&path)?.is_none(),
        "the lock of that file is free",
    )?;
    drop(lock);
    let lock = fs.lock(&path)?;
    expect(lock.is_held()?, "a lock that was taken anew is held")?;
    fs.rename(&path, &other)?;
    expect(!lock.is_held()?, "a lock whose file was renamed is lost")?;
    fs.rename(&other, &path)?;
    expect(lock.is_held()?, "until the file is there again")?;
    write(fs, &other, b"")?;
    fs.rename(&other, &path)?;
    expect(!lock.is_held()?, "a lock whose file was replaced is lost")?;
    drop(lock);
    Ok(fs.remove(&path)?)
}

fn missing_names(fs: &dyn FileSystem, dir: &Path) -> Check {
    let path = dir.join("missing");
    let kind = io::ErrorKind::NotFound;
    expect_error(fs.open_random(&path), kind, "opening a missing file")?;
    expect_error(fs.open_sequential(&path), kind, "opening a missing file")?;
    expect_error(
        fs.rename(&path, &dir.join("x")),
        kind,
        "renaming a missing file",
    )?;
    expect_error(fs.remove(&path), kind, "removing a missing file")?;
    expect_error(
        fs.create(&path.join("x")),
        kind,
        "making a file in a missing directory",
    )?;
    expect_error(fs.remove_dir(&path), kind, "removing a missing directory")
}
