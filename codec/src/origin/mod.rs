//! Origins as Chromium names them in folders and rows (`docs/FORMAT.md`, section 9).
//!
//! Text only: nothing here looks for folders.

mod from_url;

pub use from_url::OriginError;

use std::fmt;

use crate::js_string::JsString;

/// Follows the identifier in a row of [`crate::row_key::GlobalKey::DatabaseName`].
const ROW_SUFFIX: &str = "@1";
const LEVELDB_SUFFIX: &str = ".indexeddb.leveldb";
const BLOB_SUFFIX: &str = ".indexeddb.blob";

/// An origin, known by its database identifier: `scheme_host_port`.
///
/// ```
/// use larder_codec::Origin;
/// let origin = Origin::from_identifier("http_localhost_81").unwrap();
/// assert_eq!(origin.to_string(), "http://localhost:81");
/// assert_eq!(origin.leveldb_folder_name(), "http_localhost_81.indexeddb.leveldb");
/// assert_eq!(Origin::from_row_text(&"http_localhost_81@1".into()), Some(origin));
/// let default_port = Origin::from_identifier("https_example.com_0").unwrap();
/// assert_eq!(default_port.to_string(), "https://example.com");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    scheme: String,
    /// The host as in a URL: an IPv6 address has brackets and colons.
    host: String,
    /// 0 is the scheme's default port, or none.
    port: u16,
}

impl Origin {
    /// The opaque origin, `__0`.
    #[must_use]
    pub const fn opaque() -> Self {
        Self {
            scheme: String::new(),
            host: String::new(),
            port: 0,
        }
    }

    /// The origin of all `file:` URLs, `file__0`.
    #[must_use]
    pub fn file() -> Self {
        Self {
            scheme: "file".to_owned(),
            ..Self::opaque()
        }
    }

    /// The origin with this database identifier, or `None` if the text is none.
    ///
    /// Underscores between the first and the last belong to the host; in an IPv6 address, known by
    /// its brackets, they stand for colons.
    #[must_use]
    pub fn from_identifier(identifier: &str) -> Option<Self> {
        let (scheme, rest) = identifier.split_once('_')?;
        let (host, port) = rest.rsplit_once('_')?;
        let host = match host.strip_prefix('[') {
            Some(_) => host.replace('_', ":"),
            None => host.to_owned(),
        };
        let origin = Self {
            scheme: scheme.to_owned(),
            host,
            port: parse_port(port)?,
        };
        // Whatever is written differently is not an identifier.
        (origin.is_valid() && origin.identifier() == identifier).then_some(origin)
    }

    /// The origin of a folder `….indexeddb.leveldb` or `….indexeddb.blob`.
    #[must_use]
    pub fn from_folder_name(name: &str) -> Option<Self> {
        let identifier = [LEVELDB_SUFFIX, BLOB_SUFFIX]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))?;
        Self::from_identifier(identifier)
    }

    /// The origin in a database name row: its identifier followed by `@1`.
    #[must_use]
    pub fn from_row_text(text: &JsString) -> Option<Self> {
        Self::from_identifier(text.to_utf8()?.strip_suffix(ROW_SUFFIX)?)
    }

    /// The database identifier: `http_localhost_81`, `https_example.com_0`, `http_[__1]_8080`,
    /// `file__0`, `__0`.
    #[must_use]
    pub fn identifier(&self) -> String {
        let host = self.host.replace(':', "_");
        format!("{}_{host}_{}", self.scheme, self.port)
    }

    /// The text that stands in database name rows.
    #[must_use]
    pub fn row_text(&self) -> JsString {
        JsString::from(self.identifier() + ROW_SUFFIX)
    }

    /// The name of the folder that holds the origin's LevelDB store.
    #[must_use]
    pub fn leveldb_folder_name(&self) -> String {
        self.identifier() + LEVELDB_SUFFIX
    }

    /// The name of the folder that holds the origin's blobs.
    #[must_use]
    pub fn blob_folder_name(&self) -> String {
        self.identifier() + BLOB_SUFFIX
    }

    /// The scheme; empty if opaque.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host; an IPv6 address with brackets and colons.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, unless it is the scheme's default or there is none.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        if self.port == 0 {
            None
        } else {
            Some(self.port)
        }
    }

    /// Whether this is the opaque origin.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.scheme.is_empty()
    }

    fn is_valid(&self) -> bool {
        let scheme = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        let address = self.host.starts_with('[') && self.host.ends_with(']');
        let brackets = self.host.contains(['[', ']', ':']);
        let bare = self.host.is_empty() && self.port == 0;
        self.scheme.chars().all(scheme)
            && self.host.chars().all(is_host_character)
            && (address && !self.host.contains('_') || !brackets)
            && (!self.is_opaque() || bare)
    }
}

