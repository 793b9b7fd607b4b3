//! External objects of a record: what its external object row lists, and the files that hold the contents.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_codec::external_object::schema_3::{Schema3Kind, Schema3Object};
use larder_codec::external_object::{BlobInfo, ExternalObject, decode_all, schema_3};
use larder_codec::row_key::{RecordKey, RecordTable};
use larder_codec::{DatabaseId, ObjectStoreId, RawKey};
use larder_leveldb::storage::{FileSystem, RandomFile};

use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;
use crate::reads::{Reads, get_row};

/// Microseconds from 1601, where Chromium's clock begins, to 1970.
pub(crate) const UNIX_EPOCH_MICROS: i64 = 11_644_473_600_000_000;

/// In stores up to this schema, file entries have neither size nor time of last modification: those are the blob
/// file's.
const SCHEMA_WITHOUT_FILE_INFO: i64 = 3;

/// The newest version of Blink's wire format in such stores.
const BLINK_WITHOUT_FILE_INFO: u32 = 19;

impl Reads {
    /// The external objects of a record, in the order in which its value refers to them; none if there is no row.
    ///
    /// In a store of schema 3, size and time of files are read from the disk as a migration would do; a file that is
    /// missing counts as empty here, and opening it fails.
    ///
    /// # Errors
    /// If the row cannot be read; [`ErrorKind::Io`] if the size of such a file cannot be found out.
    pub fn external_objects(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
    ) -> Result<Vec<ExternalObject>> {
        let mut key = Vec::new();
        RecordKey {
            database_id,
            object_store_id,
            table: RecordTable::ExternalObject,
            key: primary_key,
        }
        .encode(&mut key);
        let mut row = Vec::new();
        if !get_row(self.view(), &key, primary_key, &mut row)? {
            return Ok(Vec::new());
        }
        let today = decode_all(&row);
        let lacks_file_info = self.lacks_file_info();
        let schema_3 = match lacks_file_info {
            // Not asked for: nothing of it is looked for on the disk.
            Some(false) => Ok(Vec::new()),
            _ => match schema_3::decode_all(&row) {
                Ok(objects) => {
                    let migrate = |object| self.migrated(database_id, object);
                    Ok(objects.into_iter().map(migrate).collect::<Result<_>>()?)
                }
                Err(error) => Err(error),
            },
        };
        let objects = match (lacks_file_info, today, schema_3) {
            (Some(true), _, schema_3) => schema_3,
            (Some(false), today, _) | (None, today, Err(_)) => today,
            (None, Err(_), schema_3) => schema_3,
            (None, Ok(today), Ok(schema_3)) if today == schema_3 => Ok(today),
            (None, Ok(_), Ok(_)) => {
                let what =
                    "external objects of unknown form: the rows that tell the store's age are lost";
                return Err(Error::inconsistent(&key, what));
            }
        };
        objects.map_err(|error| Error::row(&key, "external objects", error))
    }

    /// Whether file entries have the form of schema 3; `None` if that cannot be decided. Where the schema row is lost,
    /// the data version shows the age: Chromium 65 writes schema 3 and version 18 of Blink's wire format, Chromium 75
    /// schema 3 and version 19, Chromium 83 schema 4 and version 20.
    fn lacks_file_info(&self) -> Option<bool> {
        match (self.schema_version(), self.data_version()) {
            (Some(schema), _) => Some(schema <= SCHEMA_WITHOUT_FILE_INFO),
            (None, Some(version)) => Some(version.blink <= BLINK_WITHOUT_FILE_INFO),
            (None, None) => None,
        }
    }

    fn migrated(&self, database_id: DatabaseId, object: Schema3Object) -> Result<ExternalObject> {
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
        Ok(match kind {
            Schema3Kind::Blob { size_bytes } => ExternalObject::Blob(blob(size_bytes)),
            Schema3Kind::File { name } => {
                let path = self.paths().blob_file(database_id, number);
                // What is no file is refused when its content is asked for.
                let metadata = match self.fs().metadata(&path) {
                    Ok(metadata) => Some(metadata),
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::NotFound
                                | io::ErrorKind::NotADirectory
                                | io::ErrorKind::InvalidData
                        ) =>
                    {
                        None
                    }
                    Err(error) => {
                        let what = format!("{}: {error}", path.display());
                        return Err(Error::new(ErrorKind::Io, what));
                    }
                };
                let modified = metadata.as_ref().and_then(|metadata| metadata.modified);
                let size = metadata.and_then(|metadata| i64::try_from(metadata.len_bytes).ok());
                ExternalObject::File {
                    blob: blob(size.unwrap_or(0)),
                    name,
                    last_modified_micros: modified.map_or(0, micros_since_1601),
                }
            }
        })
    }

    /// Opens the content of a blob or file. One of size 0 has no file.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if the file is missing, is no regular file or has another size than the row says, [`ErrorKind::Io`] if it
    /// cannot be opened.
    pub fn open_blob(&self, database_id: DatabaseId, blob: &BlobInfo) -> Result<BlobReader> {
        BlobReader::open(&**self.fs(), self.paths(), database_id, blob)
    }

    /// The bytes of a value that lies in a blob: what a value says that begins `ff 11 01`.
    ///
    /// # Errors
    /// As [`value_wrapper`]; [`ErrorKind::Corruption`] if the blob's file is missing or of another size.
    pub fn wrapped_value(
        &self,
        database_id: DatabaseId,
        objects: &[ExternalObject],
        index: u32,
        size_bytes: u64,
    ) -> Result<Vec<u8>> {
        let (_, blob) = value_wrapper(objects, index, size_bytes)?;
        let mut bytes = Vec::new();
        self.open_blob(database_id, blob)?
            .read_to_end(&mut bytes)
            .map_err(|error| Error::new(ErrorKind::Io, format!("blob {}: {error}", blob.number)))?;
        Ok(bytes)
    }
}

