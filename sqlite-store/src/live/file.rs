//! The file of one database.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_backing_store::{Durability, Error, ErrorKind};
use larder_codec::{BlobNumber, DatabaseId};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::opened::Opened;
use super::reader::IdleReader;
use crate::database::{Database, row_id};
use crate::image::Image;
use crate::schema::Schema;
use crate::sql;
use crate::value::Packer;

/// So many connections are kept for the next readers.
const IDLE_MAX: usize = 4;

/// A commit that makes the log longer puts it into the file, as Chromium's does. What is shorter waits for quiet times.
const LOG_PAGES_MAX: u32 = 10_000;

/// The connection that writes keeps so many KiB of pages in memory: what a transaction changes beyond that goes to the log before its end, and is read again.
const CACHE_KIB: i64 = 16 << 10;

/// A connection that reads keeps so many KiB of pages in memory, until another's commit makes them old.
const READER_CACHE_KIB: i64 = 16 << 10;

/// A file is made shorter at closing if a third of its pages is free, as by Chromium.
const VACUUM_FREE_PARTS: i64 = 3;

/// A file that another program has just now, as a browser that opens it for a moment, is waited for so long.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// A database's file. Locks are taken in this order: the writer's, the turn, what a snapshot has.
#[derive(Debug)]
pub(super) struct LiveFile {
    pub(super) id: DatabaseId,
    pub(super) path: PathBuf,
    writer: Mutex<Writer>,
    /// What the file is. Held while a reader begins, and while a commit ends.
    turn: Mutex<Arc<Schema>>,
    idle: Mutex<Vec<IdleReader>>,
    /// Reads what is there now.
    pub(super) now: Arc<Database>,
    _opened: Opened,
}

/// A file in which a database was found, as it was then.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) connection: Connection,
    pub(super) opened: Opened,
    pub(super) schema: Schema,
}

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) packer: Packer,
    durability: Option<Durability>,
    /// Something was written since the log was last put into the file.
    pub(super) has_log: bool,
    /// What a process that ended before held of blobs has been let go.
    has_settled: bool,
    /// The transaction that is under way does that.
    settles: bool,
}

/// A lock whose holder panicked is as good as any: what it guards is whole between statements.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveFile {
    /// Opens a file in which a database was found.
    pub(super) fn open(path: PathBuf, found: FoundFile) -> Result<Self, Error> {
        let failed = |error: rusqlite::Error| sql::error(&path, &error);
        let FoundFile {
            connection,
            opened,
            schema,
        } = found;
        let set_up = || {
            connection.busy_timeout(BUSY_MAX)?;
            connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES_MAX)?;
            connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
            // Chromium's files have it; others get it now, when nothing holds a moment of them.
            connection
                .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        };
        let mode = set_up().map_err(failed)?;
        if mode != "wal" {
            let what = format!("{}: its journal mode stays {mode}", path.display());
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let now = Image::live(connect(&path).map_err(failed)?);
        let now = Database::new(path.clone(), now, &schema).map_err(failed)?;
        // It has the log open from now on, whatever will lie at its path.
        now.hold(true)?;
        now.hold(false)?;
        let writer = Writer {
            connection,
            packer: Packer::new()?,
            durability: None,
            has_log: false,
            has_settled: false,
            settles: false,
        };
        Ok(Self {
            id: schema.metadata.id,
            writer: Mutex::new(writer),
            turn: Mutex::new(Arc::new(schema)),
            idle: Mutex::default(),
            now: Arc::new(now),
            _opened: opened,
            path,
        })
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        locked(&self.writer)
    }

    /// What the file is, as long as no commit ends.
    pub(super) fn turn(&self) -> MutexGuard<'_, Arc<Schema>> {
        locked(&self.turn)
    }

    pub(super) fn failed(&self, error: &rusqlite::Error) -> Error {
        sql::error(&self.path, error)
    }

    /// A connection for a reader.
    pub(super) fn idle_reader(&self, schema: &Arc<Schema>) -> Result<IdleReader, Error> {
        if let Some(idle) = locked(&self.idle).pop() {
            return Ok(idle);
        }
        let made = connect(&self.path)
            .and_then(|connection| {
                connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
                Database::new(self.path.clone(), Image::live(connection), schema)
            })
            .map_err(|error| self.failed(&error))?;
        Ok(IdleReader::new(made, Arc::clone(schema)))
    }

    pub(super) fn give_back(&self, reader: IdleReader) {
        let mut idle = locked(&self.idle);
        if idle.len() < IDLE_MAX {
            idle.push(reader);
        }
    }

    /// Lets the connections of readers go that hold nothing.
    pub(super) fn close_idle(&self) {
        locked(&self.idle).clear();
    }

    /// Lets a blob go that a deleted record had: it is in the file as long as readers may ask for it, or another record has it. Whether it is gone.
    pub(super) fn release_blob(&self, number: BlobNumber) -> Result<bool, Error> {
        let mut writer = self.writer();
        let released = (|| {
            writer.begin(Durability::Relaxed)?;
            let sql =
                "DELETE FROM blob_references WHERE blob_row_id = ?1 AND record_row_id IS NULL";
            writer
                .connection
                .prepare_cached(sql)?
                .execute([row_id(number)])?;
            let sql = "SELECT NOT EXISTS (SELECT 1 FROM blobs WHERE row_id = ?1)";
            let is_gone = writer
                .connection
                .prepare_cached(sql)?
                .query_row([row_id(number)], |row| row.get(0))?;
            writer.commit().map(|()| is_gone)
        })();
        if released.is_err() {
            writer.roll_back();
        }
        released.map_err(|error| self.failed(&error))
    }
}

