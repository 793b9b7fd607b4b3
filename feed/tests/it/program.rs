//! Random programs: the same is done to a database and to the model, and then compared.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use larder_feed::{CleanUp, Error, Feed, ReadOptions, RevisionKind};
use larder_fixtures::random::Random;
use larder_idb::{FileSystem, Key};

use crate::host::{Host, has_blob, number_of, records, store_of};
use crate::naive::{Naive, NaiveRevision, Records, Step};
use crate::others;

/// What was committed when, for crashes.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    pub(crate) acknowledged: AtomicUsize,
    pub(crate) begun: AtomicUsize,
}

/// A program under way.
pub(crate) struct Run {
    random: Random,
    pub(crate) host: Host,
    pub(crate) naive: Naive,
    /// What each consumer has made of its revisions, by the numbers of the real object stores.
    mirrors: BTreeMap<String, BTreeMap<(i64, i64), Option<u64>>>,
    /// After each commit.
    pub(crate) states: Vec<Naive>,
    commits: Arc<Commits>,
    values: u64,
    fs: Arc<dyn FileSystem>,
}

/// A revision as the feed shows it.
fn shown(revision: &larder_feed::Revision) -> NaiveRevision {
    let Key::Number(key) = revision.key() else {
        panic!("another key")
    };
    NaiveRevision {
        number: revision.number(),
        store: 0,
        name: revision.object_store_name().to_string_lossy(),
        key: key as i64,
        kind: revision.kind(),
        value: revision.value().map(number_of),
        is_lost: false,
        from_source: revision.is_from_source(),
        ends: revision.committed_at_ms().is_some(),
    }
}

/// All that a feed retains, from the beginning.
fn retained(host: &Host, feed: &Feed) -> (Vec<NaiveRevision>, Vec<i64>) {
    let mut reader = feed.read_from(0, ReadOptions::new().values(true));
    let (mut all, mut stores) = (Vec::new(), Vec::new());
    while let Some(batch) = host.wait(reader.next()).unwrap() {
        all.extend(batch.revisions().iter().map(shown));
        stores.extend(
            batch
                .revisions()
                .iter()
                .map(larder_feed::Revision::object_store_id),
        );
        assert_eq!(batch.position(), all.last().map_or(0, |last| last.number));
    }
    (all, stores)
}

/// Compares a database with the model, all of it.
pub(crate) fn compare(host: &Host, naive: &Naive) -> Result<(), String> {
    let named = |records: &Records| -> BTreeMap<(String, i64), u64> {
        let named = records.iter();
        named
            .filter_map(|((store, key), value)| {
                Some(((naive.names.get(store)?.clone(), *key), *value))
            })
            .collect()
    };
    let found = records(host).map_err(|error| error.to_string())?;
    if found != named(&naive.records) {
        return Err(format!("records {found:?}, not {:?}", naive.records));
    }
    let Some(expected) = &naive.feed else {
        return match host.feed() {
            Err(Error::NoFeed) => Ok(()),
            other => Err(format!("a feed that is off: {other:?}")),
        };
    };
    let feed = host.feed().map_err(|error| error.to_string())?;
    let last = host.wait(feed.last()).map_err(|error| error.to_string())?;
    if last != naive.last() {
        return Err(format!("the last revision is {last}, not {}", naive.last()));
    }
    let (revisions, stores) = retained(host, &feed);
    let wanted: Vec<&NaiveRevision> = expected
        .all
        .iter()
        .filter(|revision| expected.retained.contains(&revision.number))
        .collect();
    for (found, wanted) in revisions.iter().zip(&wanted) {
        let found = NaiveRevision {
            store: wanted.store,
            ..found.clone()
        };
        let wanted = NaiveRevision {
            value: wanted.value.filter(|_| !wanted.is_lost),
            is_lost: false,
            ..(*wanted).clone()
        };
        if found != wanted {
            return Err(format!("revision {found:?}, not {wanted:?}"));
        }
    }
    if revisions.len() != wanted.len() {
        return Err(format!(
            "{} revisions, not {}",
            revisions.len(),
            wanted.len()
        ));
    }
    // What records were is there for the revisions that ended it, and for no others.
    let behind = &expected.all[expected.cleaned as usize..];
    let ending = behind.iter().filter(|at| at.kind != RevisionKind::Creation);
    let rows = host.count_of("larder.feed.history");
    if rows != ending.count() as u64 {
        return Err(format!("the history has {rows} records"));
    }
    if host.count_of("larder.feed.revisions") > wanted.len() as u64 {
        return Err("there are records without revisions".into());
    }
    let cleaned = &expected.all[..expected.cleaned as usize];
    let whole = cleaned.iter().rfind(|at| at.ends).map_or(0, |at| at.number);
    let marks = host.marks();
    if marks != [expected.cleaned, whole] {
        return Err(format!("{marks:?}, not [{}, {whole}]", expected.cleaned));
    }
    let mut numbers = BTreeMap::new();
    for (real, wanted) in stores.iter().zip(&wanted) {
        if *numbers.entry(*real).or_insert(wanted.store) != wanted.store {
            return Err(format!("two object stores have the number {real}"));
        }
    }
    let consumers: BTreeMap<String, u64> = host
        .wait(feed.consumers())
        .map_err(|error| error.to_string())?
        .into_iter()
        .collect();
    match consumers == expected.consumers {
        true => Ok(()),
        false => Err(format!("{consumers:?}, not {:?}", expected.consumers)),
    }
}

