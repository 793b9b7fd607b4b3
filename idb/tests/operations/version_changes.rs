//! What a version change makes of object stores and indexes, and what is left when it is aborted.

use std::collections::BTreeMap;

use larder_idb::{
    ErrorName, GetAllOptions, Index, IndexParameters, KeyPath, KeyRange, ObjectStore,
    ObjectStoreParameters, Result, TransactionMode, Upgrade, Value,
};

use super::{EXECUTORS, begin, finish, names, open, storage, store};

const UNIQUE: IndexParameters = IndexParameters::new().unique(true);

fn path(path: &str) -> KeyPath {
    KeyPath::String(path.into())
}

/// A record with `x` and, if there are two numbers, `y`.
fn put(store: &ObjectStore, key: f64, numbers: &[u32]) {
    let value: BTreeMap<_, _> = ["x", "y"].into_iter().zip(numbers).collect();
    let value = Value::serialize(&value).unwrap();
    store.put(value, Some(key.into())).unwrap().detach();
}

/// Stores "a", with index "i" over x, and "b"; a record in each.
fn first(upgrade: &Upgrade) -> Result<()> {
    for name in ["a", "b"] {
        let parameters = ObjectStoreParameters::default();
        let store = upgrade.transaction.create_object_store(name, parameters)?;
        put(&store, 1.0, &[10, 20]);
        if name == "a" {
            store.create_index("i", path("x"), UNIQUE)?;
        }
    }
    Ok(())
}

fn count_of(store: &ObjectStore) -> u64 {
    store.count(KeyRange::all()).unwrap().wait().unwrap()
}

#[test]
fn what_is_deleted_and_created_anew_in_one_upgrade_is_empty_and_of_its_new_kind() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        open(&storage, 1, first).unwrap().close();
        let connection = open(&storage, 2, |upgrade| {
            let transaction = &upgrade.transaction;
            let old = transaction.object_store("a")?;
            let old_index = old.index("i")?;
            transaction.delete_object_store("a")?;
            assert!(old.is_deleted() && old_index.is_deleted());
            assert!(old.index_names().is_empty());
            assert_eq!(transaction.object_store_names(), names(&["b"]));
            let parameters = ObjectStoreParameters::new()
                .key_path(path("id"))
                .auto_increment(true);
            let new = transaction.create_object_store("a", parameters)?;
            assert!(old.is_deleted() && !new.is_deleted() && old != new);
            new.create_index("i", path("x"), IndexParameters::default())?;
            new.delete_index("i")?;
            new.create_index("i", path("y"), IndexParameters::default())?;
            let refused = old.count(KeyRange::all()).unwrap_err();
            assert_eq!(refused.name(), ErrorName::InvalidStateError);
            Ok(())
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let new = store(&transaction, "a");
        assert_eq!((new.key_path(), new.auto_increment()), (&path("id"), true));
        assert_eq!(new.index("i").unwrap().key_path(), &path("y"));
        assert_eq!(
            (count_of(&new), count_of(&store(&transaction, "b"))),
            (0, 1)
        );
        let key = new.put(Value::serialize(&BTreeMap::from([("y", 5)])).unwrap(), None);
        assert_eq!(key.unwrap().wait().unwrap(), 1.0.into());
        let found = new.index("i").unwrap().get_key(5.0).unwrap();
        assert_eq!(found.wait().unwrap(), Some(1.0.into()));
        finish(&transaction);
    }
}

#[test]
fn renames_hold_after_the_upgrade_and_names_may_be_swapped() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        open(&storage, 1, first).unwrap().close();
        open(&storage, 2, |upgrade| {
            let transaction = &upgrade.transaction;
            let (a, b) = (
                transaction.object_store("a")?,
                transaction.object_store("b")?,
            );
            assert_eq!(
                a.rename("b").unwrap_err().name(),
                ErrorName::ConstraintError
            );
            a.rename("c")?;
            b.rename("a")?;
            a.rename("b")?;
            let index = a.index("i")?;
            index.rename("j")?;
            a.create_index("i", path("y"), UNIQUE)?;
            assert_eq!(
                index.rename("i").unwrap_err().name(),
                ErrorName::ConstraintError
            );
            assert_eq!(a.index_names(), names(&["i", "j"]));
            put(&b, 2.0, &[7]);
            Ok(())
        })
        .unwrap()
        .close();
        let connection = open(&storage, 2, |_| Ok(())).unwrap();
        assert_eq!(connection.object_store_names(), names(&["a", "b"]));
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let (a, b) = (store(&transaction, "a"), store(&transaction, "b"));
        assert_eq!((count_of(&a), count_of(&b)), (2, 1));
        assert_eq!(b.index_names(), names(&["i", "j"]));
        for (name, key) in [("j", 10.0), ("i", 20.0)] {
            let index = b.index(name).unwrap();
            assert!(
                index.get(key).unwrap().wait().unwrap().is_some(),
                "index {name}"
            );
        }
    }
}

