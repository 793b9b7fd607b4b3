//! `--format canonical`: one document an origin and line.

use std::io;

use super::blobs::BlobFolder;
use super::records::{Record, RecordWriter, write_records};
use crate::canonical::{Extent, write_document};
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;

/// The form.
pub(super) struct Canonical {
    output: Output,
    blobs: Option<BlobFolder>,
    extent: Extent,
}

/// Takes records for the sake of the blobs only.
struct NoOutput;

impl RecordWriter for NoOutput {
    fn object_store(
        &mut self,
        _database: &larder_backing_store::DatabaseMetadata,
        _object_store: &larder_backing_store::ObjectStoreMetadata,
    ) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, _record: &Record<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl Canonical {
    pub(super) fn new(output: Output, blobs: Option<BlobFolder>, extent: Extent) -> Self {
        Self {
            output,
            blobs,
            extent,
        }
    }
}

impl PerStore for Canonical {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        write_document(
            &mut self.output,
            scan,
            &origin.shown,
            origin.bucket.as_deref(),
            self.extent,
        )?;
        if let Some(blobs) = &mut self.blobs {
            write_records(scan, Some(blobs), &mut NoOutput)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
