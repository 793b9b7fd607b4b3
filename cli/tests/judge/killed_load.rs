//! Larder killed in the middle of large transactions, whose rows are in tables that no MANIFEST names before the commit (decision 42).
//!
//! A child writes rounds without end: a small strict transaction, and a large one that puts every record of another object store anew.
//! After the kill Larder and Chromium find all that was acknowledged, and of the last large transaction all records or none. Then Chromium
//! writes on, and the next child goes on with what it left.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use larder_backing_store::{Durability, Scope};
use larder_codec::JsString;
use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};
use larder_fixtures::random::Random;
use serde_json::{Value, json};

use crate::entries::check_entries;
use crate::{ORIGIN, agree, dumped, ours, setting, stores};

/// The variable that gives the child the first round and the store's folders.
const CHILD: &str = "LARDER_JUDGE_LOADING_CHILD";

/// Records of a large transaction, and its limit in memory: some twenty runs.
const RECORDS: u64 = 4000;
const LIMIT_BYTES: usize = 50_000;

/// A round takes a fraction of a second, so a kill after so long comes in any part of it.
const PAUSE_MICROS_MAX: u64 = 400_000;

const THEIR_TURN: &str = r"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const database = await done(indexedDB.open('loads'));
const transaction = database.transaction(['small', 'large'], 'readwrite');
const over = new Promise((resolve, reject) => { transaction.oncomplete = resolve; transaction.onabort = () => reject(transaction.error); });
const small = transaction.objectStore('small');
small.put({ a: args.kill, round: 0 }, -1 - args.kill);
const large = transaction.objectStore('large');
for (let key = args.kill % 7; key < 4000; key += 500) {
  const value = await done(large.get(key));
  if (value) large.put({ ...value, a: 100 + args.kill }, key);
}
await over;
database.close();
return fixture.dump();
";

#[test]
fn a_child_that_loads_without_end_does_nothing_without_its_parent() {
    let Some(child) = std::env::var_os(CHILD) else {
        return;
    };
    let child: Value = serde_json::from_str(child.to_str().unwrap()).unwrap();
    let folder = |name: &str| child[name].as_str().unwrap().into();
    let store = Store {
        leveldb: folder("leveldb"),
        blob: folder("blob"),
        origin: ORIGIN.into(),
    };
    load_without_end(&store, child["round"].as_u64().unwrap());
}

fn load_without_end(store: &Store, first: u64) {
    let store = ours::open_with(store, LIMIT_BYTES);
    if store.databases().unwrap().is_empty() {
        let id = store.create_database(&"loads".into()).unwrap();
        let scope = Scope::VersionChange(id);
        let mut change = store.begin(scope, Durability::Strict).unwrap();
        ours::create_with_index(&mut change, "small");
        ours::create_with_index(&mut change, "large");
        change.set_version(1).unwrap();
        change.commit().unwrap();
    }
    let database = store.databases().unwrap().remove(0);
    let find = |name: JsString| {
        let found = database
            .object_stores
            .iter()
            .find(|store| store.name == name);
        (found.unwrap().id, found.unwrap().indexes[0].id)
    };
    let (small, large) = (find("small".into()), find("large".into()));
    let begin = |(id, _), durability| {
        let scope = Scope::Stores(database.id, [id].into());
        store.begin(scope, durability).unwrap()
    };
    println!();
    for round in first.. {
        let mut transaction = begin(small, Durability::Strict);
        let value = json!({ "a": round % 10, "round": round });
        ours::put_with_index(&mut transaction, small.0, small.1, round, &value);
        transaction.commit().unwrap();
        println!("small {round}");
        let mut transaction = begin(large, Durability::Relaxed);
        for n in 0..RECORDS {
            let text = format!("{:0100}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ round);
            let value = json!({ "a": (n * 7 + round) % 90, "round": round, "text": text });
            ours::put_with_index(&mut transaction, large.0, large.1, n, &value);
        }
        transaction.commit().unwrap();
        println!("large {round}");
    }
}

/// The last rounds that a child acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Acknowledged {
    small: u64,
    large: u64,
}

impl Acknowledged {
    fn line(&mut self, line: &str) {
        let number = |rest: &str| rest.parse().unwrap();
        if let Some(round) = line.strip_prefix("small ") {
            self.small = number(round);
        } else if let Some(round) = line.strip_prefix("large ") {
            self.large = number(round);
        }
    }
}

