//! Stores that are damaged, that change, and questions that make no sense.

use std::fs;
use std::path::Path;

use larder_idb::{Database, ObjectStoreParameters, Value as IdbValue};
use larder_view::{Refusal, Source};
use quickcheck::{Gen, QuickCheck};
use serde_json::{Value, json};

use super::support::{Asked, Kept, Place, view};

#[test]
fn damage_is_said_and_the_rest_is_shown() {
    let fixture = larder_fixtures::get("c156-lite").copy();
    let whole = view(fixture.dir());
    let records = |viewed: &Asked<'_>| {
        let store = viewed.json("store", &json!({"store": 0})).unwrap();
        let (mut records, mut problems) = (0, store["problems"].as_array().unwrap().len());
        for database in store["databases"].as_array().unwrap() {
            for object_store in database["objectStores"].as_array().unwrap() {
                let asked = json!({"store": 0, "database": database["id"], "objectStore": object_store["id"], "limit": 500});
                let page = viewed.json("records", &asked).unwrap();
                records += page["records"].as_array().unwrap().len();
                problems += page["problems"].as_array().unwrap().len();
            }
        }
        (records, problems)
    };
    let (all, problems) = records(&Asked(&whole));
    assert_eq!(problems, 0);
    drop(whole);
    let mut harmed = 0;
    for entry in fs::read_dir(fixture.leveldb()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ldb") {
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&path, bytes).unwrap();
        harmed += 1;
    }
    assert!(harmed > 0);
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let (left, problems) = records(&viewed);
    assert!(problems > 0, "what is lost is said where records are shown");
    assert!(left > 0 && left < all, "{left} of {all}");
    let lines = viewed
        .lines("problems", &json!({"store": 0, "full": true}))
        .unwrap();
    assert!(lines.iter().any(|line| line.get("finding").is_some()));
    assert_eq!(lines.last().unwrap()["sound"], false);
    // What was read by then is counted.
    let store = viewed.json("store", &json!({"store": 0})).unwrap();
    assert!(
        store["damage"].as_str().unwrap().contains("place"),
        "{}",
        store["damage"]
    );
}

/// A database with the object store `s`, whose keys are the members `id`.
fn with_one_object_store(folder: &Path) -> Database {
    let database = Database::open(folder, "d", 1, |upgrade| {
        let parameters = ObjectStoreParameters::new().key_path("id");
        upgrade.transaction.create_object_store("s", parameters)?;
        Ok(())
    });
    database.unwrap().wait().unwrap()
}

fn put(database: &Database, id: u32, name: &str) {
    let writing = database.write("s").unwrap();
    let value = IdbValue::serialize(&json!({"id": id, "name": name})).unwrap();
    let store = writing.object_store("s").unwrap();
    store.put(value, None).unwrap().detach();
    writing.commit().unwrap().wait().unwrap();
}

#[test]
fn what_is_written_meanwhile_appears() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_one_object_store(folder.path());
    let put = |id: u32, name: &str| self::put(&database, id, name);
    put(1, "first");
    put(2, "second");
    let viewer = view(folder.path());
    let viewed = Asked(&viewer);
    let page = || {
        let asked = json!({"store": 0, "database": 1, "objectStore": 1, "limit": 500});
        viewed.json("records", &asked).unwrap()
    };
    let generation = || {
        let state = viewed.json("state", &json!({})).unwrap();
        (
            state["stores"][0]["generation"].as_u64().unwrap(),
            state["stores"][0]["inUse"].is_string(),
        )
    };
    // That a program has it open is no fault.
    let store = viewed.json("store", &json!({"store": 0})).unwrap();
    assert_eq!(
        (&store["problems"], &store["notes"]),
        (&json!([]), &json!([]))
    );
    assert!(store["inUse"].as_str().unwrap().starts_with("process "));
    let before = page();
    assert_eq!(before["records"].as_array().unwrap().len(), 2);
    let (first, _) = generation();
    assert_eq!(generation().0, first, "nothing has changed");
    put(1, "changed");
    put(3, "third");
    // As it stood, until the page looks whether something has changed.
    assert_eq!(page()["records"], before["records"]);
    assert!(generation().0 > first);
    let after = page();
    let row = |page: &Value, at: usize| page["records"][at].clone();
    assert_eq!(after["records"].as_array().unwrap().len(), 3);
    assert_ne!(row(&before, 0)["digest"], row(&after, 0)["digest"]);
    assert_eq!(row(&before, 1), row(&after, 1));
    assert_eq!(after["generation"], generation().0);
    // One value twice is two puts.
    put(2, "second");
    generation();
    assert_ne!(row(&after, 1)["digest"], row(&page(), 1)["digest"]);
}

