//! Blobs: each that a record refers to has a file of its size, no journal has it, and what nothing refers to is in a journal.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use larder_backing_store::Error;
use larder_codec::external_object::BlobInfo;
use larder_codec::{BlobNumber, DatabaseId};

use super::finding::Place;
use super::metadata::Numbers;
use super::{Check, Checker};
use crate::record::is_missing_file;

/// Bytes of a blob that are read at a time.
const PIECE_LEN: usize = 64 << 10;

impl Checker<'_> {
    /// A blob of a record: its file.
    pub(super) fn blob(&mut self, row_key: &[u8], database: DatabaseId, blob: &BlobInfo) {
        self.verdict.counts.blobs += 1;
        self.verdict.counts.blob_bytes += u64::try_from(blob.size_bytes).unwrap_or(0);
        let read = self.store.open_blob(database, blob).and_then(|reader| {
            let wanted = self.options.full;
            let path = self.store.paths().blob_file(database, blob.number);
            let failed =
                |error| Error::from(larder_leveldb::Error::io(&path, "cannot be read", error));
            if wanted {
                drain(reader).map_err(failed)
            } else {
                Ok(())
            }
        });
        let Err(error) = read else { return };
        if self.store.lock_holder().is_some() && is_missing_file(&error) {
            let place = Place::of_row(self.names.place(row_key));
            let what = format!("{error}: deleted since, by the program that has the store open");
            self.note(Check::Blob, place, what);
        } else {
            self.row(Check::Blob, row_key, error);
        }
    }

    /// Journals and files beside the records.
    pub(super) fn blobs(&mut self, numbers: &Numbers) -> Result<(), Error> {
        let mut used = numbers.blobs.clone();
        used.sort_unstable();
        for pair in used.windows(2) {
            if let [one, next] = pair
                && one == next
            {
                let what = format!("blob {} belongs to two records", one.1);
                self.fault(Check::Blob, self.blob_place(*one), what);
            }
        }
        used.dedup();
        for blob in &used {
            if numbers.is_in_journal(blob.0, blob.1) {
                let what = format!(
                    "blob {} belongs to a record, and a journal says that it is to be removed",
                    blob.1
                );
                self.fault(Check::Blob, self.blob_place(*blob), what);
            }
        }
        self.blob_files(numbers, &used)
    }

    fn blob_place(&self, (database, number): (DatabaseId, BlobNumber)) -> Place {
        let paths = self.store.paths();
        let path = paths.blob_file(database, number);
        let path = path.strip_prefix(&paths.blob).unwrap_or(&path);
        Place::file(path.display().to_string())
    }

    /// Looks at the files that are there: those that nothing refers to take room.
    fn blob_files(
        &mut self,
        numbers: &Numbers,
        used: &[(DatabaseId, BlobNumber)],
    ) -> Result<(), Error> {
        let blob = self.store.paths().blob.clone();
        let (mut loose, mut due) = (0_u64, 0_u64);
        for database in self.list(&blob)? {
            let dir = blob.join(&database);
            let id = hex(&database).and_then(DatabaseId::new);
            for half in self.list(&dir)? {
                for name in self.list(&dir.join(&half))? {
                    let number = hex(&name).and_then(BlobNumber::new);
                    let place = id.zip(number);
                    match place {
                        Some(place) if used.binary_search(&place).is_ok() => {}
                        Some((id, number)) if numbers.is_in_journal(id, number) => due += 1,
                        _ => loose += 1,
                    }
                }
            }
        }
        if due > 0 {
            let what = format!("blob files that the next opening removes: {due}");
            self.note(Check::Blob, Place::store(), what);
        }
        if loose > 0 {
            let what = format!("blob files that nothing refers to: {loose}");
            self.note(Check::Blob, Place::store(), what);
        }
        Ok(())
    }

    fn list(&mut self, dir: &Path) -> Result<Vec<std::ffi::OsString>, Error> {
        let fs = self.store.fs();
        if !fs.metadata(dir).is_ok_and(|metadata| metadata.is_dir) {
            return Ok(Vec::new());
        }
        match fs.list(dir) {
            Ok(mut names) => {
                names.sort();
                Ok(names)
            }
            Err(error) => {
                let what = format!("the folder cannot be listed: {error}");
                self.fault(Check::Blob, Place::file(dir.display().to_string()), what);
                Ok(Vec::new())
            }
        }
    }
}

/// A number as Chromium writes it in names: hex digits in lower case.
fn hex(name: &OsStr) -> Option<i64> {
    let text = name.to_str()?;
    let number = i64::from_str_radix(text, 16).ok()?;
    (format!("{number:x}") == text).then_some(number)
}

/// Reads to the end.
fn drain(mut reader: impl Read) -> io::Result<()> {
    let mut piece = vec![0; PIECE_LEN];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
