//! Names of downloads. They come from a store, which may say anything, and end in a header and on a disk.

use std::fmt::Write as _;

/// So many bytes of UTF-8 at most.
const BYTES_MAX: usize = 150;
/// An ending that is at most as long is kept when a name is cut.
const ENDING_MAX: usize = 16;

/// `name` without what a file system, or its reader, could take for something else.
pub(crate) fn cleaned(name: &str) -> String {
    let kept: String = name.chars().filter(|&unit| !is_left_out(unit)).collect();
    let kept = kept.trim_matches(is_margin);
    let mut name = match is_reserved(kept) {
        true => format!("_{kept}"),
        false => kept.to_owned(),
    };
    if name.len() > BYTES_MAX {
        name = cut(&name);
    }
    match name.is_empty() {
        true => "download".to_owned(),
        false => name,
    }
}

fn is_left_out(unit: char) -> bool {
    let separates = matches!(
        unit,
        '/' | '\\' | '<' | '>' | ':' | '"' | '|' | '?' | '*' | '%' | '~'
    );
    let turns_around = matches!(
        unit,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let is_unseen = matches!(
        unit,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}'
    );
    unit.is_control() || separates || turns_around || is_unseen
}

/// What Windows drops at the end of a name, and what hides a file elsewhere at its beginning.
fn is_margin(unit: char) -> bool {
    unit == '.' || unit.is_whitespace()
}

/// Whether Windows takes it for a device, whatever its ending is.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_uppercase();
    let numbered = |device: &str| {
        let number = stem.strip_prefix(device).unwrap_or_default();
        let mut units = number.chars();
        matches!(units.next(), Some('0'..='9' | '¹' | '²' | '³')) && units.next().is_none()
    };
    matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || numbered("COM")
        || numbered("LPT")
}

/// The beginning of a name that is too long, with its ending.
fn cut(name: &str) -> String {
    let ending = name.rfind('.').map_or("", |at| &name[at..]);
    let ending = if ending.len() <= ENDING_MAX {
        ending
    } else {
        ""
    };
    let begins = name.floor_char_boundary(BYTES_MAX - ending.len());
    format!("{}{ending}", name[..begins].trim_end_matches(is_margin))
}

/// The value of `Content-Disposition` for an attachment (RFC 6266), with a name for clients that read ASCII alone before the whole one.
pub(crate) fn disposition(name: &str) -> String {
    let name = cleaned(name);
    let mut ascii = String::new();
    let mut encoded = String::new();
    for unit in name.chars() {
        ascii.push(match unit {
            ' '..='~' => unit,
            _ => '_',
        });
    }
    for &byte in name.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_what_is_harmless() {
        for name in [
            "notes.jsonl",
            "a b (1).txt",
            "ü €.png",
            "日本語.bin",
            "x",
            "CONSOLE.txt",
            "COM10",
            "LPT",
            "x.NUL",
        ] {
            assert_eq!(cleaned(name), name);
        }
    }

    #[test]
    fn a_name_loses_what_is_not() {
        let cases = [
            ("../../etc/passwd", "etcpasswd"),
            ("..\\..\\a.exe", "a.exe"),
            ("C:\\a", "Ca"),
            ("a\r\nb\0c\u{7f}d\u{85}e", "abcde"),
            ("a\u{202e}gpj.exe", "agpj.exe"),
            ("a\u{2066}b\u{200f}c\u{feff}d\u{200b}e", "abcde"),
            (" .hidden. ", "hidden"),
            ("a\"b", "ab"),
            ("a.txt . .", "a.txt"),
            ("NUL", "_NUL"),
            ("nul.txt", "_nul.txt"),
            ("Com1.tar.gz", "_Com1.tar.gz"),
            ("LPT\u{b2}", "_LPT\u{b2}"),
            ("CON .txt", "_CON .txt"),
            ("conin$", "_conin$"),
            ("N\u{200b}UL", "_NUL"),
            ("...", "download"),
            ("/", "download"),
            ("", "download"),
        ];
        for (name, expected) in cases {
            assert_eq!(cleaned(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_between_characters_and_keeps_its_ending() {
        for name in ["a", "ü", "日", "😀"] {
            for ending in [".jsonl", "", ".ü", ".an ending that is none"] {
                for first in ["", "x", "xy", "xyz"] {
                    let whole = format!("{first}{}{ending}", name.repeat(300));
                    let cut = cleaned(&whole);
                    assert!(
                        cut.len() <= BYTES_MAX && cut.len() > BYTES_MAX - 24,
                        "{cut}"
                    );
                    let kept = if ending.len() <= ENDING_MAX {
                        ending
                    } else {
                        ""
                    };
                    let begins = cut.strip_suffix(kept).unwrap();
                    assert!(whole.starts_with(begins), "{cut}");
                }
            }
        }
        assert_eq!(
            cleaned(&format!("{}{}", "a".repeat(145), " ".repeat(300))),
            "a".repeat(145)
        );
        let reserved = cleaned(&format!("NUL{}.txt", " ".repeat(300)));
        assert!(
            reserved.starts_with("_NUL") && reserved.ends_with(".txt"),
            "{reserved}"
        );
    }

    #[test]
    fn a_disposition_has_the_name_twice() {
        assert_eq!(
            disposition("a b.txt"),
            "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt"
        );
        assert_eq!(
            disposition("é'.txt"),
            "attachment; filename=\"_'.txt\"; filename*=UTF-8''%C3%A9%27.txt"
        );
    }
}
