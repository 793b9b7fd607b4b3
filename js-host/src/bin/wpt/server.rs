//! The one resource of the suite's server that its IndexedDB folder uses.

use larder_js_host::{ServerRequest, ServerResponse};

/// `xhr/resources/content.py`: the request's body, with a few facts of the request as headers.
pub(crate) fn answer(request: &ServerRequest) -> Option<ServerResponse> {
    let path = request.url.split(['?', '#']).next()?;
    if !path.ends_with("/xhr/resources/content.py") {
        return None;
    }
    let mut headers = request.headers.iter();
    let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = content_type.map_or("NO", |(_, value)| value.as_str());
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Some(ServerResponse {
        status: 200,
        headers: vec![
            header("Content-Type", "text/plain"),
            header("X-Request-Method", &request.method),
            header("X-Request-Content-Length", &request.body.len().to_string()),
            header("X-Request-Content-Type", content_type),
        ],
        body: request.body.clone(),
    })
}
