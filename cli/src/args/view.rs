//! `larder view` on the command line.

use std::path::PathBuf;

use clap::Args;

pub(super) const VIEW_ABOUT: &str = "\
Look at stores in a browser: what is there, record by record, with search, damage and export.

A page is served on this machine alone, and opened. The address has a secret in it: whoever has the address can read the stores as long as the command runs. \
Nothing is written, no lock is taken; a store in use can be looked at, and what a browser writes appears by itself. Ctrl-C ends it.";

pub(super) const VIEW_EXAMPLES: &str = "\
Examples:
  larder view ~/.config/chromium/Default
  larder view ./https_app.example_0.indexeddb.leveldb --no-open      only print the address
  larder view PATH --until-closed                                    end when the page is closed

Exit status:
  0  ended
  2  the command line was wrong, or no page could be served
  3  no IndexedDB store at PATH";

/// `larder view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// The port of the page; without it one that is free.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Only print the address, and open no browser.
    #[arg(long)]
    pub no_open: bool,
    /// End when the page is closed.
    #[arg(long)]
    pub until_closed: bool,
}
