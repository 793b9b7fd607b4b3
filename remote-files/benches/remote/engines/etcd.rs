//! etcd: one transaction for each commit.

use super::{CHUNK, CHUNKS_AT_ONCE, Engine, cluster, noise, rows, runtime};
use etcd_client::{Client, GetOptions, Txn, TxnOp};
use larder_fixtures::servers::Etcd as EtcdServer;
use larder_remote_files::{Etcd, EtcdOptions, EtcdUrl};
use std::time::Duration;

pub(crate) fn start() -> Option<Engine> {
    let url = format!("etcd://{}", EtcdServer::shared()?.endpoints());
    let url = EtcdUrl::parse(&url).unwrap();
    let options = EtcdOptions::new().request_time_max(Duration::from_secs(60));
    let cluster = cluster(Etcd::connect(url.endpoints(), options).unwrap());
    let raw = || {
        let runtime = runtime();
        let client = Client::connect(url.endpoints(), None);
        let client = runtime.block_on(client).unwrap().kv_client();
        (runtime, client)
    };
    let send = |rows: (Vec<Vec<u8>>, Vec<Vec<u8>>)| {
        let puts = rows.0.into_iter().zip(rows.1);
        let puts = puts.map(|(key, value)| TxnOp::put(key, value, None));
        Txn::new().and_then(puts.collect::<Vec<_>>())
    };
    let (runtime, mut client) = raw();
    let raw_commit = move |number| {
        runtime.block_on(client.txn(send(rows(number)))).unwrap();
    };
    let (runtime, mut client) = raw();
    let chunk = noise(CHUNK);
    let raw_write = move |number| {
        let keys = (0..CHUNKS_AT_ONCE).map(|at| format!("raw {number:08} {at:08}").into_bytes());
        let rows = (keys.collect(), vec![chunk.clone(); CHUNKS_AT_ONCE]);
        runtime.block_on(client.txn(send(rows))).unwrap();
    };
    let (runtime, mut client) = raw();
    let raw_read = move || {
        let (mut from, mut len) = (b"raw ".to_vec(), 0);
        loop {
            let options = GetOptions::new()
                .with_range(b"raw!".to_vec())
                .with_limit(16);
            let page = runtime
                .block_on(client.get(from.clone(), Some(options)))
                .unwrap();
            let Some(last) = page.kvs().last() else {
                return len;
            };
            from = [last.key(), &[0]].concat();
            len += page
                .kvs()
                .iter()
                .map(|row| row.value().len())
                .sum::<usize>();
        }
    };
    Some(Engine {
        name: "etcd",
        cluster,
        raw_commit: Box::new(raw_commit),
        raw_write: Box::new(raw_write),
        raw_read: Box::new(raw_read),
    })
}
