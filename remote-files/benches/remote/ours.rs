//! A store of Larder's engine, on a cluster as a host would have it, or in a folder.

use crate::engines::{Engine, LEASE};
use crate::work::Subject;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_leveldb::{Db, Durability, Options as DbOptions};
use larder_remote_files::{
    Cluster, Keeper, Namespace, Options, RemoteFileSystem, Session, SessionOptions,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often what was put off is done, as [`larder_remote_files::Writer`] does it.
const TICK: Duration = Duration::from_millis(200);

/// A process's part in a cluster: one session and one keeper for all its stores.
pub(crate) struct Host {
    pub(crate) cluster: Cluster,
    session: Session,
    keeper: Keeper,
}

impl Host {
    pub(crate) fn begin(engine: &Engine) -> Host {
        let options = SessionOptions {
            nonce: [7; 16],
            label: "bench".to_owned(),
            duration: LEASE,
        };
        let session = Session::begin(&engine.cluster, options).unwrap();
        Host {
            cluster: engine.cluster.clone(),
            keeper: Keeper::start(session.clone(), TICK).unwrap(),
            session,
        }
    }

    /// Takes a namespace. What its files put off waits until they are added to the keeper.
    pub(crate) fn take(&self, name: &str) -> RemoteFileSystem {
        let namespace = Namespace::new(name).unwrap();
        let (options, wait) = (Options::default(), Duration::ZERO);
        RemoteFileSystem::write(&self.session, &namespace, options, wait).unwrap()
    }

    fn requests(&self) -> u64 {
        self.cluster.statistics().requests()
    }
}

/// Where a store is.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// A namespace.
    Remote(&'a Host, &'a str),
    Folder(&'a Path),
}

/// A store that is open.
pub(crate) struct Store<'a> {
    pub(crate) db: Db,
    remote: Option<Remote<'a>>,
}

struct Remote<'a> {
    host: &'a Host,
    files: RemoteFileSystem,
    /// Those of the cluster, before opening.
    requests_before: u64,
}

impl<'a> Store<'a> {
    /// With the engine's own options, so with a thread of its own that compacts. Tables of a cluster are not read to find out their order.
    pub(crate) fn open(place: Place<'a>) -> Store<'a> {
        let mut options = DbOptions {
            create_if_missing: true,
            ..DbOptions::default()
        };
        match place {
            Place::Remote(host, name) => {
                let requests_before = host.requests();
                let files = host.take(name);
                host.keeper.add(&files);
                options.trusts_order = true;
                let fs: Arc<dyn FileSystem> = Arc::new(files.clone());
                let remote = Remote {
                    host,
                    files,
                    requests_before,
                };
                Store {
                    db: Db::open(fs, Path::new("db"), options).unwrap(),
                    remote: Some(remote),
                }
            }
            Place::Folder(folder) => Store {
                db: Db::open(Arc::new(DiskFileSystem::new()), folder, options).unwrap(),
                remote: None,
            },
        }
    }

    /// Goes through values from the first one on until there are so many bytes of them: the number of records.
    pub(crate) fn scan_bytes(&self, bytes: u64) -> u64 {
        let mut iter = self.db.iter();
        iter.seek_to_first().unwrap();
        let (mut count, mut len) = (0, 0);
        while iter.valid() && len < bytes {
            len += iter.value().unwrap().len() as u64;
            count += 1;
            iter.next().unwrap();
        }
        count
    }
}

impl Subject for Store<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.db.put(key, value, Durability::Relaxed).unwrap();
    }

    fn put_strict(&mut self, key: &[u8], value: &[u8]) {
        self.db.put(key, value, Durability::Strict).unwrap();
    }

    fn get(&mut self, key: &[u8]) -> bool {
        self.db.get(key).unwrap().is_some()
    }

    fn scan(&mut self) -> u64 {
        self.scan_bytes(u64::MAX)
    }

    fn requests(&self) -> Option<u64> {
        let remote = self.remote.as_ref()?;
        Some(remote.host.requests() - remote.requests_before)
    }

    fn close(self) {
        self.db.close().unwrap();
        if let Some(remote) = self.remote {
            remote.files.close().unwrap();
        }
    }
}
