//! Puts and indexes within one upgrade, in the order in which they are asked for.

use larder_idb::{Foreign, Key, TransactionMode};

use super::*;

#[test]
fn records_put_before_an_index_is_made_are_asked_for_and_those_put_behind_it_bring_their_keys() {
    let place = place();
    let connection = place.open(1, |upgrade| {
        let parameters = ObjectStoreParameters::new().key_path(path("id"));
        let store = upgrade
            .transaction
            .create_object_store(js("s"), parameters)?;
        store.put(foreign(b"\x01", []), Some(1.0.into()))?.detach();
        let keys_of =
            |_: &Key, value: &Foreign<'_>| Ok(vec![Key::from(f64::from(value.bytes()[0]) + 100.0)]);
        store.create_index_with_keys(js("i"), path("i"), PLAIN, keys_of)?;
        assert_eq!(
            refused(store.put(foreign(b"\x02", []), Some(2.0.into()))),
            "DataError"
        );
        let value = foreign(b"\x02", [(js("i"), vec![7.0.into()])]);
        store.put(value, Some(2.0.into()))?.detach();
        store.index(js("i"))?.rename(js("j"))?;
        let value = foreign(b"\x03", [(js("j"), vec![8.0.into()])]);
        store.put(value, Some(3.0.into()))?.detach();
        store
            .create_index(js("empty"), path("e"), PLAIN)
            .map(drop)?;
        store.delete_index(js("empty"))
    });
    // The last index met values that came without keys for it.
    assert_eq!(refused(connection), "AbortError");

    let connection = place.open(1, |upgrade| {
        let store = upgrade
            .transaction
            .create_object_store(js("s"), ObjectStoreParameters::default())?;
        store.put(foreign(b"\x01", []), Some(1.0.into()))?.detach();
        let keys_of = |key: &Key, _: &Foreign<'_>| Ok(vec![key.clone()]);
        store.create_index_with_keys(js("i"), path("i"), PLAIN, keys_of)?;
        let value = foreign(b"\x02", [(js("i"), vec![7.0.into()])]);
        store.put(value, Some(2.0.into()))?.detach();
        store.index(js("i"))?.rename(js("j"))?;
        let value = foreign(b"\x03", [(js("j"), vec![8.0.into()])]);
        store.put(value, Some(3.0.into()))?.detach();
        store.create_index_with_keys(js("gone"), path("e"), PLAIN, keys_of)?;
        store.delete_index(js("gone"))?;
        store
            .put(foreign(b"\x04", [(js("j"), vec![])]), Some(4.0.into()))?
            .detach();
        Ok(())
    });
    let transaction = begin(&connection.unwrap(), TransactionMode::ReadOnly);
    let expected = pairs(&[(1.0, 1.0), (7.0, 2.0), (8.0, 3.0)]);
    assert_eq!(entries(&store(&transaction, "s"), "j"), expected);
}
