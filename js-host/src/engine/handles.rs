//! [`Handles`]: the numbers by which script names what the engine has.
//!
//! A number is given back by `release`, which the binding calls when its object has been collected.

use larder_idb::{Connection, Cursor, Index, ObjectStore, Transaction, VersionChange};

use std::sync::Arc;

use super::changes::Changes;
use crate::realms::BlobContent;

/// What a number stands for.
#[derive(Debug, Clone)]
pub(super) enum Handle {
    Connection(Connection),
    Transaction(Transaction),
    Store(ObjectStore),
    Index(Index),
    Cursor(Cursor),
    Blob(BlobContent),
    Changes(Arc<Changes>),
}

/// All numbers in use.
#[derive(Debug, Default)]
pub(super) struct Handles {
    all: Vec<Option<Handle>>,
    free: Vec<u32>,
    /// Events of which script has not said that it has seen them.
    versionchanges: Vec<Option<VersionChange>>,
}

impl Handles {
    pub(super) fn add(&mut self, handle: Handle) -> u32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = Some(handle);
            return number;
        }
        self.all.push(Some(handle));
        // Fewer than memory has bytes.
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn get(&self, number: u32) -> Option<&Handle> {
        self.all.get(number as usize)?.as_ref()
    }

    pub(super) fn replace(&mut self, number: u32, handle: Handle) {
        if let Some(Some(old)) = self.all.get_mut(number as usize) {
            *old = handle;
        }
    }

    pub(super) fn release(&mut self, number: u32) -> Option<Handle> {
        let handle = self.all.get_mut(number as usize)?.take();
        if handle.is_some() {
            self.free.push(number);
        }
        handle
    }

    pub(super) fn add_versionchange(&mut self, event: VersionChange) -> usize {
        let free = self.versionchanges.iter().position(Option::is_none);
        let at = free.unwrap_or(self.versionchanges.len());
        if at == self.versionchanges.len() {
            self.versionchanges.push(None);
        }
        self.versionchanges[at] = Some(event);
        at
    }

    pub(super) fn take_versionchange(&mut self, number: usize) -> Option<VersionChange> {
        self.versionchanges.get_mut(number)?.take()
    }
}
