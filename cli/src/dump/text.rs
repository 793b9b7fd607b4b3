//! `--format text`: for eyes. Values are shown as in JSON Lines, shortened.

use std::io::{self, Write};

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata};
use larder_codec::value::{Foreign, Tree, Value};

use super::blobs::BlobFolder;
use super::records::{Record, RecordWriter, write_records};
use crate::display::{Hex, Quoted, ShownForeign, ShownKey};
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// Longest value shown on a line, in characters.
const VALUE_SHOWN_MAX: usize = 1000;

/// The form.
pub(super) struct Text {
    output: Output,
    blobs: Option<BlobFolder>,
    style: Style,
}

impl Text {
    pub(super) fn new(output: Output, blobs: Option<BlobFolder>, color: bool) -> Self {
        Self {
            output,
            blobs,
            style: Style::new(color),
        }
    }
}

impl PerStore for Text {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        writeln!(self.output, "{}", self.style.heading(origin.heading()))?;
        let mut lines = Lines {
            output: &mut self.output,
            style: self.style,
            value: Vec::new(),
        };
        write_records(scan, self.blobs.as_mut(), &mut lines)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}

struct Lines<'o> {
    output: &'o mut Output,
    style: Style,
    value: Vec<u8>,
}

impl RecordWriter for Lines<'_> {
    fn object_store(
        &mut self,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> io::Result<()> {
        let style = self.style;
        let (database, object_store) = (Quoted(&database.name), Quoted(&object_store.name));
        writeln!(
            self.output,
            "{} / {}",
            style.name(database),
            style.name(object_store)
        )
    }

    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let style = self.style;
        write!(self.output, "  {}  ", style.key(ShownKey(record.key)))?;
        match &record.value {
            Ok(value) => {
                let foreign = Foreign::of_tree(value.tree);
                if let Some(foreign) = &foreign {
                    let (whose, len) = (ShownForeign(foreign), foreign.bytes().len());
                    write!(self.output, "{whose}, {len} bytes: ")?;
                }
                match foreign.filter(|_| is_bytes_alone(value.tree)) {
                    Some(foreign) => write_bytes(self.output, foreign.bytes())?,
                    None => {
                        self.value.clear();
                        serde_json::to_writer(&mut self.value, value.tree)?;
                        write_shortened(self.output, &String::from_utf8_lossy(&self.value))?;
                    }
                }
                writeln!(self.output)?;
                for (number, object) in value.objects.iter().enumerate() {
                    writeln!(self.output, "      {number}: {}", style.faint(object))?;
                }
                Ok(())
            }
            Err(problem) => writeln!(
                self.output,
                "{} ({} bytes)",
                style.faint(problem),
                record.bytes.len()
            ),
        }
    }
}

/// Whether a value of another engine has nothing behind its bytes: neither a generated key nor what a page has put there.
fn is_bytes_alone(tree: &Tree<'_>) -> bool {
    matches!(tree.root(), Value::Object(root) if tree.own_properties(root).len() == Foreign::PROPERTIES)
}

fn write_bytes(output: &mut Output, bytes: &[u8]) -> io::Result<()> {
    let shown = bytes.get(..VALUE_SHOWN_MAX / 2).unwrap_or(bytes);
    write!(output, "{}", Hex(shown))?;
    match shown.len() < bytes.len() {
        true => write!(output, "…"),
        false => Ok(()),
    }
}

/// JSON escapes the C0 controls; the other characters that could drive a terminal are escaped here.
fn write_shortened(output: &mut Output, text: &str) -> io::Result<()> {
    let shown = text
        .char_indices()
        .nth(VALUE_SHOWN_MAX)
        .map_or(text, |(end, _)| text.split_at(end).0);
    for c in shown.chars() {
        if crate::display::is_harmless(c) {
            write!(output, "{c}")?;
        } else {
            write!(output, "\\u{{{:x}}}", u32::from(c))?;
        }
    }
    if shown.len() < text.len() {
        write!(output, "… {} bytes in all", text.len())?;
    }
    Ok(())
}
