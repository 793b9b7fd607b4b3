//! Responses: a status, headers, a body. Every header that is the same for all is set here.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::answering::error_json;
use crate::connections::Busy;
use crate::content::{Content, Kind};
use crate::file_name;
use crate::source::{Form, Refusal};

const JSON: &str = "application/json";
const PAGE_POLICY: &str = "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const DOWNLOAD_POLICY: &str = "sandbox; default-src 'none'";

/// A request that is not answered, and why.
#[derive(Debug)]
pub(crate) struct Denial {
    status: StatusCode,
    text: String,
    /// The method that is allowed, if another is the fault.
    allow: Option<&'static str>,
}

impl Denial {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            allow: None,
        }
    }

    pub(crate) fn method(allow: &'static str) -> Self {
        let denial = Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("{allow} alone"));
        Self {
            allow: Some(allow),
            ..denial
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing here")
    }

    pub(crate) fn response(self, busy: Busy) -> Response<Content> {
        let body = Kind::Whole(error_json(&self.text).into());
        let mut response = response(self.status, JSON, body, busy);
        if let Some(allow) = self.allow {
            set(response.headers_mut(), header::ALLOW, allow);
        }
        response
    }
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::NotFound(_) => StatusCode::NOT_FOUND,
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, refusal.to_string())
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

/// A response with the headers that all have.
pub(crate) fn response(
    status: StatusCode,
    media_type: &'static str,
    body: Kind,
    busy: Busy,
) -> Response<Content> {
    let mut response = Response::new(Content::new(body, busy));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    set(headers, header::CONTENT_TYPE, media_type);
    set(headers, header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, header::REFERRER_POLICY, "no-referrer");
    set(
        headers,
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        headers,
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(headers, header::CACHE_CONTROL, "no-store");
    set(headers, header::X_FRAME_OPTIONS, "DENY");
    response
}

/// A source's answer.
pub(crate) fn answer(form: &Form, body: Kind, busy: Busy) -> Response<Content> {
    let media_type = match form {
        Form::Json => JSON,
        Form::Lines => "application/x-ndjson",
        Form::Bytes | Form::Attachment { .. } => "application/octet-stream",
    };
    let disposition = match form {
        Form::Json | Form::Lines => None,
        Form::Bytes => Some("attachment".to_owned()),
        Form::Attachment { name, .. } => Some(file_name::disposition(name)),
    };
    let mut response = response(StatusCode::OK, media_type, body, busy);
    if let Some(disposition) = disposition {
        let headers = response.headers_mut();
        set(headers, header::CONTENT_SECURITY_POLICY, DOWNLOAD_POLICY);
        // It is ASCII without control characters, which every value of a header may be.
        if let Ok(disposition) = HeaderValue::try_from(disposition) {
            headers.insert(header::CONTENT_DISPOSITION, disposition);
        }
    }
    response
}
