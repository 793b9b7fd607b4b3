//! Values that JSON has no form for, as an archive writes them (docs/format/archive.md).

use super::super::json::{Json, Wrong};

pub(super) fn tagged<const N: usize>(tag: &str, value: Json, more: [(&str, Json); N]) -> Json {
    let mut members = vec![(tag.to_owned(), value)];
    let more = more.into_iter();
    members.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Json::Object(members)
}

pub(super) fn array(length: f64, properties: Vec<Json>) -> Json {
    let properties = ("properties", Json::Array(properties));
    tagged("$array", Json::Number(length), [properties])
}

pub(super) fn view(name: &str, offset: f64, length: f64, buffer: Json) -> Json {
    let members = [
        ("byteOffset", Json::Number(offset)),
        ("byteLength", Json::Number(length)),
        ("buffer", buffer),
    ];
    tagged("$view", Json::Text(name.to_owned()), members)
}

/// What others refer to.
pub(super) fn with_id(json: Json, id: u64) -> Result<Json, Wrong> {
    let id = ("$id".to_owned(), number(id));
    match json {
        Json::Object(mut members) => {
            members.insert(0, id);
            Ok(Json::Object(members))
        }
        items @ Json::Array(_) => Ok(Json::Object(vec![id, ("$items".to_owned(), items)])),
        other => Err(format!("it refers to {other}, which is no object")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "as many as memory holds")]
pub(super) const fn number_of(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "as many as memory holds")]
pub(super) const fn number(id: u64) -> Json {
    Json::Number(id as f64)
}
