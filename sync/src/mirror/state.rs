//! How far a mirror has come: noted in the page and in the database, each time in one batch with what was done there.

use std::collections::BTreeMap;

use larder_feed::{Consumer, Feed};
use larder_idb::codec::feed::CONSUMERS;
use larder_idb::{
    Connection, JsString, TransactionDurability, TransactionMode, TransactionOptions,
};
use larder_pages::{CommitId, Page};

use super::bytes::{Bytes, put_bytes, put_number, put_string};
use super::error::{Error, Result};
use super::report::Reason;

const VERSION: u8 = 1;

/// Where a state was written first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the page, with a commit of the database's changes.
    Page,
    /// In the database, with the page's changes.
    Database,
}

/// A record that is not alike in page and database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Apart {
    pub(super) reason: Reason,
    /// Whether the page has something that the database has never had.
    pub(super) is_unseen: bool,
}

/// An object store of the database that the page has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) number: i64,
    pub(super) name: JsString,
    /// Whether the database has what the page had of it before.
    pub(super) is_applied: bool,
}

/// How far a mirror has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// Counts the states, in page and database together.
    pub(super) step: u64,
    pub(super) origin: Origin,
    /// What the database has changed up to this revision is in the page.
    pub(super) position: u64,
    pub(super) object_stores: Vec<Joined>,
    /// By entry key.
    pub(super) apart: BTreeMap<Vec<u8>, Apart>,
    /// The database holds what this commit holds, but for what is apart and what was changed behind the position.
    pub(super) commit: CommitId,
}

impl State {
    /// A database that no page has met.
    fn first(step: u64) -> Self {
        Self {
            step,
            origin: Origin::Database,
            position: 0,
            object_stores: Vec::new(),
            apart: BTreeMap::new(),
            commit: CommitId::FIRST,
        }
    }

    /// Whether nothing of the database is in the page.
    pub(super) fn is_first(&self) -> bool {
        self.commit == CommitId::FIRST && self.position == 0 && self.object_stores.is_empty()
    }

    /// All but the commit, which stands behind.
    pub(super) fn encode_without_commit(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.origin == Origin::Database)];
        put_number(self.step, &mut out);
        put_number(self.position, &mut out);
        put_number(self.object_stores.len() as u64, &mut out);
        for joined in &self.object_stores {
            out.extend_from_slice(&joined.number.to_le_bytes());
            put_string(&joined.name, &mut out);
            out.push(joined.is_applied.into());
        }
        put_number(self.apart.len() as u64, &mut out);
        for (entry_key, apart) in &self.apart {
            put_bytes(entry_key, &mut out);
            out.push(apart.is_unseen.into());
            apart.reason.encode(&mut out);
        }
        out
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = self.encode_without_commit();
        out.extend_from_slice(&self.commit.0);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut bytes = Bytes(bytes);
        match bytes.byte()? {
            VERSION => {}
            other => {
                return Err(Error::malformed(format!(
                    "a mirror's state of version {other}"
                )));
            }
        }
        let origin = match bytes.flag()? {
            true => Origin::Database,
            false => Origin::Page,
        };
        let (step, position) = (bytes.number()?, bytes.number()?);
        let mut object_stores = Vec::new();
        for _ in 0..bytes.number()? {
            object_stores.push(Joined {
                number: i64::from_le_bytes(bytes.array()?),
                name: bytes.string()?,
                is_applied: bytes.flag()?,
            });
        }
        let mut apart = BTreeMap::new();
        for _ in 0..bytes.number()? {
            let entry_key = bytes.bytes()?.to_vec();
            let is_unseen = bytes.flag()?;
            let reason = Reason::decode(&mut bytes)?;
            apart.insert(entry_key, Apart { reason, is_unseen });
        }
        let commit = CommitId(bytes.array()?);
        bytes.end()?;
        Ok(Self {
            step,
            origin,
            position,
            object_stores,
            apart,
            commit,
        })
    }
}

/// The name of the note in the page.
pub(super) fn row_name(consumer: &str) -> Vec<u8> {
    [b"mirror/", consumer.as_bytes()].concat()
}

/// The name of the row in the page that has the last commit of a first take which is not complete.
pub(super) fn begun_row_name(consumer: &str) -> Vec<u8> {
    [b"mirror-begun/", consumer.as_bytes()].concat()
}

/// Which of the two notes says where the database is. The later one does, if the other is the one before it: a crash has come between them.
/// Otherwise one of the two, page or database, is older than what was noted, as after a backup was restored.
fn later(of_page: Option<State>, of_database: Option<State>) -> Option<State> {
    match (of_page, of_database) {
        (Some(page), Some(database)) if database.step >= page.step => Some(database),
        (Some(page), Some(database)) => {
            (page.step == database.step + 1 && page.origin == Origin::Page).then_some(page)
        }
        (None, database) => database,
        (Some(_), None) => None,
    }
}

/// Where the database is; a first state, which is noted there, if page and database do not know of each other.
pub(super) async fn load(
    connection: &Connection,
    feed: &Feed,
    consumer: &Consumer,
    page: &Page,
) -> Result<State> {
    let of_page = page.sync_metadata(&row_name(consumer.name()))?;
    let of_page = of_page.map(|row| State::decode(&row)).transpose()?;
    let of_database = consumer.note().await?;
    let of_database = of_database.map(|note| State::decode(&note)).transpose()?;
    let steps = [&of_page, &of_database].map(|state| state.as_ref().map_or(0, |state| state.step));
    let last = feed.last().await?;
    if let Some(found) = later(of_page, of_database)
        && found.position <= last
        && page.commit_by_id(found.commit)?.is_some()
    {
        return Ok(found);
    }
    // What a first take has begun is of the database that was here then: this one has perhaps nothing of it.
    let begun = begun_row_name(consumer.name());
    if page
        .sync_metadata(&begun)?
        .is_some_and(|row| !row.is_empty())
    {
        page.set_sync_metadata(&begun, &[])?;
    }
    let first = State::first(steps.into_iter().max().unwrap_or(0) + 1);
    let options = TransactionOptions::new()
        .reserved(true)
        .durability(TransactionDurability::Strict);
    let mode = TransactionMode::ReadWrite;
    let transaction = connection.transaction(CONSUMERS, mode, options)?;
    let note = first.encode();
    consumer
        .acknowledge_noting_in(&transaction, 0, &note)
        .await?;
    transaction.commit()?.await?;
    Ok(first)
}
