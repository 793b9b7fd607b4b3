//! Opening a store: its databases' files, one after the other.

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, RowForm, Store, StorePaths};
use larder_codec::{DataVersion, JsString};
use larder_leveldb::storage::{FileSystem, LockHolder};

use crate::blobs::BlobFiles;
use crate::database::Database;
use crate::file_names::file_name;
use crate::image::{Image, Keep};
use crate::metadata_rows;
use crate::parts::{Part, Parts};
use crate::schema::{self, Schema};
use crate::sql;

/// Files of so many bytes together are kept in memory; of greater ones there are temporary copies.
const MEMORY_MAX: u64 = 32 << 20;

/// A file that was read.
struct Opened {
    schema: Schema,
    database: Database,
    file_name: String,
    holder: Option<LockHolder>,
}

/// Opens the store in a folder, as of one moment for each database. Nothing in it is written, and no lock is taken; copies of large
/// files go into the folder `scratch`, and are removed with the store. What cannot be read of it goes to the problems of
/// [`Store::recovery`], and the rest is there.
///
/// The rows are those of a LevelDB store of Chromium's newest schema: ids of databases count from 1 in the order of their names, blobs
/// have their row's id and 1, indexes with ids that LevelDB reserves get others, and all records have version 2.
///
/// # Errors
/// [`ErrorKind::NotAStore`] if no file in the folder is a database's; [`ErrorKind::Io`] if it cannot be listed.
pub fn open(fs: &Arc<dyn FileSystem>, dir: &Path, scratch: &Path) -> Result<Store, Error> {
    let listed = fs.list(dir).map_err(|error| {
        let what = format!("{}: the folder cannot be listed: {error}", dir.display());
        Error::new(ErrorKind::Io, what)
    })?;
    let mut names: Vec<String> = listed
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter(|name| StorePaths::is_sqlite_name(Path::new(name)))
        .collect();
    names.sort();
    if names.is_empty() {
        let what = format!("{}: no database of IndexedDB in SQLite", dir.display());
        return Err(Error::new(ErrorKind::NotAStore, what));
    }
    let mut keep = Keep {
        scratch: scratch.to_owned(),
        memory: MEMORY_MAX,
    };
    let mut problems = Vec::new();
    let mut opened = Vec::new();
    for name in names {
        match open_file(&**fs, dir, &name, &mut keep, &mut problems) {
            Ok(Some(file)) => opened.push(file),
            // A browser was killed before the first version was committed: Chromium deletes such a file.
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
    }
    let paths = StorePaths::of_sqlite(dir);
    let origin = JsString::from(format!("{}@1", paths.identifier().unwrap_or("unknown_0")));
    // Of two files with one name, Chromium opens the one that is called by it.
    opened.sort_by(|a, b| {
        let is_misnamed = |file: &Opened| file.file_name != file_name(&file.schema.metadata.name);
        let (one, other) = (&a.schema.metadata.name, &b.schema.metadata.name);
        one.cmp(other).then(is_misnamed(a).cmp(&is_misnamed(b)))
    });
    opened.dedup_by(|later, first| {
        let is_second = later.schema.metadata.name == first.schema.metadata.name;
        if is_second {
            let what = format!(
                "{}: another file has a database of this name, and its right file name: this one is not read",
                later.database.path.display()
            );
            problems.push(Error::new(ErrorKind::Corruption, what));
        }
        is_second
    });
    let holder = opened.iter().find_map(|file| file.holder);
    let mut data_version: Option<DataVersion> = None;
    let mut parts = Vec::new();
    let mut databases = Vec::new();
    for (n, file) in opened.iter_mut().enumerate() {
        if let Some(id) = metadata_rows::database_id(n) {
            file.schema.metadata.id = id;
        }
        file.schema.metadata.origin = origin.clone();
        let version = file.schema.data_version;
        data_version = match (data_version, version) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
    }
    let all: Vec<_> = opened.iter().map(|file| &file.schema.metadata).collect();
    parts.extend(Part::of_rows(metadata_rows::of_store(&all, data_version)));
    for file in opened {
        let database = Arc::new(file.database);
        parts.extend(Part::of_rows(metadata_rows::of_database(&file.schema)));
        parts.extend(Part::of_object_stores(&database, &file.schema));
        databases.push((file.schema.metadata.id, database));
    }
    let blobs = BlobFiles {
        fs: Arc::clone(fs),
        paths: paths.clone(),
        databases,
    };
    let form = RowForm {
        paths,
        data_version,
        holder,
        problems,
    };
    Ok(Store::of_rows(
        Arc::new(Parts(Arc::new(parts))),
        Arc::new(blobs),
        form,
    ))
}

fn open_file(
    fs: &dyn FileSystem,
    dir: &Path,
    name: &str,
    keep: &mut Keep,
    problems: &mut Vec<Error>,
) -> Result<Option<Opened>, Error> {
    let path = dir.join(name);
    let holder = fs.lock_holder(&path).ok().flatten();
    let image = Image::read(fs, &path, keep)?;
    let Some(schema) = schema::read(&path, &image.connection, problems)? else {
        return Ok(None);
    };
    let database = Database::new(path.clone(), image, schema.has_compression);
    Ok(Some(Opened {
        database: database.map_err(|error| sql::error(&path, &error))?,
        schema,
        file_name: name.to_owned(),
        holder,
    }))
}
