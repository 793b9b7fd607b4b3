//! Records of one object store as a table: a row a record, a column a top-level property.
//!
//! Two walks: the first finds the columns, the second writes the rows, so memory has one record and the names.

mod cell;
mod columns;
mod command;
#[cfg(feature = "parquet")]
mod kind;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod typed_column;

pub use columns::{COLUMNS_MAX, Columns};
pub(crate) use command::TableExport;
#[cfg(feature = "parquet")]
pub use parquet_file::write_parquet;

use std::io::{self, Write};

use larder_backing_store::{CursorDirection, DatabaseMetadata, ObjectStoreMetadata};

use crate::archive::Json;
use crate::dump::push_key;
use crate::record::ValueReader;
use crate::scan::{Scan, Stop};

/// The column of primary keys.
pub const KEY_COLUMN: &str = "$key";
/// The column of values that are no objects.
pub const VALUE_COLUMN: &str = "$value";

/// Writes a table as CSV (RFC 4180): how many records.
///
/// # Errors
/// If the output is gone, the store cannot be read on, or there are too many columns.
pub fn write_csv(
    out: &mut dyn Write,
    scan: &mut Scan<'_>,
    (database, object_store): (&DatabaseMetadata, &ObjectStoreMetadata),
    wanted: &[String],
) -> Result<u64, Stop> {
    let mut columns = Columns::of_names(wanted);
    if wanted.is_empty() {
        for_each(scan, database, object_store, |_, value| columns.take(value))?;
    }
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    let failed = |error: csv::Error| Stop::Output(error.into());
    let names = std::iter::once(KEY_COLUMN).chain(columns.names());
    table.write_record(names).map_err(failed)?;
    let mut rows = 0;
    for_each(scan, database, object_store, |key, value| {
        rows += 1;
        let cells = columns.row(value);
        let cells = cells
            .iter()
            .map(|cell| cell.map_or_else(String::new, cell::text));
        let key = cell::text(key);
        table
            .write_record(std::iter::once(key).chain(cells))
            .map_err(failed)
    })?;
    table.flush()?;
    Ok(rows)
}

/// Calls `take` with the key and the value of each record. What cannot be read is reported, and passed over.
fn for_each(
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    mut take: impl FnMut(&Json, &Json) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let store = scan.store;
    let mut reader = ValueReader::new(store, database.id, object_store);
    let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
    let mut text = Vec::new();
    let parsed = |text: &[u8]| serde_json::from_slice::<Json>(text).map_err(io::Error::from);
    while scan.advance(|| records.next())? {
        let key = records.primary_key()?;
        text.clear();
        push_key(&mut text, key);
        let shown_key = parsed(&text)?;
        let read = reader.read(key, records.value()?, |tree, _| {
            text.clear();
            serde_json::to_writer(&mut text, tree)?;
            parsed(&text)
        });
        match read {
            Ok(value) => take(&shown_key, &value?)?,
            Err(error) => scan.value_damage(database, object_store, key, &error),
        }
    }
    Ok(())
}
