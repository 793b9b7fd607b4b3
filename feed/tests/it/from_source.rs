//! What comes from the source, and what was changed here meanwhile: random programs beside plain maps and a list, and cases by name.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use futures_executor::block_on;
use larder_feed::{
    ChangedHere, CleanUp, Error, Feed, FromSource, Merged, ReadOptions, RevisionKind,
};
use larder_fixtures::random::Random;
use larder_idb::codec::value::{Builder, HostObject, JsStr, Object, PropertyName};
use larder_idb::{
    Database, JsString, Key, NewExternalObject, ObjectStoreParameters, StoredValue, Value,
};
use serde_json::{Value as Json, json};

const STORE: &str = "messages";

fn mail(parameters: ObjectStoreParameters) -> (Database, Feed) {
    let opening = Database::in_memory("mail", 1, move |upgrade| {
        upgrade.transaction.create_object_store(STORE, parameters)?;
        upgrade.transaction.set_change_feed(true)
    });
    let mail = opening.unwrap().wait().unwrap();
    let feed = Feed::of(mail.connection()).unwrap();
    (mail, feed)
}

/// Puts here, or removes.
fn change(mail: &Database, key: u64, value: Option<&Json>) {
    let transaction = mail.write(STORE).unwrap();
    let store = transaction.object_store(STORE).unwrap();
    let key = Key::Number(key as f64);
    match value {
        Some(value) => {
            let value = Value::serialize(value).unwrap();
            store.put(value, Some(key)).unwrap().detach();
        }
        None => store.delete(key).unwrap().detach(),
    }
    transaction.commit().unwrap().wait().unwrap();
}

fn put_in(from_source: &FromSource, key: u64, value: &Json) -> Merged {
    let value = Value::serialize(value).unwrap();
    let key = Key::Number(key as f64);
    block_on(from_source.put(STORE, value, Some(key))).unwrap()
}

fn put(feed: &Feed, base: u64, key: u64, value: &Json) -> ChangedHere {
    let from_source = block_on(feed.from_source(&[STORE], base)).unwrap();
    let merged = put_in(&from_source, key, value);
    block_on(from_source.commit()).unwrap();
    merged.kept
}

fn stored(mail: &Database, key: u64) -> Option<StoredValue> {
    let reading = mail.read(STORE).unwrap();
    let store = reading.object_store(STORE).unwrap();
    store.get(key as f64).unwrap().wait().unwrap()
}

fn now(mail: &Database, key: u64) -> Option<Json> {
    stored(mail, key).map(|found| found.deserialize().unwrap())
}

fn last(feed: &Feed) -> u64 {
    block_on(feed.last()).unwrap()
}

fn properties(names: &[&str]) -> ChangedHere {
    ChangedHere::Properties(names.iter().map(|name| JsString::from(*name)).collect())
}

/// Sink's own case.
#[test]
fn a_summary_that_was_changed_here_is_kept_and_a_description_of_the_source_taken() {
    let (mail, feed) = mail(ObjectStoreParameters::new());
    change(
        &mail,
        1,
        Some(&json!({ "summary": "base", "description": "base" })),
    );
    let base = last(&feed);
    change(
        &mail,
        1,
        Some(&json!({ "summary": "local", "description": "base" })),
    );
    let theirs = json!({ "summary": "remote", "description": "remote" });
    assert_eq!(put(&feed, base, 1, &theirs), properties(&["summary"]));
    let merged = json!({ "summary": "local", "description": "remote" });
    assert_eq!(now(&mail, 1), Some(merged));
    // The source has heard of it now: nothing is left to be kept.
    assert_eq!(put(&feed, last(&feed), 1, &theirs), ChangedHere::Nothing);
    assert_eq!(now(&mail, 1), Some(theirs));
    // Its own revisions are not brought back to it.
    let mut reader = feed.read_from(base, ReadOptions::new().without_source(true));
    let batch = block_on(reader.next()).unwrap().unwrap();
    let numbers = batch.revisions().iter().map(|revision| revision.number());
    assert_eq!(numbers.collect::<Vec<_>>(), [2]);
}

#[test]
fn what_was_removed_here_stays_so_and_what_is_no_object_is_one_thing() {
    let (mail, feed) = mail(ObjectStoreParameters::new());
    for key in 1..=3 {
        change(&mail, key, Some(&json!({ "a": 1 })));
    }
    let base = last(&feed);
    change(&mail, 1, None);
    change(&mail, 2, Some(&json!([1])));
    change(&mail, 3, Some(&json!({ "a": 2 })));
    assert_eq!(
        put(&feed, base, 1, &json!({ "a": 9 })),
        ChangedHere::Removed
    );
    assert_eq!(now(&mail, 1), None);
    assert_eq!(put(&feed, base, 2, &json!({ "a": 9 })), ChangedHere::Whole);
    assert_eq!(now(&mail, 2), Some(json!([1])));
    // An object here, and none there.
    assert_eq!(put(&feed, base, 3, &json!("text")), ChangedHere::Whole);
    assert_eq!(now(&mail, 3), Some(json!({ "a": 2 })));
    // Of a transaction that is let go of nothing is left.
    let from_source = block_on(feed.from_source(&[STORE], last(&feed))).unwrap();
    put_in(&from_source, 3, &json!("text"));
    drop(from_source);
    assert_eq!(now(&mail, 3), Some(json!({ "a": 2 })));
}

