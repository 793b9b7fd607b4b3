//! Values that imitate those of other engines, whole and cut.

use larder_idb::{
    CursorDirection, ErrorName, GetAllOptions, Key, KeyRange, TransactionMode, Upgrade,
};

use super::*;

/// The bytes of a value of another engine, as they stand in a row.
fn stored() -> Vec<u8> {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    let store = store(&transaction, "bare");
    store
        .put(foreign(b"opaque", []), Some(1.0.into()))
        .unwrap()
        .wait()
        .unwrap();
    store
        .get(1.0)
        .unwrap()
        .wait()
        .unwrap()
        .unwrap()
        .bytes()
        .to_vec()
}

#[test]
fn cut_and_changed_ones_are_ordinary_values_or_errors_for_every_read_and_for_new_indexes() {
    let stored = stored();
    let cut = (17..stored.len()).map(|len| stored[..len].to_vec());
    let changed = (17..stored.len()).map(|at| {
        let mut bytes = stored.clone();
        bytes[at] ^= 0x11;
        bytes
    });
    for bytes in cut.chain(changed) {
        let place = place();
        let put = bytes.clone();
        let connection = place.open(1, move |upgrade| {
            let parameters = ObjectStoreParameters::new()
                .key_path(path("id"))
                .auto_increment(true);
            let store = upgrade
                .transaction
                .create_object_store(js("s"), parameters)?;
            // Under a key of its own nothing is read but its beginning.
            let bare = ObjectStoreParameters::default();
            let bare = upgrade.transaction.create_object_store(js("bare"), bare)?;
            bare.put(Value::from_bytes(put.clone()), Some(1.0.into()))?
                .detach();
            // What does not decode is refused here.
            let _ = store.put(Value::from_bytes(put.clone()), None);
            Ok(())
        });
        let connection = connection.unwrap();
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        for name in ["s", "bare"] {
            let store = store(&transaction, name);
            let all = store.get_all(KeyRange::all(), GetAllOptions::default());
            for entry in all.unwrap().wait().unwrap().iter() {
                let value = entry.stored_value();
                // Whatever is taken for a foreign value is valid for every reader.
                assert!(
                    entry.foreign().is_none() || value.tree().is_ok(),
                    "{}",
                    bytes.escape_ascii()
                );
            }
            let cursor = store.open_cursor(KeyRange::all(), CursorDirection::Next);
            drop(cursor.unwrap().wait().unwrap());
        }
        drop(transaction);
        connection.close();
        let indexed = place.open(2, |upgrade: &Upgrade| {
            let store = upgrade.transaction.object_store(js("bare"))?;
            store.create_index(js("i"), path("id"), PLAIN)?;
            Ok(())
        });
        if let Err(error) = indexed {
            assert_eq!(error.name(), ErrorName::AbortError);
            assert!(
                error.to_string().contains("the record with key 1"),
                "{error}"
            );
        }
    }
}

#[test]
fn an_ordinary_put_of_its_bytes_is_an_ordinary_put() {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    let imitation = || Value::from_bytes(stored());
    // Key paths find nothing in it, and no key may be beside it.
    assert_eq!(
        refused(store(&transaction, "in").put(imitation(), None)),
        "DataError"
    );
    let given = store(&transaction, "in").put(imitation(), Some(1.0.into()));
    assert_eq!(refused(given), "DataError");
    let out = store(&transaction, "out");
    out.put(imitation(), Some(1.0.into()))
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(bytes_of(&out, Key::from(1.0)).unwrap(), b"opaque");
    assert_eq!(entries(&out, "n"), []);
}
