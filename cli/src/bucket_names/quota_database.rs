//! The table of buckets, read by SQLite. Its file is read into memory first: SQLite itself would lock the file and roll back what a
//! browser is just writing. Source of the form: Chromium's `storage/browser/quota/quota_database.cc` and
//! `third_party/blink/common/storage_key/storage_key.cc`.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use larder_leveldb::storage::FileSystem;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, MAIN_DB};

use super::BucketName;

/// A longer file is not read: one of a million buckets has 200 MB, and a profile has some hundreds.
const FILE_LEN_MAX: u64 = 16 << 20;

/// Longer texts are refused. A storage key has two URLs in it.
const TEXT_LEN_MAX: i32 = 64 << 10;

/// SQLite's virtual machine runs so many thousand operations at most: reading the largest file takes a tenth of it.
const KILO_OPERATIONS_MAX: u32 = 20_000;

/// What Chromium calls the bucket that a page gets unless it names one.
const DEFAULT_NAME: &str = "_default";

/// Why names could not be read.
#[derive(Debug)]
pub(super) enum Error {
    Io(io::Error),
    Sqlite(rusqlite::Error),
    BeingWritten,
    TooLong(u64),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the names of buckets could not be read: ")?;
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Sqlite(error) => error.fmt(f),
            Self::BeingWritten => f.write_str("a browser was writing them"),
            Self::TooLong(len) => write!(f, "the file has {len} bytes"),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// By number. A profile without the file has no names.
pub(super) fn read(
    fs: &dyn FileSystem,
    file: &Path,
) -> Result<BTreeMap<String, BucketName>, Error> {
    let Some(bytes) = bytes_of(fs, file)? else {
        return Ok(BTreeMap::new());
    };
    for suffix in ["-journal", "-wal"] {
        let mut beside = file.as_os_str().to_owned();
        beside.push(suffix);
        if fs
            .metadata(Path::new(&beside))
            .is_ok_and(|meta| meta.len_bytes > 0)
        {
            return Err(Error::BeingWritten);
        }
    }
    names_in(&bytes).map_err(Error::from)
}

fn bytes_of(fs: &dyn FileSystem, file: &Path) -> Result<Option<Vec<u8>>, Error> {
    let opened = match fs.open_random(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let len = opened.len()?;
    if len > FILE_LEN_MAX {
        return Err(Error::TooLong(len));
    }
    let mut bytes = vec![0; len as usize];
    let mut read = 0;
    while read < bytes.len() {
        match opened.read_at(read as u64, &mut bytes[read..])? {
            0 => break,
            more => read += more,
        }
    }
    bytes.truncate(read);
    Ok(Some(bytes))
}

fn names_in(bytes: &[u8]) -> rusqlite::Result<BTreeMap<String, BucketName>> {
    let mut connection = Connection::open_in_memory()?;
    // The file may come from any program: its schema runs nothing, and nothing takes long.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, TEXT_LEN_MAX)?;
    let mut kilo_operations = 0;
    connection.progress_handler(
        1000,
        Some(move || {
            kilo_operations += 1;
            kilo_operations > KILO_OPERATIONS_MAX
        }),
    )?;
    connection.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
    let mut statement = connection.prepare("SELECT id, storage_key, name FROM buckets")?;
    let mut rows = statement.query(())?;
    let mut names = BTreeMap::new();
    let mut left = FILE_LEN_MAX;
    while let Some(row) = rows.next()? {
        let (id, key, name): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // No more text than the file could have: a view could make it up.
        left = match left.checked_sub((key.len() + name.len()) as u64) {
            Some(left) => left,
            None => return Err(rusqlite::Error::InvalidQuery),
        };
        let bucket = BucketName {
            name: (name != DEFAULT_NAME).then_some(name),
            top_level_site: top_level_site(&key).map(str::to_owned),
        };
        names.insert(id.to_string(), bucket);
    }
    Ok(names)
}

/// The site after `^0` in a storage key: `https://embedded.example/^0https://top.example`. A key of an origin in its own site has none.
fn top_level_site(storage_key: &str) -> Option<&str> {
    storage_key
        .split('^')
        .skip(1)
        .find_map(|part| part.strip_prefix('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_leveldb::storage::MemoryFileSystem;

    const TABLE: &str = "CREATE TABLE buckets(id INTEGER PRIMARY KEY, storage_key TEXT NOT NULL, host TEXT NOT NULL, name TEXT NOT NULL);";

    fn database(sql: &str) -> Vec<u8> {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        connection.serialize(MAIN_DB).unwrap().to_vec()
    }

    fn some() -> Vec<u8> {
        database(&format!(
            "{TABLE}
            INSERT INTO buckets VALUES (1, 'https://a.example/', 'a.example', '_default');
            INSERT INTO buckets VALUES (2, 'https://a.example/', 'a.example', 'inbox');
            INSERT INTO buckets VALUES (3, 'https://a.example/^0https://top.example', 'a.example', '_default');
            INSERT INTO buckets VALUES (4, 'https://a.example/^31', 'a.example', 'own');"
        ))
    }

    #[test]
    fn names_and_sites_are_those_of_the_table() {
        let names = names_in(&some()).unwrap();
        let told = |number: &str| {
            let bucket = names.get(number).unwrap();
            (bucket.name.as_deref(), bucket.top_level_site.as_deref())
        };
        assert_eq!(told("1"), (None, None));
        assert_eq!(told("2"), (Some("inbox"), None));
        assert_eq!(told("3"), (None, Some("https://top.example")));
        assert_eq!(told("4"), (Some("own"), None));
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn no_file_has_no_names_and_one_that_is_being_written_is_left_alone() {
        let fs = MemoryFileSystem::new();
        let file = Path::new("QuotaManager");
        assert!(read(&fs, file).unwrap().is_empty());
        fs.create(file).unwrap().append(&some()).unwrap();
        let mut journal = fs.create(Path::new("QuotaManager-journal")).unwrap();
        assert_eq!(read(&fs, file).unwrap().len(), 4);
        journal.append(&[0xd9]).unwrap();
        assert!(matches!(read(&fs, file), Err(Error::BeingWritten)));
    }

    #[test]
    fn whatever_the_file_has_in_it_ends_soon_and_in_little_memory() {
        let endless = "CREATE VIEW buckets AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'k' AS storage_key, 'n' AS name FROM n;";
        let long = "CREATE VIEW buckets AS SELECT 1 AS id, hex(zeroblob(100000000)) AS storage_key, 'n' AS name;";
        for sql in [endless, long, "CREATE TABLE other(id);"] {
            names_in(&database(sql)).unwrap_err();
        }
        let whole = some();
        for at in (0..whole.len()).step_by(5) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let _ = names_in(&bytes);
        }
        for len in (0..whole.len()).step_by(97) {
            let _ = names_in(&whole[..len]);
        }
    }
}
