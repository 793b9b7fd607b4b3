//! Many seeks, each to the first row of a prefix: in memtables in groups, in tables in the order of the prefixes, so that those that lie
//! in one block find it where the seek before has left it. A seek alone is the naive twin.

use super::Iter;
use crate::error::Result;
use crate::internal_key::seek_tag;
use crate::skip_list::{GROUP_LEN, Lead, fill, prefix_leads};
use crate::sort::{LOOKUPS_MAX, LOOKUPS_MIN, sort_by};
use std::ops::ControlFlow;

impl Iter {
    /// Finds the first row of each of many prefixes, which may come in any order and more than once. One call takes less time than a
    /// [`seek`](Self::seek) for each prefix if the prefixes are names of groups ([`Identity::Grouped`](crate::Identity::Grouped)), or
    /// lie together in tables.
    ///
    /// `found` is called once for each prefix, in any order. It gets the prefix's number, from 0, and key and value of the first row
    /// that is not less than the prefix, lent for the call, if that row's key begins with the prefix; or the error of the seek or the
    /// value. The call goes on to the next prefix after an error, and stops where `found` breaks. Afterwards the iterator stands on no
    /// row.
    ///
    /// ```
    /// # use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem};
    /// # use std::{ops::ControlFlow, path::Path, sync::Arc};
    /// # let options = Options { create_if_missing: true, ..Options::default() };
    /// # let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options)?;
    /// db.put(b"fruit/apple", b"red", Durability::Relaxed)?;
    /// db.put(b"fruit/pear", b"green", Durability::Relaxed)?;
    /// let prefixes: [&[u8]; 2] = [b"nut/", b"fruit/"];
    /// let mut values = [None, None];
    /// db.iter().multi_seek(prefixes, |n, row| {
    ///     values[n] = row.ok().flatten().map(|(_, value)| value.to_vec());
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(values, [None, Some(b"red".to_vec())]);
    /// # Ok::<(), larder_leveldb::Error>(())
    /// ```
    pub fn multi_seek<'k>(
        &mut self,
        prefixes: impl IntoIterator<Item = &'k [u8]>,
        mut found: impl FnMut(usize, Result<Option<(&[u8], &[u8])>>) -> ControlFlow<()>,
    ) {
        let mut prefixes = prefixes.into_iter().enumerate();
        if self.state.version.runs.is_empty() {
            let _ = self.seek_in_groups(prefixes, &mut found);
            return self.leave();
        }
        loop {
            let batch: Vec<_> = prefixes.by_ref().take(LOOKUPS_MAX).collect();
            let is_last = batch.len() < LOOKUPS_MAX;
            let batch = self.sorted(batch).into_iter();
            if self.seek_in_groups(batch, &mut found).is_break() || is_last {
                return self.leave();
            }
        }
    }

    /// The prefixes in their order, if they are many.
    fn sorted<'k>(&self, batch: Vec<(usize, &'k [u8])>) -> Vec<(usize, &'k [u8])> {
        if batch.len() < LOOKUPS_MIN {
            return batch;
        }
        let order = &self.state.core.order;
        let head = order.head();
        let headed = |(n, prefix): (usize, &'k [u8])| {
            let head = head.map_or(0, |head| head(prefix));
            (head, n, prefix)
        };
        let mut batch: Vec<_> = batch.into_iter().map(headed).collect();
        sort_by(&mut batch, |a, b| {
            let by_head = a.0.cmp(&b.0);
            by_head.then_with(|| order.compare_user(a.2, b.2))
        });
        let prefixes = batch.into_iter().map(|(_, n, prefix)| (n, prefix));
        prefixes.collect()
    }

    /// Seeks to prefixes as they come.
    fn seek_in_groups<'k>(
        &mut self,
        mut prefixes: impl Iterator<Item = (usize, &'k [u8])>,
        found: &mut impl FnMut(usize, Result<Option<(&[u8], &[u8])>>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        loop {
            let mut group = [(0, &[][..]); GROUP_LEN];
            let len = fill(&mut group, &mut prefixes);
            let leads = self.leads(&group.map(|(_, prefix)| prefix)[..len]);
            for ((n, prefix), lead) in group.into_iter().zip(leads).take(len) {
                self.seek_led(prefix, lead, |row| found(n, row))?;
            }
            if len < GROUP_LEN {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Loads the nodes that seeks in memtables will come to. They are known to be first if there is nothing else than one memtable.
    fn leads(&self, prefixes: &[&[u8]]) -> [Option<Lead>; GROUP_LEN] {
        if let Some(list) = self.state.only_memtable().filter(|_| self.bounds.is_none()) {
            return prefix_leads(list, prefixes).map(Some);
        }
        for list in &self.state.live {
            prefix_leads(list, prefixes);
        }
        [None; GROUP_LEN]
    }

    fn seek_led(
        &mut self,
        prefix: &[u8],
        lead: Option<Lead>,
        mut found: impl FnMut(Result<Option<(&[u8], &[u8])>>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tag_max = seek_tag(self.sequence);
        if let (Some((_, node)), Some(list)) =
            (lead.and_then(Lead::place), self.state.only_memtable())
            && let Some(flow) = list.with_first_of(node, prefix, tag_max, |key, value| {
                found(Ok(Some((key, value))))
            })
        {
            return flow;
        }
        match self.seek(prefix) {
            Ok(()) if self.valid() && self.key().starts_with(prefix) => {
                found(self.value().map(|value| Some((self.key(), value))))
            }
            Ok(()) => found(Ok(None)),
            Err(error) => found(Err(error)),
        }
    }
}