/// Does everything that can be done to handles, and hands those it met to `look` before and after the abort.
fn change_everything(upgrade: &Upgrade) -> Result<(Vec<ObjectStore>, Vec<Index>)> {
    let transaction = &upgrade.transaction;
    let (a, b) = (
        transaction.object_store("a")?,
        transaction.object_store("b")?,
    );
    let i = a.index("i")?;
    a.rename("renamed")?;
    i.rename("i2")?;
    transaction.delete_object_store("b")?;
    let parameters = ObjectStoreParameters::default();
    let new = transaction.create_object_store("new", parameters.clone())?;
    let new_index = new.create_index("n", path("x"), UNIQUE)?;
    let more = a.create_index("more", path("y"), UNIQUE)?;
    a.delete_index("i2")?;
    new.rename("newer")?;
    let again = transaction.create_object_store("b", parameters)?;
    put(&a, 9.0, &[90, 91]);
    put(&again, 9.0, &[90]);
    Ok((vec![a, b, new, again], vec![i, new_index, more]))
}

#[test]
fn an_abort_gives_handles_their_names_indexes_and_lives_back() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        open(&storage, 1, first).unwrap().close();
        let (sender, receiver) = std::sync::mpsc::channel();
        let failed = open(&storage, 2, move |upgrade| {
            let (stores, indexes) = change_everything(upgrade)?;
            upgrade.transaction.abort(None)?;
            sender
                .send((stores, indexes, upgrade.connection.clone()))
                .unwrap();
            Ok(())
        });
        assert_eq!(failed.unwrap_err().name(), ErrorName::AbortError);
        let (stores, indexes, connection) = receiver.recv().unwrap();
        let of = |store: &ObjectStore| (store.name(), store.index_names(), store.is_deleted());
        let expected = [
            ("a", &["i"][..], false),
            ("b", &[], false),
            ("newer", &[], true),
            ("b", &[], true),
        ];
        for (store, (name, index_names, is_deleted)) in stores.iter().zip(expected) {
            assert_eq!(of(store), (name.into(), names(index_names), is_deleted));
        }
        let of = |index: &Index| (index.name(), index.is_deleted());
        let expected = [("i", false), ("n", true), ("more", true)];
        for (index, (name, is_deleted)) in indexes.iter().zip(expected) {
            assert_eq!(of(index), (name.into(), is_deleted));
        }
        assert_eq!(
            (connection.version(), connection.object_store_names()),
            (1, names(&["a", "b"]))
        );
        // What was deleted by the upgrade is there again, and so the error is that its transaction has ended.
        let told = stores
            .iter()
            .map(|store| store.count(KeyRange::all()).unwrap_err().name());
        let told: Vec<_> = told.collect();
        let (gone, ended) = (
            ErrorName::InvalidStateError,
            ErrorName::TransactionInactiveError,
        );
        assert_eq!(told, [ended, ended, gone, gone]);
        let connection = open(&storage, 1, |_| Ok(())).unwrap();
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let (a, b) = (store(&transaction, "a"), store(&transaction, "b"));
        assert_eq!((count_of(&a), count_of(&b)), (1, 1));
        let index = a.index("i").unwrap();
        let all = index
            .get_all(KeyRange::all(), GetAllOptions::default())
            .unwrap();
        assert_eq!(all.wait().unwrap().len(), 1);
    }
}

#[test]
fn an_index_that_cannot_be_filled_aborts_the_upgrade_with_why() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        open(&storage, 1, first).unwrap().close();
        let (sender, receiver) = std::sync::mpsc::channel();
        let failed = open(&storage, 2, move |upgrade| {
            let a = upgrade.transaction.object_store("a")?;
            put(&a, 2.0, &[30, 20]);
            let index = a.create_index("twice", path("y"), UNIQUE)?;
            sender.send((upgrade.transaction.clone(), index)).unwrap();
            Ok(())
        });
        assert_eq!(failed.unwrap_err().name(), ErrorName::AbortError);
        let (transaction, index) = receiver.recv().unwrap();
        assert_eq!(
            transaction.error().unwrap().name(),
            ErrorName::ConstraintError
        );
        assert!(index.is_deleted());
        let connection = open(&storage, 1, |_| Ok(())).unwrap();
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let a = store(&transaction, "a");
        assert_eq!((a.index_names(), count_of(&a)), (names(&["i"]), 1));
    }
}
