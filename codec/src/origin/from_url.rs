//! Origins from the text of a URL, as URL parsers read it (WHATWG's URL Standard), and why a text gives none.

use std::error::Error;
use std::fmt;

use url::{Host, ParseError, Url};

use super::Origin;

/// Why a text names no origin that a store can belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginError {
    /// An opaque origin (`null`, `data:`, `about:blank`): each such is its own, so none of them has a store that another one
    /// could find.
    Opaque,
    /// No `scheme://` at the beginning.
    NoScheme,
    /// A URL needs a host, and there is none.
    NoHost,
    /// The host is none for a URL parser, which says why.
    Host(String),
    /// The host has a character that Chromium's identifiers and folders have no place for.
    HostCharacter(char),
    /// The port is not a number from 0 to 65535.
    Port,
    /// A user, path, query or fragment follows: these belong to no origin.
    MoreThanOrigin,
    /// White space, a control character or a backslash, which URL parsers would pass over.
    Character(char),
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque => f.write_str("an opaque origin has no store"),
            Self::NoScheme => f.write_str("an origin begins with a scheme, such as https://"),
            Self::NoHost => f.write_str("the host is missing, as in https://example.com"),
            Self::Host(why) => write!(f, "the host is not valid: {why}"),
            Self::HostCharacter(c) => {
                write!(f, "the host has {c:?}, which no folder of a store can have")
            }
            Self::Port => f.write_str("the port is not a number from 0 to 65535"),
            Self::MoreThanOrigin => {
                f.write_str("an origin has no user, path, query or fragment: leave it out")
            }
            Self::Character(c) => write!(f, "an origin cannot have the character {c:?}"),
        }
    }
}

impl Error for OriginError {}

