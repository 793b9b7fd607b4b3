//! Archives: what stores have, as JSON Lines that need no library of ours to be read and in which nothing is lost, and back (docs/format/archive.md).
//!
//! Files of dexie-export-import are imported, too (docs/format/dexie.md).
//!
//! Both ways are streams: memory is one record's, whatever the archive has. What is written appears whole, or not at all.

mod bigint;
mod command;
mod date;
mod dexie;
mod error;
mod export;
mod external;
mod import;
mod json;
mod line;
mod lines;
mod new_store;
mod spool;
mod sums;
mod target;
mod value;

pub(crate) use command::{Export, import};
pub use error::ArchiveError;
pub use export::{ArchiveWriter, Counts, Exported, Source};
#[cfg(feature = "sync")]
pub(crate) use external::UNIX_EPOCH_MICROS;
pub use import::{ImportOptions, Imported, check_bytes, import_archive};
pub(crate) use json::Json;
pub use target::Form;
#[cfg(feature = "parquet")]
pub(crate) use {date::milliseconds, json::hex};

use base64ct::{Base64, Encoding};

/// The version of the form that is written, and the greatest that is read.
const FORMAT_VERSION: u32 = 1;

/// The file of lines in a folder.
const LINES_FILE: &str = "archive.jsonl";

/// The folder of blobs in a folder.
const BLOBS_FOLDER: &str = "blobs";

/// Appends bytes in base64.
fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + Base64::encoded_len(bytes), 0);
    // It has exactly the length that is needed.
    if let Some(place) = out.get_mut(start..) {
        let _ = Base64::encode(bytes, place);
    }
}