#[test]
fn a_feed_is_shown_from_its_oldest_transaction_on() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path(), "d", 1, |upgrade| {
        let parameters = ObjectStoreParameters::new().key_path("id");
        upgrade.transaction.create_object_store("s", parameters)?;
        upgrade.transaction.set_change_feed(true)
    });
    let database = database.unwrap().wait().unwrap();
    for id in 0..5 {
        let writing = database.write("s").unwrap();
        let store = writing.object_store("s").unwrap();
        let value = IdbValue::serialize(&json!({"id": id})).unwrap();
        store.put(value, None).unwrap().detach();
        if id == 4 {
            store.delete(0).unwrap().detach();
        }
        writing.commit().unwrap().wait().unwrap();
    }
    drop(database);
    let viewer = view(folder.path());
    let viewed = Asked(&viewer);
    let store = viewed.json("store", &json!({"store": 0})).unwrap();
    assert_eq!(store["databases"][0]["feed"], true);
    let first = viewed
        .json("feed", &json!({"store": 0, "database": 1, "limit": 3}))
        .unwrap();
    assert_eq!(
        (
            first["transactions"].as_array().unwrap().len(),
            &first["more"]
        ),
        (3, &json!(true))
    );
    let after = &first["transactions"][2]["position"];
    let rest = viewed
        .json(
            "feed",
            &json!({"store": 0, "database": 1, "after": after, "limit": 10}),
        )
        .unwrap();
    let last = rest["transactions"].as_array().unwrap().last().unwrap();
    let operations: Vec<&Value> = last["revisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["operation"])
        .collect();
    assert_eq!(operations, ["creation", "removal"]);
    assert_eq!(rest["more"], false);
}

#[test]
fn what_was_undone_is_a_note_and_no_problem() {
    let fixture = larder_fixtures::get("c156-killed-spill").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let store = viewed.json("store", &json!({"store": 0})).unwrap();
    let notes = store["notes"].to_string();
    assert!(
        notes.contains("\"1 unfinished transaction is shown undone\""),
        "{notes}"
    );
    assert_eq!(store["problems"], json!([]));
}