/// Which of a record's external objects, in their order, a value lies in that begins `ff 11 01`, and the blob that this is.
/// `index` counts blobs and files alone, and must be that of the last of them; `size_bytes` must be its size. Chromium checks
/// the same (`third_party/blink/renderer/modules/indexeddb/idb_value_wrapping.cc`).
///
/// # Errors
/// [`ErrorKind::Corruption`] if it is not so.
pub fn value_wrapper<'a>(
    objects: impl IntoIterator<Item = &'a ExternalObject>,
    index: u32,
    size_bytes: u64,
) -> Result<(usize, &'a BlobInfo)> {
    let bad = |what: &str| Err(Error::new(ErrorKind::Corruption, what));
    let objects = objects.into_iter().enumerate();
    let blobs = objects.filter_map(|(at, object)| match object {
        ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => Some((at, blob)),
        ExternalObject::FileSystemAccessHandle { .. } => None,
    });
    let Some((count_before, (at, blob))) = blobs.enumerate().last() else {
        return bad("the value lies in a blob and the record has none");
    };
    if usize::try_from(index) != Ok(count_before) {
        return bad("the value lies in an external object that is not the record's last blob");
    }
    if u64::try_from(blob.size_bytes) != Ok(size_bytes) {
        return bad("the value lies in a blob of another size than it says");
    }
    Ok((at, blob))
}

/// A time as JavaScript counts it, from one as Chromium does: milliseconds since 1970, without a fraction.
pub(crate) fn ms_since_1970(micros_since_1601: i64) -> f64 {
    let micros = micros_since_1601.saturating_sub(UNIX_EPOCH_MICROS);
    micros.div_euclid(1000) as f64
}

/// A time as Chromium counts it. Times before 1970 are rounded down, as it does.
pub(crate) fn micros_since_1601(time: SystemTime) -> i64 {
    let whole = |since: Duration| i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    let since_1970 = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => whole(after),
        Err(before) => {
            let before = before.duration();
            let rest = i64::from(before.subsec_nanos() % 1000 != 0);
            whole(before).saturating_add(rest).saturating_neg()
        }
    };
    UNIX_EPOCH_MICROS.saturating_add(since_1970)
}

/// The content of a blob or file, from the front.
#[derive(Debug)]
pub struct BlobReader {
    file: Option<Arc<dyn RandomFile>>,
    at: u64,
}

impl BlobReader {
    /// Opens the blob without the rows, as [`Reads::open_blob`] does with them, for a caller that has released the rows
    /// but holds the blob.
    ///
    /// # Errors
    /// Those of [`Reads::open_blob`].
    pub fn open(
        fs: &dyn FileSystem,
        paths: &StorePaths,
        database_id: DatabaseId,
        blob: &BlobInfo,
    ) -> Result<Self> {
        if blob.size_bytes == 0 {
            return Ok(Self { file: None, at: 0 });
        }
        let path = paths.blob_file(database_id, blob.number);
        let file = fs.open_random(&path).map_err(|error| {
            let kind = match error.kind() {
                // Missing, or something that is no regular file.
                io::ErrorKind::NotFound
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::InvalidData => ErrorKind::Corruption,
                _ => ErrorKind::Io,
            };
            Error::new(kind, path.display().to_string()).caused_by(error)
        })?;
        let found = file
            .len()
            .map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display())))?;
        if u64::try_from(blob.size_bytes) != Ok(found) {
            let what = format!(
                "{}: the file has {found} bytes, its record says {}",
                path.display(),
                blob.size_bytes
            );
            return Err(Error::new(ErrorKind::Corruption, what));
        }
        Ok(Self {
            file: Some(file),
            at: 0,
        })
    }
}

impl BlobReader {
    /// The bytes of a range, as far as the content has them. [`Read`] is not moved by it.
    ///
    /// # Errors
    /// If the file cannot be read, or has become shorter; [`OutOfMemory`](io::ErrorKind::OutOfMemory) if there is no memory for so many
    /// bytes.
    pub fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let Some(file) = &self.file else {
            return Ok(Vec::new());
        };
        let end = range.end.min(file.len()?);
        let mut at = range.start.min(end);
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let len = usize::try_from(end - at).map_err(|_| no_memory())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| no_memory())?;
        bytes.resize(len, 0);
        let mut left = &mut bytes[..];
        while !left.is_empty() {
            match file.read_at(at, left) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    at += read as u64;
                    left = &mut left[read..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(file) = &self.file else {
            return Ok(0);
        };
        let read = file.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_count_down_and_round_down() {
        let at = |nanos: i64| {
            let since = Duration::from_nanos(nanos.unsigned_abs());
            micros_since_1601(if nanos < 0 {
                UNIX_EPOCH - since
            } else {
                UNIX_EPOCH + since
            }) - UNIX_EPOCH_MICROS
        };
        assert_eq!(at(0), 0);
        assert_eq!(at(1_999), 1);
        assert_eq!(at(-1_000), -1);
        assert_eq!(at(-1_001), -2);
        assert_eq!(
            larder_codec::external_object::last_modified_ms(UNIX_EPOCH_MICROS - 1),
            -1
        );
    }
}
