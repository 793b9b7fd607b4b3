//! `--format jsonl`: one record a line (docs/format/jsonl.md).

use std::convert::Infallible;
use std::io::{self, Write};

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata};
use larder_codec::idb_key::KeyPart;
use larder_codec::shown::{Piece, walk};
use larder_codec::value::{IsoDate, JsNumber, Tree};
use larder_codec::{JsString, RawKey};

use super::blobs::{BlobFolder, SavedObject};
use super::records::{Record, RecordWriter, write_records};
use crate::display::Hex;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::value_json::push_value;

/// The form.
pub(super) struct Jsonl {
    output: Output,
    blobs: Option<BlobFolder>,
}

impl Jsonl {
    pub(super) fn new(output: Output, blobs: Option<BlobFolder>) -> Self {
        Self { output, blobs }
    }
}

impl PerStore for Jsonl {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let mut lines = JsonLines::new(&mut self.output, origin);
        write_records(scan, self.blobs.as_mut(), &mut lines)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}

/// Lines of records, into any output.
pub(crate) struct JsonLines<'o> {
    output: &'o mut dyn Write,
    origin: &'o StoreOrigin,
    /// What all lines of an object store begin with.
    head: Vec<u8>,
    line: Vec<u8>,
}

impl<'o> JsonLines<'o> {
    pub(crate) fn new(output: &'o mut dyn Write, origin: &'o StoreOrigin) -> Self {
        Self {
            output,
            origin,
            head: Vec::new(),
            line: Vec::new(),
        }
    }

    /// The records of this object store come next.
    pub(crate) fn object_store(
        &mut self,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> io::Result<()> {
        self.head.clear();
        self.head.extend_from_slice(b"{\"origin\":");
        serde_json::to_writer(&mut self.head, &self.origin.shown)?;
        if let Some(bucket) = &self.origin.bucket {
            self.head.extend_from_slice(b",\"bucket\":");
            serde_json::to_writer(&mut self.head, bucket)?;
        }
        self.head.extend_from_slice(b",\"database\":");
        serde_json::to_writer(&mut self.head, &database.name)?;
        self.head.extend_from_slice(b",\"store\":");
        serde_json::to_writer(&mut self.head, &object_store.name)?;
        self.head.extend_from_slice(b",\"key\":");
        Ok(())
    }

    /// One record: its key, its stored bytes, and the value with what it refers to, or why it cannot be shown.
    pub(crate) fn record(
        &mut self,
        key: RawKey<'_>,
        bytes: &[u8],
        value: Result<(&Tree<'_>, &[SavedObject]), &str>,
    ) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(&self.head);
        push_key(line, key);
        match value {
            Ok((tree, objects)) => {
                line.extend_from_slice(b",\"value\":");
                push_value(line, tree)?;
                if !objects.is_empty() {
                    line.extend_from_slice(b",\"external\":");
                    serde_json::to_writer(&mut *line, objects)?;
                }
            }
            Err(problem) => {
                line.extend_from_slice(b",\"error\":");
                serde_json::to_writer(&mut *line, problem)?;
                write!(line, ",\"raw\":\"{}\"", Hex(bytes))?;
            }
        }
        line.extend_from_slice(b"}\n");
        self.output.write_all(line)
    }
}

impl RecordWriter for JsonLines<'_> {
    fn object_store(
        &mut self,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> io::Result<()> {
        JsonLines::object_store(self, database, object_store)
    }

    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let value = record.value.as_ref();
        let value = value.map(|value| (value.tree, value.objects));
        JsonLines::record(
            self,
            record.key,
            record.bytes,
            value.map_err(|problem| *problem),
        )
    }
}

/// Appends a key in the conventions of values.
pub(crate) fn push_key(line: &mut Vec<u8>, key: RawKey<'_>) {
    let Ok(()) = walk(key, |piece| {
        match piece {
            Piece::ArrayStart => line.push(b'['),
            Piece::Separator => line.push(b','),
            Piece::ArrayEnd => line.push(b']'),
            Piece::Scalar(scalar) => push_scalar(line, scalar),
        }
        Ok::<(), Infallible>(())
    });
}

fn push_scalar(line: &mut Vec<u8>, scalar: KeyPart<'_>) {
    // Writing into a vector cannot fail, here and below.
    let _ = match scalar {
        KeyPart::Number(number)
            if number.is_finite() && number.to_bits() != (-0.0_f64).to_bits() =>
        {
            write!(line, "{}", JsNumber(number))
        }
        KeyPart::Number(-0.0) => write!(line, "{{\"$number\":\"-0\"}}"),
        KeyPart::Number(number) => write!(line, "{{\"$number\":\"{}\"}}", JsNumber(number)),
        KeyPart::Date(milliseconds) => match IsoDate::new(milliseconds) {
            // A date key is whole milliseconds; one that is not was made by no script.
            Some(date) if milliseconds.fract() == 0.0 => write!(line, "{{\"$date\":\"{date}\"}}"),
            _ => write!(
                line,
                "{{\"$date\":{{\"$number\":\"{}\"}}}}",
                JsNumber(milliseconds)
            ),
        },
        KeyPart::String(string) => {
            push_string(line, &string.to_js_string());
            Ok(())
        }
        KeyPart::Binary(bytes) => write!(line, "{{\"$binary\":\"{}\"}}", Hex(bytes)),
        KeyPart::Array { .. } => Ok(()),
    };
}

fn push_string(line: &mut Vec<u8>, string: &JsString) {
    match string.to_utf8() {
        Some(text) => drop(serde_json::to_writer(line, &text)),
        None => drop(write!(line, "{{\"$utf16\":\"{}\"}}", string.to_hex())),
    }
}
