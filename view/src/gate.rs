//! What a request has to be before anything is done for it.

use hyper::header::{AsHeaderName, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::{Request, StatusCode, Version};

use crate::response::Denial;

/// A question has at most so many bytes.
pub(crate) const QUESTION_BYTES_MAX: usize = 64 << 10;

/// `127.0.0.1:PORT`, as a client writes it: port 80 is left out.
pub(crate) fn authority(port: u16) -> String {
    match port {
        80 => "127.0.0.1".to_owned(),
        port => format!("127.0.0.1:{port}"),
    }
}

/// The one value of a header; an error if there are several.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Result<Option<&[u8]>, Denial> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value.map(|value| value.as_bytes())),
        Some(_) => Err(Denial::new(
            StatusCode::BAD_REQUEST,
            "a header comes more than once",
        )),
    }
}

/// Lets through what a page of this server's sends, and what a person opens. Another page's request carries its origin, and one by a name that was
/// made to lead here carries that name.
pub(crate) fn check_sender<B>(request: &Request<B>, authority: &str) -> Result<(), Denial> {
    let headers = request.headers();
    let misdirected = || {
        Denial::new(
            StatusCode::MISDIRECTED_REQUEST,
            "not the address of this server",
        )
    };
    let host = only(headers, HOST).map_err(|_| misdirected())?;
    if host != Some(authority.as_bytes()) || request.uri().authority().is_some() {
        return Err(misdirected());
    }
    if request.version() != Version::HTTP_11 {
        return Err(Denial::new(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "HTTP/1.1 alone",
        ));
    }
    let foreign = || Denial::new(StatusCode::FORBIDDEN, "asked by another page");
    if let Some(origin) = only(headers, ORIGIN)?
        && origin.strip_prefix(b"http://") != Some(authority.as_bytes())
    {
        return Err(foreign());
    }
    match only(headers, "sec-fetch-site")? {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// Lets through what shows a secret that `is_good`, and nothing but JSON of a bounded size.
pub(crate) fn check_question<B>(
    request: &Request<B>,
    is_good: impl FnOnce(&[u8]) -> bool,
) -> Result<(), Denial> {
    let headers = request.headers();
    if !only(headers, "larder-token")?.is_some_and(is_good) {
        let text = "without the token: open the address that the command has printed";
        return Err(Denial::new(StatusCode::UNAUTHORIZED, text));
    }
    let media_type = only(headers, CONTENT_TYPE)?.unwrap_or_default();
    let media_type = media_type
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    if !media_type
        .trim_ascii()
        .eq_ignore_ascii_case(b"application/json")
    {
        return Err(Denial::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not JSON"));
    }
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > QUESTION_BYTES_MAX as u64) {
        return Err(too_long());
    }
    Ok(())
}

pub(crate) fn too_long() -> Denial {
    Denial::new(StatusCode::PAYLOAD_TOO_LARGE, "longer than 64 KiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_is_as_a_browser_writes_it() {
        assert_eq!(authority(8080), "127.0.0.1:8080");
        assert_eq!(authority(80), "127.0.0.1");
    }
}
