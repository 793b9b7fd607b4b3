//! `larder compact` and `larder clean`: does the job on each store that is found, and says what it has given back.

use std::io::{self, Write};
use std::sync::Arc;

use larder_backing_store::ErrorKind;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use serde::Serialize;

use super::{Job, LooseBlobs, maintain};
use crate::args::MaintainArgs;
use crate::display::Size;
use crate::open_store::needs_leveldb;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::sizes::BLOB_DEPTH_MAX;
use crate::stat::measure;
use crate::store_origin::StoreOrigin;

/// The command.
pub(crate) struct Maintain {
    job: Job,
    dry_run: bool,
    json: bool,
    fs: Arc<dyn FileSystem>,
    output: Output,
}

/// What is said of a store.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Done<'a> {
    origin: &'a str,
    path: String,
    dry_run: bool,
    #[serde(flatten)]
    gain: Gain,
}

/// What is of no use, or what was given back.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Gain {
    WouldCompact {
        entries: u64,
        entry_bytes: u64,
    },
    WouldClean {
        stale_index_rows: u64,
        undo_log_rows: u64,
        loose_blobs: u64,
        loose_blob_bytes: u64,
    },
    Is {
        bytes_before: u64,
        bytes_after: u64,
        blob_files_before: u64,
        blob_files_after: u64,
    },
}

impl Maintain {
    pub(crate) fn new(args: &MaintainArgs, job: Job, output: Output) -> Self {
        Self {
            job,
            dry_run: args.dry_run,
            json: args.json,
            fs: Arc::new(DiskFileSystem::new()),
            output,
        }
    }

    fn would(&self, scan: &mut Scan<'_>) -> Result<Gain, Stop> {
        let progress = &mut scan.progress;
        let is_clean = self.job == Job::Clean;
        let sizes = measure(scan.store, is_clean, &mut || progress.tick())?;
        if !is_clean {
            let (hidden, deletions) = (sizes.overwritten, sizes.deletions);
            return Ok(Gain::WouldCompact {
                entries: hidden.rows + deletions.rows,
                entry_bytes: hidden.bytes + deletions.bytes,
            });
        }
        let loose = LooseBlobs::find(scan.store)?;
        Ok(Gain::WouldClean {
            stale_index_rows: sizes.stale_rows(),
            // The row with the log's version stays.
            undo_log_rows: sizes.undo_log.rows.saturating_sub(1),
            loose_blobs: loose.files.len() as u64,
            loose_blob_bytes: loose.len_bytes,
        })
    }

    fn say(&mut self, done: &Done<'_>) -> io::Result<()> {
        let output = &mut self.output;
        if self.json {
            serde_json::to_writer(&mut *output, done).map_err(io::Error::from)?;
            return writeln!(output);
        }
        write!(output, "{}: ", done.path)?;
        match &done.gain {
            Gain::WouldCompact {
                entries,
                entry_bytes,
            } => writeln!(
                output,
                "would give back {entries} overwritten and deleted entries, {} before compression",
                Size(*entry_bytes)
            ),
            Gain::WouldClean {
                stale_index_rows,
                undo_log_rows,
                loose_blobs,
                loose_blob_bytes,
            } => writeln!(
                output,
                "would delete {stale_index_rows} stale index rows, {undo_log_rows} rows of the undo log and {loose_blobs} blob files ({})",
                Size(*loose_blob_bytes)
            ),
            Gain::Is {
                bytes_before,
                bytes_after,
                blob_files_before,
                blob_files_after,
            } => {
                let what = match self.job {
                    Job::Compact => "compacted",
                    Job::Clean => "cleaned",
                };
                let (before, after) = (Size(*bytes_before), Size(*bytes_after));
                write!(output, "{what}: {before} before, {after} now")?;
                match blob_files_before - blob_files_after.min(blob_files_before) {
                    0 => writeln!(output),
                    removed => writeln!(output, ", {removed} blob files removed"),
                }
            }
        }
    }
}

/// Bytes of a store's files, and how many of them are blobs.
fn sizes(scan: &mut Scan<'_>) -> (u64, u64) {
    let paths = scan.store.paths().clone();
    let (leveldb, _) = scan.sizes_below(&paths.leveldb, 0);
    let (blobs, count) = scan.sizes_below(&paths.blob, BLOB_DEPTH_MAX);
    (leveldb + blobs, count)
}

impl PerStore for Maintain {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let paths = scan.store.paths().clone();
        let place = paths.leveldb.display().to_string();
        if paths.is_sqlite() {
            return Err(needs_leveldb(&paths).into());
        }
        let gain = if self.dry_run {
            self.would(scan)?
        } else {
            let (bytes_before, blob_files_before) = sizes(scan);
            let progress = &mut scan.progress;
            if let Err(error) = maintain(&self.fs, &paths, self.job, &mut || progress.tick()) {
                let next = match error.kind() {
                    ErrorKind::Corruption => {
                        ": larder verify says more, and larder repair makes a store of what is certain"
                    }
                    ErrorKind::Conflict => ": close the program that has it open",
                    ErrorKind::Unsupported => ": larder copy writes it anew in Chromium's order",
                    _ if error.is_out_of_space() => {
                        ": make room on the disk, the store is as it was to any reader"
                    }
                    _ => "",
                };
                scan.report.failed(&place, format_args!("{error}{next}"));
                return Ok(());
            }
            let (bytes_after, blob_files_after) = sizes(scan);
            Gain::Is {
                bytes_before,
                bytes_after,
                blob_files_before,
                blob_files_after,
            }
        };
        let dry_run = self.dry_run;
        Ok(self.say(&Done {
            origin: &origin.shown,
            path: place,
            dry_run,
            gain,
        })?)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
