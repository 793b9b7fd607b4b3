//! Bytes that stay where the engine has them, instead of being copied.

use std::ops::Deref;
use std::sync::Arc;

/// A part of a block or of a memtable, which stays in memory as long as this does, whatever becomes of the database. Cheap to
/// clone.
///
/// A few bytes may so keep much more, see [`held_len`](Self::held_len): a caller that keeps pinned bytes for long, or many of them,
/// looks at that, and copies.
#[derive(Clone, Debug, Default)]
pub struct PinnedBytes {
    /// `None` is empty, and takes no memory.
    buffer: Option<Arc<Vec<u8>>>,
    start: usize,
    end: usize,
}

impl PinnedBytes {
    pub(crate) fn whole(buffer: Arc<Vec<u8>>) -> PinnedBytes {
        let end = buffer.len();
        PinnedBytes {
            buffer: Some(buffer),
            start: 0,
            end,
        }
    }

    /// The part `start..end` of these, cut to what there is.
    #[must_use]
    pub fn part(&self, start: usize, end: usize) -> PinnedBytes {
        let end = self.end.min(self.start.saturating_add(end));
        PinnedBytes {
            buffer: self.buffer.clone(),
            start: end.min(self.start.saturating_add(start)),
            end,
        }
    }

    /// How many bytes of the block or memtable are kept by this, and perhaps by others with the same [`memory`](Self::memory).
    #[must_use]
    pub fn held_len(&self) -> usize {
        self.buffer.as_ref().map_or(0, |buffer| buffer.len())
    }

    /// Which memory that is: the same number as long as any of its bytes are pinned.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.buffer
            .as_ref()
            .map_or(0, |buffer| Arc::as_ptr(buffer).addr())
    }

    /// Gives back the buffer.
    pub(crate) fn into_buffer(self) -> Option<Arc<Vec<u8>>> {
        self.buffer
    }
}

impl From<Vec<u8>> for PinnedBytes {
    fn from(bytes: Vec<u8>) -> PinnedBytes {
        PinnedBytes::whole(Arc::new(bytes))
    }
}

impl AsRef<[u8]> for PinnedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.buffer {
            Some(buffer) => &buffer[self.start..self.end],
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFileSystem;
    use crate::write_batch::BatchWriter;
    use crate::{Db, Durability, Iter, Options};
    use std::path::Path;

    fn pinned(iter: &mut Iter, key: &str) -> Option<PinnedBytes> {
        iter.seek(key.as_bytes()).unwrap();
        assert_eq!(iter.key(), key.as_bytes());
        let pinned = iter.pinned_value()?;
        assert_eq!(*pinned, *iter.value().unwrap());
        Some(pinned)
    }

    #[test]
    fn values_of_memtables_and_blocks_outlive_their_database() {
        let options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options).unwrap();
        let mut batch = BatchWriter::new();
        batch.put(b"first", &[1; 1000]);
        batch.put(b"second", &[2; 2000]);
        batch.put(b"short", b"3");
        db.write(&mut batch, Durability::Relaxed).unwrap();
        let mut live = db.snapshot().iter();
        assert!(live.pinned_value().is_none(), "on no row");
        let in_memtable = ["first", "second"].map(|key| pinned(&mut live, key).unwrap());
        assert!(pinned(&mut live, "short").is_none(), "it lies in its node");
        db.compact_range(None, None).unwrap();
        let mut tables = db.snapshot().iter();
        let in_block = ["first", "second", "short"].map(|key| pinned(&mut tables, key).unwrap());
        tables.seek_to_last().unwrap();
        assert!(tables.pinned_value().is_none(), "copied, going backward");
        drop((live, tables, db));
        for [first, second] in [in_memtable, [in_block[0].clone(), in_block[1].clone()]] {
            assert_eq!((&*first, &*second), (&[1; 1000][..], &[2; 2000][..]));
            assert_eq!(first.memory(), second.memory());
            assert!(first.held_len() >= 3000);
            assert_eq!(*second.part(1999, 3000), [2]);
            assert_eq!(*second.part(2001, usize::MAX), []);
        }
        assert_eq!(*in_block[2], *b"3");
    }
}
