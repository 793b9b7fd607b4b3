//! Addresses: `postgres://USER:PASSWORD@HOST:PORT/DATABASE/NAMESPACE?PARAMETERS`.

use super::{Postgres, PostgresOptions};
use crate::blobs::Blobs;
use crate::catalogue::Catalogue;
use crate::engine_address::{self, EngineAddress};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use crate::percent;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// An address of a database, and of a namespace in it if there is one.
///
/// What comes after the database's name is the namespace's, `/` included. Both are percent-encoded where they have other characters than
/// an address. User, hosts and parameters are those of PostgreSQL's own addresses.
///
/// ```
/// use larder_remote_files::PostgresUrl;
/// let url = PostgresUrl::parse("postgres://larder@127.0.0.1:5432/stores/tenants/7?connect_timeout=3")?;
/// assert_eq!(url.config().get_dbname(), Some("stores"));
/// assert_eq!(url.namespace().unwrap().as_str(), "tenants/7");
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone)]
pub struct PostgresUrl {
    config: Config,
    namespace: Option<Namespace>,
}

impl std::fmt::Debug for PostgresUrl {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", place(&self.config), self.namespace)
    }
}

fn wrong(why: impl std::fmt::Display) -> Error {
    let what = format!(
        "the address of a PostgreSQL is postgres://USER:PASSWORD@HOST:PORT/DATABASE/NAMESPACE: {why}"
    );
    Error::new(ErrorKind::Usage, what)
}

impl PostgresUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// `Usage`, in words without the password.
    pub fn parse(text: &str) -> Result<PostgresUrl> {
        let rest = ["postgres://", "postgresql://"]
            .into_iter()
            .find_map(|scheme| text.strip_prefix(scheme))
            .ok_or_else(|| wrong("it does not begin so"))?;
        let (rest, parameters) = match rest.split_once('?') {
            Some((rest, parameters)) => (rest, format!("?{parameters}")),
            None => (rest, String::new()),
        };
        percent::check_slashes(rest).map_err(wrong)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (database, namespace) = path.split_once('/').unwrap_or((path, ""));
        if database.is_empty() {
            return Err(wrong("it names no database"));
        }
        let namespace = match namespace {
            "" => None,
            name => Some(Namespace::new(percent::decode(name).map_err(wrong)?)?),
        };
        let config = format!("postgres://{authority}/{database}{parameters}");
        let config: Config = config.parse().map_err(|error: tokio_postgres::Error| {
            wrong(std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host"));
        }
        Ok(PostgresUrl { config, namespace })
    }

    /// How to connect.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The namespace.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

impl EngineAddress for PostgresUrl {
    fn connect(&self, password: Option<&str>) -> Result<(Arc<dyn Catalogue>, Arc<dyn Blobs>)> {
        let mut config = self.config.clone();
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        Postgres::connect(&config, PostgresOptions::new()).map(engine_address::both)
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

/// Where a server is, for messages: no password.
pub(super) fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(folder) => format!("{}:{port}", folder.display()),
        }
    });
    let hosts: Vec<String> = hosts.collect();
    format!(
        "PostgreSQL at {}, database {:?}",
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_database_and_namespace() {
        for (text, database, namespace) in [
            ("postgres://h/d/n", "d", Some("n")),
            (
                "postgres://u:p@h:1,g:2/d/a/b?connect_timeout=3",
                "d",
                Some("a/b"),
            ),
            ("postgresql://h/d%2Fe/a%20b%C3%A9", "d/e", Some("a bé")),
            ("postgres://%2Frun%2Fpostgresql/d/", "d", None),
            ("postgres://h/d", "d", None),
        ] {
            let url = PostgresUrl::parse(text).unwrap();
            assert_eq!(url.config().get_dbname(), Some(database), "{text}");
            assert_eq!(url.namespace().map(Namespace::as_str), namespace, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_says_why_without_the_password() {
        for (text, why) in [
            ("http://h/d/n", "does not begin so"),
            ("postgres://u:secret@h", "names no database"),
            ("postgres://u:secret@h//n", "names no database"),
            ("postgres:///d/n", "names no host"),
            ("postgres://u:secret@h:port/d/n", "port"),
            ("postgres://u:secret@h/d/a%00", "control characters"),
            ("postgres://u:secret@h/d/a%zz", "%zz"),
            ("postgres://u:secret@h/d/n?colour=red", "colour"),
            ("postgres://u:12/secret@h/d/n", "is written %2F"),
        ] {
            let error = PostgresUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            let words = error.to_string();
            assert!(words.contains(why) && !words.contains("secret"), "{words}");
        }
    }
}
