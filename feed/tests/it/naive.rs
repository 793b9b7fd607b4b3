//! The naive model: maps, and a list of everything that has changed.

use std::collections::{BTreeMap, BTreeSet};

use larder_feed::RevisionKind;

/// A revision, with all that is to be found of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NaiveRevision {
    pub(crate) number: u64,
    pub(crate) store: u64,
    pub(crate) name: String,
    pub(crate) key: i64,
    pub(crate) kind: RevisionKind,
    pub(crate) value: Option<u64>,
    /// The value was overwritten or removed by others, and is not to be had.
    pub(crate) is_lost: bool,
    pub(crate) from_source: bool,
    pub(crate) ends: bool,
}

/// Records by object store and key.
pub(crate) type Records = BTreeMap<(u64, i64), u64>;

/// What a database has in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Naive {
    pub(crate) names: BTreeMap<u64, String>,
    pub(crate) records: Records,
    /// Since the feed was turned on; `None` if it is off.
    pub(crate) feed: Option<NaiveFeed>,
    pub(crate) next_store: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NaiveFeed {
    /// All there ever were.
    pub(crate) all: Vec<NaiveRevision>,
    /// The numbers of those that clean-up has left.
    pub(crate) retained: BTreeSet<u64>,
    pub(crate) cleaned: u64,
    pub(crate) consumers: BTreeMap<String, u64>,
}

/// One change that a transaction makes.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Put(u64, i64, u64),
    Delete(u64, i64, i64),
    Clear(u64),
    Create(String),
    Drop(u64),
    Rename(u64, String),
    Feed(bool),
}

