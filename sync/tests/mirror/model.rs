//! Random programs of several devices, beside a model that has nothing of pages or feeds: of each key, which values were written where.
//!
//! Each write has a number that no other has. A device's copy of a record is the number of the last write that it has seen or made. When
//! all devices have met, each record must be the last of a line of writes, and of every other such line the last one is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use larder_fixtures::random::Random;
use larder_idb::{Key, KeyRange, NewExternalObject, ObjectStoreParameters, Upgrade, Value};
use larder_pages::Timestamp;
use larder_sync::{MergeBy, MirrorOptions};
use serde_json::json;

use crate::device::{Device, quiet, shown, shown_mirrored};

const STORES: [&str; 3] = ["one", "two", "numbered"];
/// Some are long, some are of other types.
const KEYS: u64 = 12;

fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    transaction.create_object_store("one", ObjectStoreParameters::new())?;
    let two = transaction.create_object_store("two", ObjectStoreParameters::new())?;
    two.create_index(
        "by parity",
        larder_idb::KeyPath::from("parity"),
        larder_idb::IndexParameters::new(),
    )?;
    let numbered = ObjectStoreParameters::new().auto_increment(true);
    transaction.create_object_store("numbered", numbered)?;
    transaction.set_change_feed(true)
}

fn key(number: u64) -> Key {
    match number {
        9 => Key::from("k".repeat(1500).as_str()),
        10 => Key::Date(5.0),
        11 => Key::array(vec![1.into(), "x".into()]).unwrap(),
        _ => Key::Number(number as f64),
    }
}

/// A record by its object store and its key as text.
type Place = (String, String);

/// A write and those that its device had seen of the record.
#[derive(Debug, Clone)]
struct Write {
    text: Option<String>,
    device: usize,
}

/// What was written, by the number of the write.
#[derive(Debug, Default)]
struct Model {
    /// Writes of each record, in their order.
    writes: BTreeMap<Place, Vec<Write>>,
}

impl Model {
    fn write(&mut self, device: usize, place: Place, text: Option<String>) {
        let writes = self.writes.entry(place).or_default();
        writes.push(Write { text, device });
    }

    /// The last write of each device that has written the record.
    fn lasts(writes: &[Write]) -> Vec<&Write> {
        let devices: BTreeSet<usize> = writes.iter().map(|write| write.device).collect();
        let last = |device| writes.iter().rev().find(|write| write.device == device);
        devices.into_iter().filter_map(last).collect()
    }
}

struct Run {
    random: Random,
    devices: Vec<Device>,
    model: Model,
    now: i64,
    number: u64,
}

