//! Writes what is copied of a store into SQLite files.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use larder_backing_store::{
    Clock, CursorDirection, DatabaseMetadata, Error, ErrorKind, KeyRange, NEW_STORE_VERSION,
    ObjectStoreMetadata, Store, SystemClock,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::{DatabaseId, RawKey, feed};
use larder_sqlite_store::{NewDatabase, RecordRow, Unsaid};

use super::blobs::open;
use super::new_files::NewFiles;
use super::selection::Plan;
use super::{Copied, Job};
use crate::display::{Counted, Quoted, ShownKey};

/// The new files, which are not at their place yet; none in a dry run, whose files are made in a temporary folder.
pub(super) fn write(
    job: &Job<'_>,
    copied: &mut Copied,
    tick: &mut dyn FnMut(),
) -> Result<Option<NewFiles>, Error> {
    if job.dry_run {
        let scratch = tempfile::tempdir().map_err(|error| {
            larder_leveldb::Error::io("the temporary folder", "cannot be made", error)
        })?;
        write_into(scratch.path(), job, copied, tick)?;
        return Ok(None);
    }
    let new = NewFiles::begin(job.target, job.to)?;
    write_into(new.path(), job, copied, tick)?;
    Ok(Some(new))
}

/// Writes each database that is copied into a file in a folder on the disk. Change feeds stay behind: they go by numbers that SQLite's form has not.
fn write_into(
    folder: &Path,
    job: &Job<'_>,
    copied: &mut Copied,
    tick: &mut dyn FnMut(),
) -> Result<(), Error> {
    let (store, plan) = (job.store, job.plan);
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    let databases = store.databases(&mut problems)?;
    copied
        .problems
        .extend(problems.iter().map(ToString::to_string));
    copied.databases = 0;
    copied.feeds_left = 0;
    for mut database in databases {
        // One without a version was never committed; a page does not see it.
        if database.version.is_none() || !plan.has_database(database.id) {
            continue;
        }
        if !names.insert(database.name.clone()) {
            let name = Quoted(&database.name);
            let what = format!(
                "two databases have the name {name}, and one file would be for both: copy one of them alone with --database"
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let all = std::mem::take(&mut database.object_stores);
        let (reserved, stores): (Vec<_>, Vec<_>) = all
            .into_iter()
            .filter(|object_store| plan.has_store(database.id, object_store.id))
            .partition(|object_store| feed::is_reserved(&object_store.name));
        copied.feeds_left += u64::from(!reserved.is_empty());
        copied.databases += 1;
        database.object_stores = stores;
        let unsaid = DatabaseCopy {
            store,
            plan,
            database: &database,
            copied,
            tick,
        }
        .write(folder)?;
        copied.losses.extend(losses(&database, &unsaid));
    }
    if names.is_empty() {
        let what = "there is no database that a page would see, so there is no file to write";
        return Err(Error::new(ErrorKind::Usage, what));
    }
    Ok(())
}

/// What Chromium does otherwise with the files than with the store.
fn losses(database: &DatabaseMetadata, unsaid: &Unsaid) -> Vec<String> {
    let name = Quoted(&database.name);
    let paths = unsaid.array_paths.iter().map(|(object_store, index)| {
        let object_store = Quoted(object_store);
        match index {
            Some(index) => format!(
                "database {name}, object store {object_store}, index {}: its key path is an array of one part, and becomes a string: new entries get other keys than those that are there",
                Quoted(index)
            ),
            None => format!(
                "database {name}, object store {object_store}: its key path is an array of one part, and becomes a string: new records get other keys than those that are there"
            ),
        }
    });
    let zeros = (unsaid.negative_zeros > 0).then(|| {
        let keys = Counted(unsaid.negative_zeros, "key");
        format!("database {name}: {keys} with -0 in them: it becomes 0")
    });
    paths.chain(zeros).collect()
}

/// One database on its way.
struct DatabaseCopy<'a> {
    store: &'a Store,
    plan: &'a Plan,
    database: &'a DatabaseMetadata,
    copied: &'a mut Copied,
    tick: &'a mut dyn FnMut(),
}

impl DatabaseCopy<'_> {
    fn write(mut self, folder: &Path) -> Result<Unsaid, Error> {
        let data_version = self.store.data_version().unwrap_or(NEW_STORE_VERSION);
        let created = SystemClock.now_us();
        let mut new = NewDatabase::create(folder, self.database, data_version, created)?;
        for object_store in &self.database.object_stores {
            let next_key = match self.store.key_generator(self.database.id, object_store.id) {
                Ok(next) => next,
                Err(error) => {
                    self.skip(error)?;
                    1
                }
            };
            new.object_store(object_store, next_key)?;
        }
        for object_store in &self.database.object_stores {
            self.records(&mut new, object_store)?;
        }
        for object_store in &self.database.object_stores {
            self.entries(&mut new, object_store)?;
        }
        let finished = new.finish()?;
        self.copied.rows += finished.entries;
        Ok(finished.unsaid)
    }

    /// Notes that something cannot be read, unless nothing more can be.
    fn skip(&mut self, error: Error) -> Result<(), Error> {
        if error.kind() != ErrorKind::Corruption {
            return Err(error);
        }
        self.copied.problems.push(error.to_string());
        Ok(())
    }

    /// Moves a cursor on, over rows that cannot be read.
    fn advance(&mut self, mut next: impl FnMut() -> Result<bool, Error>) -> Result<bool, Error> {
        loop {
            (self.tick)();
            match next() {
                Ok(is_there) => return Ok(is_there),
                Err(error) => self.skip(error)?,
            }
        }
    }

    fn count_bytes(&mut self, key_len: usize, value_len: usize) {
        self.copied.row_bytes += (key_len + value_len) as u64;
    }

    fn records(
        &mut self,
        new: &mut NewDatabase,
        object_store: &ObjectStoreMetadata,
    ) -> Result<(), Error> {
        let (store, id) = (self.store, self.database.id);
        let may_have_objects = store.has_external_objects(id, object_store.id)?;
        let mut records = store.records(id, object_store.id, CursorDirection::Next);
        while self.advance(|| records.next())? {
            let read = records
                .primary_key()
                .and_then(|key| Ok((key, records.value()?)));
            let (key, value) = match read {
                Ok(read) => read,
                Err(error) => {
                    self.skip(error)?;
                    continue;
                }
            };
            if !self.plan.keys.contains(key) {
                continue;
            }
            let record = new.record(object_store.id, key, value)?;
            self.copied.records += 1;
            self.copied.rows += 1;
            self.count_bytes(key.as_bytes().len(), value.len());
            if may_have_objects {
                self.objects(new, object_store, key, record)?;
            }
        }
        Ok(())
    }

    fn objects(
        &mut self,
        new: &mut NewDatabase,
        object_store: &ObjectStoreMetadata,
        key: RawKey<'_>,
        record: RecordRow,
    ) -> Result<(), Error> {
        let objects = self
            .store
            .external_objects(self.database.id, object_store.id, key);
        let objects = match objects {
            Ok(objects) => objects,
            Err(error) => return self.skip(error),
        };
        for object in &objects {
            let (ExternalObject::Blob(blob) | ExternalObject::File { blob, .. }) = object else {
                let _no_content = new.external_object(record, object, Ok(&mut io::empty()))?;
                continue;
            };
            let path = self.store.paths().blob_file(self.database.id, blob.number);
            let mut file = open(self.store, &path, blob.size_bytes == 0, self.copied);
            let content = match &mut file {
                Ok(Some(file)) => Ok(file as &mut dyn Read),
                Ok(None) => Ok(&mut io::empty() as &mut dyn Read),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            let of = ShownKey(key);
            match new.external_object(record, object, content)? {
                Ok(len) => {
                    self.copied.blobs += 1;
                    self.copied.blob_bytes += len;
                    if u64::try_from(blob.size_bytes) != Ok(len) {
                        let size = blob.size_bytes;
                        let what = format!("{}: has {len} bytes, not {size}", path.display());
                        self.copied.problems.push(what);
                    }
                }
                Err(error) => {
                    let path = path.display();
                    let what = format!("{path}: a blob of record {of} cannot be read: {error}");
                    self.copied.problems.push(what);
                }
            }
        }
        Ok(())
    }

    fn entries(
        &mut self,
        new: &mut NewDatabase,
        object_store: &ObjectStoreMetadata,
    ) -> Result<(), Error> {
        let (store, id): (_, DatabaseId) = (self.store, self.database.id);
        for index in &object_store.indexes {
            let next = CursorDirection::Next;
            // What is live is read from the exists rows together; of an entry whose record could not be copied nothing is added.
            let all = KeyRange::ALL;
            let mut entries = store.index_keys_in(id, object_store.id, index.id, &all, next);
            while self.advance(|| entries.next())? {
                let read = entries
                    .index_key()
                    .and_then(|key| Ok((key, entries.primary_key()?)));
                let (key, primary_key) = match read {
                    Ok(read) => read,
                    Err(error) => {
                        self.skip(error)?;
                        continue;
                    }
                };
                if !self.plan.keys.contains(primary_key) {
                    continue;
                }
                new.entry(object_store.id, index.id, key, primary_key)?;
                self.count_bytes(key.as_bytes().len(), primary_key.as_bytes().len());
            }
        }
        Ok(())
    }
}