impl Writer {
    /// Begins a transaction, which is durable when it commits if that is asked for.
    pub(super) fn begin(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability != Some(durability) {
            let synchronous = match durability {
                Durability::Strict => "FULL",
                Durability::Relaxed => "NORMAL",
            };
            self.connection
                .pragma_update(None, "synchronous", synchronous)?;
            self.durability = Some(durability);
        }
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute(())?;
        self.has_log = true;
        if !self.has_settled {
            // As Chromium does when it opens a file: no page holds these any more.
            let sql = "DELETE FROM blob_references WHERE record_row_id IS NULL";
            self.connection.execute(sql, ())?;
            self.settles = true;
        }
        Ok(())
    }

    /// Commits what was begun.
    pub(super) fn commit(&mut self) -> rusqlite::Result<()> {
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        self.has_settled |= std::mem::take(&mut self.settles);
        Ok(())
    }

    /// Takes back what was begun, if anything was.
    pub(super) fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            // SQLite has rolled back by itself if this fails.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.settles = false;
    }

    /// Puts the log into the file, as far as readers allow; whether all of it.
    pub(super) fn checkpoint(&mut self, mode: &str) -> rusqlite::Result<bool> {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        let is_whole = self.connection.query_row(&sql, (), |row| {
            let (is_busy, pages, done): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(!is_busy && pages == done)
        })?;
        self.has_log = !is_whole;
        Ok(is_whole)
    }

    /// Makes the file shorter if enough of it is free.
    pub(super) fn vacuum_if_worth_it(&self) -> rusqlite::Result<()> {
        let number = |pragma: &str| {
            let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            self.connection.pragma_query_value(None, pragma, read)
        };
        let (free, all) = (number("freelist_count")?, number("page_count")?);
        match free * VACUUM_FREE_PARTS >= all {
            true => self.connection.execute_batch("VACUUM"),
            false => Ok(()),
        }
    }
}

/// A connection to a file that is there.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // The file may come from any program: its schema calls nothing but what is safe.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Without it SQLite prepares a statement with a range anew for each value that is bound: plans may depend on values, and here none does.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// The greatest row id that a blob of the file has had, in a file in which none is given twice.
pub(super) fn last_blob(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence')";
    if !connection.query_row(sql, (), |row| row.get::<_, bool>(0))? {
        return Ok(0);
    }
    let sql = "SELECT CAST(seq AS INTEGER) FROM sqlite_sequence WHERE name = 'blobs'";
    let found: Option<Option<i64>> = connection.query_row(sql, (), |row| row.get(0)).optional()?;
    Ok(found.flatten().unwrap_or(0))
}