impl Run {
    pub(crate) fn new(seed: u64, fs: Arc<dyn FileSystem>, commits: Arc<Commits>) -> Self {
        let host = Host::open(Arc::clone(&fs), seed.is_multiple_of(3)).unwrap();
        Self {
            random: Random::new(seed),
            host,
            naive: Naive::default(),
            mirrors: BTreeMap::new(),
            states: vec![Naive::default()],
            commits,
            values: 0,
            fs,
        }
    }

    /// Some steps; checks after each if wanted.
    pub(crate) fn run(&mut self, phases: u64, checks: bool) {
        let begins_with_feed = self.random.one_in(2);
        let mut steps = vec![Step::Create("a".into()), Step::Create("b".into())];
        if begins_with_feed {
            steps.push(Step::Feed(true));
        }
        self.upgrade(steps, false);
        for _ in 0..phases {
            match self.random.below(20) {
                0..9 => self.transactions(),
                9 | 10 => self.random_upgrade(),
                11..15 => self.consume(),
                15 | 16 => self.clean(),
                17 => self.others(),
                _ => self.look_back(),
            }
            if checks {
                compare(&self.host, &self.naive).unwrap();
            }
        }
    }

    /// One commit: the model's first, so that what a crash leaves can be compared with it.
    fn committing<T>(&mut self, next: Naive, commit: impl FnOnce(&mut Self) -> T) -> T {
        self.states.push(next.clone());
        self.commits
            .begun
            .store(self.states.len() - 1, Ordering::SeqCst);
        let done = commit(self);
        self.naive = next;
        self.commits
            .acknowledged
            .store(self.states.len() - 1, Ordering::SeqCst);
        done
    }

    /// A program without the feed has the store for a while.
    fn others(&mut self) {
        let mut stores = self.stores();
        let mut numbers = BTreeMap::new();
        for (id, name) in &self.naive.names {
            numbers.insert(*id, self.host.number_of(name));
        }
        let mut steps = Vec::new();
        for _ in 0..self.random.below(9) {
            let at = self.random.index(stores.len().max(1));
            let Some(store) = stores.get(at).copied() else {
                break;
            };
            steps.push(match self.record_step(store) {
                // It has no blobs.
                Step::Put(_, key, value) if has_blob(value) => {
                    self.values += 1;
                    Step::Put(store, key, self.values)
                }
                Step::Clear(_) if stores.len() > 1 && self.random.one_in(3) => {
                    stores.remove(at);
                    Step::Drop(store)
                }
                Step::Clear(_) => Step::Delete(store, -2, 9),
                step => step,
            });
        }
        let mut next = self.naive.clone();
        next.others(&steps);
        self.committing(next, |run| {
            run.host.storage.clone().close().unwrap();
            others::write(Arc::clone(&run.fs), &steps, &numbers);
            run.host = Host::open(Arc::clone(&run.fs), false).unwrap();
        });
    }

