//! Addresses: `fdb://DESCRIPTION:ID@HOST:PORT,HOST:PORT/NAMESPACE`.

use super::{FoundationDb, FoundationDbOptions};
use crate::blobs::Blobs;
use crate::catalogue::Catalogue;
use crate::engine_address::{self, EngineAddress};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use crate::percent;
use std::sync::Arc;

/// An address of a cluster, and of a namespace in it if there is one.
///
/// What is before the first `/` is the cluster's connection string, which is the line of its cluster file; `:tls` may follow a port. Without it,
/// `fdb:///NAMESPACE`, the cluster is that of the cluster file of this machine: `FDB_CLUSTER_FILE`, `fdb.cluster` in the working folder, or `/etc/foundationdb/fdb.cluster`. The
/// namespace is
/// percent-encoded where it has other characters than an address.
///
/// ```
/// use larder_remote_files::FoundationDbUrl;
/// let url = FoundationDbUrl::parse("fdb://stores:Qa7dB2@10.0.0.1:4500,10.0.0.2:4500:tls/tenants/7")?;
/// assert_eq!(url.cluster(), Some("stores:Qa7dB2@10.0.0.1:4500,10.0.0.2:4500:tls"));
/// assert_eq!(url.namespace().unwrap().as_str(), "tenants/7");
/// assert_eq!(FoundationDbUrl::parse("fdb:///tenants/7")?.cluster(), None);
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FoundationDbUrl {
    cluster: Option<String>,
    namespace: Option<Namespace>,
}

fn wrong(why: impl std::fmt::Display) -> Error {
    let what = format!(
        "the address of a FoundationDB is fdb://DESCRIPTION:ID@HOST:PORT,HOST:PORT/NAMESPACE, or fdb:///NAMESPACE: {why}"
    );
    Error::new(ErrorKind::Usage, what)
}

impl FoundationDbUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// `Usage`.
    pub fn parse(text: &str) -> Result<FoundationDbUrl> {
        let rest = text
            .strip_prefix("fdb://")
            .ok_or_else(|| wrong("it does not begin so"))?;
        percent::check_slashes(rest).map_err(wrong)?;
        let (authority, namespace) = rest.split_once('/').unwrap_or((rest, ""));
        let cluster = match authority {
            "" => None,
            authority => {
                check(authority)?;
                Some(authority.to_owned())
            }
        };
        let namespace = match namespace {
            "" => None,
            name => Some(Namespace::new(percent::decode(name).map_err(wrong)?)?),
        };
        Ok(FoundationDbUrl { cluster, namespace })
    }

    /// The connection string; `None`: that of the cluster file of this machine.
    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// The namespace.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

impl EngineAddress for FoundationDbUrl {
    /// A cluster has no passwords.
    fn connect(&self, _: Option<&str>) -> Result<(Arc<dyn Catalogue>, Arc<dyn Blobs>)> {
        let options = FoundationDbOptions::new();
        FoundationDb::connect(self.cluster(), options).map(engine_address::both)
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

/// Whether it is a connection string.
fn check(text: &str) -> Result<()> {
    let (name, hosts) = text.rsplit_once('@').ok_or_else(|| {
        wrong("a cluster has a name before its hosts, DESCRIPTION:ID@ as in its cluster file")
    })?;
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
    match name.split_once(':') {
        Some((description, id)) if is_word(&description.replace('_', "a")) && is_word(id) => {}
        _ => {
            return Err(wrong(
                "DESCRIPTION and ID have letters and digits, and the former underscores",
            ));
        }
    }
    hosts.split(',').try_for_each(host)
}

/// A coordinator, which always has a port.
fn host(text: &str) -> Result<()> {
    let plain = text.strip_suffix(":tls").unwrap_or(text);
    let has_port = plain.rfind(':') > plain.rfind(']');
    let good = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
    match plain.rsplit_once(':').filter(|_| has_port) {
        Some((host, port)) if !host.is_empty() && host.chars().all(good) => {
            match port.parse::<u16>() {
                Ok(_) => Ok(()),
                Err(_) => Err(wrong(format!("{port:?} is no port"))),
            }
        }
        _ => Err(wrong(format!("{text:?} is no HOST:PORT"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_connection_string_and_a_namespace() {
        for (text, cluster, namespace) in [
            ("fdb://d:1@h:4500/n", Some("d:1@h:4500"), Some("n")),
            (
                "fdb://d_2:aB@h:1,[::1]:7:tls/a/b%20c",
                Some("d_2:aB@h:1,[::1]:7:tls"),
                Some("a/b c"),
            ),
            ("fdb://d:1@h:4500", Some("d:1@h:4500"), None),
            ("fdb:///n", None, Some("n")),
            ("fdb:///", None, None),
            ("fdb://", None, None),
        ] {
            let url = FoundationDbUrl::parse(text).unwrap();
            assert_eq!(url.cluster(), cluster, "{text}");
            assert_eq!(url.namespace().map(Namespace::as_str), namespace, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_says_why() {
        for (text, why) in [
            ("http://h/n", "does not begin so"),
            ("fdb://h:4500/n", "has a name before its hosts"),
            ("fdb://d@h:4500/n", "DESCRIPTION and ID have"),
            ("fdb://d:@h:4500/n", "DESCRIPTION and ID have"),
            ("fdb://d-e:1@h:4500/n", "DESCRIPTION and ID have"),
            ("fdb://d:1_2@h:4500/n", "DESCRIPTION and ID have"),
            ("fdb://d:1@h/n", "\"h\" is no HOST:PORT"),
            ("fdb://d:1@h:1,/n", "\"\" is no HOST:PORT"),
            ("fdb://d:1@h:port/n", "\"port\" is no port"),
            ("fdb://d:1@[::1]/n", "is no HOST:PORT"),
            ("fdb:///a%0a", "control characters"),
            ("fdb:///a%", "% is no encoded byte"),
        ] {
            let error = FoundationDbUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
