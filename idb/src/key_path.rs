//! Which texts are key paths (specification, 2.5): identifiers of ECMAScript with dots between them, or nothing.
//!
//! Escape sequences, which ECMAScript allows in identifiers, are refused, as browsers do.

use larder_codec::{JsString, KeyPath};

/// Whether this is a key path: none, one, or several in an array, which is not empty.
pub(crate) fn is_valid(path: &KeyPath) -> bool {
    match path {
        KeyPath::Null => true,
        KeyPath::String(path) => is_valid_string(path),
        KeyPath::Array(paths) => !paths.is_empty() && paths.iter().all(is_valid_string),
    }
}

fn is_valid_string(path: &JsString) -> bool {
    const DOT: u16 = b'.' as u16;
    path.is_empty() || path.units().split(|&unit| unit == DOT).all(is_identifier)
}

/// `IdentifierName` of ECMAScript (13.2). A lone surrogate is part of none.
fn is_identifier(units: &[u16]) -> bool {
    let mut chars = char::decode_utf16(units.iter().copied());
    let is_start = |c| c == '$' || c == '_' || unicode_id_start::is_id_start(c);
    // Zero width non-joiner and joiner.
    let is_part = |c| {
        is_start(c) || c == '\u{200c}' || c == '\u{200d}' || unicode_id_start::is_id_continue(c)
    };
    matches!(chars.next(), Some(Ok(first)) if is_start(first))
        && chars.all(|c| c.is_ok_and(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the web platform tests' keypath-invalid and the specification.
    #[test]
    fn identifiers_with_dots_between_them_are_key_paths() {
        for valid in [
            "",
            "a",
            "$",
            "_",
            "foo.bar",
            "a.b.c",
            "größe",
            "字.段",
            "a\u{200d}b",
            "x1",
        ] {
            assert!(is_valid(&KeyPath::String(valid.into())), "{valid:?}");
        }
        for invalid in [
            " ", "a ", "foo,bar", ".", "a.", ".a", "a..b", "1", "a.2", "a-b", "a\\u0062",
            "\u{200d}",
        ] {
            assert!(!is_valid(&KeyPath::String(invalid.into())), "{invalid:?}");
        }
        let lone_surrogate = JsString::from_units(vec![0x61, 0xd800]);
        assert!(!is_valid(&KeyPath::String(lone_surrogate)));
    }

    #[test]
    fn an_array_has_a_path_and_none_that_is_invalid() {
        let array = |paths: &[&str]| {
            is_valid(&KeyPath::Array(
                paths.iter().map(|&path| path.into()).collect(),
            ))
        };
        assert!(array(&["a"]) && array(&["", "b.c"]));
        assert!(!array(&[]) && !array(&["a", "b c"]));
    }
}
