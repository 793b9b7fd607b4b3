//! From an address to a connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use larder_remote_files::{
    Blobs, Catalogue, Cluster, Error, ErrorKind, Namespace, Options, RemoteFileSystem, SystemClock,
};

/// How long what the engine could not do for the moment is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster, and a namespace in it.
pub(super) struct Address {
    pub(super) cluster: Cluster,
    namespace: Option<Namespace>,
}

fn text(error: &Error) -> String {
    error.to_string()
}

impl Address {
    /// Connects to what an address names.
    pub(super) fn parse(path: &Path) -> Result<Address, String> {
        let address = path.to_str().ok_or("an address is UTF-8")?;
        match super::feature(path) {
            Some("postgres") => postgres(address),
            Some("etcd") => etcd(address),
            // It may have a password.
            _ => Err(
                "this is no address of a distributed store: one begins with postgres:// or etcd://"
                    .to_owned(),
            ),
        }
    }

    fn new<E: Catalogue + Blobs + 'static>(engine: E, namespace: Option<&Namespace>) -> Address {
        let engine = Arc::new(engine);
        let clock = Arc::new(SystemClock::new());
        Address {
            cluster: Cluster::new(engine.clone(), engine, clock, PATIENCE),
            namespace: namespace.cloned(),
        }
    }

    /// The namespace that the address names.
    pub(super) fn namespace(&self) -> Result<&Namespace, String> {
        let what = "the address names no namespace: put its name behind a last /; `larder remote ls` lists those that there are";
        self.namespace.as_ref().ok_or_else(|| what.to_owned())
    }

    /// The namespace, if the address names one.
    pub(super) fn named(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }

    /// Its files, for reading.
    pub(super) fn read(&self) -> Result<RemoteFileSystem, String> {
        let namespace = self.namespace()?;
        RemoteFileSystem::read(&self.cluster, namespace, Options::default())
            .map_err(|error| text(&error))
    }
}

/// A password that is not in the address is taken from where PostgreSQL's own programs take it: an address is in every list of processes.
#[cfg(feature = "postgres")]
fn postgres(address: &str) -> Result<Address, String> {
    use larder_remote_files::{Postgres, PostgresOptions, PostgresUrl};
    let url = PostgresUrl::parse(address).map_err(|error| text(&error))?;
    let mut config = url.config().clone();
    if config.get_password().is_none()
        && let Ok(password) = std::env::var("PGPASSWORD")
    {
        config.password(password);
    }
    let engine = Postgres::connect(&config, PostgresOptions::new());
    let engine = engine.map_err(|error| text(&error))?;
    Ok(Address::new(engine, url.namespace()))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &str) -> Result<Address, String> {
    Err(super::missing("postgres"))
}

#[cfg(feature = "etcd")]
fn etcd(address: &str) -> Result<Address, String> {
    use larder_remote_files::{Etcd, EtcdOptions, EtcdUrl};
    let url = EtcdUrl::parse(address).map_err(|error| text(&error))?;
    let mut options = EtcdOptions::new();
    if let Some((name, password)) = url.user() {
        options = options.user(name, password);
    }
    let engine = Etcd::connect(url.endpoints(), options).map_err(|error| text(&error))?;
    Ok(Address::new(engine, url.namespace()))
}

#[cfg(not(feature = "etcd"))]
fn etcd(_: &str) -> Result<Address, String> {
    Err(super::missing("etcd"))
}

/// What a failed change of a namespace means to a person.
pub(super) fn explain(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Held => {
            format!("{error}; if that process is dead, `larder remote unlock` ends the wait")
        }
        _ => error.to_string(),
    }
}
