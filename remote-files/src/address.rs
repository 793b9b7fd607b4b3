//! Addresses in words: which engine one is of, and the connection to it.

use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::engine_address::EngineAddress;
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
#[cfg(feature = "s3")]
use crate::s3::{S3, S3Options, S3Url};
use std::sync::Arc;
use std::time::Duration;

/// How long what the engine could not do for the moment is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// The beginnings of addresses, each with its feature.
const SCHEMES: [(&str, &str); 5] = [
    ("postgres://", "postgres"),
    ("postgresql://", "postgres"),
    ("etcd://", "etcd"),
    ("rados://", "rados"),
    ("fdb://", "foundationdb"),
];

/// Engines, and whether they are compiled in.
const COMPILED: [(&str, bool); 4] = [
    ("postgres", cfg!(feature = "postgres")),
    ("etcd", cfg!(feature = "etcd")),
    ("rados", cfg!(feature = "rados")),
    ("foundationdb", cfg!(feature = "foundationdb")),
];

/// The address of a cluster of any engine, and of a namespace in it if there is one: what stands where a folder does.
///
/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE/NAMESPACE?PARAMETERS`, `etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/NAMESPACE`,
/// `rados://USER@HOST:PORT,HOST:PORT/POOL/NAMESPACE` or `fdb://DESCRIPTION:ID@HOST:PORT,HOST:PORT/NAMESPACE`. With `?content=s3://BUCKET/PREFIX` behind it the content of files lies in a bucket, and the catalogue
/// alone in the engine. Which of them can be parsed is a matter of the features `postgres`, `etcd`, `rados`, `foundationdb` and `s3`; which there are is not.
///
/// ```
/// use larder_remote_files::{Address, ErrorKind};
/// assert_eq!(Address::feature("etcd://10.0.0.1/tenants/7"), Some("etcd"));
/// assert_eq!(Address::feature("/var/lib/stores"), None);
/// match Address::parse("etcd://10.0.0.1/tenants/7") {
///     Ok(address) => assert_eq!(address.namespace().unwrap().as_str(), "tenants/7"),
///     Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
/// }
/// ```
#[derive(Debug)]
pub struct Address {
    of_engine: Box<dyn EngineAddress>,
    #[cfg(feature = "s3")]
    content: Option<S3Url>,
}

/// The parameter that names the place of content.
const CONTENT: &str = "content=";

impl Address {
    /// The feature of this crate that an address needs; `None`: the text is no address.
    pub fn feature(text: &str) -> Option<&'static str> {
        let scheme = SCHEMES
            .iter()
            .find(|(scheme, _)| text.starts_with(scheme))?;
        Some(scheme.1)
    }

    /// The first feature that an address needs and that is not compiled in.
    ///
    /// ```
    /// use larder_remote_files::Address;
    /// let missing = Address::missing_feature("etcd://10.0.0.1/notes?content=s3://stores");
    /// assert!([Some("etcd"), Some("s3"), None].contains(&missing));
    /// ```
    pub fn missing_feature(text: &str) -> Option<&'static str> {
        let engine = Address::feature(text)?;
        let is_here = COMPILED.contains(&(engine, true));
        let needs_s3 = split(text).1.is_some();
        match is_here {
            false => Some(engine),
            true => (needs_s3 && !cfg!(feature = "s3")).then_some("s3"),
        }
    }

    /// An address for people: with neither user, password nor parameters, also where it cannot be parsed. Any other text stays as it is.
    ///
    /// ```
    /// use larder_remote_files::Address;
    /// let shown = Address::without_secrets("postgres://u:secret@h/d/n?connect_timeout=3");
    /// assert_eq!(shown, "postgres://h/d/n");
    /// ```
    pub fn without_secrets(text: &str) -> String {
        let Some((scheme, rest)) = text
            .split_once("://")
            .filter(|_| Address::feature(text).is_some())
        else {
            return text.to_owned();
        };
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        let authority = rest
            .split_once('/')
            .map_or(rest, |(authority, _)| authority);
        let place = match authority.rfind('@') {
            Some(at) => &rest[at + 1..],
            // A password with a / has its @ behind that.
            None => rest.rsplit_once('@').map_or(rest, |(_, place)| place),
        };
        format!("{scheme}://{place}")
    }

    /// Parses an address.
    ///
    /// # Errors
    /// `Usage`, in words without the password; `Unsupported` if the feature that it needs is not compiled in.
    pub fn parse(text: &str) -> Result<Address> {
        if let Some(feature) = Address::missing_feature(text) {
            let what =
                format!("this program was built without the feature {feature}: build it with that");
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let (engine, content) = split(text);
        let of_engine = of_engine(&engine)?;
        #[cfg(not(feature = "s3"))]
        let _ = content;
        Ok(Address {
            of_engine,
            #[cfg(feature = "s3")]
            content: content.map(S3Url::parse).transpose()?,
        })
    }

    /// The namespace, if the address names one.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.of_engine.namespace()
    }

    /// Connects to the cluster. `password` is for a PostgreSQL whose address has none: its own programs take that from `PGPASSWORD`, since
    /// an address is in every list of processes; the keys of S3 come from the variables of AWS's own programs. What the engine cannot do for the moment is tried
    /// again for ten seconds.
    ///
    /// # Errors
    /// The engine's: it cannot be reached, or refuses the user.
    pub fn connect(&self, password: Option<&str>, clock: Arc<dyn Clock>) -> Result<Cluster> {
        let (catalogue, blobs) = self.of_engine.connect(password)?;
        #[cfg(feature = "s3")]
        let blobs = match &self.content {
            Some(content) => Arc::new(S3::connect(content, S3Options::new())?),
            None => blobs,
        };
        Ok(Cluster::new(catalogue, blobs, clock, PATIENCE))
    }
}

