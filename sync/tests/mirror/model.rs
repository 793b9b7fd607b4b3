//! Random programs of several devices, beside a model that has nothing of pages or feeds: of each key, which values were written where.
//!
//! Each write has a value that no other has, and the model notes which writes its device had seen by then. When all devices have met, each
//! record must be a write that no device has seen and changed since, and the others of that kind are listed. A record that was never written
//! on two devices beside one another has no conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use larder_fixtures::random::Random;
use larder_idb::{
    GetAllOptions, Key, KeyRange, NewExternalObject, ObjectStoreParameters, Upgrade, Value,
};
use larder_sync::MirrorOptions;
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

/// A write, and those of the record that its device had seen.
#[derive(Debug, Clone)]
struct Write {
    text: Option<String>,
    after: BTreeSet<usize>,
}

/// Which writes there are, and where they have come to: by their numbers.
#[derive(Debug, Default)]
struct Model {
    writes: Vec<(Place, Write)>,
    /// By device, those that its database has or has had.
    databases: Vec<BTreeSet<usize>>,
    /// By device, those that its page has or has had.
    pages: Vec<BTreeSet<usize>>,
}

impl Model {
    fn write(&mut self, device: usize, place: Place, text: Option<String>) {
        let number = self.writes.len();
        let after = self.databases[device].clone();
        self.writes.push((place, Write { text, after }));
        self.databases[device].insert(number);
    }

    fn take(&mut self, device: usize) {
        let of_database = self.databases[device].clone();
        self.pages[device].extend(of_database);
    }

    fn apply(&mut self, device: usize) {
        self.take(device);
        self.databases[device] = self.pages[device].clone();
    }

    fn pull(&mut self, device: usize, other: usize) {
        let of_other = self.pages[other].clone();
        self.pages[device].extend(of_other);
    }

    fn of(&self, place: &Place) -> BTreeMap<usize, &Write> {
        let all = self.writes.iter().enumerate();
        all.filter(|(_, (of, _))| of == place)
            .map(|(number, (_, write))| (number, write))
            .collect()
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
    let value = json!({ "n": number, "parity": number % 2 });
    let value = Value::serialize(&value).unwrap();
    match number % 5 {
        0 => {
            let content: Vec<u8> = (0..number * 37 % 300)
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
            let options = MirrorOptions::new().device_number(at as u32);
            Device::new(options, upgrade)
        });
        let none = vec![BTreeSet::new(); count];
        Self {
            devices: devices.collect(),
            random,
            model: Model {
                writes: Vec::new(),
                databases: none.clone(),
                pages: none,
            },
            now: 0,
            number: 0,
        }
    }

    /// One transaction with some changes, which may be aborted.
    fn change(&mut self, at: usize) {
        let device = &self.devices[at];
        let mut there: BTreeSet<Place> = device.content().into_keys().collect();
        let transaction = device.begin();
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
                    // A put, which overwrites what an add stumbles over.
                    let key = store.put(written, None).unwrap().wait().unwrap();
                    let place = (name.to_owned(), format!("{key:?}"));
                    let is_new = there.insert(place.clone());
                    assert!(is_new, "{key:?} was generated, and is there");
                    done.push((place, Some(text)));
                }
                _ => {
                    let key = match name {
                        "numbered" => {
                            // One that was generated, here or on another device; or one that is no number, since numbers are generators'.
                            let range = KeyRange::upper_bound(f64::INFINITY, false);
                            let numbers = store.get_all_keys(range, GetAllOptions::new());
                            let numbers = numbers.unwrap().wait().unwrap();
                            match self.random.index(numbers.len() + 1) {
                                0 => Key::from(format!("n{number}").as_str()),
                                at => numbers.get(at - 1).unwrap().primary_key().clone(),
                            }
                        }
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
            5 => {
                self.devices[at].take(self.now);
                self.model.take(at);
            }
            6 => {
                self.devices[at].apply(self.now);
                self.model.apply(at);
            }
            7 => drop(self.devices[at].mirror().merge().unwrap()),
            _ => {
                let other = self.random.index(self.devices.len());
                if other != at {
                    let page = &self.devices[other].page;
                    self.devices[at].page.pull_from(page, false).unwrap();
                    self.model.pull(at, other);
                }
            }
        }
    }

