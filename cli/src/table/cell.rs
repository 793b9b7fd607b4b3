//! A value in a cell.

use larder_codec::value::JsNumber;

use crate::archive::Json;

/// Text as it is; numbers, dates and integers as JavaScript prints them; nothing for undefined; everything else as JSON.
pub(super) fn text(value: &Json) -> String {
    if let Json::Object(members) = value
        && let [(tag, inner)] = &members[..]
    {
        match (tag.as_str(), inner) {
            ("$undefined", _) => return String::new(),
            ("$date" | "$bigint" | "$number", Json::Text(text)) => return text.clone(),
            _ => {}
        }
    }
    match value {
        Json::Text(text) => text.clone(),
        Json::Number(number) => JsNumber(*number).to_string(),
        // No `Json` fails to be written.
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
