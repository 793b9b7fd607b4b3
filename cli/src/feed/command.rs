//! `larder feed`: prints what the library's functions give.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use futures_executor::block_on;
use larder_backing_store::layout::StorePaths;
use larder_feed::{CleanUp, ReadOptions};
use larder_idb::ErrorKind;

use super::{FeedError, OpenFeeds, clean, replay, replay_to, set_feed, write_line};
use crate::args::{FeedCommand, TailArgs, WhichFeed, WhichRevisions};
use crate::report::{EXIT_DAMAGE, EXIT_NOT_A_STORE, EXIT_USAGE, complain};

/// How often `--follow` looks for more.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Does the command for a store.
pub(crate) fn run(command: &FeedCommand, paths: &StorePaths) -> ExitCode {
    let (feed, path) = (command.feed(), &*paths.leveldb);
    let writes = match command {
        FeedCommand::Ls(_) | FeedCommand::Tail(_) => false,
        FeedCommand::Replay(args) => args.consumer.is_some(),
        FeedCommand::Clean(_) | FeedCommand::On(_) | FeedCommand::Off(_) => true,
    };
    match done(command, feed, path, writes) {
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

fn done(
    command: &FeedCommand,
    which: &WhichFeed,
    path: &Path,
    writes: bool,
) -> Result<(), FeedError> {
    let database = which.database.as_deref();
    match command {
        FeedCommand::On(_) => set_feed(path, database, true)?,
        FeedCommand::Off(_) => return set_feed(path, database, false),
        _ => {}
    }
    let open = OpenFeeds::open(path, writes)?;
    let mut out = io::stdout().lock();
    match command {
        FeedCommand::Ls(_) | FeedCommand::On(_) | FeedCommand::Off(_) => {
            if let Some(name) = database {
                open.only(Some(name))?;
            }
            for state in open.list()? {
                if database.is_none_or(|name| state.database == *name) {
                    serde_json::to_writer(&mut out, &state).map_err(io::Error::from)?;
                    writeln!(out)?;
                }
            }
        }
        FeedCommand::Tail(args) => return tail(args, path, open, &mut out),
        FeedCommand::Replay(args) => {
            let (feed, options) = (open.only(database)?, options(&args.revisions));
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
        }
        FeedCommand::Clean(args) => {
            let mut options = CleanUp::new().keep_revisions(args.keep);
            if let Some(lag_max) = args.lag_max {
                options = options.lag_max(lag_max);
            }
            let gone = clean(open.only(database)?, options)?;
            writeln!(out, "{{\"revisions\":{gone}}}")?;
        }
    }
    open.close()
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
    path: &Path,
    mut open: OpenFeeds,
    out: &mut impl Write,
) -> Result<(), FeedError> {
    let database = args.feed.database.as_deref();
    let feed = open.only(database)?;
    let (last, cleaned) = (block_on(feed.last())?, block_on(feed.cleaned())?);
    let mut position = last.saturating_sub(args.lines).max(cleaned);
    loop {
        let options = options(&args.revisions);
        let feed = open.only(database)?;
        position = replay(feed, position, options, |at| write_line(at, out))?;
        out.flush()?;
        open.close()?;
        if !args.follow {
            return Ok(());
        }
        sleep(FOLLOW_EVERY);
        open = OpenFeeds::open(path, false)?;
    }
}
