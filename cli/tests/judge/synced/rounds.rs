//! Rounds: both devices change things offline, among them records that the other changes, too; then they sync until nothing is left to do.
//!
//! `LARDER_SYNC_TURNS` says how many rounds there are (3 with Chromium, 20 without), `LARDER_SEED` where they begin.

use std::collections::BTreeMap;
use std::ffi::OsString;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium;
use larder_fixtures::random::Random;
use serde_json::{Value, json};

use super::alike;
use super::device::{Device, Host};
use super::model::{Outcome, Records, Rule, applied, met, operations, records};
use crate::entries::check_entries;
use crate::scripts::write_script;
use crate::{agree, dumped, setting};

const SCRIPT: &str = include_str!("script.js");
const DATABASE: &str = "notes";

/// Both need no more syncs than these, after a round of changes: one goes up, the other comes down and goes up, and that comes down; then each
/// has nothing to do.
const SYNCS_MAX: usize = 6;

#[derive(Debug, Default)]
struct Tally {
    syncs: usize,
    syncs_most: usize,
    records: usize,
    by_one: usize,
    by_both: usize,
    listed: usize,
    generated: usize,
    entries: usize,
}

fn is_quiet(round: &Value) -> bool {
    let done = [
        "changedHere",
        "removedHere",
        "changedElsewhere",
        "removedElsewhere",
        "commitsIn",
        "commitsOut",
    ];
    done.iter().all(|what| round[what] == 0)
}

/// Syncs by turns, until neither has anything to do.
fn sync_until_quiet(devices: &[Device; 2], random: &mut Random, what: &str) -> usize {
    let first = random.index(2);
    let (mut quiet, mut syncs) = (0, 0);
    while quiet < 2 {
        let device = &devices[(first + syncs) % 2];
        let lines = device.sync(DATABASE, &["--json"]).lines();
        let [round] = &lines[..] else {
            panic!("{what}: {lines:?}");
        };
        assert_eq!(round["isWaiting"], false, "{what}: {round}");
        assert_eq!(round["apart"], json!([]), "{what}");
        quiet = if is_quiet(round) { quiet + 1 } else { 0 };
        syncs += 1;
        assert!(syncs <= SYNCS_MAX, "{what}: not quiet: {round}");
    }
    syncs
}

/// The values that were not kept, by object store and key: `None` is a removal.
fn conflicts(device: &Device) -> BTreeMap<(String, String), (Option<Value>, Option<Value>)> {
    let lines = device.sync(DATABASE, &["--conflicts"]).lines();
    let count = lines.len();
    let side = |side: &Value| match side["removed"] == true {
        true => None,
        false => Some(side["value"].clone()),
    };
    let of = |line: Value| {
        let at = (
            line["store"].as_str().unwrap().to_owned(),
            line["key"].to_string(),
        );
        (at, (side(&line["kept"]), side(&line["other"])))
    };
    let conflicts: BTreeMap<_, _> = lines.into_iter().map(of).collect();
    assert_eq!(conflicts.len(), count, "a record is listed once");
    conflicts
}

/// A value as conflicts and scripts show it: without contents of blobs, which only the script has.
fn without_content(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(blob) = value.get_mut("blob") {
        *blob = json!("a blob");
    }
    value
}

fn check_conflicts(
    devices: &[Device; 2],
    found: &Records,
    outcomes: &BTreeMap<(String, String), Outcome>,
    what: &str,
) {
    let comparable = |value: Option<&Value>| value.map(without_content);
    let expected: BTreeMap<_, _> = outcomes
        .iter()
        .filter_map(|(at, outcome)| Some((at, outcome.other.as_ref()?)))
        .map(|(at, other)| {
            (
                at.clone(),
                (comparable(found.get(at)), comparable(other.as_ref())),
            )
        })
        .collect();
    for device in devices {
        let listed: BTreeMap<_, _> = conflicts(device)
            .into_iter()
            .map(|(at, (kept, other))| {
                (at, (comparable(kept.as_ref()), comparable(other.as_ref())))
            })
            .collect();
        assert_eq!(listed, expected, "{what}: on {}", device.name);
    }
}

/// One round: what is there after it.
fn round(
    devices: &[Device; 2],
    rule: Rule,
    base: &Records,
    random: &mut Random,
    tally: &mut Tally,
    what: &str,
) -> Records {
    let [one, two] = devices;
    let lists = operations(random, base, [one.name, two.name]);
    let mut after = Vec::new();
    for (device, operations) in devices.iter().zip(&lists) {
        let report = device.run(SCRIPT, &json!({ "operations": operations }));
        let expected = applied(base, operations, &report["numbers"]);
        tally.generated += report["numbers"].as_array().unwrap().len();
        assert_eq!(
            records(&report),
            expected,
            "{what}: {} before it syncs",
            device.name
        );
        after.push(expected);
    }
    let generated = |records: &Records| -> Vec<_> {
        let new = records
            .keys()
            .filter(|at| at.0 == "numbered" && !base.contains_key(*at));
        new.cloned().collect()
    };
    let (of_one, of_two) = (generated(&after[0]), generated(&after[1]));
    assert!(
        of_one.iter().all(|at| !of_two.contains(at)),
        "{what}: {of_one:?}, {of_two:?}"
    );

    let syncs = sync_until_quiet(devices, random, what);
    tally.syncs += syncs;
    tally.syncs_most = tally.syncs_most.max(syncs);

    let shown = devices
        .each_ref()
        .map(|device| device.run(SCRIPT, &json!({ "operations": [] })));
    let found = records(&shown[0]);
    assert_eq!(
        found,
        records(&shown[1]),
        "{what}: {} and {}",
        one.name,
        two.name
    );
    let mut outcomes = BTreeMap::new();
    for (at, allowed) in met(rule, base, [&after[0], &after[1]]) {
        let kept = found.get(&at).cloned();
        let is_it = |outcome: &&Outcome| outcome.kept == kept;
        let Some(outcome) = allowed.iter().find(is_it) else {
            panic!("{what}: {at:?} is {kept:?}, not one of {allowed:?}");
        };
        let is_changed = base.get(&at) != kept.as_ref();
        tally.by_both += usize::from(allowed.len() > 1 || outcome.other.is_some());
        tally.by_one += usize::from(is_changed && allowed.len() == 1 && outcome.other.is_none());
        tally.listed += usize::from(outcome.other.is_some());
        outcomes.insert(at, outcome.clone());
    }
    assert!(
        found.keys().all(|at| outcomes.contains_key(at)),
        "{what}: records that none has made"
    );
    check_conflicts(devices, &found, &outcomes, what);

    let documents = devices
        .each_ref()
        .map(|device| alike(dumped(&device.store())));
    agree(&documents[0], &documents[1], what);
    tally.entries += check_entries(&documents[0], what);
    for (shown, document) in shown.into_iter().zip(&documents) {
        if !shown["dump"].is_null() {
            agree(document, &alike(databases_of(shown["dump"].clone())), what);
        }
    }
    settle(devices, random, what);
    tally.records = tally.records.max(found.len());
    found
}