#[test]
fn a_base_before_what_has_been_cleaned_up_is_refused_and_a_consumer_keeps_its_own() {
    let (mail, feed) = mail(ObjectStoreParameters::new());
    for n in 1..=4 {
        change(&mail, 1, Some(&json!({ "a": n })));
    }
    let consumer = block_on(feed.consumer("source")).unwrap();
    block_on(consumer.acknowledge(2)).unwrap();
    block_on(feed.clean(CleanUp::new())).unwrap();
    let refused = block_on(feed.from_source(&[STORE], 1)).unwrap_err();
    assert!(
        matches!(
            refused,
            Error::LeftBehind {
                position: 1,
                cleaned: 2
            }
        ),
        "{refused}"
    );
    let theirs = json!({ "a": 0, "b": 0 });
    assert_eq!(put(&feed, 2, 1, &theirs), properties(&["a"]));
    assert_eq!(now(&mail, 1), Some(json!({ "a": 4, "b": 0 })));
}

#[test]
fn keys_in_values_are_found_and_generated_ones_are_of_new_records() {
    let parameters = ObjectStoreParameters::new()
        .key_path("id")
        .auto_increment(true);
    let (mail, feed) = mail(parameters);
    let transaction = mail.write(STORE).unwrap();
    let store = transaction.object_store(STORE).unwrap();
    let value = Value::serialize(&json!({ "a": 1 })).unwrap();
    assert_eq!(
        store.put(value, None).unwrap().wait().unwrap(),
        Key::from(1)
    );
    transaction.commit().unwrap().wait().unwrap();
    let from_source = block_on(feed.from_source(&[STORE], 0)).unwrap();
    let put = |value: Json| {
        let value = Value::serialize(&value).unwrap();
        block_on(from_source.put(STORE, value, None)).unwrap()
    };
    let merged = put(json!({ "id": 1, "a": 2, "b": 2 }));
    assert_eq!(
        (merged.key, merged.kept),
        (Key::from(1), properties(&["a", "id"]))
    );
    let merged = put(json!({ "a": 3 }));
    assert_eq!(
        (merged.key, merged.kept),
        (Key::from(2), ChangedHere::Nothing)
    );
    block_on(from_source.commit()).unwrap();
    assert_eq!(now(&mail, 1), Some(json!({ "id": 1, "a": 1, "b": 2 })));
    assert_eq!(now(&mail, 2), Some(json!({ "a": 3, "id": 2 })));
}

/// An object with a blob, or a handle, of each of these texts under the names.
fn with_objects(blobs: &[(&str, &str)], handles: &[(&str, &str)]) -> Value {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    builder.begin_object();
    let mut objects = Vec::new();
    for (at, (name, text)) in (0..).zip(blobs) {
        builder.name(&PropertyName::from_js(JsStr::from(*name)));
        builder.leaf(&Object::Host(Box::new(HostObject::Blob(at))));
        objects.push(NewExternalObject::Blob {
            mime_type: (*text).into(),
            content: std::sync::Arc::new(text.as_bytes().to_vec()),
        });
    }
    for (at, (name, token)) in (0..).zip(handles) {
        builder.name(&PropertyName::from_js(JsStr::from(*name)));
        let handle = larder_idb::codec::value::FileSystemHandle {
            kind: larder_idb::codec::value::HandleKind::File,
            name: JsStr::from("a.txt"),
            token_index: at,
        };
        builder.leaf(&Object::Host(Box::new(HostObject::FileSystemHandle(
            handle,
        ))));
        objects.push(NewExternalObject::FileSystemAccessHandle {
            token: token.as_bytes().to_vec(),
        });
    }
    let needs = builder.end();
    Value::from_written(bytes, needs).and_objects(objects)
}