impl Naive {
    /// Applies a transaction, all of it.
    pub(crate) fn commit(&mut self, steps: &[Step], from_source: bool) {
        let before = self.last();
        for step in steps {
            self.step(step, from_source);
        }
        if let Some(feed) = &mut self.feed
            && let Some(last) = feed.all.last_mut()
            && last.number > before
        {
            last.ends = true;
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.feed.as_ref().map_or(0, |feed| feed.all.len() as u64)
    }

    fn step(&mut self, step: &Step, from_source: bool) {
        match step {
            Step::Put(store, key, value) => {
                let kind = match self.records.insert((*store, *key), *value) {
                    None => RevisionKind::Creation,
                    Some(_) => RevisionKind::Modification,
                };
                self.note(*store, *key, kind, Some(*value), from_source);
            }
            Step::Delete(store, from, to) => self.delete(*store, *from, *to, from_source),
            Step::Clear(store) => self.delete(*store, i64::MIN, i64::MAX, from_source),
            Step::Create(name) => {
                self.names.insert(self.next_store, name.clone());
                self.next_store += 1;
            }
            Step::Drop(store) => {
                self.delete(*store, i64::MIN, i64::MAX, from_source);
                self.names.remove(store);
            }
            Step::Rename(store, name) => {
                self.names.insert(*store, name.clone());
            }
            Step::Feed(false) => self.feed = None,
            Step::Feed(true) => {
                self.feed = Some(NaiveFeed::default());
                // In the order in which they were put: each value is greater than those before.
                let mut records: Vec<_> = self.records.clone().into_iter().collect();
                records.sort_by_key(|((store, _), value)| (*store, *value));
                for ((store, key), value) in records {
                    self.note(store, key, RevisionKind::Creation, Some(value), from_source);
                }
            }
        }
    }

    /// Applies what others do without a note: what has changed by the end becomes revisions, as a comparison finds it.
    pub(crate) fn others(&mut self, steps: &[Step]) {
        let (before, names) = (self.records.clone(), self.names.clone());
        let feed = self.feed.take();
        for step in steps {
            self.step(step, false);
        }
        self.feed = feed;
        let (last, names_after) = (self.last(), self.names.clone());
        for (store, name) in &names {
            let of_store = |at: &&(u64, i64)| at.0 == *store;
            // Each value is greater than those that were put before it, and keeps its place.
            let mut put: Vec<_> = self
                .records
                .iter()
                .map(|(at, value)| (*value, *at))
                .collect();
            put.retain(|(value, at)| of_store(&at) && before.get(at) != Some(value));
            put.sort_unstable();
            for (value, at) in put {
                let kind = match before.contains_key(&at) {
                    true => RevisionKind::Modification,
                    false => RevisionKind::Creation,
                };
                self.note_of_others(at, name, kind, Some(value));
            }
            let gone = before
                .iter()
                .filter(|(at, _)| of_store(at) && !self.records.contains_key(at));
            let mut gone: Vec<_> = gone.map(|(at, value)| (*value, *at)).collect();
            gone.sort_unstable();
            // An object store that is gone has the name of the last revision of those that were there.
            let all = self.feed.as_ref().map_or(&[][..], |feed| &feed.all);
            let of_last = |(_, last): &(u64, (u64, i64))| {
                let revision = all
                    .iter()
                    .rfind(|revision| (revision.store, revision.key) == *last);
                revision.map(|revision| revision.name.clone())
            };
            let is_there = names_after.contains_key(store);
            let known = gone.last().filter(|_| !is_there).and_then(of_last);
            let name = known.unwrap_or_else(|| name.clone());
            for (_, at) in gone {
                self.note_of_others(at, &name, RevisionKind::Removal, None);
            }
        }
        if let Some(feed) = &mut self.feed
            && let Some(at) = feed.all.last_mut().filter(|at| at.number > last)
        {
            at.ends = true;
        }
        self.names = names_after;
    }

    fn note_of_others(
        &mut self,
        (store, key): (u64, i64),
        name: &str,
        kind: RevisionKind,
        value: Option<u64>,
    ) {
        let Some(feed) = &mut self.feed else { return };
        let of_record = |at: &&mut NaiveRevision| (at.store, at.key) == (store, key);
        if let Some(before) = feed.all.iter_mut().rfind(of_record) {
            before.is_lost = before.value.is_some();
        }
        self.names.insert(store, name.to_owned());
        self.note(store, key, kind, value, false);
    }

    fn delete(&mut self, store: u64, from: i64, to: i64, from_source: bool) {
        let range = (store, from)..=(store, to);
        let gone: Vec<_> = self.records.range(range).map(|(at, _)| *at).collect();
        for at in gone {
            self.records.remove(&at);
            self.note(at.0, at.1, RevisionKind::Removal, None, from_source);
        }
    }

    fn note(
        &mut self,
        store: u64,
        key: i64,
        kind: RevisionKind,
        value: Option<u64>,
        from_source: bool,
    ) {
        let name = self.names[&store].clone();
        let Some(feed) = &mut self.feed else { return };
        let number = feed.all.len() as u64 + 1;
        feed.retained.insert(number);
        feed.all.push(NaiveRevision {
            number,
            store,
            name,
            key,
            kind,
            value,
            is_lost: false,
            from_source,
            ends: false,
        });
    }
}

impl NaiveFeed {
    /// The records as they were at a revision.
    pub(crate) fn records_at(&self, revision: u64) -> Records {
        let mut records = Records::new();
        for change in &self.all[..revision as usize] {
            let at = (change.store, change.key);
            match change.value {
                Some(value) => drop(records.insert(at, value)),
                None => drop(records.remove(&at)),
            }
        }
        records
    }

    /// Those records, as they were at a revision, whose values are lost.
    pub(crate) fn lost_at(&self, revision: u64) -> BTreeSet<(u64, i64)> {
        let mut lost = BTreeSet::new();
        for change in &self.all[..revision as usize] {
            let at = (change.store, change.key);
            match change.is_lost {
                true => lost.insert(at),
                false => lost.remove(&at),
            };
        }
        lost
    }

    /// The rule of seed 002, as its implementation has it.
    pub(crate) fn clean(&mut self, bound: u64) {
        if bound <= self.cleaned {
            return;
        }
        self.cleaned = bound;
        let below = &self.all[..bound as usize];
        self.retained.retain(|number| {
            let Some(at) = below.get(*number as usize - 1) else {
                return true;
            };
            let is_outdated = below[*number as usize..]
                .iter()
                .any(|later| (later.store, later.key) == (at.store, at.key));
            !is_outdated && at.kind != RevisionKind::Removal
        });
    }

    pub(crate) fn lower_bound(&self, keep: u64, lag_max: Option<u64>) -> u64 {
        let last = self.all.len() as u64;
        let consumers = self.consumers.values().copied();
        let counted = consumers.filter(|at| lag_max.is_none_or(|max| last - at <= max));
        counted
            .chain([last.saturating_sub(keep)])
            .min()
            .unwrap_or(0)
    }
}
