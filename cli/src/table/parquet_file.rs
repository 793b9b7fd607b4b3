//! A table as a file of Apache Parquet, whose columns have types (docs/format/table.md).
//!
//! Two walks: the first finds the columns and their types, the second writes the rows. Memory has the rows of one row group, and what
//! the footer says of those before.

use std::io::{self, Write};
use std::sync::Arc;

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata};
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::typed_column::{Seen, TypedColumn};
use super::{Columns, KEY_COLUMN, for_each};
use crate::archive::Json;
use crate::scan::{Scan, Stop};

/// A row group ends when its rows take so many bytes of memory.
const ROW_GROUP_BYTES: usize = 8 << 20;

/// The note in the footer about the columns.
const NOTE: &str = "larder.columns";

/// Writes a table as Parquet: how many records.
///
/// # Errors
/// If the output is gone, the store cannot be read on, or there are too many columns.
pub fn write_parquet(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    (database, object_store): (&DatabaseMetadata, &ObjectStoreMetadata),
    wanted: &[String],
) -> std::result::Result<u64, Stop> {
    let mut columns = Columns::of_names(wanted);
    let mut key_seen = Seen::default();
    let mut seen: Vec<Seen> = Vec::new();
    let mut rows = 0;
    for_each(scan, database, object_store, |key, value| {
        if wanted.is_empty() {
            columns.take(value)?;
        }
        rows += 1;
        key_seen.take(Some(key));
        let row = columns.row(value);
        seen.resize_with(row.len(), Seen::default);
        for (seen, cell) in seen.iter_mut().zip(row) {
            seen.take(cell);
        }
        Ok(())
    })?;
    seen.resize_with(columns.names().count(), Seen::default);
    let typed = std::iter::once(key_seen).chain(seen);
    let typed: Vec<_> = typed.map(|seen| seen.column(rows)).collect();
    let mut table = Table::begin(out, &columns, typed)?;
    for_each(scan, database, object_store, |key, value| {
        table.push(key, &columns.row(value))
    })?;
    table.finish()
}

struct Table<'o> {
    out: &'o mut dyn Write,
    /// What it has written is on its way to `out`.
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<TypedColumn>,
    rows: u64,
    /// The memory that the rows of this row group take.
    held_bytes: usize,
}

impl<'o> Table<'o> {
    fn begin(
        out: &'o mut dyn Write,
        columns: &Columns,
        typed: Vec<TypedColumn>,
    ) -> std::result::Result<Self, Stop> {
        let properties: Vec<&str> = columns.names().collect();
        let names = names(&properties);
        let mut fields = Vec::new();
        let mut notes = Vec::new();
        let properties = std::iter::once(KEY_COLUMN).chain(properties.iter().copied());
        for ((column, name), property) in typed.iter().zip(&names).zip(properties) {
            fields.push(Arc::new(column.field(name).map_err(failed)?));
            notes.push(column.note(name, (name != property).then_some(property)));
        }
        let schema = Type::group_type_builder("table").with_fields(fields);
        let schema = Arc::new(schema.build().map_err(failed)?);
        let note = serde_json::to_string(&Json::Array(notes)).map_err(io::Error::from)?;
        // The footer has no entries for single pages: it stays in memory to the end.
        let properties = WriterProperties::builder()
            .set_created_by(concat!("larder version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(vec![KeyValue::new(NOTE.to_owned(), note)]));
        let properties = Arc::new(properties.build());
        let file = SerializedFileWriter::new(Vec::new(), schema, properties);
        Ok(Self {
            out,
            file: file.map_err(failed)?,
            columns: typed,
            rows: 0,
            held_bytes: 0,
        })
    }

    fn push(&mut self, key: &Json, row: &[Option<&Json>]) -> std::result::Result<(), Stop> {
        let cells = std::iter::once(Some(key)).chain(row.iter().copied());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let size_bytes = column.push(cell).ok_or_else(|| {
                // Both walks see one state of the store.
                Stop::Output(io::Error::other("the store was changed while it was read"))
            })?;
            self.held_bytes += size_bytes;
        }
        self.rows += 1;
        if self.held_bytes >= ROW_GROUP_BYTES {
            self.end_row_group()?;
        }
        Ok(())
    }

    fn end_row_group(&mut self) -> std::result::Result<(), Stop> {
        let mut write = || -> Result<()> {
            let mut group = self.file.next_row_group()?;
            for column in &mut self.columns {
                let Some(mut writer) = group.next_column()? else {
                    break;
                };
                column.write(&mut writer)?;
                writer.close()?;
            }
            group.close()?;
            self.file.flush()?;
            Ok(())
        };
        write().map_err(failed)?;
        self.held_bytes = 0;
        self.out.write_all(self.file.inner())?;
        self.file.inner_mut().clear();
        Ok(())
    }

    fn finish(mut self) -> std::result::Result<u64, Stop> {
        if self.held_bytes > 0 {
            self.end_row_group()?;
        }
        let end = self.file.into_inner().map_err(failed)?;
        self.out.write_all(&end)?;
        Ok(self.rows)
    }
}

/// The names of the columns: no two are equal, whatever the properties are called.
fn names(properties: &[&str]) -> Vec<String> {
    let mut names = vec![KEY_COLUMN.to_owned()];
    for property in properties {
        let mut name = (*property).to_owned();
        let mut number = 1;
        while name == KEY_COLUMN || (number > 1 && properties.contains(&&*name)) {
            name = format!("{property}_{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}

fn failed(error: ParquetError) -> Stop {
    Stop::Output(io::Error::other(error))
}
