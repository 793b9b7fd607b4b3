//! Migration from schema 3 and 4 to 5 (`LDB/backing_store.cc`).
//!
//! Schema 4 keeps size and time of last modification of files in their rows; in schema 3 they are those of the files on
//! disk. Schema 5 says that the presence of every file has been checked.

use std::cmp::Ordering;
use std::path::PathBuf;

use larder_codec::external_object::schema_3::{self, Schema3Kind, Schema3Object};
use larder_codec::external_object::{self, BlobInfo, ExternalObject};
use larder_codec::row_key::RecordTable;
use larder_codec::{DatabaseId, ObjectStoreId, Origin, compare, range};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;

use crate::error::{Error, ErrorKind, Result};
use crate::external_object::micros_since_1601;
use crate::layout::StorePaths;
use crate::metadata::read_databases;
use crate::view::View;

/// The one site whose files are not looked for.
const HOST_NOT_CHECKED: &str = "docs.google.com";

/// What a migration changes.
#[derive(Debug, Default)]
pub(super) struct Migration {
    /// Rows of external objects in today's form.
    pub(super) rows: BatchWriter,
    /// Files that today's form does without.
    pub(super) empty_files: Vec<PathBuf>,
}

struct Migrator<'a> {
    fs: &'a dyn FileSystem,
    paths: &'a StorePaths,
    is_schema_3: bool,
    checks_files: bool,
    migration: Migration,
}

/// Reads what there is to migrate. Changes nothing.
///
/// # Errors
/// `Corruption` if a row cannot be read or a file is missing.
pub(super) fn plan(
    view: &View,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    origin: &Origin,
    schema_version: i64,
) -> Result<Migration> {
    let mut migrator = Migrator {
        fs,
        paths,
        is_schema_3: schema_version < 4,
        checks_files: origin.host() != HOST_NOT_CHECKED,
        migration: Migration::default(),
    };
    let mut problems = Vec::new();
    let databases = read_databases(view, &mut problems)?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem);
    }
    for database in databases
        .iter()
        .filter(|database| database.version.is_some())
    {
        for store in &database.object_stores {
            migrator.object_store(view, database.id, store.id)?;
        }
    }
    Ok(migrator.migration)
}

impl Migrator<'_> {
    fn object_store(
        &mut self,
        view: &View,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<()> {
        let table = RecordTable::ExternalObject;
        let high = range::table_high(database_id, object_store_id, table);
        let mut iter = view.iter();
        iter.seek(&range::table_low(database_id, object_store_id, table))?;
        while iter.valid() && compare(iter.key(), &high) == Ordering::Less {
            let bad_row = |error| Error::row(iter.key(), "external objects", error);
            let value = iter.value()?;
            let objects = if self.is_schema_3 {
                let old = schema_3::decode_all(value).map_err(bad_row)?;
                let migrated = old.into_iter().map(|o| self.migrated(database_id, o));
                let objects = migrated.collect::<Result<Vec<_>>>();
                let objects = objects.map_err(|error| error.with_key(iter.key()))?;
                self.rewrite(iter.key(), &objects);
                objects
            } else {
                external_object::decode_all(value).map_err(bad_row)?
            };
            self.check_files(database_id, &objects)
                .map_err(|error| error.with_key(iter.key()))?;
            iter.next()?;
        }
        Ok(())
    }

    /// A row with nothing but blobs has the same bytes in both forms.
    fn rewrite(&mut self, key: &[u8], objects: &[ExternalObject]) {
        let is_file = |object: &ExternalObject| matches!(object, ExternalObject::File { .. });
        if objects.iter().any(is_file) {
            let mut value = Vec::new();
            external_object::encode_all(objects, &mut value);
            self.migration.rows.put(key, &value);
        }
    }

    fn migrated(
        &mut self,
        database_id: DatabaseId,
        object: Schema3Object,
    ) -> Result<ExternalObject> {
        let Schema3Object {
            number,
            mime_type,
            kind,
        } = object;
        let blob = |size_bytes| BlobInfo {
            number,
            mime_type,
            size_bytes,
        };
        let name = match kind {
            Schema3Kind::Blob { size_bytes } => return Ok(ExternalObject::Blob(blob(size_bytes))),
            Schema3Kind::File { name } => name,
        };
        let path = self.paths.blob_file(database_id, number);
        let metadata = self
            .fs
            .metadata(&path)
            .map_err(|error| missing(&path, error))?;
        if metadata.is_dir || metadata.is_link {
            let what = "it is a directory or a symbolic link, which is not followed";
            let error = std::io::Error::new(std::io::ErrorKind::InvalidData, what);
            return Err(missing(&path, error));
        }
        if metadata.len_bytes == 0 {
            self.migration.empty_files.push(path);
        }
        let size_bytes = i64::try_from(metadata.len_bytes).unwrap_or(i64::MAX);
        Ok(ExternalObject::File {
            blob: blob(size_bytes),
            name,
            last_modified_micros: metadata.modified.map_or(0, micros_since_1601),
        })
    }

    fn check_files(&self, database_id: DatabaseId, objects: &[ExternalObject]) -> Result<()> {
        if !self.checks_files {
            return Ok(());
        }
        for object in objects {
            if let ExternalObject::File { blob, .. } = object
                && blob.size_bytes > 0
            {
                let path = self.paths.blob_file(database_id, blob.number);
                self.fs
                    .metadata(&path)
                    .map_err(|error| missing(&path, error))?;
            }
        }
        Ok(())
    }
}

fn missing(path: &std::path::Path, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::InvalidData => ErrorKind::Corruption,
        _ => ErrorKind::Io,
    };
    let what = format!(
        "{}: a record's file cannot be found: {error}",
        path.display()
    );
    Error::new(kind, what)
}
