//! From the lines of an archive to stores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{StorePaths, files};
use larder_codec::{JsString, Origin};
use larder_leveldb::storage::FileSystem;

use super::error::ArchiveError;
use super::export::Counts;
use super::json::Json;
use super::line::{Line, StoreHead};
use super::lines::Lines;
use super::new_store::StoreWriter;
use super::{LINES_FILE, dexie, value};

/// How an archive is read back.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The origin that all stores get; their own without.
    pub origin: Option<Origin>,
    /// Nothing is written: the archive is read to its end, and what is in it counted.
    pub dry_run: bool,
}

/// What was imported.
#[derive(Debug, Default)]
pub struct Imported {
    /// What there was.
    pub counts: Counts,
    /// Where the stores are.
    pub stores: Vec<StorePaths>,
    /// Records that are not whole in the archive or file, each with its place there. They are left out.
    pub problems: Vec<String>,
}

/// Makes stores of an archive, or of a file of dexie-export-import, below `to`, or at `to` if that has the name of a store's folder. Each appears whole, after the archive was
/// read to its end; until then there is none. `tick` is called for each record.
///
/// # Errors
/// If the archive cannot be read, is no archive or not a whole one, with the line; if there is a store already; if the stores cannot be
/// written.
pub fn import_archive(
    source: &Arc<dyn FileSystem>,
    from: &Path,
    target: &Arc<dyn FileSystem>,
    to: &Path,
    options: &ImportOptions,
    tick: &mut dyn FnMut(),
) -> Result<Imported, ArchiveError> {
    let found = source.metadata(from);
    let found = found.map_err(|error| ArchiveError::io(from, "cannot be read", error))?;
    let (path, folder) = match found.is_dir {
        true if !files::exists(&**source, &from.join(LINES_FILE))? => {
            let what = "this folder is no archive, without a file archive.jsonl: give a file or folder that larder export has written";
            return Err(ArchiveError::new(from, what));
        }
        true => (from.join(LINES_FILE), Some(from.to_owned())),
        false => (from.to_owned(), None),
    };
    let mut lines = Lines::open(source, &path)?;
    if dexie::is_export(lines.head()?) {
        let (path, input) = lines.into_input();
        return dexie::import((&path, input), target, to, options, tick);
    }
    let mut import = Import {
        lines,
        source: Arc::clone(source),
        target: Arc::clone(target),
        folder,
        to: to.to_owned(),
        options: options.clone(),
        imported: Imported::default(),
        current: None,
        finished: Vec::new(),
        is_begun: false,
        is_in_store: false,
    };
    import.run(tick)
}

/// Reads bytes as an archive, as far as that can be done without a store: for tests of hostile archives.
///
/// # Errors
/// If they are none.
pub fn check_bytes(bytes: &[u8]) -> Result<u64, ArchiveError> {
    let mut lines = Lines::of_bytes(bytes.to_vec());
    if dexie::is_export(lines.head()?) {
        let (path, input) = lines.into_input();
        return dexie::check(&path, input);
    }
    let mut records = 0;
    while let Some(json) = lines.next::<Json>()? {
        let line = Line::of(json).map_err(|what| lines.error(what))?;
        if let Line::Record(json) = &line {
            let version = larder_backing_store::NEW_STORE_VERSION;
            let written = json.need("key").and_then(Json::key).map(drop);
            let written = written.and_then(|()| match (json.get("wire"), json.get("value")) {
                (None, Some(value)) => value::write(value, version).map(drop),
                _ => Ok(()),
            });
            written.map_err(|what| lines.error(what))?;
            records += 1;
        }
    }
    Ok(records)
}

struct Import {
    lines: Lines,
    source: Arc<dyn FileSystem>,
    target: Arc<dyn FileSystem>,
    /// The archive, if it is a folder.
    folder: Option<PathBuf>,
    to: PathBuf,
    options: ImportOptions,
    imported: Imported,
    /// The store that is being written; none of a dry run.
    current: Option<StoreWriter>,
    finished: Vec<StoreWriter>,
    is_begun: bool,
    is_in_store: bool,
}

impl Import {
    fn run(&mut self, tick: &mut dyn FnMut()) -> Result<Imported, ArchiveError> {
        loop {
            let Some(json) = self.lines.next::<Json>()? else {
                let what = match self.is_begun {
                    true => {
                        "the archive ends here without its line \"end\": it was not written to its end, or cut"
                    }
                    false => "this file is empty",
                };
                return Err(self.lines.error(what));
            };
            let is_head = json.get("archive") == Some(&Json::Text("larder".to_owned()));
            if !self.is_begun && !is_head {
                let what = "this is no archive of larder's, whose first line begins with {\"archive\":\"larder\", and no file of dexie-export-import, which begins with {\"formatName\":\"dexie\"";
                return Err(self.lines.error(what));
            }
            let line = Line::of(json).map_err(|what| self.lines.error(what))?;
            if let Line::End(counts) = line {
                return self.end(counts);
            }
            if matches!(line, Line::Record(_)) {
                tick();
            }
            self.line(line)?;
        }
    }

