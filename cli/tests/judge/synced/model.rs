//! What two devices must come to: records in maps, changed by lists of operations, and met by looking at three of them.

use std::collections::{BTreeMap, BTreeSet};

use larder_fixtures::random::Random;
use serde_json::{Map, Value, json};

/// Records by object store and key, the key as JSON text.
pub(super) type Records = BTreeMap<(String, String), Value>;

/// What `larder sync` is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Record,
    Property,
}

/// A record of two devices, as it may be after they have met.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) kept: Option<Value>,
    /// The record that is listed in its place, if one is: `Some(None)` is a removal.
    pub(super) other: Option<Option<Value>>,
}

pub(super) fn records(report: &Value) -> Records {
    let records = report["records"].as_array().unwrap().iter();
    let of = |record: &Value| {
        (
            (
                record[0].as_str().unwrap().to_owned(),
                record[1].to_string(),
            ),
            record[2].clone(),
        )
    };
    records.map(of).collect()
}

fn value(random: &mut Random, by: &str, old: Option<&Value>) -> Value {
    if random.one_in(8) {
        return json!(format!("text {} of {by}", random.next()));
    }
    let mut value = match old {
        // Some properties are other ones.
        Some(Value::Object(old)) if !random.one_in(5) => old.clone(),
        _ => Map::new(),
    };
    for _ in 0..1 + random.below(3) {
        let (name, new) = match random.below(8) {
            0 => (
                "blob",
                json!({ "$blob": format!("content {}", random.next()) }),
            ),
            1 => (
                "long",
                json!("long ".repeat(14_000) + &random.next().to_string()),
            ),
            2 => (
                "tags",
                json!([format!("t{}", random.below(4)), random.below(3)]),
            ),
            3 => ("n", json!(random.below(3))),
            4 => ("text", json!(format!("{} of {by}, ж", random.next()))),
            5 => (
                "more",
                json!({ "nested": [random.below(9), null, { "by": by }] }),
            ),
            6 => ("by", json!(by)),
            _ => {
                value.remove(random.pick(&["n", "blob", "tags", "long"]));
                ("text", json!(random.next().to_string()))
            }
        };
        value.insert(name.to_owned(), new);
    }
    Value::Object(value)
}

fn key(random: &mut Random) -> Value {
    match random.below(3) {
        0 => json!(random.below(12)),
        1 => json!(format!("k{}é", random.below(8))),
        _ => json!([random.below(4), "x"]),
    }
}

/// Operations on one record that is there: mostly another value.
fn on_one(random: &mut Random, by: &str, at: &(String, String), old: &Value) -> Value {
    let key: Value = serde_json::from_str(&at.1).unwrap();
    if random.one_in(4) {
        return json!(["remove", at.0, key]);
    }
    let mut new = value(random, by, Some(old));
    if at.0 == "numbered" {
        if !new.is_object() {
            new = json!({ "was": new });
        }
        new["id"] = key.clone();
        // The same properties in another order, the generated id at the end of one, would be another value in the same words.
        if new == *old {
            new["again"] = json!(random.below(1_000_000));
        }
    }
    json!(["put", at.0, key, new])
}

/// What each of two devices does: some of it to records that both change.
pub(super) fn operations(random: &mut Random, base: &Records, names: [&str; 2]) -> [Vec<Value>; 2] {
    let there: Vec<_> = base.iter().collect();
    let mut lists = [Vec::new(), Vec::new()];
    if !there.is_empty() {
        for _ in 0..1 + random.below(4) {
            let (at, old) = random.pick(&there);
            for (list, by) in lists.iter_mut().zip(names) {
                list.push(on_one(random, by, at, old));
            }
        }
    }
    for (list, by) in lists.iter_mut().zip(names) {
        for _ in 0..2 + random.below(10) {
            list.push(match random.below(6) {
                0 | 1 if !there.is_empty() => {
                    let (at, old) = random.pick(&there);
                    on_one(random, by, at, old)
                }
                2 => json!(["put", "plain", key(random), value(random, by, None)]),
                3 => json!(["remove", "plain", key(random)]),
                _ => {
                    let mut new = value(random, by, None);
                    if !new.is_object() {
                        new = json!({ "was": new });
                    }
                    json!(["add", "numbered", null, new])
                }
            });
        }
    }
    lists
}