/// A host never holds what separates it from the rest, nor what would leave a folder.
fn is_host_character(c: char) -> bool {
    c.is_ascii_graphic() && !"/\\?#@\"<>|*".contains(c)
}

/// A decimal number without sign or leading zeros.
fn parse_port(text: &str) -> Option<u16> {
    let port: u16 = text.parse().ok()?;
    (port.to_string() == text).then_some(port)
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ftp" => Some(21),
        _ => None,
    }
}

/// Prints the form of `location.origin`: `scheme://host[:port]`, `file://`, or `null` if opaque.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_opaque() {
            return f.write_str("null");
        }
        write!(f, "{}://{}", self.scheme, self.host)?;
        match self.port() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::properties;

    #[test]
    fn identifiers_go_to_origins_and_back() {
        for (identifier, url) in [
            ("http_localhost_81", "http://localhost:81"),
            ("http_127.0.0.1_18917", "http://127.0.0.1:18917"),
            ("https_example.com_0", "https://example.com"),
            ("http_my_host_name_0", "http://my_host_name"),
            ("http_[__1]_8080", "http://[::1]:8080"),
            ("https_[2001_db8__1]_0", "https://[2001:db8::1]"),
            ("chrome-extension_abcdefgh_0", "chrome-extension://abcdefgh"),
            ("file__0", "file://"),
            ("__0", "null"),
        ] {
            let origin = Origin::from_identifier(identifier).unwrap();
            assert_eq!(origin.identifier(), identifier);
            assert_eq!(origin.to_string(), url);
            match origin.is_opaque() {
                true => assert_eq!(Origin::from_url(url), Err(OriginError::Opaque)),
                false => assert_eq!(Origin::from_url(url).as_ref(), Ok(&origin)),
            }
            assert_eq!(
                Origin::from_row_text(&origin.row_text()).as_ref(),
                Some(&origin)
            );
            for folder in [origin.leveldb_folder_name(), origin.blob_folder_name()] {
                assert_eq!(Origin::from_folder_name(&folder).as_ref(), Some(&origin));
            }
        }
        assert_eq!(Origin::from_identifier("__0"), Some(Origin::opaque()));
        assert_eq!(Origin::from_identifier("file__0"), Some(Origin::file()));
    }

    #[test]
    fn a_default_port_is_no_port() {
        for (with, without) in [
            ("http://a:80", "http://a"),
            ("https://a:443", "https://a"),
            ("http://[::1]:80/", "http://[::1]"),
        ] {
            assert_eq!(Origin::from_url(with), Origin::from_url(without));
        }
        let other = Origin::from_url("http://a:443").unwrap();
        assert_eq!(other.identifier(), "http_a_443");
    }

    #[test]
    fn what_is_no_identifier_is_refused() {
        for text in [
            "",
            "_",
            "http",
            "http_a",
            "http_a_",
            "http_a_00",
            "http_a_+1",
            "http_a_65536",
            "HTTP_a_0",
            "http_a/b_0",
            "http_.._/.._0",
            "http_a:b_0",
            "http_[a_0",
            "__1",
            "_a_0",
            "http_ä_0",
        ] {
            assert_eq!(Origin::from_identifier(text), None, "{text}");
        }
        assert_eq!(Origin::from_row_text(&"http_a_0".into()), None);
        assert_eq!(Origin::from_row_text(&"http_a_0@2".into()), None);
        assert_eq!(Origin::from_folder_name("http_a_0.leveldb"), None);
    }

    properties! {
        fn any_text_is_an_identifier_of_one_origin_or_none(text: String) -> bool {
            let near = text.replace(|c: char| !c.is_ascii_lowercase(), "_") + "_0";
            [text, near].iter().all(|text| match Origin::from_identifier(text) {
                Some(origin) => origin.identifier() == *text,
                None => true,
            })
        }
    }
}
