//! Change feeds of a store: which databases have one, what is in it, and its clean-up.
//!
//! Each function is what `larder feed` does, for a program that has a path.

mod command;

pub(crate) use command::run;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use futures_executor::block_on;
use larder_backing_store::layout::StorePaths;
use larder_codec::{JsString, Origin};
use larder_feed::{CleanUp, Feed, ReadOptions, Revision};
use larder_idb::{Factory, FileSystem, Storage, StorageOptions, SystemClock};
use serde::Serialize;

use crate::dump::push_key;

/// What a database's feed is like. Field names are part of the command's contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeedState {
    /// The database.
    pub database: JsString,
    /// The number of the last revision.
    pub last: u64,
    /// Up to here outdated revisions are gone.
    pub cleaned: u64,
    /// The consumers, by name.
    pub consumers: Vec<ConsumerState>,
}

/// A consumer of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsumerState {
    /// Its name.
    pub name: String,
    /// What it has acknowledged.
    pub position: u64,
}

/// Why a feed cannot be shown.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeedError {
    /// The folder's name does not say whose store it is.
    NoOrigin,
    /// No database has a feed, or not the one of this name.
    NoFeed(Option<String>),
    /// Several have one: their names.
    Several(Vec<String>),
    /// There is no database, or not the one of this name.
    NoDatabase(Option<String>),
    /// There are several databases: their names.
    SeveralDatabases(Vec<String>),
    /// The feed says what is wrong.
    Feed(larder_feed::Error),
    /// The output cannot be written.
    Output(io::Error),
    /// The address cannot be reached any more: in words.
    Address(String),
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOrigin => f.write_str(
                "the folder's name does not say whose store it is: a change feed is read in a folder that is named as Chromium names it, such as \
                 https_app.example_0.indexeddb.leveldb",
            ),
            Self::NoFeed(None) => f.write_str(
                "no database here has a change feed: larder feed on turns one on, or the program whose data it is \
                 (Transaction::set_change_feed of larder-idb)",
            ),
            Self::NoFeed(Some(name)) => {
                write!(f, "there is no database {name:?} with a change feed here: larder feed ls lists those that have one")
            }
            Self::Several(names) => write!(
                f,
                "several databases have a change feed ({}): choose one with --database",
                names.join(", ")
            ),
            Self::NoDatabase(None) => f.write_str("there is no database here"),
            Self::NoDatabase(Some(name)) => {
                write!(f, "there is no database {name:?} here: larder ls lists what is there")
            }
            Self::SeveralDatabases(names) => write!(
                f,
                "there are several databases ({}): choose one with --database",
                names.join(", ")
            ),
            Self::Feed(error) => error.fmt(f),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
            Self::Address(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for FeedError {}

impl From<larder_feed::Error> for FeedError {
    fn from(error: larder_feed::Error) -> Self {
        Self::Feed(error)
    }
}

impl From<larder_idb::Error> for FeedError {
    fn from(error: larder_idb::Error) -> Self {
        Self::Feed(error.into())
    }
}

impl From<io::Error> for FeedError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn open(
    fs: Arc<dyn FileSystem>,
    leveldb: &Path,
    writes: bool,
) -> Result<(Storage, Factory), FeedError> {
    let paths = StorePaths::of_leveldb(leveldb);
    let origin = paths.identifier().and_then(Origin::from_identifier);
    let (Some(origin), Some(folder)) = (origin, leveldb.parent()) else {
        return Err(FeedError::NoOrigin);
    };
    let mut options = StorageOptions::new(fs, folder, Arc::new(SystemClock));
    options.read_only = !writes;
    let storage = Storage::new(options)?;
    let factory = storage.factory(&origin);
    Ok((storage, factory))
}

/// Turns the feed of a database, or of the only one, on or off ([`Transaction::set_change_feed`](larder_idb::Transaction::set_change_feed)).
/// What is so already stays so.
///
/// # Errors
/// If there is no such database, or several without a name; if the store is in use, or fails.
pub fn set_feed(
    fs: Arc<dyn FileSystem>,
    leveldb: &Path,
    database: Option<&str>,
    is_on: bool,
) -> Result<(), FeedError> {
    let (storage, factory) = open(fs, leveldb, true)?;
    let databases = factory.databases().wait()?;
    let name = match (database, &databases[..]) {
        (None, [only]) => &only.name,
        (None, []) => return Err(FeedError::NoDatabase(None)),
        (None, several) => {
            let names = several
                .iter()
                .map(|database| database.name.to_string_lossy());
            return Err(FeedError::SeveralDatabases(names.collect()));
        }
        (Some(name), all) => {
            let found = all.iter().find(|database| database.name == *name);
            let none = || FeedError::NoDatabase(Some(name.to_owned()));
            &found.ok_or_else(none)?.name
        }
    };
    let opening = factory.open_to_change(name)?;
    opening
        .with_upgrade(move |upgrade| upgrade.transaction.set_change_feed(is_on))
        .wait()?;
    Ok(storage.close()?)
}

/// The feeds of a store, which is open as long as this is there.
#[derive(Debug)]
pub struct OpenFeeds {
    feeds: Vec<(JsString, Feed)>,
    storage: Storage,
}

impl OpenFeeds {
    /// Opens the store in a folder. Unless it `writes`, another program may have it open; what that commits later is not shown.
    ///
    /// # Errors
    /// If the folder's name does not say whose store it is; if the store cannot be opened.
    pub fn open(fs: Arc<dyn FileSystem>, leveldb: &Path, writes: bool) -> Result<Self, FeedError> {
        let (storage, factory) = open(fs, leveldb, writes)?;
        let mut feeds = Vec::new();
        for database in factory.databases().wait()? {
            let connection = factory.open(&database.name, None)?.connection().wait()?;
            if let Ok(feed) = Feed::of(&connection) {
                feeds.push((database.name, feed));
            }
        }
        Ok(Self { feeds, storage })
    }

    /// The feed of a database, or the only one.
    ///
    /// # Errors
    /// If there is none, or several without a name.
    pub fn only(&self, database: Option<&str>) -> Result<&Feed, FeedError> {
        if let Some(name) = database {
            let is_it = |(of, _): &&(JsString, Feed)| *of == name;
            let found = self.feeds.iter().find(is_it);
            let none = || FeedError::NoFeed(Some(name.to_owned()));
            return found.map(|(_, feed)| feed).ok_or_else(none);
        }
        match &self.feeds[..] {
            [] => Err(FeedError::NoFeed(None)),
            [(_, feed)] => Ok(feed),
            all => {
                let names = all.iter().map(|(name, _)| name.to_string_lossy());
                Err(FeedError::Several(names.collect()))
            }
        }
    }

    /// The feed of the database of this name, which need not be text.
    ///
    /// # Errors
    /// If it has none.
    pub fn of(&self, database: &JsString) -> Result<&Feed, FeedError> {
        let found = self.feeds.iter().find(|(of, _)| of == database);
        let none = || FeedError::NoFeed(Some(database.to_string_lossy()));
        found.map(|(_, feed)| feed).ok_or_else(none)
    }

    /// What the feeds are like, by the databases' names.
    ///
    /// # Errors
    /// If a database fails.
    pub fn list(&self) -> Result<Vec<FeedState>, FeedError> {
        let mut states = Vec::new();
        for (name, feed) in &self.feeds {
            let consumers = block_on(feed.consumers())?.into_iter();
            states.push(FeedState {
                database: name.clone(),
                last: block_on(feed.last())?,
                cleaned: block_on(feed.cleaned())?,
                consumers: consumers
                    .map(|(name, position)| ConsumerState { name, position })
                    .collect(),
            });
        }
        Ok(states)
    }

    /// Closes the store: whatever has been written to it is complete.
    ///
    /// # Errors
    /// If the store fails.
    pub fn close(self) -> Result<(), FeedError> {
        Ok(self.storage.close()?)
    }
}

/// Hands over the revisions behind a position, up to the last there is, and returns where that is. `show` gets each.
///
/// # Errors
/// [`larder_feed::Error::LeftBehind`] if clean-up has passed the position; if the database fails; those of `show`.
pub fn replay(
    feed: &Feed,
    from: u64,
    options: ReadOptions,
    mut show: impl FnMut(&Revision) -> Result<(), FeedError>,
) -> Result<u64, FeedError> {
    let mut reader = feed.read_from(from, options);
    while let Some(batch) = block_on(reader.next())? {
        batch.revisions().iter().try_for_each(&mut show)?;
    }
    Ok(reader.position())
}

/// Hands over what is new to a consumer, which is made if it is not there, and acknowledges it when all of it is shown: what is interrupted
/// comes again.
///
/// # Errors
/// As [`replay`].
pub fn replay_to(
    feed: &Feed,
    consumer: &str,
    options: ReadOptions,
    mut show: impl FnMut(&Revision) -> Result<(), FeedError>,
) -> Result<u64, FeedError> {
    let consumer = block_on(feed.consumer(consumer))?;
    let mut reader = block_on(consumer.read(options))?;
    while let Some(batch) = block_on(reader.next())? {
        batch.revisions().iter().try_for_each(&mut show)?;
    }
    block_on(consumer.acknowledge(reader.position()))?;
    Ok(reader.position())
}

/// Cleans up all there is to clean; how many revisions have gone.
///
/// # Errors
/// If the database fails.
pub fn clean(feed: &Feed, options: CleanUp) -> Result<u64, FeedError> {
    let mut gone = 0;
    loop {
        let step = block_on(feed.clean(options))?;
        gone += step.revisions;
        if !step.is_more {
            return Ok(gone);
        }
    }
}

/// Writes a revision as one line of JSON (`docs/format/feed.md`).
///
/// # Errors
/// If the value cannot be read or the line not be written.
pub fn write_line(revision: &Revision, out: &mut impl Write) -> Result<(), FeedError> {
    let operation = revision.kind().name();
    let mut line = Vec::new();
    write!(
        line,
        "{{\"revision\":{},\"operation\":\"{operation}\",\"store\":",
        revision.number()
    )?;
    let bad = |error: serde_json::Error| FeedError::Output(error.into());
    serde_json::to_writer(&mut line, revision.object_store_name()).map_err(bad)?;
    line.extend_from_slice(b",\"key\":");
    push_key(&mut line, revision.raw_key());
    if revision.is_from_source() {
        line.extend_from_slice(b",\"fromSource\":true");
    }
    if let Some(committed) = revision.committed_at_ms() {
        write!(line, ",\"committed\":{committed}")?;
    }
    if let Some(value) = revision.value() {
        line.extend_from_slice(b",\"value\":");
        serde_json::to_writer(&mut line, &value.tree()?).map_err(bad)?;
    }
    line.extend_from_slice(b"}\n");
    Ok(out.write_all(&line)?)
}
