//! Keys that will be looked up soon.

use crate::internal_key::{EntryKind, seek_tag};
use crate::skip_list::{KEYS_MAX, SkipList, Sought};
use crate::snapshot::Snapshot;
use std::sync::Arc;

/// Keys that will be looked up soon in a snapshot. What the memtables have of them is loaded all at once, so that the lookups do
/// not wait for memory one after the other, nor search again. They find the same without. Made by [`Snapshot::look_ahead`].
#[derive(Debug)]
pub struct LookAhead {
    snapshot: Snapshot,
    keys: Noted,
    groups: Noted,
}

/// What was noted, in order.
#[derive(Clone, Debug, Default)]
struct Noted {
    all: [Sought; KEYS_MAX],
    len: usize,
}

impl Noted {
    fn push(&mut self, sought: Sought) {
        if let Some(next) = self.all.get_mut(self.len) {
            *next = sought;
            self.len += 1;
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Sought] {
        let len = self.len;
        &mut self.all[..len]
    }
}

impl LookAhead {
    /// More keys are not noted, nor more groups.
    pub const KEYS_MAX: usize = KEYS_MAX;

    pub(crate) fn new(snapshot: Snapshot) -> LookAhead {
        LookAhead {
            snapshot,
            keys: Noted::default(),
            groups: Noted::default(),
        }
    }

    /// What it is about.
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn lists(&self) -> &[Arc<SkipList>] {
        self.snapshot.memtables()
    }

    /// Begins anew: nothing is noted.
    pub const fn clear(&mut self) {
        self.keys.len = 0;
        self.groups.len = 0;
    }

    /// Notes a key.
    #[inline]
    pub fn note(&mut self, key: &[u8]) {
        let newest = self.lists().first();
        let sought = newest.map_or(Sought::UNKNOWN, |list| list.sought(key));
        self.keys.push(sought);
    }

    /// Notes the name of a group of keys ([`Identity::Grouped`](crate::Identity::Grouped)) that a cursor will be set to.
    #[inline]
    pub fn note_group(&mut self, name: &[u8]) {
        let newest = self.lists().first();
        let sought = newest.map_or(Sought::UNKNOWN, |list| list.sought_group(name));
        self.groups.push(sought);
    }

    /// Loads where the groups begin that were noted. Tells the values that seem to be their first entries' in each memtable, but for
    /// long ones, since other lookups may depend on them, whose keys can be noted then.
    pub fn touch_groups(&mut self, mut found: impl FnMut(&[u8], &mut Self)) {
        let groups = std::mem::take(&mut self.groups);
        for at in 0..self.lists().len() {
            let Some(list) = self.lists().get(at).cloned() else {
                return;
            };
            let mut groups = groups.clone();
            list.touch_groups(groups.as_mut_slice(), |value| found(value, self));
        }
    }

    /// Loads where the groups begin that were noted, if all there is lies in one memtable: whether it does, and
    /// [`first_of_group`](Self::first_of_group) tells then.
    pub fn touch_only_groups(&mut self) -> bool {
        let Some(list) = self.snapshot.only_memtable() else {
            return false;
        };
        list.touch_nodes(0, self.groups.as_mut_slice());
        true
    }

    /// Appends the value of the first row of the group that was noted as the `n`th, from 0, under this name: whether that is known.
    #[inline]
    pub fn first_of_group(&self, n: usize, name: &[u8], value: &mut Vec<u8>) -> bool {
        let sought = self.groups.all[..self.groups.len].get(n);
        let place = sought.and_then(|sought| sought.place());
        let (Some((_, node)), Some(list)) = (place, self.snapshot.only_memtable()) else {
            return false;
        };
        list.first_of(node, name, seek_tag(self.snapshot.sequence()), value)
    }

    /// Loads what lookups of the keys that were noted will. How many of them seem to be in memtables.
    pub fn touch(&mut self) -> usize {
        let lists = self.snapshot.memtables().iter().enumerate();
        let keys = self.keys.as_mut_slice();
        lists.map(|(at, list)| list.touch(at, keys)).sum()
    }

