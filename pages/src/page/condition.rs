//! What is wrong with the files of a page, and which program has them.

use super::Page;
use crate::error::Error;
use larder_leveldb::storage::LockHolder;
use larder_leveldb::{Damage, TornTail};

impl Page {
    /// Damaged places of the files that were met so far. Empty unless the page was opened for reading with `OnDamage::Skip`: else what meets them
    /// fails.
    pub fn damage(&self) -> Vec<Damage> {
        self.0.db.damage()
    }

    /// Logs that were not read to their end when the page was opened, because a crash has taken something from it that was not durable.
    pub fn torn_tails(&self) -> &[TornTail] {
        self.0.db.torn_tails()
    }

    /// The process that had the page open when it was opened here for reading.
    pub fn lock_holder(&self) -> Option<LockHolder> {
        self.0.db.lock_holder()
    }

    /// Why heads were left out when the page was opened for reading with `OnDamage::Skip`: an error for each.
    pub fn unreadable_heads(&self) -> &[Error] {
        &self.0.unreadable_heads
    }
}
