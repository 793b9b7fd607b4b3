//! Several sorted sources as one.
//!
//! A binary heap of the sources that stand on an entry. After a step only the front source's key has changed, so it is
//! compared with the runner-up alone; the heap is touched only when another source takes the lead. Equal internal keys (a
//! log and the table that was made from it) come newest source first.

use crate::error::Result;
use crate::internal_key::InternalOrder;
use crate::source::Source;
use std::cmp::Ordering;

/// A position in all sources: on an entry, or on none.
#[derive(Debug)]
pub(crate) struct MergeCursor {
    order: InternalOrder,
    /// In the order of their ranks.
    sources: Vec<Source>,
    /// Sources on an entry; the first leads.
    heap: Vec<usize>,
    /// Where in the heap the runner-up is; zero if there is none.
    runner_up: usize,
    is_forward: bool,
}

impl MergeCursor {
    pub(crate) fn new(order: InternalOrder, sources: Vec<Source>) -> MergeCursor {
        MergeCursor {
            order,
            sources,
            heap: Vec::new(),
            runner_up: 0,
            is_forward: true,
        }
    }

    #[inline]
    pub(crate) fn current(&self) -> Option<&Source> {
        self.heap.first().map(|&i| &self.sources[i])
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.position(true, Source::seek_to_first)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.position(false, Source::seek_to_last)
    }

    /// To the first entry that is not less than `target`; from here forward.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.position(true, |source| source.seek(target))
    }

    /// To the last entry that is less than `target`; from here backward.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.position(false, |source| source.seek_before(target))
    }

    fn position(
        &mut self,
        is_forward: bool,
        mut go: impl FnMut(&mut Source) -> Result<()>,
    ) -> Result<()> {
        self.is_forward = is_forward;
        self.heap.clear();
        for i in 0..self.sources.len() {
            go(&mut self.sources[i])?;
            if self.sources[i].valid() {
                self.heap.push(i);
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        self.find_runner_up();
        Ok(())
    }

    /// One step on, in the direction of the last positioning.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<()> {
        let Some(&front) = self.heap.first() else {
            return Ok(());
        };
        let source = &mut self.sources[front];
        let stepped = if self.is_forward {
            source.next()
        } else {
            source.prev()
        };
        if stepped.is_ok() && source.valid() {
            if self.runner_up > 0 && self.leads(self.heap[self.runner_up], front) {
                self.heap.swap(0, self.runner_up);
                self.sift_down(self.runner_up);
                self.find_runner_up();
            }
            return Ok(());
        }
        self.drop_front();
        stepped
    }

    fn drop_front(&mut self) {
        self.heap.swap_remove(0);
        self.sift_down(0);
        self.find_runner_up();
    }

    /// Whether source `a` comes before source `b`.
    #[inline]
    fn leads(&self, a: usize, b: usize) -> bool {
        let by_key = self
            .order
            .compare(self.sources[a].key(), self.sources[b].key());
        let ordering = by_key.then(a.cmp(&b));
        if self.is_forward {
            ordering == Ordering::Less
        } else {
            ordering == Ordering::Greater
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heap.len() {
                return;
            }
            let is_right = right < self.heap.len() && self.leads(self.heap[right], self.heap[left]);
            let child = if is_right { right } else { left };
            if !self.leads(self.heap[child], self.heap[at]) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }

    fn find_runner_up(&mut self) {
        self.runner_up = match self.heap.len() {
            0 | 1 => 0,
            2 => 1,
            _ if self.leads(self.heap[2], self.heap[1]) => 2,
            _ => 1,
        };
    }
}
