//! `larder remote` on the command line. The features `postgres`, `etcd`, `rados`, `foundationdb` and `s3`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const REMOTE_ABOUT: &str = "\
Look after stores in a distributed engine.

An address is taken wherever a folder is: postgres://USER:PASSWORD@HOST:PORT/DATABASE/NAMESPACE, \
etcd://HOST:PORT,HOST:PORT/NAMESPACE, rados://USER@HOST,HOST/POOL/NAMESPACE with the monitors of a Ceph cluster (none: those of \
its configuration file), or fdb://DESCRIPTION:ID@HOST:PORT,HOST:PORT/NAMESPACE with the line of FoundationDB's cluster file (none: that of \
this machine's). With ?content=s3://BUCKET/PREFIX behind it the content of files lies in a bucket, for which AWS_ENDPOINT_URL, AWS_REGION, \
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are used. A namespace is one tree of files, such as a browser's IndexedDB folder; its name may have \
/ in it, and % before two hexadecimal digits for other bytes. One process writes a namespace at a time, any reads it. \
Without a password in the address PGPASSWORD is used. LARDER_LEASE_SECONDS (10) is how long the others wait when this process has died.";

pub(super) const REMOTE_EXAMPLES: &str = "\
Examples:
  larder copy ./IndexedDB postgres://larder@127.0.0.1/stores/app       all files, read back and compared
  larder run --storage postgres://larder@127.0.0.1/stores/app script.js
  larder dump etcd://10.0.0.1:2379,10.0.0.2:2379/app --format jsonl
  larder copy ./IndexedDB 'etcd://10.0.0.1/app?content=s3://stores'    content in a bucket, names in etcd
  larder remote ls postgres://larder@127.0.0.1/stores                  namespaces, sizes, which process writes them
  larder remote unlock etcd://10.0.0.1:2379/app                        the process that wrote it is dead: do not wait

Exit status:
  0  all well
  2  the address was wrong, or the engine refused or was not reached";

/// `larder remote`.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RemoteCommand,
}

/// What `larder remote` does.
#[derive(Debug, Subcommand)]
pub enum RemoteCommand {
    /// List namespaces, their sizes and which process writes each.
    Ls(AddressArgs),
    /// Say how large a namespace is, which process writes it, and what looking cost.
    Stat(AddressArgs),
    /// Delete what no name refers to. The namespace must be free.
    Gc(AddressArgs),
    /// Take a namespace away from a process that is dead, without waiting for the end of its lease.
    Unlock(AddressArgs),
}

/// An address.
#[derive(Debug, Args)]
pub struct AddressArgs {
    /// The address.
    pub url: PathBuf,
}