/// Lets a child write, and kills it some time after it has acknowledged one to three small transactions.
fn killed(store: &Store, first: u64, before: Acknowledged, random: &mut Random) -> Acknowledged {
    let work = json!({ "leveldb": store.leveldb, "blob": store.blob, "round": first });
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "killed_load::a_child_that_loads_without_end_does_nothing_without_its_parent",
            "--exact",
            "--nocapture",
        ])
        .env(CHILD, work.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = before;
    let awaited = first + random.below(3);
    while acknowledged.small < awaited {
        acknowledged.line(&lines.next().unwrap().unwrap());
    }
    std::thread::sleep(Duration::from_micros(random.below(PAUSE_MICROS_MAX)));
    child.kill().unwrap();
    lines.for_each(|line| acknowledged.line(&line.unwrap()));
    // It runs for ever unless it fails.
    assert_eq!(child.wait().unwrap().code(), None, "it ended by itself");
    acknowledged
}

/// The rounds in the values of an object store.
fn rounds(databases: &Value, name: &str) -> Vec<u64> {
    let number = |value: &Value| {
        let properties = value["props"].as_array().unwrap();
        let round = properties.iter().find(|property| property[0] == "round");
        round.unwrap()[1]["v"].as_str().unwrap().parse().unwrap()
    };
    let named = stores(databases).filter(|store| store["name"] == name);
    let records = named.flat_map(|store| store["records"].as_array().unwrap());
    records.map(|record| number(&record[1])).collect()
}

/// Checks what a kill has left: the last round of each object store.
fn check(databases: &Value, acknowledged: Acknowledged, what: &str) -> Acknowledged {
    check_entries(databases, what);
    let small = rounds(databases, "small");
    let last = small.iter().copied().max().unwrap();
    let ours = small.iter().filter(|&&round| round > 0).count() as u64;
    assert_eq!(ours, last, "{what}: no small transaction is missing");
    assert!(
        (acknowledged.small..=acknowledged.small + 1).contains(&last),
        "{what}: {last} of {acknowledged:?}"
    );
    let large = rounds(databases, "large");
    let round = large.first().copied().unwrap_or(0);
    assert!(
        large.iter().all(|found| *found == round),
        "{what}: a part of a large transaction"
    );
    assert_eq!(large.len() as u64, if round == 0 { 0 } else { RECORDS });
    assert!(
        round == acknowledged.large
            || (acknowledged.large + 1..=acknowledged.small).contains(&round),
        "{what}: round {round} of {acknowledged:?}"
    );
    Acknowledged {
        small: last,
        large: round,
    }
}

#[test]
fn a_large_transaction_that_is_killed_is_there_as_a_whole_or_not_at_all() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (kills, seed) = (setting("LARDER_LOAD_KILLS", 3), setting("LARDER_SEED", 1));
        println!("seed {seed}, {kills} kills");
        let mut random = Random::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::within(dir.path(), ORIGIN);
        let (mut before, mut in_the_middle) = (Acknowledged::default(), 0);
        for kill in 0..kills {
            let what = format!("seed {seed}, kill {kill}");
            let acknowledged = killed(&store, before.small + 1, before, &mut random);
            in_the_middle += u64::from(acknowledged.large < acknowledged.small);
            let ours = dumped(&store);
            agree(&ours, &databases_of(chromium.dump(&store).unwrap()), &what);
            before = check(&ours, acknowledged, &what);
            let out = dir.path().join(format!("after {kill}"));
            let arguments = json!({ "kill": kill });
            let changed = chromium.run(&store, THEIR_TURN, &arguments, &out).unwrap();
            let theirs = databases_of(changed.value);
            agree(
                &dumped(&changed.store),
                &theirs,
                &format!("{what}, Chromium's turn"),
            );
            store = changed.store;
        }
        assert!(
            in_the_middle * 2 > kills,
            "{in_the_middle} of {kills} kills in the middle of a large transaction"
        );
        println!(
            "{kills} kills, {in_the_middle} in the middle of a large transaction: {} small and the last of {} large ones were there",
            before.small, before.large
        );
    });
}