/// Names with what is behind their blobs.
fn contents(value: &StoredValue) -> BTreeMap<String, String> {
    let json: Json = serde_json::to_value(value.tree().unwrap()).unwrap();
    let places = json.as_object().unwrap().iter();
    let contents = places.map(|(name, place)| {
        let text = match place["$blob"].as_u64() {
            Some(at) => {
                let mut text = String::new();
                let mut content = value.objects()[at as usize].open().unwrap();
                content.read_to_string(&mut text).unwrap();
                text
            }
            None => {
                let at = place["$filesystemhandle"].as_u64().unwrap() as usize;
                let mut handles = value
                    .objects()
                    .iter()
                    .filter(|object| object.open().is_err());
                format!("{:?}", handles.nth(at).unwrap().info())
            }
        };
        (name.clone(), text)
    });
    contents.collect()
}

#[test]
fn blobs_and_handles_of_both_sides_are_those_that_they_were() {
    let (mail, feed) = mail(ObjectStoreParameters::new());
    let write = |value: Value| {
        let transaction = mail.write(STORE).unwrap();
        let store = transaction.object_store(STORE).unwrap();
        store.put(value, Some(1.into())).unwrap().detach();
        transaction.commit().unwrap().wait().unwrap();
    };
    write(with_objects(
        &[("a", "one"), ("b", "two")],
        &[("h", "first")],
    ));
    let base = last(&feed);
    write(with_objects(
        &[("c", "new"), ("a", "one"), ("b", "changed")],
        &[("g", "second"), ("h", "first")],
    ));
    let theirs = with_objects(
        &[("d", "theirs"), ("b", "theirs, too"), ("a", "three")],
        &[("f", "third")],
    );
    let from_source = block_on(feed.from_source(&[STORE], base)).unwrap();
    let merged = block_on(from_source.put(STORE, theirs, Some(1.into()))).unwrap();
    block_on(from_source.commit()).unwrap();
    // By its place in the list a blob that moved counts as changed, also if it is the same.
    assert_eq!(merged.kept, properties(&["a", "b", "c", "g", "h"]));
    let found = stored(&mail, 1).unwrap();
    let contents = contents(&found);
    let texts: Vec<_> = contents
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let [a, b, c, d, f, g, h] = texts[..] else {
        panic!("{texts:?}")
    };
    assert_eq!(
        [a, b, c, d],
        [
            ("a", "one"),
            ("b", "changed"),
            ("c", "new"),
            ("d", "theirs")
        ]
    );
    for ((name, text), (expected, token)) in
        [f, g, h]
            .into_iter()
            .zip([("f", "third"), ("g", "second"), ("h", "first")])
    {
        assert_eq!(name, expected);
        assert!(text.contains(&format!("{:?}", token.as_bytes())), "{text}");
    }
    // None of those that nothing refers to.
    assert_eq!(found.objects().len(), 7);
}

/// What one revision has done to a record.
#[derive(Debug)]
struct Done {
    number: u64,
    is_from_source: bool,
    before: Option<Json>,
    after: Option<Json>,
}

/// Records, and all revisions.
#[derive(Debug, Default)]
struct Model {
    records: BTreeMap<u64, Json>,
    done: BTreeMap<u64, Vec<Done>>,
    last: u64,
}

fn names_of(value: &Json) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

impl Model {
    fn change(&mut self, key: u64, value: Option<Json>, is_from_source: bool) {
        let before = match &value {
            Some(value) => self.records.insert(key, value.clone()),
            None => self.records.remove(&key),
        };
        if before.is_none() && value.is_none() {
            return;
        }
        self.last += 1;
        self.done.entry(key).or_default().push(Done {
            number: self.last,
            is_from_source,
            before,
            after: value,
        });
    }

    fn changed_here(&self, key: u64, base: u64) -> ChangedHere {
        let done = self.done.get(&key).into_iter().flatten();
        let since: Vec<&Done> = done.filter(|done| done.number > base).collect();
        if since
            .last()
            .is_some_and(|last| !last.is_from_source && last.after.is_none())
        {
            return ChangedHere::Removed;
        }
        let mut names = BTreeSet::new();
        for done in since.iter().filter(|done| !done.is_from_source) {
            let Some(after) = &done.after else { continue };
            let before = done.before.as_ref();
            let both_are_objects = before.is_none_or(Json::is_object) && after.is_object();
            if !both_are_objects {
                if before != Some(after) {
                    return ChangedHere::Whole;
                }
                continue;
            }
            let nothing = json!({});
            let before = before.unwrap_or(&nothing);
            let all = names_of(before).into_iter().chain(names_of(after));
            names.extend(all.filter(|name| before.get(name) != after.get(name)));
        }
        match names.is_empty() {
            true => ChangedHere::Nothing,
            false => ChangedHere::Properties(names.iter().map(|name| (&**name).into()).collect()),
        }
    }

