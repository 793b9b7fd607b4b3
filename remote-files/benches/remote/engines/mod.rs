//! The engines: a real server of each, our client, and raw calls of the client that ours is made of.

mod etcd;
mod postgres;
mod rados;
mod s3;

use larder_remote_files::{Blobs, Catalogue, Cluster, SystemClock};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long the bench may be without a renewal of its session.
pub(crate) const LEASE: Duration = Duration::from_secs(600);

/// What a raw client does in place of a commit of ours: so many bytes under keys as long as ours, atomically.
pub(crate) type Raw = Box<dyn FnMut(usize)>;

/// Starts a server, if there is one on this machine.
pub(crate) type Start = fn() -> Option<Engine>;

pub(crate) struct Engine {
    pub(crate) name: &'static str,
    pub(crate) cluster: Cluster,
    pub(crate) raw_commit: Raw,
    /// Writes [`CHUNKS_AT_ONCE`] pieces at once.
    pub(crate) raw_write: Raw,
    /// Reads all that `raw_write` has written: so many bytes.
    pub(crate) raw_read: Box<dyn FnMut() -> usize>,
}

/// By the words that ask for one.
pub(crate) const ALL: [(&str, Start); 4] = [
    ("postgres", postgres::start),
    ("etcd", etcd::start),
    ("rados", rados::start),
    ("s3", s3::start),
];

/// Bytes of a piece.
pub(crate) const CHUNK: usize = 64 << 10;
/// So many pieces are written together.
pub(crate) const CHUNKS_AT_ONCE: usize = 15;

fn cluster<E: Catalogue + Blobs + 'static>(engine: E) -> Cluster {
    let engine = Arc::new(engine);
    Cluster::new(engine.clone(), engine, Arc::new(SystemClock::new()), LEASE)
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Bytes that nothing makes fewer.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut random = larder_fixtures::random::Random::new(1);
    (0..len).map(|_| random.next() as u8).collect()
}

/// The three rows of a strict commit: the lock's, the file's, and the piece.
fn rows(number: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![
        b"\x02bench raw\0\x04".to_vec(),
        b"\x02bench raw\0\x01\0log".to_vec(),
        format!("\x02bench raw\0\x02{number:016}").into_bytes(),
    ];
    (keys, vec![vec![7; 50], vec![7; 38], vec![7; 104]])
}
