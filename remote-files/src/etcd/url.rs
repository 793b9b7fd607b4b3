//! Addresses: `etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/NAMESPACE`.

use super::{Etcd, EtcdOptions};
use crate::blobs::Blobs;
use crate::catalogue::Catalogue;
use crate::engine_address::{self, EngineAddress};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use crate::percent;
use std::sync::Arc;

/// An address of a cluster, and of a namespace in it if there is one.
///
/// What comes after the first `/` is the namespace's name, percent-encoded where it has other characters than an address. A user and a
/// password are there if etcd asks for them. A port that is missing is 2379.
///
/// ```
/// use larder_remote_files::EtcdUrl;
/// let url = EtcdUrl::parse("etcd://10.0.0.1:2379,10.0.0.2/tenants/7")?;
/// assert_eq!(url.endpoints(), ["10.0.0.1:2379", "10.0.0.2:2379"]);
/// assert_eq!(url.namespace().unwrap().as_str(), "tenants/7");
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone)]
pub struct EtcdUrl {
    endpoints: Vec<String>,
    user: Option<(String, String)>,
    namespace: Option<Namespace>,
}

impl std::fmt::Debug for EtcdUrl {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "etcd at {:?} {:?}", self.endpoints, self.namespace)
    }
}

fn wrong(why: impl std::fmt::Display) -> Error {
    let what = format!("the address of an etcd is etcd://HOST:PORT,HOST:PORT/NAMESPACE: {why}");
    Error::new(ErrorKind::Usage, what)
}

impl EtcdUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// `Usage`, in words without the password.
    pub fn parse(text: &str) -> Result<EtcdUrl> {
        let rest = text
            .strip_prefix("etcd://")
            .ok_or_else(|| wrong("it does not begin so"))?;
        percent::check_slashes(rest).map_err(wrong)?;
        let (authority, namespace) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => {
                let (name, password) = user
                    .split_once(':')
                    .ok_or_else(|| wrong("a user has a password, USER:PASSWORD@"))?;
                let decode = |text| percent::decode(text).map_err(wrong);
                (Some((decode(name)?, decode(password)?)), hosts)
            }
            None => (None, authority),
        };
        let endpoints = hosts.split(',').map(endpoint);
        let namespace = match namespace {
            "" => None,
            name => Some(Namespace::new(percent::decode(name).map_err(wrong)?)?),
        };
        Ok(EtcdUrl {
            endpoints: endpoints.collect::<Result<_>>()?,
            user,
            namespace,
        })
    }

    /// `HOST:PORT` of each node.
    pub fn endpoints(&self) -> &[String] {
        &self.endpoints
    }

    /// User and password.
    pub fn user(&self) -> Option<(&str, &str)> {
        let user = self.user.as_ref();
        user.map(|(name, password)| (name.as_str(), password.as_str()))
    }

    /// The namespace.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

impl EngineAddress for EtcdUrl {
    /// An address with a user has its password.
    fn connect(&self, _: Option<&str>) -> Result<(Arc<dyn Catalogue>, Arc<dyn Blobs>)> {
        let mut options = EtcdOptions::new();
        if let Some((name, password)) = self.user() {
            options = options.user(name, password);
        }
        Etcd::connect(&self.endpoints, options).map(engine_address::both)
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

/// A node with its port.
fn endpoint(text: &str) -> Result<String> {
    let is_host = |host: &str| {
        let good = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
        !host.is_empty() && host.chars().all(good)
    };
    let has_port = text.rfind(':') > text.rfind(']');
    match text.rsplit_once(':').filter(|_| has_port) {
        Some((host, port)) if is_host(host) => match port.parse::<u16>() {
            Ok(_) => Ok(text.to_owned()),
            Err(_) => Err(wrong(format!("{port:?} is no port"))),
        },
        None if is_host(text) => Ok(format!("{text}:2379")),
        _ => Err(wrong(format!("{text:?} is no host"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_nodes_and_a_namespace() {
        for (text, endpoints, namespace) in [
            ("etcd://h:1/n", "h:1", Some("n")),
            (
                "etcd://h,[::1]:7,[::1]/a/b%20c",
                "h:2379 [::1]:7 [::1]:2379",
                Some("a/b c"),
            ),
            ("etcd://u:p%40ss@h", "h:2379", None),
            ("etcd://h/", "h:2379", None),
        ] {
            let url = EtcdUrl::parse(text).unwrap();
            assert_eq!(url.endpoints().join(" "), endpoints, "{text}");
            assert_eq!(url.namespace().map(Namespace::as_str), namespace, "{text}");
        }
        let url = EtcdUrl::parse("etcd://u:p%40ss@h").unwrap();
        assert_eq!(url.user(), Some(("u", "p@ss")));
    }

    #[test]
    fn what_is_no_address_says_why_without_the_password() {
        for (text, why) in [
            ("http://h/n", "does not begin so"),
            ("etcd:///n", "is no host"),
            ("etcd://h,/n", "is no host"),
            ("etcd://u:secret@h:port/n", "\"port\" is no port"),
            ("etcd://user@h/n", "USER:PASSWORD@"),
            ("etcd://h/a%0a", "control characters"),
            ("etcd://h/a%", "% is no encoded byte"),
            ("etcd://u:se/secret@h/n", "is written %2F"),
        ] {
            let error = EtcdUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            let words = error.to_string();
            assert!(words.contains(why) && !words.contains("secret"), "{words}");
        }
    }
}
