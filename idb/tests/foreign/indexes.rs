//! Indexes that are made when values of other engines are there.

use larder_idb::{Error, ErrorKind, ErrorName, Foreign, Key, TransactionMode, Upgrade};

use super::*;

/// The host's format: numbers, one byte each. What its indexes are of.
fn numbers(value: &Foreign<'_>) -> Vec<Key> {
    let bytes = value.bytes().iter();
    bytes.map(|byte| Key::from(f64::from(*byte))).collect()
}

/// A database whose store "s" has so many records of this host and a plain one, under key 1000.
fn with_records(place: &Place, records: &[&'static [u8]]) -> Connection {
    let records = records.to_vec();
    let upgrade = move |upgrade: &Upgrade| {
        let parameters = ObjectStoreParameters::new();
        let store = upgrade
            .transaction
            .create_object_store(js("s"), parameters)?;
        for (n, bytes) in records.iter().enumerate() {
            store
                .put(foreign(bytes, []), Some((n as f64).into()))?
                .detach();
        }
        let plain = Value::serialize(&std::collections::BTreeMap::from([("i", 200.0)]))?;
        store.put(plain, Some(1000.0.into()))?.detach();
        Ok(())
    };
    place.open(1, upgrade).unwrap()
}

fn index_of(place: &Place, options: IndexParameters) -> Result<Vec<(Key, Key)>> {
    let upgrade = move |upgrade: &Upgrade| {
        let store = upgrade.transaction.object_store(js("s"))?;
        store.create_index_with_keys(js("i"), path("i"), options, |_, value| Ok(numbers(value)))?;
        Ok(())
    };
    let connection = place.open(2, upgrade)?;
    Ok(entries(
        &store(&begin(&connection, TransactionMode::ReadOnly), "s"),
        "i",
    ))
}

/// What is there after an upgrade that has failed: version 1 and no index.
fn assert_as_before(place: &Place) {
    let connection = place.open(1, |_| panic!("it is there")).unwrap();
    let transaction = begin(&connection, TransactionMode::ReadOnly);
    assert!(store(&transaction, "s").index_names().is_empty());
    connection.close();
}

#[test]
fn a_new_index_has_the_keys_that_the_host_says_beside_those_of_plain_values() {
    let place = place();
    with_records(&place, &[b"\x09\x03\x09", b"", b"\x05"]).close();
    let expected = pairs(&[(3.0, 0.0), (5.0, 2.0), (9.0, 0.0), (200.0, 1000.0)]);
    assert_eq!(index_of(&place, MULTI).unwrap(), expected);
}

#[test]
fn the_host_is_asked_with_primary_key_engine_and_format_and_of_nothing_but_its_own() {
    let place = place();
    with_records(&place, &[b"\x01", b"\x02"]).close();
    let (sender, asked) = std::sync::mpsc::channel();
    let upgrade = move |upgrade: &Upgrade| {
        let store = upgrade.transaction.object_store(js("s"))?;
        let keys_of = move |key: &Key, value: &Foreign<'_>| {
            let told = (key.clone(), value.engine().to_owned(), value.format());
            sender.send(told).unwrap();
            Ok(numbers(value))
        };
        store.create_index_with_keys(js("i"), path("i"), UNIQUE, keys_of)?;
        Ok(())
    };
    place.open(2, upgrade).unwrap();
    let told = |key: f64| (Key::from(key), "gecko".to_owned(), 8);
    assert_eq!(asked.iter().collect::<Vec<_>>(), [told(0.0), told(1.0)]);
}