    fn line(&mut self, line: Line) -> Result<(), ArchiveError> {
        let counts = &mut self.imported.counts;
        match &line {
            Line::Head => self.is_begun = true,
            Line::Store(head) => {
                counts.stores += 1;
                self.is_in_store = true;
                return self.store(head);
            }
            _ if !self.is_in_store => {
                return Err(self.lines.error("a line \"store\" comes before this"));
            }
            Line::Database(database) => {
                counts.databases += 1;
                counts.object_stores += database.object_stores.len() as u64;
            }
            Line::Record(json) => {
                counts.records += 1;
                let objects = json.get("external").map(|list| list.items()).transpose();
                let objects = objects
                    .map_err(|what| self.lines.error(what))?
                    .unwrap_or_default();
                let has_content =
                    |object: &&Json| object.get("blob").is_some() || object.get("file").is_some();
                counts.blobs += objects.iter().filter(has_content).count() as u64;
            }
            _ => {}
        }
        let Some(current) = &mut self.current else {
            return self.try_out(&line);
        };
        let done = match line {
            Line::Database(database) => current.database(database),
            Line::Records {
                database,
                object_store,
            } => current.records(&database, &object_store),
            Line::Blob { number, bytes } => current.blob(number, &bytes),
            Line::Record(json) => current.record(&json),
            Line::Entries { index } => current.entries(&index),
            Line::Entry { key, primary_key } => current.entry(&key, &primary_key),
            Line::Head | Line::Store(_) | Line::End(_) => Ok(None),
        };
        match done {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => {
                let problem = self.lines.error(problem).to_string();
                self.imported.problems.push(problem);
                Ok(())
            }
            Err(what) => Err(self.lines.error(what)),
        }
    }

    /// What can be seen of a line without a store.
    fn try_out(&self, line: &Line) -> Result<(), ArchiveError> {
        let tried = match line {
            Line::Record(json) => json.need("key").and_then(Json::key).map(drop),
            Line::Entry { key, primary_key } => key.key().and_then(|_| primary_key.key()).map(drop),
            _ => Ok(()),
        };
        tried.map_err(|what| self.lines.error(what))
    }

    fn store(&mut self, head: &StoreHead) -> Result<(), ArchiveError> {
        self.close_store()?;
        let paths = self.place(head)?;
        if self.imported.stores.contains(&paths) {
            let what = format!(
                "two stores of the archive would be at {}",
                paths.leveldb.display()
            );
            return Err(self.lines.error(what));
        }
        self.imported.stores.push(paths.clone());
        if self.options.dry_run {
            return Ok(());
        }
        let origin = self.origin(head)?;
        let (source, target) = (Arc::clone(&self.source), Arc::clone(&self.target));
        let blobs = self.folder.clone().map(|folder| (source, folder));
        let writer = StoreWriter::begin(target, paths, origin, head, blobs);
        self.current = Some(writer.map_err(|what| self.lines.error(what))?);
        Ok(())
    }

    fn origin(&self, head: &StoreHead) -> Result<Origin, ArchiveError> {
        let own = || {
            let identifier = head.identifier.as_deref().and_then(Origin::from_identifier);
            identifier.or_else(|| Origin::from_url(&head.origin).ok())
        };
        self.options.origin.clone().or_else(own).ok_or_else(|| {
            let what = format!(
                "{:?} is no origin that a store can have: give one with --origin",
                head.origin
            );
            self.lines.error(what)
        })
    }

    fn place(&self, head: &StoreHead) -> Result<StorePaths, ArchiveError> {
        let mut folder: PathBuf = head.folder.iter().collect();
        if folder.as_os_str().is_empty() || !StorePaths::is_leveldb_name(&folder) {
            folder.set_file_name(self.origin(head)?.leveldb_folder_name());
        }
        let store = StorePaths::of_leveldb(&folder);
        let origin = self.options.origin.as_ref();
        Ok(crate::copy::place(Path::new(""), &store, &self.to, origin))
    }

    fn close_store(&mut self) -> Result<(), ArchiveError> {
        if let Some(mut current) = self.current.take() {
            current.close().map_err(|what| self.lines.error(what))?;
            self.finished.push(current);
        }
        Ok(())
    }

    fn end(&mut self, told: Counts) -> Result<Imported, ArchiveError> {
        let counts = self.imported.counts;
        if counts != told {
            let what = format!(
                "the archive should have {told}, and has {counts}: a part of it is missing or doubled"
            );
            return Err(self.lines.error(what));
        }
        self.close_store()?;
        if self.lines.next::<Json>()?.is_some() {
            return Err(self.lines.error("there is more behind the line \"end\""));
        }
        for store in self.finished.drain(..) {
            store
                .finish()
                .map_err(|what| ArchiveError::new(&self.to, what))?;
        }
        Ok(std::mem::take(&mut self.imported))
    }
}

/// The name of an object store in a database, for messages.
pub(super) fn shown(database: &JsString, object_store: &JsString) -> String {
    use crate::display::Quoted;
    format!(
        "database {}, object store {}",
        Quoted(database),
        Quoted(object_store)
    )
}
