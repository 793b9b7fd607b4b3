//! What one origin's store costs an engine, counted on the model: the numbers of `docs/scale.md`.

use crate::support::{Bench, LEASE, namespace, session};
use larder_idb::{
    Executor, FixedClock, ObjectStoreParameters, Origin, Storage, StorageOptions,
    TransactionDurability, TransactionMode, TransactionOptions, Upgrade, Value,
};
use larder_remote_files::{Blobs, Catalogue, Cluster, Options, RemoteFileSystem};
use std::sync::Arc;

fn storage(cluster: &Cluster, number: u8) -> Storage {
    let session = session(cluster, number).unwrap();
    let files = RemoteFileSystem::write(&session, &namespace(), Options::default(), LEASE * 3);
    let clock = Arc::new(FixedClock::default());
    let mut options = StorageOptions::new(Arc::new(files.unwrap()), "stores", clock);
    options.executor = Executor::Driven { seed: None };
    Storage::new(options).unwrap()
}

/// Records of 1 KB that nothing makes smaller.
fn put(storage: &Storage, range: std::ops::Range<u32>) {
    let factory = storage.factory(&Origin::from_url("https://app.example").unwrap());
    let upgrade = |upgrade: &Upgrade| {
        let parameters = ObjectStoreParameters::new().auto_increment(true);
        upgrade
            .transaction
            .create_object_store("notes", parameters)?;
        Ok(())
    };
    let request = factory.open("notes", Some(1)).unwrap();
    let notes = request.with_upgrade(upgrade).wait().unwrap();
    for number in range {
        let options = TransactionOptions::new().durability(TransactionDurability::Strict);
        let writing = notes
            .transaction("notes", TransactionMode::ReadWrite, options)
            .unwrap();
        let mut random = larder_fixtures::random::Random::new(number.into());
        let text: String = (0..1000)
            .map(|_| (33 + random.below(90) as u8) as char)
            .collect();
        let value = Value::serialize(&serde_json::json!({ "text": text })).unwrap();
        let store = writing.object_store("notes").unwrap();
        store.put(value, None).unwrap().detach();
        writing.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn what_one_origin_costs() {
    let bench = Bench::new();
    let client = bench.model.client();
    for (number, count) in [(1u8, 100u32), (2, 1000), (3, 10_000)] {
        let cluster = bench.cluster();
        let before = cluster.statistics();
        let open = storage(&cluster, number);
        put(&open, 0..1);
        let opened = cluster.statistics().requests() - before.requests();
        let before = cluster.statistics();
        put(&open, 1..count / 2);
        let written = cluster.statistics();
        let commits = (written.commits - before.commits) as f64 / f64::from(count / 2 - 1);
        put(&open, count / 2..count);
        open.close().unwrap();
        let mut snapshot = client.snapshot().unwrap();
        let (mut rows, mut bytes, mut range) = (0, 0, vec![2]..vec![3]);
        loop {
            let page = snapshot.page(&range, 1000).unwrap();
            rows += page.rows.len();
            bytes += page
                .rows
                .iter()
                .map(|row| row.key.len() + row.value.len())
                .sum::<usize>();
            match page.rows.last() {
                Some(last) if page.has_more => range.start = [&last.key[..], &[0]].concat(),
                _ => break,
            }
        }
        let blobs = client.list(&namespace(), None, 10_000).unwrap().len();
        println!(
            "{count} records more: {rows} rows of {bytes} bytes, {blobs} blobs; opened in {opened} requests, {commits:.2} commits a strict transaction"
        );
        // A strict transaction is one commit; what flushes and compactions add is small beside it.
        assert!(commits < 1.03, "{commits}");
        assert!(opened <= 24, "{opened}");
        assert!(rows <= 45, "{rows}");
    }
}
