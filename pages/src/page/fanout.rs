//! The fan-out of a page's trees: a row of the page, which an empty one may change for that of the page that it meets.

use super::{Inner, Page, locked};
use crate::commit::CommitId;
use crate::error::{Error, Result};
use crate::rows::FANOUT;
use crate::tree::Fanout;
use larder_leveldb::Db;
use larder_leveldb::write_batch::BatchWriter;

/// What the row says, if there is one.
pub(super) fn read(db: &Db) -> Result<Option<Fanout>> {
    match db.get(FANOUT)?.as_deref() {
        None => Ok(None),
        Some([bits]) => Fanout::of_bits(*bits).map(Some),
        Some(other) => {
            let what = format!("a fan-out of {} bytes", other.len());
            Err(Error::corruption(what))
        }
    }
}

/// Puts the row, where there is to be one.
pub(super) fn stage(batch: &mut BatchWriter, fanout: Fanout) {
    match fanout {
        Fanout::Of256 => batch.delete(FANOUT),
        other => batch.put(FANOUT, &[other.bits()]),
    }
}

impl Inner {
    pub(crate) fn fanout(&self) -> Fanout {
        *locked(&self.fanout)
    }
}

impl Page {
    /// The fan-out of the page's trees.
    pub fn fanout(&self) -> Fanout {
        self.0.fanout()
    }

    /// Gives an empty page the fan-out of the page of another device that it is to meet: nothing was ever committed to it.
    ///
    /// # Errors
    /// `Usage` if the page has commits, and another fan-out; those of the engine.
    pub fn adopt_fanout(&self, fanout: Fanout) -> Result<()> {
        let inner = &*self.0;
        let _writing = inner.writing();
        let own = inner.fanout();
        if own == fanout {
            return Ok(());
        }
        if self.heads().iter().any(|head| head.id() != CommitId::FIRST) {
            let (own, other) = (1 << own.bits(), 1 << fanout.bits());
            return Err(Error::usage(format!(
                "the page has nodes of about {own} entries, and is to meet one with nodes of {other}"
            )));
        }
        let mut batch = BatchWriter::new();
        stage(&mut batch, fanout);
        inner.write(&mut batch)?;
        *locked(&inner.fanout) = fanout;
        inner.nodes.clear();
        Ok(())
    }
}
