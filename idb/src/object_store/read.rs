//! Reading.

use super::ObjectStore;
use crate::error::Result;
use crate::reading::{Reader, reading_methods};

reading_methods!(ObjectStore);

impl ObjectStore {
    fn reader(&self) -> Result<Reader<'_>> {
        self.check_readable()?;
        Ok(Reader {
            transaction: &self.transaction,
            source: &self.source,
        })
    }
}