    /// What a put of the source's makes of a record, and what is kept; `None` if nothing is put.
    fn merged(&self, key: u64, changed: ChangedHere, theirs: &Json) -> (Option<Json>, ChangedHere) {
        let here = self.records.get(&key);
        match (&changed, here) {
            (ChangedHere::Removed, _) => (None, changed),
            (ChangedHere::Nothing, _) | (_, None) => (Some(theirs.clone()), changed),
            (ChangedHere::Properties(names), Some(here))
                if here.is_object() && theirs.is_object() =>
            {
                let mut merged = theirs.clone();
                let object = merged.as_object_mut().unwrap();
                for name in names {
                    let name = name.to_string();
                    match here.get(&name) {
                        Some(value) => object.insert(name, value.clone()),
                        None => object.remove(&name),
                    };
                }
                (Some(merged), changed)
            }
            _ => (None, ChangedHere::Whole),
        }
    }
}

fn value(random: &mut Random) -> Json {
    if random.one_in(8) {
        return json!(random.below(3));
    }
    let names = ["a", "b", "c", "7"].iter().filter(|_| !random.one_in(3));
    let names: Vec<_> = names.collect();
    let own = names
        .into_iter()
        .map(|name| ((*name).to_owned(), json!(random.below(3))));
    Json::Object(own.collect())
}

#[test]
fn random_changes_of_both_sides_keep_what_was_changed_here_since_the_base() {
    let first = crate::setting("LARDER_SEED", 1);
    let seeds = first..first + crate::setting("LARDER_SEEDS", 40);
    println!("seeds {seeds:?}");
    let mut of_kinds = BTreeMap::<&str, u32>::new();
    for seed in seeds {
        let mut random = Random::new(seed);
        let (mail, feed) = mail(ObjectStoreParameters::new());
        let consumer = block_on(feed.consumer("source")).unwrap();
        let mut model = Model::default();
        let mut position = 0;
        for _ in 0..60 {
            let key = random.below(4);
            match random.below(10) {
                0..4 => {
                    let value = value(&mut random);
                    change(&mail, key, Some(&value));
                    model.change(key, Some(value), false);
                }
                4 => {
                    change(&mail, key, None);
                    model.change(key, None, false);
                }
                5 => {
                    position += random.below(1 + model.last - position);
                    block_on(consumer.acknowledge(position)).unwrap();
                    while block_on(feed.clean(CleanUp::new())).unwrap().is_more {}
                }
                6 => {
                    let from_source = block_on(feed.from_source(&[STORE], position)).unwrap();
                    let changed = block_on(from_source.changed_here(STORE, key as f64)).unwrap();
                    assert_eq!(changed, model.changed_here(key, position), "seed {seed}");
                    let store = from_source.transaction().object_store(STORE).unwrap();
                    store.delete(key as f64).unwrap().detach();
                    block_on(from_source.commit()).unwrap();
                    model.change(key, None, true);
                }
                _ => {
                    let base = position + random.below(1 + model.last - position);
                    let from_source = block_on(feed.from_source(&[STORE], base)).unwrap();
                    let mut changed = BTreeMap::new();
                    for _ in 0..1 + random.below(3) {
                        let (key, theirs) = (random.below(4), value(&mut random));
                        let before = changed
                            .entry(key)
                            .or_insert_with(|| model.changed_here(key, base));
                        let (put, kept) = model.merged(key, before.clone(), &theirs);
                        let found = put_in(&from_source, key, &theirs).kept;
                        assert_eq!(
                            found, kept,
                            "seed {seed}: {theirs} at {key} since {base}: {model:?}"
                        );
                        let kind = match kept {
                            ChangedHere::Nothing => "nothing",
                            ChangedHere::Properties(_) => "properties",
                            ChangedHere::Whole => "whole",
                            ChangedHere::Removed => "removed",
                        };
                        *of_kinds.entry(kind).or_default() += 1;
                        if let Some(put) = put {
                            model.change(key, Some(put), true);
                        }
                    }
                    block_on(from_source.commit()).unwrap();
                }
            }
            for key in 0..4 {
                assert_eq!(
                    now(&mail, key).as_ref(),
                    model.records.get(&key),
                    "seed {seed}"
                );
            }
            assert_eq!(last(&feed), model.last, "seed {seed}");
        }
        let mut reader = feed.read_from(position, ReadOptions::new());
        while let Some(batch) = block_on(reader.next()).unwrap() {
            for revision in batch.revisions() {
                let done = model.done.values().flatten();
                let done = done.filter(|done| done.number == revision.number());
                let done = done.collect::<Vec<_>>();
                assert_eq!(
                    revision.is_from_source(),
                    done[0].is_from_source,
                    "seed {seed}"
                );
                let is_removal = done[0].after.is_none();
                assert_eq!(
                    revision.kind() == RevisionKind::Removal,
                    is_removal,
                    "seed {seed}"
                );
            }
        }
    }
    println!("kept: {of_kinds:?}");
    assert_eq!(of_kinds.len(), 4);
}