/// What is there after operations, the generated `numbers` of which the device has said.
pub(super) fn applied(base: &Records, operations: &[Value], numbers: &Value) -> Records {
    let mut records = base.clone();
    let mut numbers = numbers.as_array().unwrap().iter();
    for operation in operations {
        let store = operation[1].as_str().unwrap().to_owned();
        let (key, value) = (&operation[2], operation[3].clone());
        match operation[0].as_str().unwrap() {
            "put" => drop(records.insert((store, key.to_string()), value)),
            "remove" => drop(records.remove(&(store, key.to_string()))),
            _ => {
                let number = numbers.next().unwrap();
                let mut value = value;
                value["id"] = number.clone();
                let old = records.insert((store, number.to_string()), value);
                assert_eq!(old, None, "{number} was generated and is there");
            }
        }
    }
    assert_eq!(numbers.next(), None);
    records
}

/// What each record may be after the devices have met. There are two outcomes where both have changed one.
pub(super) fn met(
    rule: Rule,
    base: &Records,
    [one, two]: [&Records; 2],
) -> BTreeMap<(String, String), Vec<Outcome>> {
    let keys: BTreeSet<_> = (base.keys().chain(one.keys()).chain(two.keys())).collect();
    let outcomes = |key: &(String, String)| {
        let [base, one, two] = [base, one, two].map(|records| records.get(key));
        let alone = |kept: Option<&Value>| {
            vec![Outcome {
                kept: kept.cloned(),
                other: None,
            }]
        };
        match (one == base, two == base) {
            _ if one == two => alone(one),
            (_, true) => alone(one),
            (true, _) => alone(two),
            _ => both(rule, base, one, two),
        }
    };
    keys.into_iter()
        .map(|key| (key.clone(), outcomes(key)))
        .collect()
}

/// A record that both have changed, and not alike.
fn both(
    rule: Rule,
    base: Option<&Value>,
    one: Option<&Value>,
    two: Option<&Value>,
) -> Vec<Outcome> {
    let kept = |kept: Option<&Value>, other: Option<&Value>| Outcome {
        kept: kept.cloned(),
        other: Some(other.cloned()),
    };
    if one.is_none() || two.is_none() {
        // The change is kept, and the removal listed.
        return vec![kept(one.or(two), None)];
    }
    let plain = |value: Option<&Value>| {
        let properties = value.and_then(Value::as_object);
        properties.filter(|all| !all.contains_key("blob")).cloned()
    };
    match (rule, plain(base), plain(one), plain(two)) {
        (Rule::Property, Some(base), Some(one), Some(two)) => {
            vec![joined(&base, &one, &two), joined(&base, &two, &one)]
        }
        _ => vec![kept(one, two), kept(two, one)],
    }
}

/// The first with what only the second has changed.
fn joined(
    base: &Map<String, Value>,
    first: &Map<String, Value>,
    second: &Map<String, Value>,
) -> Outcome {
    let names: BTreeSet<&String> = (base.keys().chain(first.keys()).chain(second.keys())).collect();
    let (mut kept, mut is_lossy) = (Map::new(), false);
    for name in names {
        let [base, first, second] = [base, first, second].map(|all| all.get(name));
        let value = if first == base { second } else { first };
        if let Some(value) = value {
            kept.insert(name.clone(), value.clone());
        }
        is_lossy |= first != base && second != base && first != second;
    }
    Outcome {
        kept: Some(Value::Object(kept)),
        other: is_lossy.then(|| Some(Value::Object(second.clone()))),
    }
}
