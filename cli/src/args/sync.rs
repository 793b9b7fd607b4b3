//! `larder sync` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const SYNC_ABOUT: &str = "\
Keep a database on several devices alike, by way of a folder or a distributed store.

Each device runs this command with its own PATH and the same --cloud. What was changed in its database since the last time goes to the cloud, and what other devices have changed \
comes into the database, also if both were offline meanwhile. The cloud is a folder that the devices share or that another program keeps alike between them, or the address of a distributed \
store. With --key it sees sealed bytes alone.

PATH is the folder of an origin's store, a folder in which there is just one, or with --origin a folder of stores or a browser profile. A database that is not there is made. \
The program whose database it is must be closed: the store is opened for writing, and its change feed is turned on (larder feed).

If two devices have changed a record, the later one's is kept, and the other is listed (--conflicts) until it is settled (--settle). Numbers that a key generator gives begin elsewhere on each \
device, so that they do not meet.

What is known of the other devices lies in the folder --pages; without it the next round compares everything anew, and nothing is lost.";

pub(super) const SYNC_EXAMPLES: &str = "\
Examples:
  larder sync ~/.config/chromium/Default --origin https://app.example --database notes --cloud ~/Dropbox/notes
  larder sync ./stores --origin https://app.example --database notes --cloud /media/stick/notes --key notes.key
  larder sync PATH --cloud ~/Sync/notes --watch     go on: look for changes every few seconds
  larder sync PATH --cloud ~/Sync/notes --conflicts what two devices have changed: one JSON object a line
  head -c 32 /dev/urandom > notes.key               a key: each device needs the same file";

pub(super) const SYNC_EXIT: &str = "Exit status:
  0  all well
  1  something in the cloud is damaged, was erased, or does not open with this key; or records could not be made alike: they are named
  2  the command line was wrong, the store is in use or cannot be written to, the cloud cannot be reached, or the program's version is older than the cloud's
  3  no IndexedDB store at PATH, or no such database here and in the cloud";

/// What of a record that two devices have changed is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum MergeRule {
    /// The later record.
    #[default]
    Record,
    /// Each property of a plain object that one device has changed; of one that both have, the later.
    Property,
}

/// `larder sync`.
#[derive(Debug, Clone, Args)]
pub struct SyncArgs {
    /// An origin's folder, or one with stores in it.
    pub path: PathBuf,
    /// Where the devices meet: a folder, or the address of a distributed store with a name (etcd://HOST/NAME).
    #[arg(long, value_name = "FOLDER|URL")]
    pub cloud: PathBuf,
    /// The origin, if there are several or none yet (`https://example.com`).
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Option<String>,
    /// The database, if there are several or none yet.
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
    /// A file of 32 random bytes: what is put into the cloud is sealed with it.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Where this device keeps what it has of the others. Without it: `larder-pages` beside the folder of stores.
    #[arg(long, value_name = "DIR")]
    pub pages: Option<PathBuf>,
    /// What is kept of a record that two devices have changed. All devices must say the same.
    #[arg(long, value_enum, default_value_t = MergeRule::Record, value_name = "RULE")]
    pub merge_by: MergeRule,
    /// Go on until interrupted: look for changes here and there every few seconds.
    #[arg(long)]
    pub watch: bool,
    /// Print the records that two devices have changed, with both values: one JSON object a line.
    #[arg(long, conflicts_with = "watch")]
    pub conflicts: bool,
    /// Take all of them off the list, on all devices: what is kept stays.
    #[arg(long, conflicts_with = "watch")]
    pub settle: bool,
    /// The cloud was erased or is another one: upload everything anew.
    #[arg(long, conflicts_with = "watch")]
    pub start_over: bool,
    /// Print what was done as one JSON object a round.
    #[arg(long, conflicts_with = "conflicts")]
    pub json: bool,
}
