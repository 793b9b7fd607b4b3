//! Names, keys and sizes for people's eyes. Nothing here is meant to be read back by a program.

use std::fmt;
use std::io::{self, Write};

pub(crate) use larder_codec::shown::is_harmless;
pub use larder_codec::shown::{Hex, Quoted, ShownKey, ShownKeyPath, js_number, write_quoted};
use larder_codec::value::Foreign;

/// Whose value it is, if it is another engine's: `gecko (format 8)`.
#[derive(Debug, Clone, Copy)]
pub struct ShownForeign<'a>(pub &'a Foreign<'a>);

impl fmt::Display for ShownForeign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (format {})", self.0.engine(), self.0.format())
    }
}

/// Writes a text whose characters that could drive a terminal are escaped.
pub(crate) fn write_harmless(out: &mut dyn Write, text: &str) -> io::Result<()> {
    for c in text.chars() {
        match is_harmless(c) {
            true => write!(out, "{c}")?,
            false => write!(out, "\\u{{{:x}}}", u32::from(c))?,
        }
    }
    Ok(())
}

/// A number of things, whose plural has an `s`: `1 record`, `2 records`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted(pub(crate) u64, pub(crate) &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// A number of bytes: `17 B`, `4.2 KiB`, `1.5 MiB`.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
        let mut size = self.0 as f64 / 1024.0;
        let mut unit = UNITS[0];
        for larger in &UNITS[1..] {
            if size < 1023.95 {
                break;
            }
            size /= 1024.0;
            unit = larger;
        }
        write!(f, "{size:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        let shown = [0, 1, 2].map(|number| Counted(number, "record").to_string());
        assert_eq!(shown, ["0 records", "1 record", "2 records"]);
    }

    #[test]
    fn sizes_change_units_at_1024() {
        let shown = |bytes| Size(bytes).to_string();
        assert_eq!(shown(1023), "1023 B");
        assert_eq!(shown(1024), "1.0 KiB");
        assert_eq!(shown(1536 * 1024), "1.5 MiB");
        assert_eq!(shown(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(shown(3 << 40), "3.0 TiB");
        assert_eq!(shown(u64::MAX), "16777216.0 TiB");
    }
}
