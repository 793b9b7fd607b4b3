//! External objects that are written: their contents, their files, and the journals that say which files may go.
//!
//! A blob's life (facts from Chromium's `content/browser/indexed_db/instance/leveldb/backing_store.cc`):
//!
//! 1. At commit it gets a number, and with one synced write all new numbers stand in the *recovery* journal.
//! 2. Its file is written and synced.
//! 3. The transaction's last batch has the external object row, and the recovery journal without the number.
//! 4. When the record goes, the number moves into the recovery journal, in the batch that removes the row; or, as long
//!    as a reader may read the blob, into the *active* journal.
//! 5. Its file is removed, and the number struck from the journal.
//!
//! So after a crash at any moment a file that nothing refers to stands in a journal.

mod file;
mod held;
mod source;

pub(crate) use file::{BlobFiles, DurableDirs};
pub use held::BlobHandle;
pub(crate) use held::{HeldBlobs, ReaderGuard};
pub use source::{BlobSource, NewExternalObject};

use larder_codec::blob_journal::{BlobJournalEntry, JournalBlobs};
use larder_codec::{BlobNumber, DatabaseId};

/// One blob, as a journal's entry.
pub(crate) const fn entry(database_id: DatabaseId, number: BlobNumber) -> BlobJournalEntry {
    BlobJournalEntry {
        database_id,
        blobs: JournalBlobs::One(number),
    }
}
