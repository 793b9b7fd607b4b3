//! From an address to a connection, as a command has it.

use std::path::Path;
use std::sync::Arc;

use larder_remote_files::{
    Address, Cluster, Error, ErrorKind, Namespace, Options, RemoteFileSystem, SystemClock,
};

/// A cluster, and a namespace in it.
pub(super) struct Connection {
    pub(super) cluster: Cluster,
    namespace: Option<Namespace>,
}

impl Connection {
    /// Connects to what an address names.
    pub(super) fn open(path: &Path) -> Result<Connection, String> {
        let address = path.to_str().ok_or("an address is UTF-8")?;
        if let Some(feature) = Address::missing_feature(address) {
            return Err(super::missing(feature));
        }
        let parsed = Address::parse(address).map_err(|error| error.to_string())?;
        let password = std::env::var("PGPASSWORD").ok();
        let cluster = parsed.connect(password.as_deref(), Arc::new(SystemClock::new()));
        Ok(Connection {
            cluster: cluster.map_err(|error| error.to_string())?,
            namespace: parsed.namespace().cloned(),
        })
    }

    /// The namespace that the address names.
    pub(super) fn namespace(&self) -> Result<&Namespace, String> {
        let what = "the address names no namespace: put its name behind a last /; `larder remote ls` lists those that there are";
        self.named().ok_or_else(|| what.to_owned())
    }

    /// The namespace, if the address names one.
    pub(super) fn named(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }

    /// Its files, for reading.
    pub(super) fn read(&self) -> Result<RemoteFileSystem, String> {
        let namespace = self.namespace()?;
        RemoteFileSystem::read(&self.cluster, namespace, Options::default())
            .map_err(|error| error.to_string())
    }
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
