//! The three suites, on the model.

use crate::support::{Bench, namespace, options, session};
use larder_leveldb::storage::{FileSystem, conformance as file_systems};
use larder_remote_files::model::SeededGate;
use larder_remote_files::{Options, RemoteFileSystem, conformance};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn the_model_keeps_both_contracts() {
    let client = Bench::new().model.client();
    conformance::catalogue(&client).unwrap();
    conformance::blobs(&client, &namespace()).unwrap();
}

#[test]
fn the_file_system_keeps_the_contract_with_chunks_of_any_size() {
    for chunk_len in [1000, 4096, 65_536, Options::CHUNK_LEN_MAX] {
        for inline_len_max in [0, 100, 16 << 10] {
            for flush_delay in [Duration::ZERO, Duration::from_secs(1)] {
                let bench = Bench::new();
                let options = Options {
                    chunk_len,
                    inline_len_max,
                    flush_delay,
                    ..options()
                };
                let session = bench.session(1);
                let fs = RemoteFileSystem::write(&session, &namespace(), options, Duration::ZERO);
                let fs = fs.unwrap();
                fs.create_dir(Path::new("d")).unwrap();
                file_systems::check(&fs, Path::new("d")).unwrap();
                file_systems::check(&fs, Path::new("/d")).unwrap();
                fs.close().unwrap();
            }
        }
    }
}

#[test]
fn the_file_system_keeps_the_contract_while_requests_fail_in_every_way() {
    let mut retries = 0;
    for seed in 0..20 {
        let bench = Bench::new();
        let gate = SeededGate::new(seed, 100, Duration::from_secs(3));
        let cluster = bench.cluster_of(bench.model.client_through(Arc::new(gate)));
        let session = session(&cluster, 1).unwrap();
        let options = Options {
            chunk_len: 4096,
            ..options()
        };
        let fs = RemoteFileSystem::write(&session, &namespace(), options, Duration::ZERO).unwrap();
        fs.create_dir(Path::new("d")).unwrap();
        file_systems::check(&fs, Path::new("d"))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        retries += cluster.statistics().retries;
    }
    assert!(retries > 100, "{retries}");
}
