//! A database's file as its last commit left it, made without SQLite: it would lock the file, and write to the write-ahead log.
//!
//! The pages that the log has are laid over those of the file, in memory or, of large files, in a temporary one. A browser may go on
//! writing meanwhile. What it moves from the log to the file stays in the log until that begins anew, which its header tells: then
//! everything is read again.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind};
use larder_leveldb::storage::{FileSystem, RandomFile};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use tempfile::NamedTempFile;

use crate::live;
use crate::sql;
use crate::wal::{self, Wal};

/// Bytes copied at a time.
const PIECE_LEN: usize = 1 << 20;

/// How often a file is read that is written meanwhile.
const ATTEMPTS: u32 = 5;

/// The two bytes that say that there is a write-ahead log: the image has none.
const VERSIONS_AT: u64 = 18;

/// A connection to an image. The temporary file goes with it.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) connection: Connection,
    _file: Option<NamedTempFile>,
}

/// How images are kept.
#[derive(Debug)]
pub(crate) struct Keep {
    /// Where temporary files go.
    pub(crate) scratch: PathBuf,
    /// So many bytes may still be kept in memory.
    pub(crate) memory: u64,
}

/// An open log, with its header.
type Log = (Arc<dyn RandomFile>, wal::Header);

enum Pages {
    Memory(Vec<u8>),
    File(NamedTempFile),
}

impl Pages {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Memory(pages) => {
                let at = usize::try_from(offset).map_err(io::Error::other)?;
                let end = at + bytes.len();
                if pages.len() < end {
                    pages.resize(end, 0);
                }
                if let Some(place) = pages.get_mut(at..end) {
                    place.copy_from_slice(bytes);
                }
                Ok(())
            }
            Self::File(file) => {
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(bytes)
            }
        }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        match self {
            Self::Memory(pages) => {
                pages.resize(usize::try_from(len).map_err(io::Error::other)?, 0);
                Ok(())
            }
            Self::File(file) => File::set_len(file.as_file(), len),
        }
    }
}

impl Image {
    /// A file that this process has open, as it is now: held by a transaction that reads.
    pub(crate) fn of_open_file(path: &Path) -> Result<Self, Error> {
        let opened = live::connect(path).and_then(|connection| {
            connection.execute_batch("BEGIN")?;
            connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
            Ok(connection)
        });
        opened
            .map(Self::live)
            .map_err(|error| sql::error(path, &error))
    }

    /// The file itself, through a connection to it.
    pub(crate) fn live(connection: Connection) -> Self {
        Self {
            connection,
            _file: None,
        }
    }

    /// Reads a database's file, with the log beside it.
    pub(crate) fn read(fs: &dyn FileSystem, path: &Path, keep: &mut Keep) -> Result<Self, Error> {
        for _ in 0..ATTEMPTS {
            if let Some(pages) = pages(fs, path, keep)? {
                return Self::open(path, pages);
            }
        }
        let what = format!(
            "{}: a browser writes to it faster than it can be read: try again, or close the browser first",
            path.display()
        );
        Err(Error::new(ErrorKind::Conflict, what))
    }

