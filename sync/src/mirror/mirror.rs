//! The mirror: a handle to both sides, and where they are.

use std::sync::Arc;

use larder_feed::{Consumer, Feed};
use larder_idb::{Connection, Transaction};
use larder_pages::{CommitId, Page, Snapshot};

use super::entry_key::ENTRY_KEY_LEN_MAX;
use super::error::{Error, Result};
use super::options::MirrorOptions;
use super::schema::Schema;
use super::state::{self, State, begun_row_name, row_name};

/// Keeps a database and a page alike.
///
/// A page goes from device to device: its commits are exchanged there and merged ([`larder_pages`]). A mirror of each device brings what
/// changes in its database into the page ([`take`](Self::take)), and what the page has from other devices into the database
/// ([`apply`](Self::apply)). Each change counts once, whenever either side crashes: where the two are is noted in both, each time in the
/// batch that has what was done.
///
/// The database has a change feed, lies in LevelDB, and is not upgraded while the mirror has a connection to it. One mirror of a
/// page works at a time. [`page_options`](super::page_options) says how the page is opened.
///
/// There is no clock in here: the time of commits is passed in. It decides which of two records is kept.
///
/// ```
/// # use futures_executor::block_on;
/// # use larder_idb::{Database, ObjectStoreParameters, Value};
/// # use larder_idb::file_system::MemoryFileSystem;
/// # use larder_pages::{Page, Timestamp};
/// # use larder_sync::{Mirror, MirrorOptions, page_options};
/// # use std::{path::Path, sync::Arc};
/// # let database = || {
/// #     Database::in_memory("library", 1, |upgrade| {
/// #         upgrade.transaction.create_object_store("books", ObjectStoreParameters::new())?;
/// #         upgrade.transaction.set_change_feed(true)
/// #     })?
/// #     .wait()
/// # };
/// # let page = || {
/// #     Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), page_options())
/// # };
/// // Two devices, each with a database and a page.
/// let (desk, pocket) = (database()?, database()?);
/// let (desk_page, pocket_page) = (page()?, page()?);
///
/// let writing = desk.write("books")?;
/// writing.object_store("books")?.put(Value::serialize("Emma")?, Some(1.into()))?.detach();
/// writing.commit()?.wait()?;
///
/// block_on(async {
///     let options = MirrorOptions::new();
///     let mut mirror = Mirror::new(desk.connection(), &desk_page, options.clone()).await?;
///     mirror.take(Timestamp(1)).await?;
///     // The pages meet, here on one machine.
///     pocket_page.pull_from(&desk_page, false)?;
///     let mut mirror = Mirror::new(pocket.connection(), &pocket_page, options.device_number(1)).await?;
///     let applied = mirror.apply(Timestamp(2)).await?;
///     assert_eq!((applied.is_one, applied.put), (true, 1));
///     Ok::<(), larder_sync::MirrorError>(())
/// })?;
///
/// let reading = pocket.read("books")?;
/// let found = reading.object_store("books")?.get(1)?.wait()?.unwrap();
/// assert_eq!(found.deserialize::<String>()?, "Emma");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Mirror {
    pub(super) connection: Connection,
    pub(super) feed: Feed,
    pub(super) consumer: Consumer,
    pub(super) page: Page,
    pub(super) options: MirrorOptions,
    pub(super) state: State,
    /// The commit of the state, which stays as long as it is held.
    pub(super) at: Arc<Snapshot>,
    /// Whether something has failed since: then the notes say where the two are.
    pub(super) is_in_doubt: bool,
}

impl Mirror {
    /// Begins, or goes on, where the notes in database and page say that they are.
    ///
    /// If neither says so, they meet for the first time. If one of the two is older than the other says, a backup has been restored. In both
    /// cases all records of the database go into the page with the next [`take`](Self::take), as of the time 0: what is alike meets
    /// without a conflict, where the page has something else that is kept and the database's is listed, and nothing is lost. Records that
    /// were removed since the backup come back.
    ///
    /// # Errors
    /// [`Error::KeysTooShort`] for a page of shorter keys; [`Error::Feed`] if the database has no change feed; if database or page fail.
    pub async fn new(connection: &Connection, page: &Page, options: MirrorOptions) -> Result<Self> {
        if page.begin()?.delete(&[0; ENTRY_KEY_LEN_MAX]).is_err() {
            return Err(Error::KeysTooShort);
        }
        let feed = Feed::of(connection)?;
        let consumer = feed.consumer(&options.consumer).await?;
        let state = state::load(connection, &feed, &consumer, page).await?;
        Ok(Self {
            connection: connection.clone(),
            at: pinned(page, &consumer, &state)?,
            page: page.clone(),
            is_in_doubt: false,
            feed,
            consumer,
            options,
            state,
        })
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &MirrorOptions {
        &self.options
    }

    /// The page.
    #[must_use]
    pub const fn page(&self) -> &Page {
        &self.page
    }

    /// Looks again where database and page are, if something has failed.
    pub(super) async fn settle_doubt(&mut self) -> Result<()> {
        if self.is_in_doubt {
            self.state =
                state::load(&self.connection, &self.feed, &self.consumer, &self.page).await?;
            self.at = pinned(&self.page, &self.consumer, &self.state)?;
            self.is_in_doubt = false;
        }
        Ok(())
    }

    /// Goes on to a state.
    pub(super) fn go_to(&mut self, state: State) -> Result<()> {
        if state.commit != self.state.commit {
            self.at = pinned(&self.page, &self.consumer, &state)?;
        }
        self.state = state;
        Ok(())
    }

    pub(super) fn row_name(&self) -> Vec<u8> {
        row_name(self.consumer.name())
    }

    pub(super) fn begun_row_name(&self) -> Vec<u8> {
        begun_row_name(self.consumer.name())
    }

    /// The schema of the database, which none of the page's heads is ahead of or unlike.
    pub(super) fn checked_schema(&self, view: &Transaction) -> Result<Schema> {
        let schema = Schema::of_database(view)?;
        for head in self.page.heads() {
            let other = Schema::of_commit(&self.page, &head)?;
            if other.version > schema.version {
                return Err(Error::Behind {
                    database: schema.version,
                    page: other.version,
                });
            }
            schema.check_alike(&other)?;
        }
        Ok(schema)
    }
}

/// The commit of a state, as long as it is held. If a first take was cut off, it is that which has the records that were taken by then.
fn pinned(page: &Page, consumer: &Consumer, state: &State) -> Result<Arc<Snapshot>> {
    if state.is_first()
        && let Some(row) = page.sync_metadata(&begun_row_name(consumer.name()))?
        && let Ok(id) = row.try_into()
        && let Some(begun) = page.commit_by_id(CommitId(id))?
    {
        return Ok(Arc::new(page.snapshot(&begun, b"")));
    }
    let commit = page.commit_by_id(state.commit)?;
    let commit = commit.ok_or_else(|| {
        let what = format!("commit {:?} has gone", state.commit);
        Error::Page(larder_pages::Error::new(
            larder_pages::ErrorKind::NeedsFetch,
            what,
        ))
    })?;
    Ok(Arc::new(page.snapshot(&commit, b"")))
}
