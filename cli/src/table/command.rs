//! `larder export --format csv`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::write_csv;
use crate::args::ExportArgs;
use crate::display::Quoted;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;

/// The command.
pub(crate) struct TableExport {
    to: PathBuf,
    columns: Vec<String>,
    file: Output,
    output: Output,
    /// The place of the table that was written.
    written: Option<String>,
    records: u64,
}

impl TableExport {
    /// The command.
    ///
    /// # Errors
    /// In words, if an argument is missing or nothing can be written there.
    pub(crate) fn new(args: &ExportArgs, output: Output) -> Result<Self, String> {
        if args.content.store.is_none() {
            return Err(
                "--format csv is a table of one object store: name it with --store".to_owned(),
            );
        }
        if args.to.exists() {
            let what = "there is something of this name already: choose another name, or move it away first";
            return Err(format!("{}: {what}", args.to.display()));
        }
        let file = Output::open(Some(&args.to));
        Ok(Self {
            to: args.to.clone(),
            columns: args.columns.clone(),
            file: file.map_err(|error| format!("{}: {error}", args.to.display()))?,
            output,
            written: None,
            records: 0,
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
                if let Some(written) = &self.written {
                    let what = format!(
                        "a table is of one object store, and there are {written} and {place}: choose with --origin and --database"
                    );
                    return Err(Stop::Output(io::Error::other(what)));
                }
                let table = (&database, object_store);
                self.records = write_csv(&mut self.file, scan, table, &self.columns)?;
                self.written = Some(place);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Self {
            to,
            file,
            mut output,
            written,
            records,
            ..
        } = *self;
        if let Some(place) = written {
            file.finish()?;
            writeln!(output, "{}: {records} records of {place}", to.display())?;
        }
        output.finish()
    }
}