    /// As [`Snapshot::get_into`] of the key that was noted as the `n`th, from 0, if [`touch`](Self::touch) has found it; `None` if
    /// that has to be asked.
    #[inline]
    pub fn get_into(&self, n: usize, key: &[u8], value: &mut Vec<u8>) -> Option<bool> {
        value.clear();
        self.append_to(n, key, usize::MAX, value)
    }

    /// The same, behind what is in `out`, to which nothing is added if there is no value; `None` also of a value with more than
    /// `len_max` bytes.
    #[inline]
    pub fn append_to(
        &self,
        n: usize,
        key: &[u8],
        len_max: usize,
        out: &mut Vec<u8>,
    ) -> Option<bool> {
        let (list, node) = self.keys.all[..self.keys.len].get(n)?.place()?;
        let list = self.lists().get(list)?;
        if list.value_len(node) > len_max {
            return None;
        }
        let tag = list.get_at(node, key, seek_tag(self.snapshot.sequence()), out)?;
        Some(tag as u8 == EntryKind::Value.to_byte())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFileSystem;
    use crate::write_batch::BatchWriter;
    use crate::{Background, BytewiseComparator, Db, Durability, Identity, KeyFacts, Options};
    use std::path::Path;

    fn key(n: u32) -> Vec<u8> {
        match n % 7 {
            0 => vec![b'k'; 300 + (n % 500) as usize],
            _ => format!("key {n:05}").into_bytes(),
        }
    }

    /// Of three keys one has another value from now on, one is deleted.
    fn write(db: &Db, keys: impl Iterator<Item = u32>, value: &[u8]) {
        let mut batch = BatchWriter::new();
        for n in keys {
            match n % 3 {
                0 => batch.put(&key(n), value),
                1 => batch.delete(&key(n)),
                _ => {}
            }
        }
        db.write(&mut batch, Durability::Relaxed).unwrap();
    }

    #[test]
    fn what_was_looked_ahead_for_is_what_a_lookup_finds() {
        const KEYS: u32 = if cfg!(miri) { 60 } else { 2000 };
        let options = Options {
            create_if_missing: true,
            write_buffer_bytes: if cfg!(miri) { 4000 } else { 64 << 10 },
            background: Background::Caller,
            key_facts: Some(KeyFacts {
                identity: |_| Identity::Bytes,
                head: |_| 0,
            }),
            ..Options::new(Arc::new(BytewiseComparator))
        };
        let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options).unwrap();
        assert!(db.snapshot().look_ahead().is_none(), "nothing is there");
        let mut snapshots = Vec::new();
        for round in 0..3 {
            // The second into the same memtable as the first, or the one behind it; the third where another is full.
            write(
                &db,
                (0..KEYS).filter(|n| n / 16 % 3 >= round),
                &[round as u8; 40],
            );
            snapshots.push(db.snapshot());
        }
        let mut lists = [0; 2];
        let mut value = Vec::new();
        for snapshot in snapshots {
            let mut ahead = snapshot.look_ahead().unwrap();
            let (mut known, mut deleted) = (0, 0);
            for first in (0..KEYS).step_by(20) {
                ahead.clear();
                // More than are noted.
                let keys: Vec<Vec<u8>> = (first..first + 20).map(key).collect();
                keys.iter().for_each(|key| ahead.note(key));
                let touched = ahead.touch();
                let places = ahead
                    .keys
                    .as_mut_slice()
                    .iter()
                    .filter_map(|sought| sought.place());
                let places: Vec<_> = places.collect();
                assert_eq!(touched, places.len());
                places.iter().for_each(|(list, _)| lists[*list] += 1);
                for (n, key) in keys.iter().enumerate() {
                    let Some(found) = ahead.get_into(n, key, &mut value) else {
                        continue;
                    };
                    assert!(n < LookAhead::KEYS_MAX);
                    let expected = snapshot.get(key).unwrap();
                    assert_eq!(found.then_some(&value), expected.as_ref());
                    known += 1;
                    deleted += u32::from(!found);
                    // Asked for another key, it does not tell that one's value.
                    assert_eq!(ahead.get_into(n, b"another", &mut value), None);
                }
            }
            assert!(
                known > KEYS / 10 && deleted > KEYS / 30,
                "{known} {deleted}"
            );
        }
        assert!(lists.iter().all(|places| *places > 0), "{lists:?}");
    }
}