impl Origin {
    /// The origin that a page gives as `location.origin`: `scheme://host`, `scheme://host:port` or `file://`. Read as URL parsers
    /// do: scheme and host in lower case, names in other letters as Punycode, IPv4 addresses as four numbers, IPv6 addresses
    /// shortened. A scheme's default port is the same as none.
    ///
    /// ```
    /// use larder_codec::{Origin, OriginError};
    /// let origin = Origin::from_url("HTTPS://Bücher.Example:443").unwrap();
    /// assert_eq!(origin.identifier(), "https_xn--bcher-kva.example_0");
    /// assert_eq!(Origin::from_url("null"), Err(OriginError::Opaque));
    /// assert_eq!(Origin::from_url("https://a.example/page"), Err(OriginError::MoreThanOrigin));
    /// ```
    ///
    /// # Errors
    /// Why it is none.
    pub fn from_url(text: &str) -> Result<Self, OriginError> {
        let is_passed_over = |c: &char| c.is_whitespace() || c.is_control() || *c == '\\';
        if let Some(c) = text.chars().find(is_passed_over) {
            return Err(OriginError::Character(c));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(without_authority(text));
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme == "file" {
            return match rest {
                "" | "/" => Ok(Self::file()),
                _ => Err(OriginError::MoreThanOrigin),
            };
        }
        if rest.starts_with(['/', '?', '#']) || rest.is_empty() {
            // Parsers find a host further on, or none.
            return Err(OriginError::NoHost);
        }
        let url = Url::parse(text).map_err(refused)?;
        let has_user = !url.username().is_empty() || url.password().is_some() || rest.contains('@');
        let has_more = !matches!(url.path(), "" | "/") || url.query().is_some();
        if has_user || has_more || url.fragment().is_some() {
            return Err(OriginError::MoreThanOrigin);
        }
        // The parser leaves the host as it is for schemes that it has no rule for. Chromium has one for each scheme
        // that has stores.
        let host = Host::parse(url.host_str().unwrap_or_default()).map_err(refused)?;
        let origin = Self {
            host: host.to_string(),
            port: url
                .port()
                .filter(|port| super::default_port(&scheme) != Some(*port))
                .unwrap_or(0),
            scheme,
        };
        match origin.host.chars().find(|c| !super::is_host_character(*c)) {
            Some(c) => Err(OriginError::HostCharacter(c)),
            None if origin.is_valid() => Ok(origin),
            None => Err(OriginError::Host(
                "it has no host that distinguishes it from other origins".to_owned(),
            )),
        }
    }
}

fn without_authority(text: &str) -> OriginError {
    // A URL of a scheme without hosts, such as data: and about:, has an opaque origin.
    let is_url = Url::parse(text).is_ok_and(|url| url.cannot_be_a_base());
    match text == "null" || is_url {
        true => OriginError::Opaque,
        false => OriginError::NoScheme,
    }
}

fn refused(error: ParseError) -> OriginError {
    match error {
        ParseError::EmptyHost => OriginError::NoHost,
        ParseError::InvalidPort => OriginError::Port,
        ParseError::RelativeUrlWithoutBase => OriginError::NoScheme,
        other => OriginError::Host(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identifier(url: &str) -> String {
        let origin = Origin::from_url(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        // What is written as one origin is read as the same.
        assert_eq!(
            Origin::from_url(&origin.to_string()).as_ref(),
            Ok(&origin),
            "{url}"
        );
        assert_eq!(
            Origin::from_identifier(&origin.identifier()),
            Some(origin.clone()),
            "{url}"
        );
        origin.identifier()
    }

    #[test]
    fn hosts_are_read_as_url_parsers_read_them() {
        for (url, expected) in [
            ("https://A.Example", "https_a.example_0"),
            ("HTTP://LOCALHOST:81/", "http_localhost_81"),
            ("https://bücher.example", "https_xn--bcher-kva.example_0"),
            (
                "https://xn--bcher-kva.example",
                "https_xn--bcher-kva.example_0",
            ),
            ("https://%41.example", "https_a.example_0"),
            ("http://127.1", "http_127.0.0.1_0"),
            ("http://0x7f.0.0.1:8080", "http_127.0.0.1_8080"),
            ("http://[2001:DB8:0:0::1]", "http_[2001_db8__1]_0"),
            ("http://a:081", "http_a_81"),
            ("http://a:", "http_a_0"),
            ("http://my_host", "http_my_host_0"),
            ("chrome-extension://AbcdefgH", "chrome-extension_abcdefgh_0"),
            ("capacitor-electron://-", "capacitor-electron_-_0"),
            ("File:///", "file__0"),
        ] {
            assert_eq!(identifier(url), expected, "{url}");
        }
    }

    #[test]
    fn a_text_that_names_no_origin_is_refused_with_the_reason() {
        use OriginError as E;
        for (url, expected) in [
            ("null", E::Opaque),
            ("data:text/html,a", E::Opaque),
            ("about:blank", E::Opaque),
            ("blob:https://a/1", E::MoreThanOrigin),
            ("", E::NoScheme),
            ("a.example", E::NoScheme),
            ("://a", E::NoScheme),
            ("http:a", E::NoScheme),
            ("http://", E::NoHost),
            ("http:///a", E::NoHost),
            ("http://:80", E::NoHost),
            ("app://:80", E::NoHost),
            ("http://a:b", E::Port),
            ("http://a:+81", E::Port),
            ("http://a:65536", E::Port),
            ("http://a/b", E::MoreThanOrigin),
            ("http://a?b", E::MoreThanOrigin),
            ("http://a/#", E::MoreThanOrigin),
            ("http://user@a", E::MoreThanOrigin),
            ("http://@a", E::MoreThanOrigin),
            ("file://host", E::MoreThanOrigin),
            (" http://a", E::Character(' ')),
            ("http://a\n", E::Character('\n')),
            ("http://a\\b", E::Character('\\')),
            ("http://a*b", E::HostCharacter('*')),
        ] {
            assert_eq!(Origin::from_url(url), Err(expected), "{url:?}");
        }
        for url in [
            "http://1.2.3.256",
            "http://a<b",
            "http://[::1",
            "http://a%00",
            "http://xn--a",
        ] {
            let refused = Origin::from_url(url);
            assert!(matches!(refused, Err(E::Host(_))), "{url}: {refused:?}");
        }
    }
}
