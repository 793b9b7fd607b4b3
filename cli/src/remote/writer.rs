//! A namespace that this process writes, and the thread that keeps its lease.

use std::sync::Arc;
use std::time::Duration;

use larder_leveldb::storage::FileSystem;
use larder_remote_files::{Keeper, Options, RemoteFileSystem, Session, SessionOptions};

use super::address::{Address, explain};

/// How often what was put off is done.
const TICK: Duration = Duration::from_millis(200);

/// The namespace. It is given up at the end.
pub(crate) struct Writer {
    keeper: Keeper,
    fs: RemoteFileSystem,
}

/// After so long without a sign of life another process takes the namespace over.
fn lease() -> Result<Duration, String> {
    let Ok(text) = std::env::var("LARDER_LEASE_SECONDS") else {
        return Ok(Duration::from_secs(10));
    };
    let seconds: Option<u64> = text.parse().ok().filter(|seconds| *seconds > 0);
    let seconds =
        seconds.ok_or_else(|| format!("LARDER_LEASE_SECONDS={text}: a number from 1 on"))?;
    Ok(Duration::from_secs(seconds))
}

impl Writer {
    /// Takes the namespace of an address. If another process has it, waits for a lease and a little more: when that process has died,
    /// it has ended by then.
    ///
    /// # Errors
    /// In words.
    #[cfg(feature = "scripts")]
    pub(crate) fn take(path: &std::path::Path) -> Result<Writer, String> {
        Writer::of(&Address::parse(path)?)
    }

    pub(super) fn of(address: &Address) -> Result<Writer, String> {
        let namespace = address.namespace()?;
        let duration = lease()?;
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| format!("no random numbers: {error}"))?;
        let host = ["/proc/sys/kernel/hostname", "/etc/hostname"]
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok());
        let host = host.unwrap_or_else(|| "larder".to_owned());
        let options = SessionOptions {
            nonce,
            label: format!("{}:{}", host.trim(), std::process::id()),
            duration,
        };
        let session = Session::begin(&address.cluster, options).map_err(|error| explain(&error))?;
        let keeper = Keeper::start(session.clone(), TICK).map_err(|error| error.to_string())?;
        let wait = duration + Duration::from_secs(2);
        let fs = RemoteFileSystem::write(&session, namespace, Options::default(), wait);
        let fs = fs.map_err(|error| explain(&error))?;
        keeper.add(&fs);
        Ok(Writer { keeper, fs })
    }

    /// The files.
    pub(crate) fn files(&self) -> Arc<dyn FileSystem> {
        Arc::new(self.fs.clone())
    }

    /// Deletes what no name refers to; how many blobs that were.
    pub(super) fn collect_garbage(&self) -> Result<usize, String> {
        self.fs.collect_garbage().map_err(|error| error.to_string())
    }

    /// Writes what waits, and gives the namespace up.
    ///
    /// # Errors
    /// In words: what was written without being synced may be lost.
    pub(crate) fn close(self) -> Result<(), String> {
        self.keeper.stop();
        self.fs.close().map_err(|error| error.to_string())
    }
}
