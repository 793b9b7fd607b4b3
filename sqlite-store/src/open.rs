//! Opening a store: its databases' files, one after the other.

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, RowForm, Store, StorePaths};
use larder_codec::{DataVersion, JsString};
use larder_leveldb::storage::{FileSystem, LockHolder};

use crate::blobs::{BlobFiles, Databases};
use crate::database::Database;
use crate::file_names::file_name;
use crate::image::{Image, Keep};
use crate::live::opened::is_open;
use crate::metadata_rows;
use crate::parts::Part;
use crate::rows::Parts;
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
    let (rows, blobs, form) = read(fs, dir, scratch)?;
    Ok(Store::of_rows(Arc::new(rows), Arc::new(blobs), form))
}

/// The rows, the blobs, and what else is to be known of a store.
pub(crate) fn read(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    scratch: &Path,
) -> Result<(Parts, BlobFiles, RowForm), Error> {
    let names = file_names(&**fs, dir)?;
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
    leave_one_of_a_name(&mut opened, &mut problems);
    let paths = StorePaths::of_sqlite(dir);
    let noted = opened.iter().find_map(|file| file.schema.origin.clone());
    let origin = match paths.identifier() {
        Some(identifier) => JsString::from(format!("{identifier}@1")),
        None => noted.unwrap_or_else(|| JsString::from("unknown_0@1")),
    };
    for (n, file) in opened.iter_mut().enumerate() {
        if let Some(id) = metadata_rows::database_id(n) {
            file.schema.metadata.id = id;
        }
        file.schema.metadata.origin = origin.clone();
    }
    let data_versions = opened.iter().filter_map(|file| file.schema.data_version);
    let form = RowForm {
        paths: paths.clone(),
        data_version: data_versions.reduce(DataVersion::max),
        holder: opened.iter().find_map(|file| file.holder),
        problems,
    };
    let all: Vec<_> = opened.iter().map(|file| &file.schema.metadata).collect();
    let mut parts = Vec::from_iter(Part::of_rows(metadata_rows::of_store(
        &all,
        form.data_version,
    )));
    let databases = Databases::default();
    for file in opened {
        let database = Arc::new(file.database);
        parts.extend(Part::of_rows(metadata_rows::of_database(&file.schema)));
        parts.extend(Part::of_object_stores(&database, &file.schema));
        databases.insert(file.schema.metadata.id, database);
    }
    let blobs = BlobFiles {
        fs: Arc::clone(fs),
        paths,
        databases,
    };
    Ok((Parts(Arc::new(parts)), blobs, form))
}

/// The names of the databases' files in a folder.
pub(crate) fn file_names(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<String>, Error> {
    let listed = match fs.list(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(|error| {
            let what = format!("{}: the folder cannot be listed: {error}", dir.display());
            Error::new(ErrorKind::Io, what)
        })?,
    };
    let names = listed
        .into_iter()
        .filter_map(|name| name.into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| StorePaths::is_sqlite_name(Path::new(name)))
        .collect();
    if names.is_empty() {
        let what = format!("{}: no database of IndexedDB in SQLite", dir.display());
        return Err(Error::new(ErrorKind::NotAStore, what));
    }
    names.sort();
    Ok(names)
}

/// Sorts by the databases' names. Of two files with one, Chromium opens the one that is called by it.
fn leave_one_of_a_name(opened: &mut Vec<Opened>, problems: &mut Vec<Error>) {
    opened.sort_by_cached_key(|file| {
        let name = &file.schema.metadata.name;
        (name.clone(), file.file_name != file_name(name))
    });
    opened.dedup_by(|later, first| {
        let is_second = later.schema.metadata.name == first.schema.metadata.name;
        if is_second {
            let what = "another file has a database of this name, and its right file name: this one is not read";
            problems.push(sql::damage(&later.database.path, what));
        }
        is_second
    });
}

fn open_file(
    fs: &dyn FileSystem,
    dir: &Path,
    name: &str,
    keep: &mut Keep,
    problems: &mut Vec<Error>,
) -> Result<Option<Opened>, Error> {
    let path = dir.join(name);
    // A file that this process writes to is read by SQLite: see `opened`.
    let is_open = is_open(&path);
    let holder = (!is_open).then(|| fs.lock_holder(&path).ok().flatten());
    let image = match is_open {
        true => Image::of_open_file(&path)?,
        false => Image::read(fs, &path, keep)?,
    };
    let Some(schema) = schema::read(&path, &image.connection, problems)? else {
        return Ok(None);
    };
    let database = Database::new(path.clone(), image, &schema);
    Ok(Some(Opened {
        database: database.map_err(|error| sql::error(&path, &error))?,
        schema,
        file_name: name.to_owned(),
        holder: holder.flatten(),
    }))
}
