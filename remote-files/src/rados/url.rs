//! Addresses: `rados://USER@HOST:PORT,HOST:PORT/POOL/NAMESPACE`.

use super::{Rados, RadosOptions};
use crate::blobs::Blobs;
use crate::catalogue::Catalogue;
use crate::engine_address::{self, EngineAddress};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use crate::percent;
use std::sync::Arc;

/// An address of a pool, and of a namespace in it if there is one.
///
/// The hosts are those of the cluster's monitors; a port that is missing is one of theirs, 3300 or 6789. Without hosts, `rados:///POOL/NAMESPACE`, the
/// cluster is that of Ceph's configuration file on this machine. A user is there if it is not `admin`; its key is where Ceph's programs look for
/// it, and never in an address. Pool and namespace are percent-encoded where they have other characters than an address.
///
/// ```
/// use larder_remote_files::RadosUrl;
/// let url = RadosUrl::parse("rados://larder@10.0.0.1,10.0.0.2:6789/stores/tenants/7")?;
/// assert_eq!(url.hosts(), ["10.0.0.1", "10.0.0.2:6789"]);
/// assert_eq!((url.pool(), url.user()), ("stores", Some("larder")));
/// assert_eq!(url.namespace().unwrap().as_str(), "tenants/7");
/// assert!(RadosUrl::parse("rados:///stores/tenants/7")?.hosts().is_empty());
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RadosUrl {
    hosts: Vec<String>,
    user: Option<String>,
    pool: String,
    namespace: Option<Namespace>,
}

fn wrong(why: impl std::fmt::Display) -> Error {
    let what = format!(
        "the address of a RADOS is rados://HOST,HOST/POOL/NAMESPACE, or rados:///POOL/NAMESPACE: {why}"
    );
    Error::new(ErrorKind::Usage, what)
}

impl RadosUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// `Usage`, in words without what may be a key.
    pub fn parse(text: &str) -> Result<RadosUrl> {
        let rest = text
            .strip_prefix("rados://")
            .ok_or_else(|| wrong("it does not begin so"))?;
        percent::check_slashes(rest).map_err(wrong)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => {
                return Err(wrong("a user has a keyring, and no password: USER@"));
            }
            Some(("", _)) => return Err(wrong("there is no user before the @")),
            Some((user, hosts)) => (Some(percent::decode(user).map_err(wrong)?), hosts),
            None => (None, authority),
        };
        let hosts = match hosts {
            "" => Vec::new(),
            hosts => hosts.split(',').map(host).collect::<Result<_>>()?,
        };
        let (pool, namespace) = path.split_once('/').unwrap_or((path, ""));
        if pool.is_empty() {
            return Err(wrong("it names no pool"));
        }
        let namespace = match namespace {
            "" => None,
            name => Some(Namespace::new(percent::decode(name).map_err(wrong)?)?),
        };
        Ok(RadosUrl {
            hosts,
            user,
            pool: percent::decode(pool).map_err(wrong)?,
            namespace,
        })
    }

    /// `HOST` or `HOST:PORT` of each monitor; none: those of the configuration file.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The user.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The pool.
    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// The namespace.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

impl EngineAddress for RadosUrl {
    /// A user's key is in its keyring.
    fn connect(&self, _: Option<&str>) -> Result<(Arc<dyn Catalogue>, Arc<dyn Blobs>)> {
        let mut options = RadosOptions::new();
        options.user.clone_from(&self.user);
        Rados::connect(&self.hosts, &self.pool, options).map(engine_address::both)
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

/// A monitor.
fn host(text: &str) -> Result<String> {
    let has_port = text.rfind(':') > text.rfind(']');
    let (host, port) = match text.rsplit_once(':').filter(|_| has_port) {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let good = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
    if host.is_empty() || !host.chars().all(good) {
        return Err(wrong(format!("{text:?} is no host")));
    }
    match port.filter(|port| port.parse::<u16>().is_err()) {
        Some(port) => Err(wrong(format!("{port:?} is no port"))),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_hosts_a_pool_and_a_namespace() {
        for (text, hosts, pool, namespace) in [
            ("rados://h:1/p/n", "h:1", "p", Some("n")),
            (
                "rados://h,[::1]:7,[::1]/p/a/b%20c",
                "h [::1]:7 [::1]",
                "p",
                Some("a/b c"),
            ),
            ("rados:///p%20q/n", "", "p q", Some("n")),
            ("rados://h/p", "h", "p", None),
            ("rados://u@h/p/", "h", "p", None),
        ] {
            let url = RadosUrl::parse(text).unwrap();
            assert_eq!(url.hosts().join(" "), hosts, "{text}");
            assert_eq!(url.pool(), pool, "{text}");
            assert_eq!(url.namespace().map(Namespace::as_str), namespace, "{text}");
        }
        let url = RadosUrl::parse("rados://a%40b@/p").unwrap();
        assert_eq!((url.user(), url.hosts().len()), (Some("a@b"), 0));
    }

    #[test]
    fn what_is_no_address_says_why_without_what_may_be_a_key() {
        for (text, why) in [
            ("ceph://h/p/n", "does not begin so"),
            ("rados://h", "names no pool"),
            ("rados:////n", "names no pool"),
            ("rados://h,/p/n", "is no host"),
            ("rados://h:port/p/n", "\"port\" is no port"),
            ("rados://u:secret@h/p/n", "has a keyring"),
            ("rados://@h/p/n", "no user"),
            ("rados://h/p/a%0a", "control characters"),
            ("rados://h/p/a%", "% is no encoded byte"),
            ("rados://u:se/secret@h/p", "is written %2F"),
        ] {
            let error = RadosUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            let words = error.to_string();
            assert!(words.contains(why) && !words.contains("secret"), "{words}");
        }
    }
}
