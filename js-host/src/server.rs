//! A server that the host's embedder plays itself: what `XMLHttpRequest` gets for URLs other than `blob:` and `data:`.

use rquickjs::{Array, ArrayBuffer, Ctx, IntoJs, Result, Value};

use crate::array::array_of;

/// A request of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRequest {
    /// Upper case, if it is one of HTTP's own.
    pub method: String,
    /// Absolute, with its fragment if it has one.
    pub url: String,
    /// Names and values, in the order in which they were set.
    pub headers: Vec<(String, String)>,
    /// Empty if nothing was sent.
    pub body: Vec<u8>,
}

/// The answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerResponse {
    /// 200, or another of HTTP's.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Vec<u8>,
}

/// Answers requests, of workers on their threads; `None` is a network error to the script.
pub type Server = Box<dyn Fn(&ServerRequest) -> Option<ServerResponse> + Send + Sync>;

/// A list of names and values as JavaScript has it.
pub(crate) fn headers_from_js(list: &Array<'_>) -> Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for pair in list.iter::<Array<'_>>() {
        let pair = pair?;
        headers.push((pair.get(0)?, pair.get(1)?));
    }
    Ok(headers)
}

/// What `native.request` of `platform/xml_http_request.js` gives: status, headers as names and values in turn, content.
pub(crate) fn response_to_js<'js>(
    ctx: &Ctx<'js>,
    response: Option<ServerResponse>,
) -> Result<Value<'js>> {
    let Some(response) = response else {
        return Ok(Value::new_undefined(ctx.clone()));
    };
    let mut headers = Vec::with_capacity(2 * response.headers.len());
    for (name, value) in response.headers {
        headers.push(name.into_js(ctx)?);
        headers.push(value.into_js(ctx)?);
    }
    let parts = [
        response.status.into_js(ctx)?,
        array_of(ctx, headers)?.into_value(),
        ArrayBuffer::new(ctx.clone(), response.body)?.into_value(),
    ];
    Ok(array_of(ctx, parts)?.into_value())
}
