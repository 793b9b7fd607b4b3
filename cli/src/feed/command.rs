//! `larder feed`: prints what the library's functions give.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use futures_executor::block_on;
use larder_backing_store::layout::StorePaths;
use larder_feed::{CleanUp, ReadOptions};
use larder_idb::{ErrorKind, FileSystem};
use larder_leveldb::storage::DiskFileSystem;

use super::{FeedError, OpenFeeds, clean, replay, replay_to, set_feed, write_line};
use crate::args::{FeedCommand, TailArgs, WhichRevisions};
use crate::locate::named;
use crate::remote;
use crate::report::{EXIT_DAMAGE, EXIT_NOT_A_STORE, EXIT_USAGE, complain};
use crate::stores_at::with_only_store;

/// How often `--follow` looks for more.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Files as they are when they are asked for: an address shows what was there then.
type Files<'a> = &'a dyn Fn() -> Result<Arc<dyn FileSystem>, String>;

/// Does the command where its path, or address, leads.
pub(crate) fn run(command: &FeedCommand) -> ExitCode {
    let path = &*command.feed().path;
    if !remote::is_address(path) {
        let fs = || Ok(Arc::new(DiskFileSystem::new()) as Arc<dyn FileSystem>);
        return in_files(command, &fs, &named(path));
    }
    let done = match writes(command) {
        true => remote::write(path, |files| {
            Ok(in_files(
                command,
                &|| Ok(Arc::clone(&files)),
                Path::new("/"),
            ))
        }),
        false => {
            let files = || Ok(remote::files(path)?.0);
            Ok(in_files(command, &files, Path::new("/")))
        }
    };
    done.unwrap_or_else(|what| {
        complain(&format!("{}: {what}", remote::shown(path)));
        ExitCode::from(EXIT_USAGE)
    })
}

const fn writes(command: &FeedCommand) -> bool {
    match command {
        FeedCommand::Ls(_) | FeedCommand::Tail(_) => false,
        FeedCommand::Replay(args) => args.consumer.is_some(),
        FeedCommand::Clean(_) | FeedCommand::On(_) | FeedCommand::Off(_) => true,
    }
}

fn in_files(command: &FeedCommand, files: Files<'_>, path: &Path) -> ExitCode {
    match files() {
        Ok(fs) => with_only_store(&*fs, path, "read", |paths| store(command, files, paths)),
        Err(what) => {
            complain(&what);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn store(command: &FeedCommand, files: Files<'_>, paths: &StorePaths) -> ExitCode {
    let path = &*paths.leveldb;
    match done(command, files, path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(FeedError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("{}: {error}", path.display()));
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &FeedError) -> u8 {
    use larder_feed::Error;
    match error {
        FeedError::NoOrigin | FeedError::NoFeed(_) | FeedError::NoDatabase(_) => EXIT_NOT_A_STORE,
        FeedError::Feed(Error::LeftBehind { .. } | Error::NotRetained { .. }) => EXIT_DAMAGE,
        FeedError::Feed(Error::Database(error)) if error.kind() == ErrorKind::Corruption => {
            EXIT_DAMAGE
        }
        _ => EXIT_USAGE,
    }
}

fn done(command: &FeedCommand, files: Files<'_>, path: &Path) -> Result<(), FeedError> {
    let database = command.feed().database.as_deref();
    let fs = || files().map_err(FeedError::Address);
    let open = || OpenFeeds::open(fs()?, path, writes(command));
    let mut out = io::stdout().lock();
    match command {
        FeedCommand::Off(_) => set_feed(fs()?, path, database, false),
        FeedCommand::On(_) => {
            set_feed(fs()?, path, database, true)?;
            list(open()?, database, &mut out)
        }
        FeedCommand::Ls(_) => list(open()?, database, &mut out),
        FeedCommand::Tail(args) => tail(args, &open, &mut out),
        FeedCommand::Replay(args) => {
            let feeds = open()?;
            let (feed, options) = (feeds.only(database)?, options(&args.revisions));
            let mut out = io::BufWriter::new(&mut out);
            match &args.consumer {
                None => replay(feed, args.from, options, |at| write_line(at, &mut out))?,
                Some(name) => {
                    // What is acknowledged has been handed over.
                    let show = |at: &_| write_line(at, &mut out).and_then(|()| Ok(out.flush()?));
                    replay_to(feed, name, options, show)?
                }
            };
            out.flush()?;
            feeds.close()
        }
        FeedCommand::Clean(args) => {
            let feeds = open()?;
            let mut options = CleanUp::new().keep_revisions(args.keep);
            if let Some(lag_max) = args.lag_max {
                options = options.lag_max(lag_max);
            }
            let gone = clean(feeds.only(database)?, options)?;
            writeln!(out, "{{\"revisions\":{gone}}}")?;
            feeds.close()
        }
    }
}

/// The databases with a feed, or the one that is named.
fn list(feeds: OpenFeeds, database: Option<&str>, out: &mut impl Write) -> Result<(), FeedError> {
    if let Some(name) = database {
        feeds.only(Some(name))?;
    }
    for state in feeds.list()? {
        if database.is_none_or(|name| state.database == *name) {
            serde_json::to_writer(&mut *out, &state).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    feeds.close()
}

fn options(which: &WhichRevisions) -> ReadOptions {
    let options = ReadOptions::new().values(which.values);
    match &which.stores[..] {
        [] => options,
        stores => options.object_stores(stores.iter().map(String::as_str)),
    }
}

/// The last revisions, and those that come: the store is opened anew to look for them, since another program writes it.
fn tail(
    args: &TailArgs,
    open: &dyn Fn() -> Result<OpenFeeds, FeedError>,
    out: &mut impl Write,
) -> Result<(), FeedError> {
    let mut feeds = open()?;
    let database = args.feed.database.as_deref();
    let feed = feeds.only(database)?;
    let (last, cleaned) = (block_on(feed.last())?, block_on(feed.cleaned())?);
    let mut position = last.saturating_sub(args.lines).max(cleaned);
    loop {
        let options = options(&args.revisions);
        let feed = feeds.only(database)?;
        position = replay(feed, position, options, |at| write_line(at, out))?;
        out.flush()?;
        feeds.close()?;
        if !args.follow {
            return Ok(());
        }
        sleep(FOLLOW_EVERY);
        feeds = open()?;
    }
}
