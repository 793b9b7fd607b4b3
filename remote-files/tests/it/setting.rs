//! An engine as the laws see it: the model, or a real server.

use crate::support::namespace;
use larder_leveldb::storage::FileSystem;
use larder_remote_files::model::{Model, ModelClock};
use larder_remote_files::{
    Blobs, Catalogue, Clock, Cluster, Options, RemoteFileSystem, Result, Session, SessionOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Clients, a clock and the lease of sessions.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) catalogue: Arc<dyn Catalogue>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) lease: Duration,
    /// How long an operation is tried again.
    pub(crate) patience: Duration,
}

impl Setting {
    pub(crate) fn of_model() -> Setting {
        let clock = Arc::new(ModelClock::new());
        let client = Arc::new(Model::new(clock.clone()).client());
        let lease = crate::support::LEASE;
        Setting {
            catalogue: client.clone(),
            blobs: client,
            clock,
            lease,
            patience: lease,
        }
    }

    /// A client of a real server. Leases are short: what is taken over is dead.
    #[cfg(feature = "engine")]
    pub(crate) fn of_server(client: impl Catalogue + Blobs + 'static) -> Setting {
        let client = Arc::new(client);
        Setting {
            catalogue: client.clone(),
            blobs: client,
            clock: Arc::new(larder_remote_files::SystemClock::new()),
            lease: Duration::from_millis(50),
            patience: Duration::from_secs(10),
        }
    }

    pub(crate) fn cluster(&self) -> Cluster {
        let (catalogue, blobs) = (Arc::clone(&self.catalogue), Arc::clone(&self.blobs));
        Cluster::new(catalogue, blobs, Arc::clone(&self.clock), self.patience)
    }

    /// The session of another process.
    #[cfg(feature = "engine")]
    pub(crate) fn session(&self) -> Session {
        self.session_of(&self.cluster()).unwrap()
    }

    pub(crate) fn session_of(&self, cluster: &Cluster) -> Result<Session> {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&number.to_be_bytes());
        nonce[8..12].copy_from_slice(&std::process::id().to_be_bytes());
        let options = SessionOptions {
            nonce,
            label: format!("process {number}"),
            duration: self.lease,
        };
        Session::begin(cluster, options)
    }

    /// The namespace, taken by another process.
    pub(crate) fn take(&self) -> Arc<dyn FileSystem> {
        self.take_of(&self.cluster()).unwrap()
    }

    pub(crate) fn take_of(&self, cluster: &Cluster) -> Result<Arc<dyn FileSystem>> {
        let session = self.session_of(cluster)?;
        // The lease of a dead one, and time for those that are slow.
        let wait = self.lease * 3 + Duration::from_secs(20);
        let fs = RemoteFileSystem::write(&session, &namespace(), Options::default(), wait)?;
        Ok(Arc::new(fs))
    }

    pub(crate) fn reader(&self) -> Arc<dyn FileSystem> {
        let fs = RemoteFileSystem::read(&self.cluster(), &namespace(), Options::default());
        Arc::new(fs.unwrap())
    }
}
