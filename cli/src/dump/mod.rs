//! `larder dump`: every record, in one of three forms.

mod blobs;
mod canonical;
mod jsonl;
mod records;
mod text;

#[cfg(feature = "view")]
pub(crate) use blobs::SavedObject;
pub(crate) use blobs::file_name;
#[cfg(feature = "view")]
pub(crate) use jsonl::JsonLines;
pub(crate) use jsonl::push_key;

use std::io;

use crate::args::{DumpArgs, DumpFormat};
use crate::canonical::Extent;
use crate::output::Output;
use crate::per_store::PerStore;

/// The command for the form that is asked for.
///
/// # Errors
/// If the folder for blobs cannot be made.
pub(crate) fn command(
    args: &DumpArgs,
    output: Output,
    color: bool,
) -> io::Result<Box<dyn PerStore>> {
    let blobs = args
        .blobs
        .as_deref()
        .map(blobs::BlobFolder::make)
        .transpose()?;
    Ok(match args.format {
        DumpFormat::Canonical => {
            let extent = match args.digests {
                true => Extent::Digests,
                false => Extent::Whole,
            };
            Box::new(canonical::Canonical::new(output, blobs, extent))
        }
        DumpFormat::Jsonl => Box::new(jsonl::Jsonl::new(output, blobs)),
        DumpFormat::Text => Box::new(text::Text::new(output, blobs, color)),
    })
}