    fn stores(&self) -> Vec<u64> {
        self.naive.names.keys().copied().collect()
    }

    fn record_step(&mut self, store: u64) -> Step {
        let mut key = || self.random.below(10) as i64 - 2;
        let (from, to) = (key(), key());
        match self.random.below(10) {
            0..6 => {
                self.values += 1;
                Step::Put(store, from, self.values)
            }
            6 | 7 => Step::Delete(store, from, from),
            8 => Step::Delete(store, from.min(to), from.max(to)),
            _ => Step::Clear(store),
        }
    }

    /// Two transactions side by side, or one; committed in either order, or aborted.
    fn transactions(&mut self) {
        let stores = self.stores();
        if stores.is_empty() {
            return;
        }
        let mut under_way = Vec::new();
        let count = 1 + u64::from(stores.len() > 1 && self.random.one_in(2));
        for at in 0..count {
            // Of the first, the object stores of even places; of the second, the others.
            let own: Vec<u64> = match count {
                1 => stores.clone(),
                _ => stores
                    .iter()
                    .copied()
                    .skip(at as usize)
                    .step_by(2)
                    .collect(),
            };
            let len = if self.random.one_in(8) {
                30
            } else {
                1 + self.random.below(5)
            };
            let mut steps = Vec::new();
            for _ in 0..len {
                let store = own[self.random.index(own.len())];
                steps.push(self.record_step(store));
            }
            let from_source = self.random.one_in(4);
            let is_second = self.random.one_in(2);
            let names = &self.naive.names;
            let begun = self.host.begin(is_second, &steps, names, from_source);
            under_way.push((begun.unwrap(), steps, from_source));
        }
        if self.random.one_in(2) {
            under_way.reverse();
        }
        for (transaction, steps, from_source) in under_way {
            assert!(steps.iter().all(|step| stores.contains(&store_of(step))));
            if self.random.one_in(6) {
                transaction.abort(None).unwrap();
                let _ = self.host.wait(transaction.finished());
                continue;
            }
            let mut next = self.naive.clone();
            next.commit(&steps, from_source);
            self.committing(next, |run| {
                run.host.wait(transaction.commit().unwrap()).unwrap();
            });
        }
    }

    fn random_upgrade(&mut self) {
        let mut steps = Vec::new();
        let mut stores = self.stores();
        for _ in 0..=self.random.below(2) {
            let fresh = format!("s{}", self.random.next());
            let at = self.random.index(stores.len().max(1));
            steps.push(match (self.random.below(8), stores.get(at).copied()) {
                (0, Some(store)) if stores.len() > 1 => {
                    stores.remove(at);
                    Step::Drop(store)
                }
                (1, Some(store)) => Step::Rename(store, fresh),
                (2, _) => Step::Create(fresh),
                (3, _) if self.random.one_in(3) => Step::Feed(false),
                (3 | 4, _) => Step::Feed(self.naive.feed.is_some() || self.random.one_in(2)),
                (_, Some(store)) => self.record_step(store),
                (_, None) => Step::Create(fresh),
            });
        }
        // One change of the feed is enough.
        let is_on = self.naive.feed.is_some();
        steps.retain(|step| !matches!(step, Step::Feed(wanted) if *wanted == is_on));
        let aborts = self.random.one_in(5);
        self.upgrade(steps, aborts);
    }

