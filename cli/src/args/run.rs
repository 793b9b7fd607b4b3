//! What `larder run` takes. The feature `scripts`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::shared::StoreFormat;

pub(super) const RUN_EXIT: &str = "Exit status:
  0  all well
  1  an exception or rejection that was not caught, a module that could not be loaded or never came to its end, or a store that
     another program has open or that is too damaged to be opened: on standard error
  2  the command line was wrong, a script could not be read, or the storage not be set up: nothing has run
  N  what a script has called larder.exit(N) with";

pub(super) const RUN_ABOUT: &str = "\
Run scripts that use IndexedDB, on a store of Chromium's or one to be made.

A script finds what a page finds, as far as there is no document and no network. It ends when nothing is left to do. Imports are \
files, or packages in node_modules as bundlers for browsers find them: ES modules, CommonJS and JSON; exports with the conditions \
browser, import and module or require, and default; the browser field. fetch reads blobs, and files below the folder of --files. \
new Worker(\"w.js\") runs the file beside the script, with the same databases; a worker that only listens does not keep the run. \
localStorage and sessionStorage are in memory and gone at the end; Chromium's own are not touched. Of its process it has the object larder:

  larder.args           what stands behind the script on the command line
  larder.exit(N)        ends at once with status N, 0 if it is not given; transactions that are not over are aborted
  larder.stdin.text()   standard input as a promise of text; bytes() of bytes; lines() is an asynchronous iterator of lines
  larder.setChangeFeed(NAME, ON)
                        turns the change feed of a database on, or off with false: a promise; no connection may be open to it
  larder.changes(DB, {after, consumer, stores, range, operationTypes, values, live, signal})
                        the transactions in the feed of an IDBDatabase, and those that come: an asynchronous iterator (docs/format/feed.md)";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  larder run script.js                                        databases are gone at the end
  larder run --storage ./IndexedDB --origin https://app.example script.js a --b
                                                              larder.args is [\"a\", \"--b\"]
  larder run --storage ./IndexedDB tool.mjs                   a module; imports from node_modules
  larder run --files ./data import.js                         const rows = await (await fetch(\"rows.json\")).json()
  larder dump PATH --format jsonl | larder run count.mjs      for await (const line of larder.stdin.lines())
  echo 'console.log(1)' | larder run -                        the script is standard input
  larder run --storage ~/.config/chromium/Default --origin https://app.example look.js

Exit status:
  0  all well
  1  an exception or rejection that was not caught, a module that could not be loaded or never came to its end, or a store that
     another program has open or that is too damaged to be opened: on standard error
  2  the command line was wrong, a script could not be read, or the storage not be set up: nothing has run
  N  what a script has called larder.exit(N) with";

/// `larder run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The script, or - for standard input: a module if its name ends in .mjs, CommonJS if in .cjs, else a classic script as in a
    /// page. What follows is the script's: larder.args.
    #[arg(required = true, trailing_var_arg = true, value_names = ["SCRIPT", "ARGS"])]
    pub script_and_arguments: Vec<OsString>,
    /// Run this script first, in the same realm; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub preload: Vec<PathBuf>,
    /// Let fetch read the files below this folder, by their file: URLs and as what the origin serves: data.json is DIR/data.json.
    /// Symbolic links in it are not followed.
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// Run every script as a module.
    #[arg(long)]
    pub module: bool,
    /// Keep databases in this folder, as a browser's IndexedDB folder; made if it is missing. A profile, a folder of
    /// profiles or one origin's store will do, too.
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    pub storage: Option<PathBuf>,
    /// Keep databases in memory until the end (the default).
    #[arg(long)]
    pub memory: bool,
    /// The origin whose databases the scripts see [default: that of the store which --storage names, else https://localhost]
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Option<String>,
    /// Let the storage work on threads of its own.
    #[arg(long)]
    pub threads: bool,
    /// The form of a store that is made; one that is there keeps its own. In memory it is LevelDB's.
    #[arg(long, value_enum, value_name = "FORM", default_value = "leveldb")]
    pub format: StoreFormat,
    /// Raise a store's data version if a value needs it. Browsers with lesser versions then DELETE the store.
    ///
    /// A store keeps the versions of the value formats that it has. A value that has no form in them (an Error with a cause
    /// in a store of Chromium 92, a Float16Array in one of 143) is refused with a DataCloneError. With this option the store is
    /// raised for it, in the commit that writes it. A Chromium, Electron or WebView2 whose own versions are lesser takes the
    /// store for damaged and deletes it, with all databases, when it opens it next; that cannot be taken back.
    #[arg(long)]
    pub raise_data_version: bool,
}
