//! Cursors as hosts use them: waited for, step by step, with writes in between.

use larder_idb::{
    Connection, Cursor, CursorDirection, ErrorName, Key, KeyRange, Storage, TransactionMode, Value,
};

use super::{EXECUTORS, begin, finish, indexed_store, open, storage, store};

/// Ten records, by number; the index has them the other way round.
fn filled(storage: &Storage) -> Connection {
    open(storage, 1, |upgrade| {
        let store = indexed_store(upgrade, Default::default(), Default::default())?;
        for number in 0..10_u8 {
            let value = Value::serialize(&(9 - number)).unwrap();
            store.put(value, Some(f64::from(number).into()))?.detach();
        }
        Ok(())
    })
    .unwrap()
}

fn value(cursor: &Cursor) -> f64 {
    cursor.value().unwrap().deserialize().unwrap()
}

#[test]
fn every_record_is_updated_on_the_way_and_none_is_met_twice() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = filled(&storage);
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        let mut at = s
            .open_cursor(KeyRange::all(), CursorDirection::Next)
            .unwrap()
            .wait()
            .unwrap();
        let mut met = Vec::new();
        while let Some(cursor) = at {
            met.push(cursor.primary_key());
            let doubled = Value::serialize(&(value(&cursor) * 2.0)).unwrap();
            cursor.update(doubled).unwrap().detach();
            // What the cursor shows is what it met.
            assert_eq!(value(&cursor), 9.0 - met.len() as f64 + 1.0);
            at = cursor.next().unwrap().wait().unwrap();
        }
        let numbers = (0..10_u8).map(|number| Key::from(f64::from(number)));
        assert_eq!(met, numbers.collect::<Vec<_>>());
        finish(&transaction);
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let index = store(&transaction, "s").index("i").unwrap();
        let mut at = index
            .open_key_cursor(KeyRange::all(), CursorDirection::Prev)
            .unwrap()
            .wait()
            .unwrap();
        let mut met = Vec::new();
        while let Some(cursor) = at {
            assert!(cursor.value().is_none());
            met.push(cursor.key());
            at = cursor.next().unwrap().wait().unwrap();
        }
        let doubled = (0..10_u8)
            .rev()
            .map(|number| Key::from(f64::from(number) * 2.0));
        assert_eq!(met, doubled.collect::<Vec<_>>());
    }
}

#[test]
fn a_position_that_was_left_can_be_read_and_does_nothing_more() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = filled(&storage);
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        let first = s
            .open_cursor(KeyRange::all(), CursorDirection::Next)
            .unwrap()
            .wait()
            .unwrap()
            .unwrap();
        let moving = first.advance(3).unwrap();
        let twin = first.clone();
        for refused in [
            twin.next().map(drop),
            first.advance(1).map(drop),
            first.update(Value::serialize(&1).unwrap()).map(drop),
            first.delete().map(drop),
        ] {
            assert_eq!(refused.unwrap_err().name(), ErrorName::InvalidStateError);
        }
        let fourth = moving.wait().unwrap().unwrap();
        assert_eq!((first.key(), value(&first)), (0.0.into(), 9.0));
        assert_eq!((fourth.key(), value(&fourth)), (3.0.into(), 6.0));
        fourth.delete().unwrap().detach();
        let fifth = fourth.next().unwrap().wait().unwrap().unwrap();
        assert_eq!(fifth.key(), 4.0.into());
        let ended = fifth.continue_to(77.0).unwrap().wait().unwrap();
        assert!(ended.is_none());
        assert_eq!(
            fifth.next().unwrap_err().name(),
            ErrorName::InvalidStateError
        );
        finish(&transaction);
    }
}

#[test]
fn steps_queued_behind_other_requests_come_in_their_turn() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = filled(&storage);
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        let index = s.index("i").unwrap();
        let opened = index
            .open_cursor(KeyRange::all(), CursorDirection::Next)
            .unwrap();
        let first = opened.wait().unwrap().unwrap();
        assert_eq!((first.key(), first.primary_key()), (0.0.into(), 9.0.into()));
        // Written before the step, though it is read ahead by then.
        s.delete(8.0).unwrap().detach();
        drop(
            s.put(Value::serialize(&1.5).unwrap(), Some(100.0.into()))
                .unwrap(),
        );
        let second = first.next().unwrap().wait().unwrap().unwrap();
        assert_eq!(
            (second.key(), second.primary_key()),
            (1.5.into(), 100.0.into())
        );
        let to = second.continue_primary_key(5.0, 5.0).unwrap();
        let third = to.wait().unwrap().unwrap();
        assert_eq!((third.key(), third.primary_key()), (6.0.into(), 3.0.into()));
        finish(&transaction);
    }
}
