//! A distributed store as a cloud: rows of its catalogue.
//!
//! The bytes of a name are rows of 64 KiB at most. The first of them says how many bytes there are, and is written last: a name is there
//! when its first row is. `docs/format/sync.md`, "A cloud in a catalogue".

use super::{Cloud, Put, check_len, parts};
use crate::error::{Error, ErrorKind, Result};
use larder_remote_files::{Catalogue, Commit, Outcome};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a row.
const ROW_LEN: usize = 64 << 10;
/// So many rows are written or asked for at once: together with the keys they are within what a commit takes.
const ROWS_AT_ONCE: usize = 5;
/// What the keys of clouds begin with; larder-remote-files has 1 and 2.
const TAG: u8 = 0x03;

/// A cloud in the catalogue of a distributed store, beside namespaces of files: any number of devices write at once, and none holds a lock.
#[derive(Clone, Debug)]
pub struct CatalogueCloud {
    catalogue: Arc<dyn Catalogue>,
    prefix: Vec<u8>,
}

fn failed(error: &larder_remote_files::Error) -> Error {
    use larder_remote_files::ErrorKind as Kind;
    let kind = match error.kind() {
        Kind::Corruption => ErrorKind::Damaged,
        Kind::Denied | Kind::TooLarge | Kind::Usage | Kind::ReadOnly | Kind::Unsupported => {
            ErrorKind::Usage
        }
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, error.to_string())
}

impl CatalogueCloud {
    /// With the name of a cloud in it, which may be any text without a zero; several clouds are separate.
    pub fn new(catalogue: Arc<dyn Catalogue>, cloud: &str) -> CatalogueCloud {
        CatalogueCloud {
            catalogue,
            prefix: [&[TAG], cloud.as_bytes(), &[0]].concat(),
        }
    }

    fn row(&self, name: &str, index: usize) -> Vec<u8> {
        let index = (index as u32).to_be_bytes();
        [&self.prefix, name.as_bytes(), &[0], &index[..]].concat()
    }

    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.catalogue.get(keys).map_err(|error| failed(&error))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        self.catalogue
            .commit(commit)
            .map_err(|error| failed(&error))
    }

    /// The length of what a name has, and the bytes in its first row.
    fn first(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>> {
        let first = self.get(&[self.row(name, 0)])?.pop().flatten();
        let Some(first) = first else {
            return Ok(None);
        };
        match first.split_first_chunk::<8>() {
            Some((len, bytes)) => Ok(Some((u64::from_be_bytes(*len), bytes.to_vec()))),
            None => Err(Error::damaged(name, "its first row is cut")),
        }
    }
}

impl Cloud for CatalogueCloud {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Put> {
        check_len(bytes)?;
        parts(name)?;
        let (first, rest) = bytes.split_at(bytes.len().min(ROW_LEN));
        let rest: Vec<&[u8]> = rest.chunks(ROW_LEN).collect();
        // A name has one writer. What another one with the same name has begun is written over, and the first row decides.
        for (at, rows) in rest.chunks(ROWS_AT_ONCE).enumerate() {
            let mut commit = Commit::default();
            for (index, row) in rows.iter().enumerate() {
                let key = self.row(name, 1 + at * ROWS_AT_ONCE + index);
                commit.put(key, row.to_vec());
            }
            commit.require(self.row(name, 0), None);
            if self.commit(&commit)? == Outcome::Refused {
                return Ok(Put::Taken);
            }
        }
        let mut commit = Commit::default();
        let key = self.row(name, 0);
        commit.require(key.clone(), None);
        let len = (bytes.len() as u64).to_be_bytes();
        commit.put(key, [&len[..], first].concat());
        Ok(match self.commit(&commit)? {
            Outcome::Committed => Put::Done,
            Outcome::Refused => Put::Taken,
        })
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        parts(name)?;
        let Some((len, first)) = self.first(name)? else {
            return Ok(None);
        };
        let end = len.min(range.end).min(super::OBJECT_LEN_MAX as u64) as usize;
        let start = usize::try_from(range.start).unwrap_or(end).min(end);
        let mut bytes = Vec::with_capacity(end - start);
        let mut take = |index: usize, row: &[u8]| {
            let behind = index * ROW_LEN;
            let from = start.saturating_sub(behind).min(row.len());
            let to = end.saturating_sub(behind).min(row.len());
            bytes.extend_from_slice(row.get(from..to).unwrap_or_default());
        };
        let indexes: Vec<usize> = (start / ROW_LEN..end.div_ceil(ROW_LEN)).collect();
        if indexes.first() == Some(&0) {
            take(0, &first);
        }
        let others: Vec<usize> = indexes.into_iter().filter(|index| *index > 0).collect();
        for some in others.chunks(ROWS_AT_ONCE) {
            let keys: Vec<Vec<u8>> = some.iter().map(|index| self.row(name, *index)).collect();
            for (index, row) in some.iter().zip(self.get(&keys)?) {
                take(*index, &row.unwrap_or_default());
            }
        }
        match bytes.len() == end - start {
            true => Ok(Some(bytes)),
            false => Err(Error::damaged(name, "rows of it are missing")),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        parts(folder)?;
        let start = [&self.prefix, folder.as_bytes(), b"/"].concat();
        // The byte behind `/`.
        let end = [&self.prefix, folder.as_bytes(), b"0"].concat();
        let mut names = BTreeSet::new();
        let mut from = start.clone();
        let mut snapshot = self.catalogue.snapshot().map_err(|error| failed(&error))?;
        loop {
            let page = snapshot.page(&(from..end.clone()), 1);
            let page = page.map_err(|error| failed(&error))?;
            let Some(row) = page.rows.first() else {
                return Ok(names.into_iter().collect());
            };
            let rest = row.key.get(start.len()..).unwrap_or_default();
            let len = rest.iter().position(|byte| matches!(byte, 0 | b'/'));
            let (name, behind) = rest.split_at(len.unwrap_or(rest.len()));
            // On behind all rows of the name, or of the folder.
            let next = behind.first().map_or(0, |byte| byte + 1);
            from = [&start[..], name, &[next]].concat();
            let is_there = match behind {
                [0, index @ ..] => index == [0; 4],
                _ => true,
            };
            if is_there && let Ok(name) = String::from_utf8(name.to_vec()) {
                names.insert(name);
            }
        }
    }
}