#[test]
fn an_index_whose_keys_cannot_be_asked_for_is_a_failed_upgrade_and_no_missing_entries() {
    let place = place();
    with_records(&place, &[b"\x01"]).close();
    let upgrade = |upgrade: &Upgrade| {
        let store = upgrade.transaction.object_store(js("s"))?;
        store.create_index(js("i"), path("i"), PLAIN)?;
        // Any request that waits for the transaction reports it.
        let error = store.count(Key::from(1.0))?.wait().unwrap_err();
        assert_eq!(error.name(), ErrorName::AbortError);
        let told = error.message();
        assert!(
            told.contains("the record with key 0: the value is one of gecko (format 8)"),
            "{told}"
        );
        Ok(())
    };
    assert_eq!(refused(place.open(2, upgrade)), "AbortError");
    assert_as_before(&place);
    // Where the object store has none, it is as ever.
    let deleted = place.open(2, |upgrade| {
        let store = upgrade.transaction.object_store(js("s"))?;
        store.delete(Key::from(0.0))?.detach();
        store.create_index(js("i"), path("i"), PLAIN)?;
        Ok(())
    });
    let transaction = begin(&deleted.unwrap(), TransactionMode::ReadOnly);
    assert_eq!(
        entries(&store(&transaction, "s"), "i"),
        pairs(&[(200.0, 1000.0)])
    );
}

/// What a host says of any value.
type Say = fn() -> Result<Vec<Key>>;

#[test]
fn what_the_host_says_is_held_to_the_rules_and_its_failures_leave_the_database_as_it_was() {
    let cases: [(&[&'static [u8]], IndexParameters, &str); 3] = [
        (&[b"\x01\x02"], PLAIN, "several keys are given"),
        (&[b"\x01", b"\x01"], UNIQUE, "ConstraintError"),
        (&[b"\x01", b"\x02\x01"], UNIQUE, "several keys are given"),
    ];
    for (records, options, expected) in cases {
        let place = place();
        with_records(&place, records).close();
        let error = index_of(&place, options).unwrap_err();
        assert_eq!(error.name(), ErrorName::AbortError);
        assert!(error.to_string().contains(expected), "{error}");
        assert_as_before(&place);
    }
    let said: [(Say, &str, ErrorKind); 3] = [
        (|| Ok(vec![f64::NAN.into()]), "no key", ErrorKind::Usage),
        (
            || Err(Error::new(ErrorName::DataError, "unknown bytes")),
            "unknown bytes",
            ErrorKind::Usage,
        ),
        (|| panic!("thrown by the host"), "panicked", ErrorKind::Io),
    ];
    for (say, expected, kind) in said {
        let place = place();
        with_records(&place, &[b"\x01"]).close();
        let upgrade = move |upgrade: &Upgrade| {
            let store = upgrade.transaction.object_store(js("s"))?;
            store.create_index_with_keys(js("i"), path("i"), PLAIN, move |_, _| say())?;
            Ok(())
        };
        let error = place.open(2, upgrade).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.kind(), kind);
        assert_as_before(&place);
    }
}

#[test]
fn an_index_over_more_records_than_are_read_at_once_has_all_of_them() {
    const COUNT: u32 = 2500;
    let place = place();
    let connection = place.open(1, |upgrade| {
        let parameters = ObjectStoreParameters::new()
            .key_path(path("id"))
            .auto_increment(true);
        let store = upgrade
            .transaction
            .create_object_store(js("s"), parameters)?;
        for n in 0..COUNT {
            store.put(foreign(&n.to_le_bytes(), []), None)?.detach();
        }
        Ok(())
    });
    connection.unwrap().close();
    let connection = place.open(2, |upgrade| {
        let store = upgrade.transaction.object_store(js("s"))?;
        let keys_of = |_: &Key, value: &Foreign<'_>| {
            let n = u32::from_le_bytes(value.bytes().try_into().unwrap());
            Ok(vec![Key::from(f64::from(COUNT - n))])
        };
        store.create_index_with_keys(js("i"), path("i"), UNIQUE, keys_of)?;
        Ok(())
    });
    let transaction = begin(&connection.unwrap(), TransactionMode::ReadOnly);
    let all = entries(&store(&transaction, "s"), "i");
    let expected = (1..=COUNT).map(|n| (f64::from(n).into(), f64::from(COUNT - n + 1).into()));
    assert!(all.into_iter().eq(expected));
}