/// The address of an engine that is compiled in.
fn of_engine(text: &str) -> Result<Box<dyn EngineAddress>> {
    match Address::feature(text) {
        #[cfg(feature = "postgres")]
        Some("postgres") => Ok(Box::new(crate::postgres::PostgresUrl::parse(text)?)),
        #[cfg(feature = "etcd")]
        Some("etcd") => Ok(Box::new(crate::etcd::EtcdUrl::parse(text)?)),
        #[cfg(feature = "rados")]
        Some("rados") => Ok(Box::new(crate::rados::RadosUrl::parse(text)?)),
        #[cfg(feature = "foundationdb")]
        Some("foundationdb") => Ok(Box::new(crate::fdb::FoundationDbUrl::parse(text)?)),
        // It may have a password.
        _ => Err(Error::new(
            ErrorKind::Usage,
            "this is no address of a distributed store: one begins with postgres://, etcd://, rados:// or fdb://",
        )),
    }
}

/// An address without the place of content, and that place.
fn split(text: &str) -> (String, Option<&str>) {
    let Some((rest, parameters)) = text.split_once('?') else {
        return (text.to_owned(), None);
    };
    let mut content = None;
    let others: Vec<&str> = (parameters.split('&'))
        .filter(|parameter| match parameter.strip_prefix(CONTENT) {
            Some(place) => {
                content = Some(place);
                false
            }
            None => true,
        })
        .collect();
    match (content, others.is_empty()) {
        (None, _) => (text.to_owned(), None),
        (content, true) => (rest.to_owned(), content),
        (content, false) => (format!("{rest}?{}", others.join("&")), content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_content_is_no_parameter_of_the_engine() {
        for (text, engine, content) in [
            ("etcd://h/n", "etcd://h/n", None),
            ("etcd://h/n?x", "etcd://h/n?x", None),
            (
                "etcd://h/n?content=s3://b/p",
                "etcd://h/n",
                Some("s3://b/p"),
            ),
            (
                "postgres://h/d/n?a=1&content=s3://b&c=2",
                "postgres://h/d/n?a=1&c=2",
                Some("s3://b"),
            ),
        ] {
            assert_eq!(split(text), (engine.to_owned(), content));
        }
        let is_here = cfg!(feature = "etcd") && cfg!(feature = "s3");
        let parsed = Address::parse("etcd://h/n?content=s3://b/p");
        assert_eq!(parsed.is_ok(), is_here);
        if is_here {
            let error = Address::parse("etcd://h/n?content=http://b").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
    }

    #[test]
    fn an_address_is_shown_without_what_is_secret() {
        for (text, shown) in [
            ("postgres://u:secret@h:1,g/d/n", "postgres://h:1,g/d/n"),
            ("postgresql://u:sec@ret@h/d/a@b", "postgresql://h/d/a@b"),
            ("postgres://u:12/secret@h/d/n", "postgres://h/d/n"),
            ("postgres://h/d?password=secret", "postgres://h/d"),
            ("etcd://u:secret@h,g/n", "etcd://h,g/n"),
            ("etcd://h", "etcd://h"),
            ("rados://u@h,g/p/n", "rados://h,g/p/n"),
            ("rados:///p/n", "rados:///p/n"),
            ("fdb://d:1@h:4500,g:1/n", "fdb://h:4500,g:1/n"),
            ("fdb:///n", "fdb:///n"),
            ("folder/etcd://a@b", "folder/etcd://a@b"),
        ] {
            assert_eq!(Address::without_secrets(text), shown);
        }
    }

    #[test]
    fn each_scheme_leads_to_its_engine_if_that_is_compiled_in() {
        for (text, feature, is_here) in [
            ("postgres://h/d/n", "postgres", cfg!(feature = "postgres")),
            ("postgresql://h/d/n", "postgres", cfg!(feature = "postgres")),
            ("etcd://h/n", "etcd", cfg!(feature = "etcd")),
            ("rados://h/p/n", "rados", cfg!(feature = "rados")),
            (
                "fdb://d:1@h:4500/n",
                "foundationdb",
                cfg!(feature = "foundationdb"),
            ),
        ] {
            assert_eq!(Address::feature(text), Some(feature));
            match Address::parse(text) {
                Ok(address) => {
                    assert!(is_here, "{text}");
                    let namespace = address.namespace().map(Namespace::as_str);
                    assert_eq!(namespace, Some("n"), "{text}");
                }
                Err(error) => {
                    assert!(!is_here, "{text}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
                    assert!(error.to_string().contains(feature), "{error}");
                }
            }
        }
        for text in ["etcd:/h", "http://h:1/n", "", "/etcd"] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        }
    }
}
