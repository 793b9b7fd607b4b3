//! What may be opened as a file of a store, and by which users what is made may be read.
#![expect(
    clippy::disallowed_methods,
    reason = "what the seam does on a disk is looked at beside the seam"
)]

use super::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// Names that are no regular files, with what an error calls them. The first part of the pair lives as long as the socket.
fn gates(dir: &Path) -> (UnixListener, Vec<(PathBuf, &'static str)>) {
    let path = |name: &str| dir.join(name);
    mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let listener = UnixListener::bind(path("socket")).unwrap();
    DiskFileSystem::new()
        .create(&path("target"))
        .unwrap()
        .append(b"a secret")
        .unwrap();
    std::os::unix::fs::symlink(path("target"), path("link")).unwrap();
    std::os::unix::fs::symlink(path("nowhere"), path("dangling")).unwrap();
    std::os::unix::fs::symlink("/dev/null", path("device")).unwrap();
    std::fs::create_dir(path("dir")).unwrap();
    let gates = vec![
        (path("fifo"), "FIFO"),
        (path("socket"), "socket"),
        (path("link"), "symbolic link"),
        (path("dangling"), "symbolic link"),
        (path("device"), "symbolic link"),
        (path("dir"), "directory"),
    ];
    (listener, gates)
}

#[test]
#[cfg_attr(miri, ignore = "makes FIFOs and sockets")]
fn nothing_but_regular_files_is_opened_and_the_error_says_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (_listener, gates) = gates(dir.path());
    let fs = DiskFileSystem::new();
    for (path, what) in gates {
        let errors = [
            ("open_random", fs.open_random(&path).err()),
            ("open_sequential", fs.open_sequential(&path).err()),
            ("create", fs.create(&path).err()),
            ("append", fs.append(&path).err()),
            ("lock", fs.lock(&path).err()),
        ];
        for (operation, error) in errors {
            let error = error.unwrap_or_else(|| panic!("{operation} opened the {what}"));
            assert!(error.to_string().contains(what), "{operation}: {error}");
            let kind = match what {
                "directory" => io::ErrorKind::IsADirectory,
                _ => io::ErrorKind::InvalidData,
            };
            assert_eq!(error.kind(), kind, "{operation} of a {what}");
        }
        assert!(fs.lock_holder(&path).is_err(), "{what}");
    }
    let secret = std::fs::read(dir.path().join("target")).unwrap();
    assert_eq!(secret, b"a secret", "nothing was written through the link");
    assert!(!dir.path().join("nowhere").exists());
}

#[test]
#[cfg_attr(miri, ignore = "opens a device")]
fn a_device_is_no_file_of_a_store() {
    let fs = DiskFileSystem::new();
    for result in [
        fs.open_random(Path::new("/dev/null")).map(drop),
        fs.append(Path::new("/dev/null")).map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("a device"), "{error}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "makes symbolic links")]
fn metadata_is_a_links_own() {
    let dir = tempfile::tempdir().unwrap();
    let fs = DiskFileSystem::new();
    let (folder, link) = (dir.path().join("folder"), dir.path().join("link"));
    fs.create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let metadata = fs.metadata(&link).unwrap();
    assert!(metadata.is_link && !metadata.is_dir);
    let metadata = fs.metadata(&folder).unwrap();
    assert!(metadata.is_dir && !metadata.is_link);
}

/// Chromium 156 under umask 022: 0600 for CURRENT, MANIFEST, logs, LOCK and blobs, 0700 for every folder.
#[test]
#[cfg_attr(miri, ignore = "asks for modes")]
fn files_and_folders_are_made_for_their_owner_alone_as_chromium_makes_them() {
    let dir = tempfile::tempdir().unwrap();
    let fs = DiskFileSystem::new();
    let path = |name: &str| dir.path().join(name);
    drop(fs.create(&path("created")).unwrap());
    drop(fs.append(&path("appended")).unwrap());
    drop(fs.lock(&path("LOCK")).unwrap());
    fs.create_dir(&path("folder")).unwrap();
    let mode = |name| std::fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
    for name in ["created", "appended", "LOCK"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    assert_eq!(mode("folder"), 0o700);
}

#[test]
#[cfg_attr(miri, ignore = "asks for modes")]
fn a_file_that_is_there_keeps_the_mode_that_its_owner_gave_it() {
    let dir = tempfile::tempdir().unwrap();
    let fs = DiskFileSystem::new();
    let path = dir.path().join("file");
    std::fs::write(&path, "old and long").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let mut file = fs.create(&path).unwrap();
    file.append(b"new").unwrap();
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
}
