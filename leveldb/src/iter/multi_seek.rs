//! Many seeks, each to the first row of a prefix.

use super::Iter;
use crate::error::Result;
use crate::internal_key::seek_tag;
use crate::skip_list::{GROUP_LEN, Lead, fill, prefix_leads};
use std::ops::ControlFlow;

impl Iter {
    /// Seeks to many prefixes, in any order and also twice, which takes less time than as many [`seek`](Self::seek)s where the
    /// prefixes are names of groups ([`Identity::Grouped`](crate::Identity::Grouped)). Calls `found` for each in the order given,
    /// with its number, from 0, and key and value of the first row not less than the prefix, lent for the call, if that row's key
    /// begins with it; or with the error that the seek or the value gives. Goes on to the next prefix after an error, and stops
    /// where `found` breaks. Afterwards the iterator stands on no row.
    ///
    /// ```
    /// # use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem};
    /// # use std::{ops::ControlFlow, path::Path, sync::Arc};
    /// # let options = Options { create_if_missing: true, ..Options::default() };
    /// # let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options)?;
    /// db.put(b"fruit/apple", b"red", Durability::Relaxed)?;
    /// db.put(b"fruit/pear", b"green", Durability::Relaxed)?;
    /// let prefixes: [&[u8]; 2] = [b"nut/", b"fruit/"];
    /// let mut values = Vec::new();
    /// db.iter().multi_seek(prefixes, |_, row| {
    ///     values.push(row.map(|row| row.map(|(_, value)| value.to_vec())));
    ///     ControlFlow::Continue(())
    /// });
    /// let values: Vec<_> = values.into_iter().collect::<Result<_, _>>()?;
    /// assert_eq!(values, [None, Some(b"red".to_vec())]);
    /// # Ok::<(), larder_leveldb::Error>(())
    /// ```
    pub fn multi_seek<'k>(
        &mut self,
        prefixes: impl IntoIterator<Item = &'k [u8]>,
        mut found: impl FnMut(usize, Result<Option<(&[u8], &[u8])>>) -> ControlFlow<()>,
    ) {
        let mut prefixes = prefixes.into_iter();
        let mut n = 0;
        loop {
            let mut group = [&[][..]; GROUP_LEN];
            let len = fill(&mut group, &mut prefixes);
            let leads = self.leads(&group[..len]);
            for (prefix, lead) in group.iter().zip(leads).take(len) {
                if self.seek_led(prefix, lead, |row| found(n, row)).is_break() {
                    return self.leave();
                }
                n += 1;
            }
            if len < GROUP_LEN {
                return self.leave();
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