fn value(number: u64) -> Value {
    let value = json!({ "n": number, "parity": number % 2, "long": "x".repeat((number % 7 * 90) as usize) });
    let value = Value::serialize(&value).unwrap();
    match number % 5 {
        0 => {
            let content: Vec<u8> = (0..number * 37 % 9000)
                .map(|at| (at ^ number) as u8)
                .collect();
            let (mime_type, content) = ("a/b".into(), Arc::new(content));
            value.and_objects(vec![match number % 10 {
                0 => NewExternalObject::Blob { mime_type, content },
                _ => NewExternalObject::File {
                    mime_type,
                    content,
                    name: "file".into(),
                    last_modified_micros: number as i64 * 1000,
                },
            }])
        }
        _ => value,
    }
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 2 + random.index(3);
        let devices = (0..count).map(|at| {
            let options = MirrorOptions::new().range(at as u32);
            Device::new(options, upgrade)
        });
        Self {
            devices: devices.collect(),
            random,
            model: Model::default(),
            now: 0,
            number: 0,
        }
    }

    /// One transaction with some changes, which may be aborted.
    fn change(&mut self, at: usize) {
        let device = &self.devices[at];
        let transaction = device.begin();
        let before: BTreeSet<Place> = device.content().into_keys().collect();
        let mut there = before;
        let mut done: Vec<(Place, Option<String>)> = Vec::new();
        for _ in 0..1 + self.random.below(5) {
            let name = self.random.pick(&STORES);
            let store = transaction.object_store(name).unwrap();
            self.number += 1;
            let written = value(self.number);
            let text = shown(written.bytes(), written.objects());
            let choice = self.random.below(12);
            let number = self.random.below(KEYS);
            let mut remove = |wanted: &dyn Fn(&Place) -> bool, there: &mut BTreeSet<Place>| {
                let gone: Vec<Place> = there
                    .iter()
                    .filter(|place| wanted(place))
                    .cloned()
                    .collect();
                for place in gone {
                    there.remove(&place);
                    done.push((place, None));
                }
            };
            match choice {
                0 => {
                    store.clear().unwrap().wait().unwrap();
                    remove(&|place| place.0 == name, &mut there);
                }
                1 => {
                    let range = KeyRange::bound(2.0, 5.0, false, false).unwrap();
                    store.delete(range).unwrap().wait().unwrap();
                    let keys: Vec<String> = (2..=5)
                        .map(|n| format!("{:?}", Key::Number(f64::from(n))))
                        .collect();
                    remove(
                        &|place| place.0 == name && keys.contains(&place.1),
                        &mut there,
                    );
                }
                2..=3 => {
                    store.delete(key(number)).unwrap().wait().unwrap();
                    let text = format!("{:?}", key(number));
                    remove(&|place| place.0 == name && place.1 == text, &mut there);
                }
                4..=5 if name == "numbered" => {
                    let key = store.add(written, None).unwrap().wait().unwrap();
                    let place = (name.to_owned(), format!("{key:?}"));
                    there.insert(place.clone());
                    done.push((place, Some(text)));
                }
                _ => {
                    // Numbers that generators give are theirs.
                    let key = match name {
                        "numbered" => Key::from(format!("n{number}").as_str()),
                        _ => key(number),
                    };
                    store
                        .put(written, Some(key.clone()))
                        .unwrap()
                        .wait()
                        .unwrap();
                    let place = (name.to_owned(), format!("{key:?}"));
                    there.insert(place.clone());
                    done.push((place, Some(text)));
                }
            }
        }
        if self.random.one_in(6) {
            transaction.abort(None).unwrap();
            return;
        }
        device.commit(transaction);
        for (place, text) in done {
            self.model.write(at, place, text);
        }
    }

    fn step(&mut self) {
        let at = self.random.index(self.devices.len());
        self.now += 1;
        match self.random.below(10) {
            0..=4 => self.change(at),
            5 => drop(self.devices[at].take(self.now)),
            6 => drop(self.devices[at].apply(self.now)),
            7 => drop(self.devices[at].mirror().merge().unwrap()),
            _ => {
                let other = self.random.index(self.devices.len());
                if other != at {
                    let page = &self.devices[other].page;
                    self.devices[at].page.pull_from(page, false).unwrap();
                }
            }
        }
    }

    fn check(&mut self) {
        let devices: Vec<&Device> = self.devices.iter().collect();
        quiet(&devices, &mut self.now);
        let content = devices[0].content();
        for device in &devices {
            assert_eq!(device.content(), content);
        }
        let mut listed: BTreeMap<Place, BTreeSet<Option<String>>> = BTreeMap::new();
        for conflict in devices[0].mirror().conflicts().unwrap() {
            let place = (
                conflict.object_store.to_string_lossy(),
                format!("{:?}", conflict.key),
            );
            let other = conflict.other.as_ref().map(shown_mirrored);
            let kept = conflict.kept.as_ref().map(shown_mirrored);
            assert_eq!(
                kept.as_ref(),
                content.get(&place),
                "what is kept is what is there"
            );
            listed.entry(place).or_default().insert(other);
        }
        let empty = BTreeSet::new();
        for (place, writes) in &self.model.writes {
            let now = content.get(place).cloned();
            let others = listed.get(place).unwrap_or(&empty);
            let lasts = Model::lasts(writes);
            let is_of = |text: &Option<String>| writes.iter().any(|write| write.text == *text);
            assert!(
                is_of(&now),
                "{place:?} is {now:?}, which nothing has written"
            );
            assert!(others.iter().all(is_of), "{place:?} lists {others:?}");
            match &lasts[..] {
                // No other device has written it.
                [last] => {
                    assert_eq!(now, last.text, "{place:?}");
                    assert!(others.is_empty(), "{place:?} lists {others:?}");
                }
                _ => {
                    assert!(
                        lasts.iter().any(|last| last.text == now),
                        "{place:?} is {now:?}, which is no device's last: {writes:?}"
                    );
                }
            }
        }
        let written: BTreeSet<&Place> = self.model.writes.keys().collect();
        assert!(content.keys().all(|place| written.contains(place)));
        assert!(listed.keys().all(|place| written.contains(place)));
    }
}

#[test]
fn devices_agree_and_lose_nothing_whatever_they_do_and_whenever_they_meet() {
    let first = crate::setting("LARDER_SYNC_SEED", 1);
    let count = crate::setting("LARDER_SYNC_SEEDS", 200);
    for seed in first..first + count {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let mut run = Run::new(seed);
            for _ in 0..40 {
                run.step();
            }
            run.check();
        }));
        if let Err(panic) = ran {
            println!("seed {seed}");
            resume_unwind(panic);
        }
    }
}
