//! Walks beside their naive twin, which reads one entry at each step and nothing ahead.

use std::sync::Arc;

use larder_backing_store::CursorDirection;
use larder_codec::{Key, KeyPath};

use super::super::{
    ENTRIES_MAX, GetAll, Landed, PageWalk, Step, Walk, WalkPage, Wanted, clear, count, delete,
    get_all, get_key, next_page,
};
use larder_fixtures::random::Random;

use super::{Bed, Execution, Source, StoreCell, Value, by, make_index, make_store};
use super::{put_value, whole};
use crate::key_range::KeyRange;

const DIRECTIONS: [CursorDirection; 4] = [
    CursorDirection::Next,
    CursorDirection::NextUnique,
    CursorDirection::Prev,
    CursorDirection::PrevUnique,
];

type Stood = (Key, Key, Vec<u8>);

/// A walk and where it stands, if it does.
struct Walker {
    walk: Walk,
    place: Option<(WalkPage, usize)>,
}

impl Walker {
    fn new(walk: Walk, execution: &mut Execution) -> Self {
        let page = walk.begin(execution).unwrap();
        let place = page.map(|page| (page, 0));
        Self { walk, place }
    }

    fn stood(&self) -> Option<Stood> {
        let (page, at) = self.place.as_ref()?;
        let entry = page.records.entry(*at);
        Some((entry.key(), entry.primary_key(), entry.value().to_vec()))
    }

    fn step(&mut self, execution: &mut Execution, step: &Step) {
        let (page, at) = self.place.take().unwrap();
        let in_page = self.walk.step_in_page(&page, at, step);
        let landed = self.walk.step(execution, &page, at, step).unwrap();
        match (&landed, in_page) {
            (Landed::InPage(to), in_page) => assert_eq!(in_page, Some(Some(*to))),
            (Landed::Ahead(_), in_page) => assert_eq!(in_page, None),
            (Landed::Nowhere, in_page) => assert!(matches!(in_page, None | Some(None))),
        }
        self.place = match landed {
            Landed::InPage(at) => Some((page, at)),
            Landed::Ahead(page) => Some((page, 0)),
            Landed::Nowhere => None,
        };
    }
}

fn key(random: &mut Random) -> Key {
    match random.below(5) {
        0 => Key::from("a"),
        1 => Key::Number(-0.0),
        _ => Key::Number(random.below(24) as f64),
    }
}

fn range(random: &mut Random) -> KeyRange {
    let (a, b) = (key(random), key(random));
    let open = random.below(2) == 0;
    match random.below(8) {
        0 => KeyRange::only(a),
        1 => KeyRange::lower_bound(a, open),
        2 => KeyRange::upper_bound(a, open),
        3 => KeyRange::bound(a.clone().min(b.clone()), a.max(b), false, false).unwrap(),
        _ => KeyRange::all(),
    }
}

fn put_some(execution: &mut Execution, store: &Arc<StoreCell>, random: &mut Random) {
    let value = Value::serialize(&[random.below(7), random.below(1000)]).unwrap();
    let key = key(random);
    put_value(execution, store, value, Some(key)).unwrap();
}

/// What is ahead of where a walk stands.
fn step(random: &mut Random, source: &Source, direction: CursorDirection, at: &Stood) -> Step {
    let (target, primary) = (key(random), key(random));
    let is_ahead = |order: std::cmp::Ordering| match direction.is_forward() {
        true => order.is_gt(),
        false => order.is_lt(),
    };
    let with_primary = source.index.is_some() && !direction.is_unique();
    match random.below(6) {
        0 => Step::Advance(1 + random.below(4) as u32),
        1 if is_ahead(target.cmp(&at.0)) => Step::To(target),
        2 if with_primary && is_ahead((&target, &primary).cmp(&(&at.0, &at.1))) => {
            Step::ToEntry(target, primary)
        }
        _ => Step::Advance(1),
    }
}

fn walk_both(execution: &mut Execution, store: &Arc<StoreCell>, source: &Source, seed: u64) {
    let mut random = Random::new(seed);
    let (range, direction) = (range(&mut random), DIRECTIONS[random.below(4) as usize]);
    let wanted = [Wanted::Keys, Wanted::Values][random.below(2) as usize];
    let make = |entries_max| {
        let range = range.clone();
        Walk::new(source.clone(), range, direction, wanted, entries_max)
    };
    let mut ahead = Walker::new(make(ENTRIES_MAX), execution);
    let mut naive = Walker::new(make(1), execution);
    // Of ten walks some see no writes, some see many.
    let writes_of_16 = [0, 0, 1, 8][random.below(4) as usize];
    loop {
        let told = ahead.stood();
        assert_eq!(told, naive.stood(), "seed {seed}, {direction:?}");
        let Some(at) = told else {
            return;
        };
        if random.below(16) < writes_of_16 {
            match random.below(3) {
                0 => delete(execution, store, &KeyRange::only(at.1.clone())).unwrap(),
                1 if random.below(8) == 0 => clear(execution, store).unwrap(),
                _ => put_some(execution, store, &mut random),
            }
        }
        let step = step(&mut random, source, direction, &at);
        naive.step(execution, &step);
        ahead.step(execution, &step);
    }
}

