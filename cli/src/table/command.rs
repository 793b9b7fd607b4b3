//! `larder export --format csv` and `--format parquet`.

use std::io::{self, Write};
use std::path::PathBuf;

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata};

use super::write_csv;
#[cfg(feature = "parquet")]
use super::write_parquet;
use crate::args::{ExportArgs, ExportFormat};
use crate::display::Quoted;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;

/// What writes a table, and says how many records it has.
type WriteTable = fn(
    &mut dyn Write,
    &mut Scan<'_>,
    (&DatabaseMetadata, &ObjectStoreMetadata),
    &[String],
) -> Result<u64, Stop>;

/// The command.
pub(crate) struct TableExport {
    to: PathBuf,
    columns: Vec<String>,
    write_table: WriteTable,
    /// None if nothing is to be written.
    file: Option<Output>,
    output: Output,
    /// The place of the table.
    place: Option<String>,
    /// How many records were written, if all were.
    records: Option<u64>,
}

impl TableExport {
    /// The command, of a format that is a table's.
    ///
    /// # Errors
    /// In words, if an argument is missing or nothing can be written there.
    pub(crate) fn new(args: &ExportArgs, output: Output) -> Result<Self, String> {
        let (name, write_table): (_, WriteTable) = match args.format {
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => ("parquet", write_parquet),
            ExportFormat::Csv | ExportFormat::Archive => ("csv", write_csv),
        };
        if args.content.store.is_none() {
            return Err(format!(
                "--format {name} is a table of one object store: name it with --store"
            ));
        }
        if args.to.exists() {
            let what = "there is something of this name already: choose another name, or move it away first";
            return Err(format!("{}: {what}", args.to.display()));
        }
        let file = match args.dry_run {
            true => Ok(None),
            false => Output::open(Some(&args.to)).map(Some),
        };
        Ok(Self {
            to: args.to.clone(),
            columns: args.columns.clone(),
            write_table,
            file: file.map_err(|error| format!("{}: {error}", args.to.display()))?,
            output,
            place: None,
            records: None,
        })
    }
}

impl PerStore for TableExport {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, _origin: &StoreOrigin) -> Result<(), Stop> {
        let path = scan.store.paths().leveldb.display().to_string();
        for database in scan.databases()? {
            if database.version.is_none() {
                continue;
            }
            let wanted: Vec<_> = scan.object_stores(&database).collect();
            for object_store in wanted {
                let place = format!(
                    "{path}: database {}, object store {}",
                    Quoted(&database.name),
                    Quoted(&object_store.name)
                );
                if let Some(other) = &self.place {
                    let what = format!(
                        "a table is of one object store, and there are {other} and {place}: choose with --origin and --database"
                    );
                    return Err(Stop::Output(io::Error::other(what)));
                }
                self.place = Some(place);
                let mut nothing = io::sink();
                let out: &mut dyn Write = match &mut self.file {
                    Some(file) => file,
                    None => &mut nothing,
                };
                let table = (&database, object_store);
                let records = (self.write_table)(out, scan, table, &self.columns)?;
                self.records = Some(records);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Self {
            to,
            file,
            mut output,
            place,
            records,
            ..
        } = *self;
        if let (Some(place), Some(records)) = (place, records) {
            let would = if file.is_none() { "would have " } else { "" };
            if let Some(file) = file {
                file.finish()?;
            }
            writeln!(
                output,
                "{}: {would}{records} records of {place}",
                to.display()
            )?;
        }
        output.finish()
    }
}
