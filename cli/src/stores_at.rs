//! The stores where a path leads, for a command: what is said if there is none, or not all can be looked for.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use larder_backing_store::StorePaths;
use larder_leveldb::storage::FileSystem;

use crate::locate::{find_stores, resolve};
use crate::report::{EXIT_NOT_A_STORE, EXIT_USAGE, Report, complain};

/// What a person does when there is no store at PATH.
pub(crate) const WHERE_STORES_ARE: &str =
    "give the folder of a browser's profile or of an app, or one named *.indexeddb.leveldb";

/// All of them; otherwise what is wrong is said, and the exit status returned.
pub(crate) fn locate(
    fs: &dyn FileSystem,
    path: &Path,
    report: &mut Report,
) -> Result<Vec<StorePaths>, ExitCode> {
    let found = match find_stores(fs, &resolve, path) {
        Ok(found) => found,
        Err(error) => {
            let remedy = match error.kind() {
                io::ErrorKind::NotFound => ": check the path",
                io::ErrorKind::PermissionDenied => ": run larder as the user that owns it",
                _ => "",
            };
            complain(&format!("{}: {error}{remedy}", path.display()));
            return Err(ExitCode::from(EXIT_NOT_A_STORE));
        }
    };
    for (dir, error) in &found.unreadable {
        report.unreadable(dir.display(), error);
    }
    for link in &found.links {
        let what = "a symbolic link, which is not followed: give this path itself to look there";
        match StorePaths::is_leveldb_name(link) {
            true => report.unreadable(link.display(), what),
            false => report.note(link.display(), what),
        }
    }
    if found.stores.is_empty() {
        let what = match fs.metadata(path).is_ok_and(|metadata| metadata.is_dir) {
            true => "no IndexedDB store here",
            false => "a file, and no file of an IndexedDB store",
        };
        complain(&format!("{}: {what}: {WHERE_STORES_ARE}", path.display()));
        return Err(ExitCode::from(EXIT_NOT_A_STORE));
    }
    Ok(found.stores)
}

/// Does what is `done` to one store at a time to the one that a path leads to.
pub(crate) fn with_only_store(
    fs: &dyn FileSystem,
    path: &Path,
    done: &str,
    run: impl FnOnce(&StorePaths) -> ExitCode,
) -> ExitCode {
    let stores = match locate(fs, path, &mut Report::on_stderr()) {
        Ok(stores) => stores,
        Err(code) => return code,
    };
    let [paths] = &stores[..] else {
        complain(&format!(
            "there are several stores here, and one is {done} at a time:"
        ));
        for paths in &stores {
            complain(&paths.leveldb.display().to_string());
        }
        return ExitCode::from(EXIT_USAGE);
    };
    run(paths)
}