/// Nine stores of which eight are open: asking how they stand opens none, and sees what has changed in each.
#[test]
fn asking_how_stores_stand_opens_none() {
    let folder = tempfile::tempdir().unwrap();
    let origins = (0..9).map(|origin: u32| {
        let store = folder.path().join(origin.to_string());
        fs::create_dir_all(&store).unwrap();
        with_one_object_store(&store)
    });
    // They stay open: closing one writes to it.
    let databases: Vec<Database> = origins.collect();
    databases.iter().for_each(|database| put(database, 1, ""));
    let viewer = view(folder.path());
    let viewed = Asked(&viewer);
    for store in 0..9 {
        viewed.json("store", &json!({"store": store})).unwrap();
    }
    let generations = || -> Vec<u64> {
        let state = viewed.json("state", &json!({})).unwrap();
        let all = state["stores"].as_array().unwrap().iter();
        all.map(|one| one["generation"].as_u64().unwrap()).collect()
    };
    assert_eq!(generations(), [0; 9]);
    put(&databases[0], 2, "");
    put(&databases[8], 2, "");
    assert_eq!(generations(), [1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(generations(), [1, 0, 0, 0, 0, 0, 0, 0, 1]);
    let page = viewed.json(
        "records",
        &json!({"store": 0, "database": 1, "objectStore": 1, "limit": 9}),
    );
    let page = page.unwrap();
    assert_eq!(
        (
            page["records"].as_array().unwrap().len(),
            &page["generation"]
        ),
        (2, &json!(1))
    );
}

/// Keys that no question could have in them.
#[test]
fn records_with_very_long_keys_are_asked_for_by_names() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path(), "d", 1, |upgrade| {
        let store = upgrade
            .transaction
            .create_object_store("s", ObjectStoreParameters::new())?;
        store.create_index("i", "long", larder_idb::IndexParameters::new())?;
        Ok(())
    });
    let database = database.unwrap().wait().unwrap();
    let writing = database.write("s").unwrap();
    let store = writing.object_store("s").unwrap();
    for n in 0..5 {
        let long = format!("{}{n}", "x".repeat(1 << 20));
        let value = IdbValue::serialize(&json!({"long": long})).unwrap();
        store.put(value, Some((&long[..]).into())).unwrap().detach();
    }
    writing.commit().unwrap().wait().unwrap();
    drop(database);
    let viewer = view(folder.path());
    let viewed = Asked(&viewer);
    let place = Place {
        database: 1,
        object_store: 1,
        index: None,
    };
    for place in [
        place,
        Place {
            index: Some(30 + 1),
            ..place
        },
    ] {
        let rows = viewed.all(place, "next", 2).unwrap();
        assert_eq!(rows.len(), 5);
        for (n, row) in rows.iter().enumerate() {
            let text = row.to_string();
            assert!(text.len() < 4000, "{} bytes of one row", text.len());
            assert_eq!(row["primaryKey"]["cut"], true);
            let record = viewed.record(place, &row["primaryKeyHex"]).unwrap();
            let value = record["value"]["props"][0][1]["v"].as_str().unwrap();
            assert_eq!(value.len(), (1 << 20) + 1);
            assert!(value.ends_with(&n.to_string()));
            let asked = place.with(json!({"primaryKey": row["primaryKeyHex"]}));
            assert!(viewed.json("row", &asked).unwrap()["sequence"].is_u64());
        }
        let found = rows.iter().map(|row| row["primaryKeyHex"].to_string());
        assert_eq!(found.collect::<std::collections::BTreeSet<_>>().len(), 5);
    }
    let unknown = place.with(json!({"primaryKey": format!("~{}", "0".repeat(64))}));
    assert!(matches!(
        viewed.ask("record", &unknown).err(),
        Some(Refusal::Malformed(_))
    ));
}

