//! Devices that change, meet and merge in any order: all come to one commit, which holds what a naive twin says.

use super::*;
use crate::commit::CommitId;
use crate::testing::page::{change, check_rows, open_with, options};
use crate::{Fanout, ListLimits, ListedEntry, PageOptions};
use larder_fixtures::random::Random;
use std::collections::{BTreeSet, HashMap};

fn ancestors(page: &Page, id: CommitId) -> BTreeSet<CommitId> {
    let mut found = BTreeSet::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(page.commit_by_id(id).unwrap().unwrap().parents());
        }
    }
    found
}

/// Entries, each value with its priority behind it: a change of that is one, too.
fn with_priorities(page: &Page, commit: &Commit) -> Map {
    let limits = ListLimits {
        count_max: usize::MAX,
        bytes_max: u64::MAX,
    };
    let snapshot = page.snapshot(commit, b"");
    let listed = snapshot.list_entries(b"", limits).unwrap();
    let entry = |entry: ListedEntry| {
        let mut value = entry.value.unwrap();
        value.push(entry.priority.byte());
        (entry.key, value)
    };
    listed.entries.into_iter().map(entry).collect()
}

/// What merges hold, from their definition: whole maps, whole sets of ancestors.
struct Naive<'a> {
    page: &'a Page,
    contents: HashMap<CommitId, Map>,
    ancestors: HashMap<CommitId, BTreeSet<CommitId>>,
}

impl Naive<'_> {
    fn ancestors(&mut self, id: CommitId) -> BTreeSet<CommitId> {
        let page = self.page;
        self.ancestors
            .entry(id)
            .or_insert_with(|| ancestors(page, id))
            .clone()
    }

    fn content(&mut self, id: CommitId) -> Map {
        if let Some(map) = self.contents.get(&id) {
            return map.clone();
        }
        let commit = self.page.commit_by_id(id).unwrap().unwrap();
        let map = with_priorities(self.page, &commit);
        self.contents.insert(id, map.clone());
        map
    }

    fn order(&self, id: CommitId) -> (Timestamp, CommitId) {
        (self.page.commit_by_id(id).unwrap().unwrap().timestamp(), id)
    }

    fn bases(&mut self, left: &[CommitId], right: CommitId) -> Vec<CommitId> {
        let mut of_left = BTreeSet::new();
        for id in left {
            of_left.append(&mut self.ancestors(*id));
        }
        let of_right = self.ancestors(right);
        let common: Vec<CommitId> = of_left.intersection(&of_right).copied().collect();
        let mut below = BTreeSet::new();
        for id in &common {
            below.extend(self.ancestors(*id).into_iter().filter(|other| other != id));
        }
        let mut bases: Vec<CommitId> = common
            .into_iter()
            .filter(|id| !below.contains(id))
            .collect();
        bases.sort_by_key(|id| self.order(*id));
        bases
    }

    fn base(&mut self, bases: &[CommitId]) -> Map {
        let mut map = self.content(bases[0]);
        for (i, id) in bases.iter().enumerate().skip(1) {
            let below = self.bases(&bases[..i], *id);
            let base = self.base(&below);
            let newer = self.content(*id);
            map = three_way(&base, &map, &newer);
        }
        map
    }

    fn has_changes(&mut self, id: CommitId, other: CommitId) -> bool {
        let others = self.ancestors(other);
        let own = self.ancestors(id);
        own.difference(&others)
            .any(|id| !self.page.commit_by_id(*id).unwrap().unwrap().is_merge())
    }

    fn merge(&mut self, older: CommitId, newer: CommitId) -> Map {
        match (
            self.has_changes(older, newer),
            self.has_changes(newer, older),
        ) {
            (_, false) => self.content(older),
            (false, true) => self.content(newer),
            (true, true) => {
                let bases = self.bases(&[older], newer);
                let base = self.base(&bases);
                let (older, newer) = (self.content(older), self.content(newer));
                three_way(&base, &older, &newer)
            }
        }
    }
}

fn three_way(base: &Map, older: &Map, newer: &Map) -> Map {
    let mut merged = older.clone();
    let keys: BTreeSet<&Vec<u8>> = base.keys().chain(newer.keys()).collect();
    for key in keys
        .into_iter()
        .filter(|key| base.get(*key) != newer.get(*key))
    {
        match newer.get(key) {
            Some(value) => merged.insert(key.clone(), value.clone()),
            None => merged.remove(key),
        };
    }
    merged
}

fn meet(random: &mut Random, devices: &[Page]) {
    let any = |random: &mut Random| random.below(devices.len() as u64) as usize;
    let (one, two) = (any(random), any(random));
    if one != two {
        devices[one].pull_from(&devices[two], true).unwrap();
    }
}

fn converge(seed: u64) -> usize {
    let mut random = Random::new(seed);
    let options = || PageOptions {
        fanout: [Fanout::Of256, Fanout::Of16][seed as usize % 2],
        ..options()
    };
    let count = 2 + random.below(3);
    let devices: Vec<Page> = (0..count).map(|_| open_with(options())).collect();
    for step in 0..10 + random.below(30) {
        let device = &devices[random.below(devices.len() as u64) as usize];
        match random.below(5) {
            0 | 1 => {
                let mut journal = device.begin().unwrap();
                change(&mut random, &mut journal, &mut Map::new(), 12);
                // Clocks of devices differ.
                let time = 5 * step as i64 + random.below(40) as i64;
                device.commit(journal, Timestamp(time)).unwrap();
            }
            2 | 3 => meet(&mut random, &devices),
            _ => {
                device.merge(&mut MergePolicy::LastOneWins).unwrap();
            }
        }
    }
    for round in 0.. {
        for one in &devices {
            for two in &devices {
                one.pull_from(two, true).unwrap();
            }
        }
        if random.below(2) == 0 {
            meet(&mut random, &devices);
        }
        devices.iter().for_each(|device| {
            device.merge(&mut MergePolicy::LastOneWins).unwrap();
        });
        let heads: BTreeSet<Vec<CommitId>> = devices
            .iter()
            .map(|device| device.heads().iter().map(Commit::id).collect())
            .collect();
        if heads.len() == 1 && heads.iter().all(|heads| heads.len() == 1) {
            break;
        }
        assert!(round < 20, "seed {seed}: {heads:?}");
    }
    devices.iter().for_each(|device| {
        device.collect().unwrap();
        check_rows(device, true);
    });
    check_merges(&devices[0], seed)
}

fn check_merges(page: &Page, seed: u64) -> usize {
    let mut naive = Naive {
        page,
        contents: HashMap::new(),
        ancestors: HashMap::new(),
    };
    let [head] = &page.heads()[..] else { panic!() };
    let mut merges = 0;
    for id in naive.ancestors(head.id()) {
        let commit = page.commit_by_id(id).unwrap().unwrap();
        if let [one, two] = *commit.parents() {
            let (older, newer) = match naive.order(one) < naive.order(two) {
                true => (one, two),
                false => (two, one),
            };
            assert_eq!(
                naive.content(id),
                naive.merge(older, newer),
                "seed {seed}, merge {id:?}"
            );
            merges += 1;
        }
    }
    merges
}

/// `LARDER_DEVICE_SEEDS=5000 LARDER_SEED=1` is the long form.
#[test]
fn devices_that_meet_in_any_order_come_to_one_commit() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |n| n.parse().unwrap());
    let first = number("LARDER_SEED", 1);
    let mut merges = 0;
    for seed in first..first + number("LARDER_DEVICE_SEEDS", 200) {
        merges += converge(seed);
    }
    println!("{merges} merges");
}