#[test]
fn what_is_read_ahead_shows_what_one_step_at_a_time_shows_with_writes_in_between() {
    for seed in 0..600 {
        let bed = Bed::new();
        let mut execution = bed.upgrade();
        let store = make_store(&mut execution, "s", KeyPath::Null, false);
        let index = make_index(&mut execution, &store, "i", "0", (false, false)).unwrap();
        let mut random = Random::new(seed << 32);
        for _ in 0..random.below(60) {
            put_some(&mut execution, &store, &mut random);
        }
        for walk in 0..4 {
            let source = match walk % 2 {
                0 => whole(&store),
                _ => by(&store, &index),
            };
            walk_both(&mut execution, &store, &source, (seed << 8) + walk);
        }
    }
}

/// All entries by a naive walk.
fn walked(
    execution: &mut Execution,
    source: &Source,
    range: &KeyRange,
    direction: CursorDirection,
) -> Vec<Stood> {
    let naive = Walk::new(source.clone(), range.clone(), direction, Wanted::Values, 1);
    let mut naive = Walker::new(naive, execution);
    let mut all = Vec::new();
    while let Some(at) = naive.stood() {
        all.push(at);
        naive.step(execution, &Step::Advance(1));
    }
    all
}

#[test]
fn counts_pages_and_all_at_once_show_what_a_naive_walk_shows() {
    for seed in 0..300 {
        let bed = Bed::new();
        let mut execution = bed.upgrade();
        let store = make_store(&mut execution, "s", KeyPath::Null, false);
        let index = make_index(&mut execution, &store, "i", "0", (false, false)).unwrap();
        let mut random = Random::new(seed);
        for _ in 0..random.below(80) {
            put_some(&mut execution, &store, &mut random);
        }
        for source in [whole(&store), by(&store, &index)] {
            compare_reads(&mut execution, &source, &mut random, seed);
        }
    }
}

fn compare_reads(execution: &mut Execution, source: &Source, random: &mut Random, seed: u64) {
    let range = range(random);
    let up = walked(execution, source, &range, CursorDirection::Next);
    let counted = count(execution, source, &range).unwrap();
    assert_eq!(counted, up.len() as u64, "seed {seed}");
    let first = get_key(execution, source, &range).unwrap();
    assert_eq!(
        first.as_ref(),
        up.first().map(|(_, key, _)| key),
        "seed {seed}"
    );
    for direction in DIRECTIONS {
        let mut expected = walked(execution, source, &range, direction);
        let limits = larder_backing_store::PageLimits::new()
            .entries_max(1 + random.below(5) as usize)
            .bytes_max(1 + random.below(200) as usize);
        let mut walk = PageWalk::new(source.clone(), range.clone(), direction, limits);
        let mut paged = Vec::new();
        while let Some(page) = next_page(execution, &mut walk).unwrap() {
            assert!((1..=limits.entries_max).contains(&page.len()));
            paged.extend(
                page.iter()
                    .map(|entry| (entry.key(), entry.primary_key(), entry.value().to_vec())),
            );
        }
        assert_eq!(paged, expected, "seed {seed}, {direction:?}");
        let limit = random.below(20) as u32;
        if limit > 0 {
            expected.truncate(limit as usize);
        }
        for wanted in [Wanted::Keys, Wanted::Values] {
            let ask = GetAll {
                source: source.clone(),
                range: range.clone(),
                direction,
                wanted,
                count: limit,
            };
            let records = get_all(execution, &ask).unwrap();
            let found: Vec<_> = records
                .iter()
                .map(|entry| (entry.key(), entry.primary_key(), entry.value().to_vec()))
                .collect();
            let told = expected.iter().cloned().map(|(key, primary_key, value)| {
                let value = if wanted == Wanted::Keys {
                    Vec::new()
                } else {
                    value
                };
                (key, primary_key, value)
            });
            assert_eq!(
                found,
                told.collect::<Vec<_>>(),
                "seed {seed}, {direction:?}"
            );
        }
    }
}
