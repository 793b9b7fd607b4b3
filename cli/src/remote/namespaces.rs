//! `larder remote`: what lies in a distributed engine, and which process writes it.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use larder_leveldb::storage::FileSystem;
use larder_remote_files::{Cluster, Holder, Namespace, Options, RemoteFileSystem};

use super::connection::{Connection, explain};
use super::writer;
use crate::args::RemoteCommand;
use crate::report::{EXIT_USAGE, complain};

/// Runs the command.
pub(crate) fn run(command: &RemoteCommand, print: impl FnOnce(&[u8]) -> ExitCode) -> ExitCode {
    let done = match command {
        RemoteCommand::Ls(args) => Connection::open(&args.url).and_then(|at| ls(&at)),
        RemoteCommand::Stat(args) => Connection::open(&args.url).and_then(|at| stat(&at)),
        RemoteCommand::Gc(args) => Connection::open(&args.url).and_then(|at| gc(&at)),
        RemoteCommand::Unlock(args) => Connection::open(&args.url).and_then(|at| unlock(&at)),
    };
    match done {
        Ok(text) => print(text.as_bytes()),
        Err(why) => {
            complain(&why);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// Files and bytes of a namespace.
#[derive(Default)]
struct Size {
    files: u64,
    bytes: u64,
}

fn size(cluster: &Cluster, namespace: &Namespace) -> Result<Size, String> {
    let fs = RemoteFileSystem::read(cluster, namespace, Options::default());
    let fs = fs.map_err(|error| error.to_string())?;
    let (mut size, mut open) = (Size::default(), vec![PathBuf::from("/")]);
    let failed = |error: io::Error| format!("{namespace}: {error}");
    while let Some(dir) = open.pop() {
        for name in fs.list(&dir).map_err(failed)? {
            let path = dir.join(name);
            match fs.metadata(&path) {
                Ok(metadata) if metadata.is_dir => open.push(path),
                Ok(metadata) => {
                    size.files += 1;
                    size.bytes += metadata.len_bytes;
                }
                // Removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(size)
}

/// A holder, for people. How long it has been alive follows from its renewals: no clock is compared with another one.
fn shown(holder: Option<&Holder>) -> String {
    let Some(holder) = holder else {
        return "free".to_owned();
    };
    match &holder.lease {
        Some(lease) => format!(
            "written by {} (epoch {}), for some {} s; lease {} s",
            holder.label,
            holder.epoch,
            lease.renewals.saturating_mul(lease.duration.as_secs()) / 3,
            lease.duration.as_secs()
        ),
        None => format!(
            "written by {} (epoch {}), whose lease has ended",
            holder.label, holder.epoch
        ),
    }
}

fn line(cluster: &Cluster, namespace: &Namespace) -> Result<String, String> {
    let Size { files, bytes } = size(cluster, namespace)?;
    let holder = cluster
        .holder(namespace)
        .map_err(|error| error.to_string())?;
    let holder = shown(holder.as_ref());
    Ok(format!(
        "{namespace}: {files} files, {bytes} bytes, {holder}\n"
    ))
}

fn ls(connection: &Connection) -> Result<String, String> {
    let cluster = &connection.cluster;
    if let Some(namespace) = connection.named() {
        return line(cluster, namespace);
    }
    let mut text = String::new();
    for namespace in cluster.namespaces().map_err(|error| error.to_string())? {
        text.push_str(&line(cluster, &namespace)?);
    }
    match text.is_empty() {
        true => Ok("no namespaces\n".to_owned()),
        false => Ok(text),
    }
}

fn stat(connection: &Connection) -> Result<String, String> {
    let (cluster, namespace) = (&connection.cluster, connection.namespace()?);
    let before = cluster.statistics();
    let mut text = line(cluster, namespace)?;
    let after = cluster.statistics();
    let requests = after.reads - before.reads;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "read in {requests} requests, {} of them again",
        after.retries - before.retries
    );
    Ok(text)
}

fn gc(connection: &Connection) -> Result<String, String> {
    let namespace = connection.namespace()?;
    let writer = writer::take_of(connection)?;
    let collected = writer.files().collect_garbage();
    let closed = writer.close();
    let collected = collected.map_err(|error| error.to_string())?;
    closed.map_err(|error| error.to_string())?;
    Ok(format!("{namespace}: {collected} blobs deleted\n"))
}

fn unlock(connection: &Connection) -> Result<String, String> {
    let namespace = connection.namespace()?;
    let holder = connection.cluster.unlock(namespace);
    Ok(match holder.map_err(|error| explain(&error))? {
        Some(holder) => format!(
            "{namespace}: taken from {} (epoch {})\n",
            holder.label, holder.epoch
        ),
        None => format!("{namespace}: free\n"),
    })
}