/// One of the devices takes all off the list, and it is off on both.
fn settle(devices: &[Device; 2], random: &mut Random, what: &str) {
    let settling = random.pick(&[&devices[0], &devices[1]]);
    let said = settling.sync(DATABASE, &["--settle"]);
    assert_eq!(said.code, Some(0), "{what}: {said:?}");
    sync_until_quiet(devices, random, what);
    for device in devices {
        assert_eq!(
            conflicts(device),
            BTreeMap::new(),
            "{what}: on {}",
            device.name
        );
    }
}

fn take_rounds(host: Host, rule: Rule, cloud: &[OsString], turns: u64, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = cloud.to_vec();
    if rule == Rule::Property {
        options.extend(["--merge-by", "property"].map(OsString::from));
    }
    if cloud.iter().all(|option| option != "--cloud") {
        options.extend(["--cloud".into(), dir.path().join("cloud").into()]);
    }
    let devices = ["A", "B"].map(|name| Device::new(name, host, dir.path(), &options));
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let made = devices[0].run(SCRIPT, &json!({ "makes": true, "operations": [] }));
    let mut found = records(&made);
    if let Host::Page(_) = host {
        // A profile without any database.
        devices[1].run("return null;", &Value::Null);
    }
    for device in &devices {
        let lines = device.sync(DATABASE, &["--json"]).lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
    }
    for turn in 0..turns {
        let what = format!("seed {seed}, round {turn}");
        found = round(&devices, rule, &found, &mut random, &mut tally, &what);
    }
    println!("seed {seed}, {turns} rounds agreed: {tally:?}");
    let enough = usize::try_from(turns).unwrap();
    assert!(
        tally.by_one > enough && tally.by_both >= enough,
        "{tally:?}"
    );
    assert!(tally.listed > 0 && tally.generated > enough, "{tally:?}");
}

#[test]
fn two_chromiums_that_change_things_offline_show_the_same_after_they_have_synced() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (turns, seed) = (setting("LARDER_SYNC_TURNS", 3), setting("LARDER_SEED", 1));
        take_rounds(Host::Page(chromium), Rule::Record, &[], turns, seed);
    });
}

#[test]
fn two_runs_with_a_key_show_the_same_after_they_have_synced() {
    with_large_stack(|| {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        let seed = setting("LARDER_SEED", 2);
        write_script(&key, &format!("{seed:032}"));
        let cloud = ["--key".into(), key.into()];
        take_rounds(
            Host::Run,
            Rule::Record,
            &cloud,
            setting("LARDER_SYNC_TURNS", 20),
            seed,
        );
    });
}

#[test]
fn two_runs_that_merge_by_property_show_the_same_after_they_have_synced() {
    with_large_stack(|| {
        let (turns, seed) = (setting("LARDER_SYNC_TURNS", 20), setting("LARDER_SEED", 3));
        take_rounds(Host::Run, Rule::Property, &[], turns, seed);
    });
}

#[cfg(feature = "etcd")]
#[test]
fn two_chromiums_that_meet_in_etcd_show_the_same_after_they_have_synced() {
    with_large_stack(|| {
        let (Some(chromium), Some(etcd)) =
            (chromium::shared(), larder_fixtures::servers::Etcd::shared())
        else {
            return;
        };
        let address = format!("etcd://{}/synced-profiles", etcd.endpoints());
        let cloud = ["--cloud".into(), address.into()];
        let (turns, seed) = (setting("LARDER_SYNC_TURNS", 2), setting("LARDER_SEED", 5));
        take_rounds(Host::Page(chromium), Rule::Record, &cloud, turns, seed);
    });
}

#[cfg(feature = "etcd")]
#[test]
fn two_runs_that_meet_in_etcd_show_the_same_after_they_have_synced() {
    with_large_stack(|| {
        let Some(etcd) = larder_fixtures::servers::Etcd::shared() else {
            return;
        };
        let address = format!("etcd://{}/synced", etcd.endpoints());
        let cloud = ["--cloud".into(), address.into()];
        let (turns, seed) = (setting("LARDER_SYNC_TURNS", 20), setting("LARDER_SEED", 4));
        take_rounds(Host::Run, Rule::Record, &cloud, turns, seed);
    });
}
