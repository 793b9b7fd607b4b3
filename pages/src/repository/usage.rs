//! When pages were used last: `page_usage_db`, rows `opened/{ledger}{page}` with eight bytes, little-endian, 0 while the page is open.

use super::folders::Folders;
use super::{Inner, PageId, Place, Repository};
use crate::commit::Timestamp;
use crate::error::{Error, Result};
use crate::page::PageOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, ErrorKind, OnDamage};

const PREFIX: &[u8] = b"opened/";

/// When a page was used last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageUse {
    /// When it was closed; `None` if it is open.
    pub closed: Option<Timestamp>,
    /// The ledger's name.
    pub ledger: Vec<u8>,
    /// The page.
    pub page: PageId,
}

#[derive(Debug)]
pub(super) struct Usage {
    db: Db,
}

fn key((ledger, page): &Place) -> Vec<u8> {
    [PREFIX, ledger, &page.0].concat()
}

impl Usage {
    /// Opens the rows. What was open when a crash came counts as closed at `now`.
    pub(super) fn open(folders: &Folders, options: &PageOptions, now: Timestamp) -> Result<Usage> {
        let mut options = options.db.clone();
        options.create_if_missing = true;
        let db = Db::open(folders.fs().clone(), &folders.usage(), options)?;
        let usage = Usage { db };
        let mut batch = BatchWriter::new();
        for one in usage.list()? {
            if one.closed.is_none() {
                batch.put(&key(&(one.ledger, one.page)), &now.0.to_le_bytes());
            }
        }
        usage.db.write(&mut batch, Durability::Strict)?;
        Ok(usage)
    }

    fn put(&self, place: &Place, time: i64) -> Result<()> {
        let value = time.to_le_bytes();
        Ok(self.db.put(&key(place), &value, Durability::Strict)?)
    }

    pub(super) fn set_open(&self, place: &Place) -> Result<()> {
        self.put(place, 0)
    }

    pub(super) fn set_closed(&self, place: &Place, now: Timestamp) -> Result<()> {
        self.put(place, now.0)
    }

    pub(super) fn forget(&self, place: &Place) -> Result<()> {
        Ok(self.db.delete(&key(place), Durability::Strict)?)
    }

    pub(super) fn list(&self) -> Result<Vec<PageUse>> {
        list(&self.db)
    }
}

/// The rows as they lie there; none if there is no `page_usage_db`. Nothing is written.
pub(super) fn read(folders: &Folders, options: &PageOptions) -> Result<Vec<PageUse>> {
    let mut options = options.db.clone();
    // One row more or less is another answer: what is damaged is no list.
    options.on_damage = OnDamage::Fail;
    match Db::open_read_only(folders.fs().clone(), &folders.usage(), options) {
        Ok(db) => list(&db),
        Err(error) if error.kind() == ErrorKind::NotAStore => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn list(db: &Db) -> Result<Vec<PageUse>> {
    let mut found = Vec::new();
    for row in db.range(PREFIX..b"opened0".as_slice()) {
        let (key, value) = row?;
        let time = <[u8; 8]>::try_from(&*value).map(i64::from_le_bytes);
        let place = key[PREFIX.len()..].split_last_chunk::<16>();
        let (Ok(time), Some((ledger, page))) = (time, place) else {
            let key = key.escape_ascii();
            return Err(Error::corruption(format!("row {key} of page_usage_db")));
        };
        found.push(PageUse {
            closed: (time != 0).then_some(Timestamp(time)),
            ledger: ledger.to_vec(),
            page: PageId(*page),
        });
    }
    Ok(found)
}

impl Repository {
    /// When each page was used last, by ledger and name.
    ///
    /// # Errors
    /// `Corruption`, those of the engine.
    pub fn page_usage(&self) -> Result<Vec<PageUse>> {
        let Inner { usage, .. } = &*self.0;
        usage.list()
    }
}
