//! Stores in a distributed engine: each is an empty namespace of the cluster that `LARDER_STORE_FORM` names, an address without a namespace, or of the
//! engine in memory, `model`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use larder_remote_files::model::Model;
use larder_remote_files::{
    Address, Clock, Cluster, Namespace, Options, SessionOptions, SystemClock, Writer,
};

/// A new namespace, which this process writes until the value goes; `None`: the form is something else.
pub(crate) fn new_namespace(form: &str) -> Option<Writer> {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(1);
    if form != "model" && Address::feature(form).is_none() {
        return None;
    }
    let cluster = CLUSTER.get_or_init(|| cluster(form));
    let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    // A server outlives its tests, and another process may have had this number.
    let began = SystemClock::new()
        .wall()
        .duration_since(UNIX_EPOCH)
        .unwrap();
    let began = began.as_nanos() as u64;
    let namespace = Namespace::new(format!("test {began} {process} {number}")).unwrap();
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&began.to_be_bytes());
    nonce[8..12].copy_from_slice(&process.to_be_bytes());
    nonce[12..].copy_from_slice(&number.to_be_bytes());
    let session = SessionOptions {
        nonce,
        label: format!("test {process}"),
        duration: Duration::from_secs(10),
    };
    Some(Writer::take(cluster, &namespace, session, Options::default()).unwrap())
}

fn cluster(form: &str) -> Cluster {
    let clock = Arc::new(SystemClock::new());
    if form == "model" {
        let client = Arc::new(Model::new(clock.clone()).client());
        return Cluster::new(client.clone(), client, clock, Duration::from_secs(10));
    }
    let password = std::env::var("PGPASSWORD").ok();
    let address = Address::parse(form).unwrap();
    address.connect(password.as_deref(), clock).unwrap()
}
