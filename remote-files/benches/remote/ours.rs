//! What a host has of a cluster.

use crate::engines::{Engine, LEASE};
use larder_remote_files::{
    Cluster, Keeper, Namespace, Options, RemoteFileSystem, Session, SessionOptions,
};
use std::time::Duration;

/// How often what was put off is done, as [`larder_remote_files::Writer`] does it.
const TICK: Duration = Duration::from_millis(200);

/// A process's part in a cluster: one session for all its stores, and the thread that renews it.
pub(crate) struct Host {
    pub(crate) cluster: Cluster,
    session: Session,
    _keeper: Keeper,
}

impl Host {
    pub(crate) fn begin(engine: &Engine) -> Host {
        let options = SessionOptions {
            nonce: [7; 16],
            label: "bench".to_owned(),
            duration: LEASE,
        };
        let session = Session::begin(&engine.cluster, options).unwrap();
        let keeper = Keeper::start(session.clone(), TICK).unwrap();
        Host {
            cluster: engine.cluster.clone(),
            session,
            _keeper: keeper,
        }
    }

    /// Takes a namespace whose files the thread does not look after.
    pub(crate) fn take(&self, name: &str) -> RemoteFileSystem {
        let namespace = Namespace::new(name).unwrap();
        let (options, wait) = (Options::default(), Duration::ZERO);
        RemoteFileSystem::write(&self.session, &namespace, options, wait).unwrap()
    }
}
