//! The engine on the model, with a process that dies at each request.

use crate::support::{Bench, LEASE, namespace, session};
use crate::workload;
use larder_leveldb::Db;
use larder_leveldb::storage::FileSystem;
use larder_remote_files::model::{Fate, Gate, Request};
use larder_remote_files::{Cluster, Options, RemoteFileSystem};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serves so many requests. Then the process is dead: the last one may have been carried out, and nothing is afterwards.
#[derive(Debug)]
struct Lifetime {
    left: AtomicU64,
    last: Fate,
}

impl Gate for Lifetime {
    fn fate(&self, _: Request) -> Fate {
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(1))
            }) {
            Ok(0) => Fate::Unavailable,
            Ok(1) => self.last,
            _ => Fate::Served,
        }
    }
}

fn take(cluster: &Cluster, number: u8) -> larder_remote_files::Result<Arc<dyn FileSystem>> {
    let session = session(cluster, number)?;
    let fs = RemoteFileSystem::write(&session, &namespace(), Options::default(), LEASE * 3)?;
    Ok(Arc::new(fs))
}

/// A process that writes batches, strictly each, until it dies: the last one that was acknowledged.
fn live(bench: &Bench, number: u8, requests: u64, last: Fate) -> u32 {
    let left = AtomicU64::new(requests);
    let cluster = bench.cluster_of(
        bench
            .model
            .client_through(Arc::new(Lifetime { left, last })),
    );
    let written = take(&cluster, number).ok().and_then(|fs| {
        let db = Db::open(fs, Path::new("db"), workload::options()).ok()?;
        Some(workload::write(&db, workload::found(&db).ok()?, 60))
    });
    written.unwrap_or(0)
}

/// Dies at every request, again and again in one store.
#[test]
fn no_strict_write_is_lost_whichever_request_a_process_dies_at() {
    for (round, last) in [
        (0, Fate::ReplyLost),
        (1, Fate::RequestLost),
        (2, Fate::Late(LEASE / 2)),
    ] {
        let (mut requests, mut batches) = (3, 0);
        let bench = Bench::new();
        let mut acknowledged = 0;
        for number in 1..200u8 {
            acknowledged = acknowledged.max(live(&bench, number, requests, last));
            requests = requests * 11 / 10 + 1 + round;
            let fs = take(&bench.cluster(), 255 - number / 2).unwrap();
            if fs.metadata(Path::new("db/CURRENT")).is_ok() {
                let db = Db::open_read_only(fs, Path::new("db"), workload::options()).unwrap();
                let found = workload::found(&db).unwrap();
                assert!(
                    found >= acknowledged,
                    "{last:?}, process {number}: {found} of {acknowledged}"
                );
                workload::check(&db, found);
                batches = found;
            }
            if batches > 400 {
                break;
            }
        }
        assert!(batches > 400, "{batches}");
    }
}