    fn upgrade(&mut self, steps: Vec<Step>, aborts: bool) {
        let names = self.naive.names.clone();
        if aborts {
            self.host.upgrade(&steps, &names, true).unwrap();
            return;
        }
        let mut next = self.naive.clone();
        let had_feed = next.feed.is_some();
        let mut is_on = had_feed;
        let steps: Vec<Step> = steps
            .into_iter()
            .filter(|step| match step {
                Step::Feed(wanted) if *wanted == is_on => false,
                Step::Feed(wanted) => {
                    is_on = *wanted;
                    true
                }
                _ => true,
            })
            .collect();
        next.commit(&steps, false);
        if steps.iter().any(|step| matches!(step, Step::Feed(_))) {
            self.mirrors.clear();
        }
        self.committing(next, |run| run.host.upgrade(&steps, &names, false).unwrap());
    }

    /// A consumer reads a batch, makes something of it and acknowledges it; or comes, or goes.
    fn consume(&mut self) {
        let Some(naive) = self.naive.feed.clone() else {
            return;
        };
        let feed = self.host.feed().unwrap();
        let name = format!("c{}", self.random.below(3));
        if self.random.one_in(8) {
            let mut next = self.naive.clone();
            let consumers = &mut next.feed.as_mut().unwrap().consumers;
            let was_there = consumers.remove(&name).is_some();
            self.mirrors.remove(&name);
            let removed = self.committing(next, |run| run.host.wait(feed.remove_consumer(&name)));
            assert_eq!(removed.unwrap(), was_there);
            return;
        }
        let mut next = self.naive.clone();
        let consumers = &mut next.feed.as_mut().unwrap().consumers;
        consumers.entry(name.clone()).or_insert(0);
        let consumer = self.committing(next, |run| run.host.wait(feed.consumer(&name)).unwrap());
        let options = ReadOptions::new().values(true);
        let mut reader = self.host.wait(consumer.read(options)).unwrap();
        let before = reader.position();
        let batch = match self.host.wait(reader.next()) {
            Err(Error::LeftBehind { position, cleaned }) => {
                assert!((position, cleaned) == (before, naive.cleaned) && before < cleaned);
                self.mirrors.remove(&name);
                let mut next = self.naive.clone();
                let consumers = &mut next.feed.as_mut().unwrap().consumers;
                consumers.insert(name.clone(), 0);
                self.committing(next, |run| run.host.wait(consumer.restart(0)).unwrap());
                return;
            }
            Ok(None) => {
                assert_eq!(
                    before.max(naive.cleaned),
                    naive.all.len() as u64,
                    "{name} stops early"
                );
                return;
            }
            batch => batch.unwrap().unwrap(),
        };
        let position = batch.position();
        let mirror = self.mirrors.entry(name.clone()).or_default();
        for revision in batch.revisions() {
            let Key::Number(key) = revision.key() else {
                panic!("another key")
            };
            let at = (revision.object_store_id(), key as i64);
            match revision.kind() {
                RevisionKind::Removal => drop(mirror.remove(&at)),
                _ => drop(mirror.insert(at, revision.value().map(number_of))),
            }
        }
        // A whole transaction, or what is left of several.
        let is_whole = naive.all[position as usize - 1].ends || position <= naive.cleaned;
        assert!(is_whole, "a batch ends at {position}, in a transaction");
        if position >= naive.cleaned {
            let lost = naive.lost_at(position);
            let records = naive.records_at(position).into_iter();
            let known = |(at, value)| (!lost.contains(&at)).then_some(value);
            let mut expected: Vec<Option<u64>> = records.map(known).collect();
            let mut found: Vec<Option<u64>> = mirror.values().copied().collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(
                found, expected,
                "what {name} has made of revisions up to {position}"
            );
        }
        let mut next = self.naive.clone();
        let consumers = &mut next.feed.as_mut().unwrap().consumers;
        consumers.insert(name, position);
        let in_own = self.random.one_in(2) && !self.naive.names.is_empty();
        if !in_own {
            self.committing(next, |run| {
                run.host.wait(consumer.acknowledge(position)).unwrap()
            });
            return;
        }
        let store = self.stores()[0];
        let step = self.record_step(store);
        next.commit(std::slice::from_ref(&step), false);
        self.committing(next, |run| {
            let transaction = consumer.transaction(&[&run.naive.names[&store]]).unwrap();
            run.host
                .apply(&transaction, &run.naive.names, &step)
                .unwrap();
            run.host
                .wait(consumer.acknowledge_in(&transaction, position))
                .unwrap();
            run.host.wait(transaction.commit().unwrap()).unwrap();
        });
    }