    fn open(path: &Path, mut pages: Pages) -> Result<Self, Error> {
        let failed = |error: io::Error| io_error(path, &error);
        pages.write(VERSIONS_AT, &[1, 1]).map_err(failed)?;
        let failed = |error: rusqlite::Error| sql::error(path, &error);
        let (connection, file) = match pages {
            Pages::Memory(bytes) => {
                let mut connection = Connection::open_in_memory().map_err(failed)?;
                connection
                    .deserialize_read_exact(MAIN_DB, &*bytes, bytes.len(), true)
                    .map_err(failed)?;
                (connection, None)
            }
            Pages::File(file) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let opened = Connection::open_with_flags(file.path(), flags);
                (opened.map_err(failed)?, Some(file))
            }
        };
        // The file may come from any program: its schema runs nothing.
        let set = |config, on| connection.set_db_config(config, on).map_err(failed);
        set(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        set(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // No statement is prepared anew for other values.
        set(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection
            .pragma_update(None, "cell_size_check", true)
            .map_err(failed)?;
        Ok(Self {
            connection,
            _file: file,
        })
    }
}

/// The pages after the last commit; nothing if they changed meanwhile.
fn pages(fs: &dyn FileSystem, path: &Path, keep: &mut Keep) -> Result<Option<Pages>, Error> {
    let failed = |error: io::Error| io_error(path, &error);
    let mut log_path = OsString::from(path);
    log_path.push("-wal");
    let log_path = PathBuf::from(log_path);
    let before = log(fs, &log_path)?;
    let file = fs.open_random(path).map_err(failed)?;
    let stamp = |file: &Arc<dyn RandomFile>| -> io::Result<_> {
        Ok((file.len()?, fs.metadata(path)?.modified))
    };
    let stamp_before = stamp(&file).map_err(failed)?;
    let len = stamp_before.0;
    let is_small = len <= keep.memory;
    let mut pages = match is_small {
        true => Pages::Memory(Vec::new()),
        false => Pages::File(NamedTempFile::new_in(&keep.scratch).map_err(|error| {
            let what = format!(
                "{}: a copy of {len} bytes cannot be made in {}",
                path.display(),
                keep.scratch.display()
            );
            Error::new(ErrorKind::Io, format!("{what}: {error}"))
        })?),
    };
    let mut piece = vec![0; PIECE_LEN];
    let mut offset = 0;
    while offset < len {
        let wanted = PIECE_LEN.min(usize::try_from(len - offset).unwrap_or(PIECE_LEN));
        let piece = piece.get_mut(..wanted).unwrap_or_default();
        match file.read_at(offset, piece).map_err(failed)? {
            0 => break,
            read => {
                let piece = piece.get(..read).unwrap_or_default();
                pages.write(offset, piece).map_err(failed)?;
                offset += read as u64;
            }
        }
    }
    // The log is read last: it has whatever was moved from it to the file since.
    let after = log(fs, &log_path)?;
    let header = |log: &Option<Log>| log.as_ref().map(|log| log.1);
    if header(&before) != header(&after) {
        return Ok(None);
    }
    match after {
        None if stamp_before != stamp(&file).map_err(failed)? => return Ok(None),
        None => {}
        Some((log, header)) => {
            let wal = wal::read(&*log, &header).map_err(failed)?;
            lay_over(&mut pages, &*log, &wal).map_err(failed)?;
            if wal::header(&*log).map_err(failed)? != Some(header) {
                return Ok(None);
            }
        }
    }
    if let Pages::Memory(bytes) = &pages {
        keep.memory = keep.memory.saturating_sub(bytes.len() as u64);
    }
    Ok(Some(pages))
}

/// The log, if there is one with a header.
fn log(fs: &dyn FileSystem, path: &Path) -> Result<Option<Log>, Error> {
    let failed = |error: io::Error| io_error(path, &error);
    let file = match fs.open_random(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let header = wal::header(&*file).map_err(failed)?;
    Ok(header.map(|header| (file, header)))
}

fn lay_over(pages: &mut Pages, log: &dyn RandomFile, wal: &Wal) -> io::Result<()> {
    if wal.page_count == 0 {
        return Ok(());
    }
    let mut page = vec![0; wal.page_len];
    for (number, offset) in &wal.pages {
        // Pages behind the last commit's end were cut off by it; there is no page 0.
        if (1..=wal.page_count).contains(number) && wal::read_exact(log, *offset, &mut page)? {
            pages.write(u64::from(number - 1) * wal.page_len as u64, &page)?;
        }
    }
    pages.truncate(u64::from(wal.page_count) * wal.page_len as u64)
}

fn io_error(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}
