//! Copies of stores as they are when a script is about to delete a database: the suite's tests tidy up after
//! themselves, and the empty stores that they leave show little.
//!
//! A copy is what would be there if the process ended at that moment. It is taken while nothing else happens: the host
//! drives the engine, and is in the middle of the script.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use crate::run::Settings;

/// The line by which the script requests a copy.
pub(crate) const ABOUT_TO_DELETE: &str = "larder-wpt-about-to-delete";

/// Requests a copy before `deleteDatabase`, if a database has been opened since the last.
pub(crate) const SCRIPT: &str = r#"
{
  const { open, deleteDatabase } = IDBFactory.prototype;
  let opened = false;
  const methods = {
    open(name) {
      const request = Reflect.apply(open, this, arguments);
      opened = true;
      return request;
    },
    deleteDatabase(name) {
      if (opened) console.log("larder-wpt-about-to-delete");
      opened = false;
      return Reflect.apply(deleteDatabase, this, arguments);
    },
  };
  for (const name of Object.keys(methods)) {
    Object.defineProperty(IDBFactory.prototype, name, { value: methods[name] });
  }
}
"#;

/// Copies one store again and again, each time into a folder of its own.
pub(crate) struct Keeper {
    /// The storage's folder, and where its copies go.
    folders: Option<(PathBuf, PathBuf)>,
    count: u32,
}

impl Keeper {
    pub(crate) fn new(settings: &Settings, name: &str) -> Self {
        let storage = settings.storage.as_ref().map(|folder| folder.join(name));
        let keep = settings.keep.as_ref().map(|folder| folder.join(name));
        Self {
            folders: storage.zip(keep),
            count: 0,
        }
    }

    pub(crate) fn keep(&mut self) -> io::Result<()> {
        let Some((from, to)) = &self.folders else {
            return Ok(());
        };
        self.count += 1;
        copy(from, &to.join(self.count.to_string()))
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(std::fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