    /// Compares: how many records were kept that one side had changed.
    fn check(&mut self) -> usize {
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
        let mut crossed = 0;
        let places: BTreeSet<&Place> = self.model.writes.iter().map(|(place, _)| place).collect();
        for place in &places {
            let writes = self.model.of(place);
            let now = content.get(*place).cloned();
            let others = listed.get(*place).unwrap_or(&empty);
            let say = || format!("{place:?} is {now:?}, beside {others:?}, of {writes:?}");
            // Those that no other device has seen and changed.
            let lasts = writes
                .iter()
                .filter(|(number, _)| writes.values().all(|write| !write.after.contains(number)));
            let lasts: BTreeSet<&Option<String>> = lasts.map(|(_, write)| &write.text).collect();
            // Where merges have crossed, a record may be kept that was changed since on one side; then that change is listed.
            let is_line = writes.iter().all(|(number, write)| {
                writes
                    .range(..number)
                    .all(|(at, _)| write.after.contains(at))
            });
            let is_kept = lasts.contains(&now);
            let was_written = writes.values().any(|write| write.text == now);
            assert!(is_kept || was_written && !is_line, "{}", say());
            crossed += usize::from(!is_kept);
            let kept = writes.values().find(|write| write.text == now);
            let kept_after = kept.map(|write| &write.after);
            for (number, lost) in &writes {
                let is_last = writes.values().all(|write| !write.after.contains(number));
                if !is_last || lost.text == now {
                    continue;
                }
                // A removal of what the other side never had is no change, nor one that the other side has made as well, before its own.
                let is_in_kept = |at: &usize| kept_after.is_some_and(|kept| kept.contains(at));
                let mut both = writes
                    .iter()
                    .filter(|(at, _)| lost.after.contains(*at) && is_in_kept(at));
                let is_made_twice =
                    (writes.iter()).any(|(at, write)| write.text.is_none() && is_in_kept(at));
                // Nor one that was merged with a head which has another record there, written apart from all that was removed: to those
                // two it is no change, as neither their base nor the one side has what it removed.
                let is_apart = |write: &Write| {
                    write.text.is_some()
                        && writes
                            .keys()
                            .all(|at| !(write.after.contains(at) && lost.after.contains(at)))
                };
                let is_beside_another = writes.iter().any(|(at, write)| {
                    !lost.after.contains(at) && !write.after.contains(number) && is_apart(write)
                });
                let is_change = lost.text.is_some()
                    || !is_made_twice
                        && !is_beside_another
                        && both
                            .next_back()
                            .is_some_and(|(_, shared)| shared.text.is_some());
                assert!(!is_change || others.contains(&lost.text), "{}", say());
            }
            // A line of writes has no conflict.
            assert!(!is_line || others.is_empty(), "{}", say());
            let is_of = |text: &Option<String>| writes.values().any(|write| write.text == *text);
            assert!(others.iter().all(is_of), "{}", say());
        }
        assert!(content.keys().all(|place| places.contains(place)));
        assert!(listed.keys().all(|place| places.contains(place)));
        crossed
    }
}

#[test]
fn devices_agree_and_lose_nothing_whatever_they_do_and_whenever_they_meet() {
    let first = crate::setting("LARDER_SYNC_SEED", 1);
    let count = crate::setting("LARDER_SYNC_SEEDS", 200);
    let mut crossed = 0;
    for seed in first..first + count {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let mut run = Run::new(seed);
            for _ in 0..40 {
                run.step();
            }
            run.check()
        }));
        match ran {
            Ok(count) => crossed += count,
            Err(panic) => {
                println!("seed {seed}");
                resume_unwind(panic);
            }
        }
    }
    println!("{count} programs from seed {first}, {crossed} records of crossed merges");
}
