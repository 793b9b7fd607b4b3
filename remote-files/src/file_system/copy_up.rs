//! Going on with a file, or with a part of it, under a new number.
//!
//! A blob has one writer, ever: requests of the one before may still be on their way and would write over what is new. What a file has
//! is therefore copied when it is written again after it was closed, and when it is cut off. Both are rare: logs and
//! tables are written from beginning to end.

use super::course::Course;
use super::read::FileSource;
use super::tail::Live;
use super::{Shared, locked};
use crate::blobs::SPAN_LEN_MAX;
use std::io;
use std::sync::Arc;

impl Shared {
    /// A file with the first `len_bytes` of another one, in its place.
    pub(super) fn copy_up(
        &self,
        source: &FileSource,
        blob: u64,
        len_bytes: u64,
    ) -> io::Result<Arc<Live>> {
        let owner = self.owner()?;
        let live = Live::replacing(owner.new_blob()?, self.options.chunk_len, blob);
        let mut buffer = vec![0; len_bytes.min(SPAN_LEN_MAX / 4) as usize];
        let course = Course::whole();
        let mut at = 0;
        while at < len_bytes {
            let n = buffer
                .len()
                .min(usize::try_from(len_bytes - at).unwrap_or(usize::MAX));
            match source.read_at(self, at, &mut buffer[..n], &course)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    live.append(self, &buffer[..n])?;
                    at += n as u64;
                }
            }
        }
        live.sync(self)?;
        let live = Arc::new(live);
        self.replace_live(blob, &live);
        Ok(live)
    }

    /// The file of one blob is now that of another one, whose content is being written.
    pub(super) fn replace_live(&self, before: u64, live: &Arc<Live>) {
        let mut all = locked(&self.live);
        all.remove(&before);
        all.insert(live.blob, Arc::clone(live));
        self.move_locks(before, live.blob);
    }
}