/// So many that a tree of them must come in parts.
#[test]
fn a_database_with_very_many_object_stores_comes_in_parts() {
    const COUNT: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path(), "<b>many</b>", 1, |upgrade| {
        for number in 0..COUNT {
            let name = format!("{number} <img src=x onerror=alert(1)>");
            let parameters = ObjectStoreParameters::new();
            upgrade
                .transaction
                .create_object_store(&name[..], parameters)?;
        }
        Ok(())
    });
    drop(database.unwrap().wait().unwrap());
    let viewer = view(folder.path());
    let viewed = Asked(&viewer);
    let store = viewed.json("store", &json!({"store": 0})).unwrap();
    let database = &store["databases"][0];
    assert_eq!(
        (&database["count"], &database["more"]),
        (&json!(COUNT), &json!(true))
    );
    let mut listed = database["objectStores"].as_array().unwrap().clone();
    loop {
        let after = &listed.last().unwrap()["id"];
        let asked = json!({"store": 0, "database": database["id"], "after": after});
        let mut some = viewed.json("objectStores", &asked).unwrap();
        listed.append(some["objectStores"].as_array_mut().unwrap());
        if some["more"] != true {
            break;
        }
    }
    assert_eq!(listed.len(), COUNT);
    let names: std::collections::BTreeSet<String> =
        listed.iter().map(|one| one["name"].to_string()).collect();
    assert_eq!(names.len(), COUNT);
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let fixture = larder_fixtures::get("c156-lite").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let refused = |question: &str, asked: Value| match viewed.ask(question, &asked) {
        Err(refusal) => refusal,
        Ok(_) => panic!("{question} {asked} is answered"),
    };
    for (question, asked) in [
        ("nothing", json!({})),
        ("store", json!({"store": 9})),
        (
            "records",
            json!({"store": 0, "database": 99, "objectStore": 1, "limit": 1}),
        ),
        (
            "records",
            json!({"store": 0, "database": 1, "objectStore": 99, "limit": 1}),
        ),
        (
            "records",
            json!({"store": 0, "database": 1, "objectStore": 1, "index": 99, "limit": 1}),
        ),
        (
            "record",
            json!({"store": 0, "database": 1, "objectStore": 1, "primaryKey": "0102007a007a"}),
        ),
        ("feed", json!({"store": 0, "database": 99, "limit": 1})),
    ] {
        let refusal = refused(question, asked.clone());
        assert!(
            matches!(refusal, Refusal::NotFound(_)),
            "{question} {asked}: {refusal:?}"
        );
    }
    for (question, asked) in [
        ("store", json!({})),
        ("store", json!([])),
        (
            "records",
            json!({"store": 0, "database": 1, "objectStore": 1, "limit": -1}),
        ),
        (
            "record",
            json!({"store": 0, "database": 1, "objectStore": 1, "primaryKey": "xx"}),
        ),
        (
            "record",
            json!({"store": 0, "database": 1, "objectStore": 1, "primaryKey": "ff"}),
        ),
        ("search", json!({"text": "(", "kind": "regex"})),
        ("download", json!({"what": "passwords"})),
    ] {
        let refusal = refused(question, asked.clone());
        assert!(
            matches!(refusal, Refusal::Malformed(_)),
            "{question} {asked}: {refusal:?}"
        );
    }
}

/// Whatever is asked is answered or refused.
#[test]
fn any_question_is_answered_or_refused() {
    fn questions(bytes: Vec<u8>, number: u8) -> bool {
        const QUESTIONS: [&str; 15] = [
            "stores",
            "store",
            "objectStores",
            "state",
            "counts",
            "records",
            "record",
            "json",
            "row",
            "hidden",
            "search",
            "problems",
            "feed",
            "blob",
            "download",
        ];
        thread_local! {
            static VIEWER: (larder_fixtures::OpenFixture, larder::view::Viewer) = {
                let fixture = larder_fixtures::get("c156-lite").open();
                let viewer = view(fixture.dir());
                (fixture, viewer)
            };
        }
        let question = QUESTIONS[usize::from(number) % QUESTIONS.len()];
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let id = bytes.first().map_or(1, |byte| i64::from(byte % 12));
        let asked = json!({
            "store": 0, "database": id, "objectStore": id % 4, "primaryKey": hex, "limit": 3, "text": text, "after": {"primaryKey": hex, "key": hex},
            "lower": {"hex": hex}, "upper": {"text": text}, "object": id, "offset": id * 1000,
        });
        VIEWER.with(|(_, viewer)| {
            for asked in [bytes.clone(), asked.to_string().into_bytes()] {
                // Neither panics.
                let _ = viewer.answer(question, &asked, &mut Kept::new());
            }
        });
        true
    }
    QuickCheck::new()
        .rng(Gen::new(40))
        .tests(600)
        .quickcheck(questions as fn(Vec<u8>, u8) -> bool);
}
