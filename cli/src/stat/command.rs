//! `larder stat`: prints what takes how much.

use std::io::{self, Write};

use serde::Serialize;

use super::{Amount, DatabaseSizes, StoreSizes, measure};
use crate::args::StatArgs;
use crate::display::{Counted, Quoted, Size};
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::sizes::BLOB_DEPTH_MAX;
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// The command.
pub(crate) struct Stat {
    stale: bool,
    json: bool,
    output: Output,
    style: Style,
}

/// A store as `--format json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
struct Listing<'a> {
    origin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<&'a str>,
    path: String,
    /// Bytes of LevelDB's files, as they lie on the disk.
    leveldb_bytes: u64,
    /// Files of the blob folder and their bytes.
    blob_files: u64,
    blob_bytes: u64,
    #[serde(flatten)]
    sizes: &'a StoreSizes,
    /// What maintenance would give back.
    gain: Gain,
}

/// What maintenance would give back.
#[derive(Debug, Serialize)]
struct Gain {
    /// Stale index rows, which a sweep deletes; absent if they were not looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_index_rows: Option<u64>,
    /// Entries that a compaction drops: overwritten ones and deletions.
    entries: Amount,
    /// Bytes of blob files that no record refers to.
    blob_bytes: u64,
}

impl Stat {
    pub(crate) fn new(args: &StatArgs, output: Output, color: bool) -> Self {
        Self {
            stale: !args.quick,
            json: args.report.is_json(),
            output,
            style: Style::new(color),
        }
    }

    fn write_text(&mut self, listing: &Listing<'_>, heading: String) -> io::Result<()> {
        let Self { output, style, .. } = self;
        let (leveldb, blobs) = (Size(listing.leveldb_bytes), Size(listing.blob_bytes));
        writeln!(output, "{}", style.heading(heading))?;
        writeln!(output, "  {}", style.faint(&listing.path))?;
        writeln!(
            output,
            "  LevelDB {leveldb} on disk, {} blob files {blobs}",
            listing.blob_files
        )?;
        let sizes = listing.sizes;
        for database in &sizes.databases {
            write_database(output, *style, database)?;
        }
        for (what, amount) in [
            ("metadata", sizes.metadata),
            ("undo log", sizes.undo_log),
            ("of no database, object store or index", sizes.left_over),
            ("overwritten", sizes.overwritten),
            ("deletions", sizes.deletions),
        ] {
            if amount.rows > 0 {
                let size = Size(amount.bytes);
                writeln!(output, "  {what}: {} {size}", Counted(amount.rows, "row"))?;
            }
        }
        let gain = &listing.gain;
        write!(output, "  maintenance would give back: ")?;
        if let Some(stale) = gain.stale_index_rows {
            write!(output, "{stale} stale index rows, ")?;
        }
        let (entries, blobs) = (Size(gain.entries.bytes), Size(gain.blob_bytes));
        writeln!(
            output,
            "{} entries {entries} before compression, {blobs} of blobs",
            gain.entries.rows
        )
    }
}

fn write_database(out: &mut Output, style: Style, database: &DatabaseSizes) -> io::Result<()> {
    write!(out, "  {}", style.name(Quoted(&database.name)))?;
    if database.blobs.rows > 0 {
        let size = Size(database.blobs.bytes);
        write!(out, ", {} {size}", Counted(database.blobs.rows, "blob"))?;
    }
    writeln!(out)?;
    for store in &database.object_stores {
        let (name, records) = (style.name(Quoted(&store.name)), store.records);
        let size = Size(records.bytes);
        writeln!(
            out,
            "    {name}: {} {size}",
            Counted(records.rows, "record")
        )?;
        for index in &store.indexes {
            let (name, entries) = (style.name(Quoted(&index.name)), index.entries);
            let size = Size(entries.bytes);
            write!(
                out,
                "      index {name}: {} {size}",
                Counted(entries.rows, "row")
            )?;
            match index.stale_rows {
                None | Some(0) => writeln!(out)?,
                Some(stale) => writeln!(out, ", {stale} of them stale")?,
            }
        }
    }
    Ok(())
}

impl PerStore for Stat {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let progress = &mut scan.progress;
        let sizes = measure(scan.store, self.stale, &mut || progress.tick())?;
        let paths = scan.store.paths();
        let (leveldb_bytes, _) = scan.sizes_below(&paths.leveldb, 0);
        let (blob_bytes, blob_files) = scan.sizes_below(&paths.blob, BLOB_DEPTH_MAX);
        let (hidden, deletions) = (sizes.overwritten, sizes.deletions);
        let listing = Listing {
            origin: &origin.shown,
            bucket: origin.bucket.as_deref(),
            path: paths.leveldb.display().to_string(),
            leveldb_bytes,
            blob_files,
            blob_bytes,
            gain: Gain {
                stale_index_rows: self.stale.then(|| sizes.stale_rows()),
                entries: Amount {
                    rows: hidden.rows + deletions.rows,
                    bytes: hidden.bytes + deletions.bytes,
                },
                blob_bytes: blob_bytes.saturating_sub(sizes.blobs().bytes),
            },
            sizes: &sizes,
        };
        match self.json {
            true => {
                serde_json::to_writer(&mut self.output, &listing).map_err(io::Error::from)?;
                writeln!(self.output)?;
            }
            false => self.write_text(&listing, origin.heading())?,
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
