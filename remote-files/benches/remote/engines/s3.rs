//! S3: a catalogue in etcd, and content in a bucket.

use super::{CHUNK, CHUNKS_AT_ONCE, Engine, LEASE, etcd, noise, runtime};
use larder_fixtures::servers::{Etcd as EtcdServer, S3 as S3Server};
use larder_remote_files::{Cluster, Etcd, EtcdOptions, S3, S3Options, S3Url, SystemClock};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn start() -> Option<Engine> {
    let server = S3Server::shared()?;
    let beside = etcd::start()?;
    let options = S3Options::new()
        .endpoint(&server.endpoint())
        .region("us-east-1")
        .keys(server.keys().0, server.keys().1)
        .request_time_max(Duration::from_secs(60));
    let url = S3Url::parse(&format!("s3://{}/bench", server.bucket())).unwrap();
    let blobs = Arc::new(S3::connect(&url, options).unwrap());
    let clock = Arc::new(SystemClock::new());
    // etcd's own namespaces, which have their content with them, are below another prefix.
    let keys = EtcdOptions::new().prefix(b"beside s3/");
    let keys = keys.request_time_max(Duration::from_secs(60));
    let etcd = EtcdServer::shared()?.endpoints();
    let catalogue = Arc::new(Etcd::connect(&[etcd], keys).unwrap());
    let cluster = Cluster::new(catalogue, blobs, clock, LEASE);
    let raw = || {
        let built = AmazonS3Builder::new()
            .with_endpoint(server.endpoint())
            .with_region("us-east-1")
            .with_bucket_name(server.bucket())
            .with_access_key_id(server.keys().0)
            .with_secret_access_key(server.keys().1)
            .with_allow_http(true)
            .build();
        (runtime(), built.unwrap())
    };
    let object = |number: usize| Path::from(format!("raw/{number:08}"));
    let (runtime, bucket) = raw();
    let piece = noise(CHUNK * CHUNKS_AT_ONCE);
    let raw_write = move |number| {
        let put = async {
            let payload = PutPayload::from(piece.clone());
            bucket.put(&object(number), payload).await
        };
        runtime.block_on(put).unwrap();
    };
    let (runtime, bucket) = raw();
    let raw_read = move || {
        let mut len = 0;
        for number in 0.. {
            let all = 0..(CHUNK * CHUNKS_AT_ONCE) as u64;
            let read = async { bucket.get_range(&object(number), all).await };
            match runtime.block_on(read) {
                Ok(bytes) => len += bytes.len(),
                Err(_) => return len,
            }
        }
        len
    };
    Some(Engine {
        name: "S3 beside etcd",
        cluster,
        raw_commit: beside.raw_commit,
        raw_write: Box::new(raw_write),
        raw_read: Box::new(raw_read),
    })
}
