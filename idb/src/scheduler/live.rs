//! A database's transactions that have not ended, in the order they were created.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::execution::TransactionCore;

/// Found by their numbers. There are few, and most come to their end in the order they came.
#[derive(Default)]
pub(super) struct Live(VecDeque<Arc<TransactionCore>>);

impl Live {
    /// The youngest.
    pub(super) fn add(&mut self, transaction: Arc<TransactionCore>) {
        self.0.push_back(transaction);
    }

    pub(super) fn get(&self, number: u64) -> Option<&Arc<TransactionCore>> {
        self.0.get(self.find(number)?)
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(at) = self.find(number) {
            self.0.remove(at);
        }
    }

    /// All, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<TransactionCore>> {
        self.0.iter()
    }

    fn find(&self, number: u64) -> Option<usize> {
        let number_of = |transaction: &Arc<TransactionCore>| transaction.plan.number;
        self.0.binary_search_by_key(&number, number_of).ok()
    }
}
