//! Files of the npm package dexie-export-import, read into a store (docs/format/dexie.md).
//!
//! The file is one JSON text. It is read as a stream: memory is one row's, whatever the file has. Nothing here writes such files.

mod from_typeson;
mod import;
mod json_text;
mod schema;
mod shapes;
mod stream;
mod types;

pub(super) use import::{check, import};

/// Whether a file with this beginning is one: `{"formatName":"dexie"`, with white space anywhere between.
pub(super) fn is_export(head: &[u8]) -> bool {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let mut bytes = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    br#"{"formatName":"dexie""#
        .iter()
        .all(|wanted| bytes.next() == Some(wanted))
}

/// What editors of text put before it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::is_export;

    #[test]
    fn a_file_is_known_by_its_first_member() {
        assert!(is_export(b"{\"formatName\":\"dexie\",\"x\""));
        assert!(is_export(
            b"\xef\xbb\xbf{\r\n  \"formatName\": \"dexie\"\n}"
        ));
        for other in [
            &b"{\"archive\":\"larder\""[..],
            b"{\"formatName\":\"dex",
            b"{\"formatName\":\"other\"",
            b"",
        ] {
            assert!(!is_export(other));
        }
    }
}
