//! A repair sets aside a file that it cannot open, as a lost one. A file that only another user may read is not lost: after a run as
//! root, for instance, a store has some. So a repair first asks for the permission to read each file.

use crate::error::{Error, Result};
use crate::storage::{FileSystem, files_without_permission};
use std::io;
use std::path::Path;

/// Fails if a file of the folder may not be read.
pub(super) fn require_permission(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let forbidden = files_without_permission(fs, dir)
        .map_err(|error| Error::io(dir, "cannot list the directory", error))?;
    match forbidden.first() {
        None => Ok(()),
        Some(path) => Err(Error::io(
            path,
            "this user may not read the file, so nothing was repaired: repair as the user that owns it",
            io::ErrorKind::PermissionDenied.into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::storage::{
        FileSystem, MemoryFileSystem, RandomFile, SequentialFile, WritableFile, pass_on,
    };
    use crate::{Db, Durability, ErrorKind, Options, RowsInDoubt, repair};
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    /// A file system in which one file belongs to another user.
    #[derive(Debug)]
    struct Forbidding {
        inner: MemoryFileSystem,
        name: &'static str,
    }

    impl Forbidding {
        fn check(&self, path: &Path) -> io::Result<()> {
            match path.file_name().is_some_and(|name| name == self.name) {
                true => Err(io::ErrorKind::PermissionDenied.into()),
                false => Ok(()),
            }
        }
    }

    impl FileSystem for Forbidding {
        pass_on!(
            append,
            rename,
            remove,
            list,
            metadata,
            create_dir,
            remove_dir,
            lock,
            lock_holder,
            sync_dir
        );

        fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
            self.check(path)?;
            self.inner.open_random(path)
        }

        fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
            self.check(path)?;
            self.inner.open_sequential(path)
        }

        fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
            self.inner.create(path)
        }
    }

    #[test]
    fn a_repair_changes_nothing_while_a_file_belongs_to_another_user() {
        let dir = Path::new("store");
        for name in ["CURRENT", "MANIFEST-000001", "000003.log", "000004.ldb"] {
            let memory = MemoryFileSystem::new();
            let options = Options {
                create_if_missing: true,
                ..Options::default()
            };
            let db = Db::open(Arc::new(memory.clone()), dir, options).unwrap();
            db.put(b"apple", b"red", Durability::Strict).unwrap();
            db.flush().unwrap();
            db.close().unwrap();
            let names = memory.list(dir).unwrap();
            assert!(names.iter().any(|there| there == name), "{names:?}");
            let forbidding = Forbidding {
                inner: memory.clone(),
                name,
            };
            let fs: Arc<dyn FileSystem> = Arc::new(forbidding);
            let error = repair(fs, dir, &Options::default(), RowsInDoubt::BringBack).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(
                error
                    .to_string()
                    .contains("repair as the user that owns it"),
                "{error}"
            );
            assert_eq!(memory.list(dir).unwrap(), names);
            let repaired = repair(
                Arc::new(memory),
                dir,
                &Options::default(),
                RowsInDoubt::BringBack,
            )
            .unwrap();
            assert_eq!(repaired.rows, 1);
        }
    }
}