    fn clean(&mut self) {
        let Some(naive) = &self.naive.feed else {
            return;
        };
        let keep = self.random.below(20);
        let lag_max = self.random.one_in(3).then(|| self.random.below(40));
        let mut options = CleanUp::new().keep_revisions(keep);
        if let Some(lag_max) = lag_max {
            options = options.lag_max(lag_max);
        }
        let bound = naive.lower_bound(keep, lag_max);
        let feed = self.host.feed().unwrap();
        loop {
            let mut next = self.naive.clone();
            let naive = next.feed.as_mut().unwrap();
            // A step looks at so many retained revisions.
            let mut looked_at = naive
                .retained
                .range(naive.cleaned + 1..bound.max(naive.cleaned) + 1);
            let end = looked_at.nth(127).copied();
            let is_more = end.is_some_and(|end| end < bound);
            let before = naive.retained.len();
            naive.clean(end.unwrap_or(bound));
            let gone = (before - naive.retained.len()) as u64;
            let done = self.committing(next, |run| run.host.wait(feed.clean(options)).unwrap());
            assert_eq!(done.revisions, gone, "up to {bound}");
            assert_eq!(done.is_more, is_more, "up to {bound}");
            if !is_more {
                return;
            }
        }
    }

    /// The database as it was at some revision.
    fn look_back(&mut self) {
        let Some(naive) = &self.naive.feed else {
            return;
        };
        let feed = self.host.feed().unwrap();
        let last = naive.all.len() as u64;
        let revision = self.random.below(last + 3);
        let found = self.host.wait(feed.at(revision));
        let past = match found {
            Ok(past) => past,
            Err(Error::NotRetained {
                first, last: to, ..
            }) => {
                assert_eq!((first, to), (naive.cleaned, last));
                assert!(revision < first || revision > last);
                return;
            }
            Err(error) => panic!("{error}"),
        };
        assert!((naive.cleaned..=last).contains(&revision));
        let expected = naive.records_at(revision);
        for (id, name) in &self.naive.names {
            let store = self.host.wait(past.object_store(name)).unwrap();
            let mut records = self.host.wait(store.records(..)).unwrap();
            let mut found = BTreeMap::new();
            let failed = loop {
                match self.host.wait(records.next()) {
                    Ok(Some((revision, value))) => {
                        let Key::Number(key) = revision.key() else {
                            panic!("another key")
                        };
                        found.insert((*id, key as i64), number_of(&value));
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            };
            // Up to the first of which others have taken the value away.
            let own = expected.range((*id, i64::MIN)..=(*id, i64::MAX));
            let lost = naive.lost_at(revision);
            let whole = own.clone().take_while(|(at, _)| !lost.contains(at));
            let first_lost = own.clone().find(|(at, _)| lost.contains(at));
            assert_eq!(
                found,
                whole.map(|(at, value)| (*at, *value)).collect(),
                "{name} at {revision}"
            );
            match (failed, first_lost) {
                (None, None) => {}
                (Some(Error::NotRetained { first, .. }), Some((at, _))) => {
                    let behind = naive.all[revision as usize..].iter();
                    let next = behind
                        .into_iter()
                        .find(|later| (later.store, later.key) == *at);
                    assert_eq!(Some(first), next.map(|later| later.number), "{at:?}");
                }
                other => panic!("{name} at {revision}: {other:?}"),
            }
        }
    }
}
