//! A namespace that this process writes, from taking it to giving it up.

use crate::cluster::Cluster;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::{Options, RemoteFileSystem};
use crate::keeper::Keeper;
use crate::namespace::Namespace;
use crate::session::{Session, SessionOptions};
use std::io;
use std::time::Duration;

/// How often what was put off is done.
const TICK: Duration = Duration::from_millis(200);

/// How much longer than its lease a process is waited for.
const GRACE: Duration = Duration::from_secs(2);

/// The files of one namespace, with a session of their own and the thread that renews it: for a process that writes one namespace. One that
/// writes several has one [`Session`] and one [`Keeper`] for all.
#[derive(Debug)]
pub struct Writer {
    keeper: Keeper,
    files: RemoteFileSystem,
}

impl Writer {
    /// Begins a session and takes the namespace. If another process has it, waits for as long as this session's lease is, and a little more: when
    /// that process has died, its own has ended by then if it was not longer.
    ///
    /// # Errors
    /// `Held` if the other process still writes it, and the engine's errors.
    pub fn take(
        cluster: &Cluster,
        namespace: &Namespace,
        session: SessionOptions,
        options: Options,
    ) -> Result<Writer> {
        let wait = session.duration + GRACE;
        let session = Session::begin(cluster, session)?;
        let keeper = Keeper::start(session.clone(), TICK);
        let keeper =
            keeper.map_err(|error| Error::new(ErrorKind::Unavailable, error.to_string()))?;
        let files = RemoteFileSystem::write(&session, namespace, options, wait)?;
        keeper.add(&files);
        Ok(Writer { keeper, files })
    }

    /// The files.
    pub fn files(&self) -> &RemoteFileSystem {
        &self.files
    }

    /// Writes what waits, stops the thread, and gives the namespace up.
    ///
    /// # Errors
    /// What was written without being synced may be lost.
    pub fn close(self) -> io::Result<()> {
        self.keeper.stop();
        self.files.close()
    }
}
