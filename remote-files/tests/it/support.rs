//! Clusters and sessions for tests.

use larder_leveldb::storage::FileSystem;
use larder_remote_files::model::{Model, ModelClient, ModelClock};
use larder_remote_files::{
    Cluster, Namespace, Options, RemoteFileSystem, Result, Session, SessionOptions,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A model on a clock of its own.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) clock: Arc<ModelClock>,
    pub(crate) model: Model,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let clock = Arc::new(ModelClock::new());
        let model = Model::new(clock.clone());
        Bench { clock, model }
    }

    pub(crate) fn cluster_of(&self, client: ModelClient) -> Cluster {
        let client = Arc::new(client);
        Cluster::new(client.clone(), client, self.clock.clone(), LEASE)
    }

    pub(crate) fn cluster(&self) -> Cluster {
        self.cluster_of(self.model.client())
    }

    /// The session of another process.
    pub(crate) fn session(&self, number: u8) -> Session {
        session(&self.cluster(), number).unwrap()
    }

    /// A file system that a process of its own writes.
    pub(crate) fn writer(&self, number: u8) -> Result<RemoteFileSystem> {
        let wait = LEASE * 2;
        RemoteFileSystem::write(&self.session(number), &namespace(), options(), wait)
    }

    /// With other options.
    pub(crate) fn writer_with(&self, number: u8, options: Options) -> RemoteFileSystem {
        RemoteFileSystem::write(&self.session(number), &namespace(), options, LEASE * 2).unwrap()
    }

    pub(crate) fn reader(&self) -> RemoteFileSystem {
        RemoteFileSystem::read(&self.cluster(), &namespace(), options()).unwrap()
    }
}

pub(crate) fn session(cluster: &Cluster, number: u8) -> Result<Session> {
    let options = SessionOptions {
        nonce: [number; 16],
        label: format!("process {number}"),
        duration: LEASE,
    };
    Session::begin(cluster, options)
}

pub(crate) fn namespace() -> Namespace {
    Namespace::new("test").unwrap()
}

/// Small chunks, so that small files have many.
pub(crate) fn options() -> Options {
    Options {
        chunk_len: 100,
        inline_len_max: 40,
        ..Options::default()
    }
}

pub(crate) fn read(fs: &dyn FileSystem, path: &str) -> io::Result<Vec<u8>> {
    let mut file = fs.open_sequential(Path::new(path))?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 333]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(bytes),
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

pub(crate) fn write(fs: &dyn FileSystem, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs.create(Path::new(path))?;
    file.append(bytes)?;
    file.sync()
}
