//! Executing on the calling thread what can be executed, and waiting for no other.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use larder_idb::TransactionMode::{ReadOnly, ReadWrite};
use larder_idb::{BlobSource, ErrorName, NewExternalObject};

use super::*;

#[test]
fn what_was_asked_for_is_executed_here_with_what_stands_before_it() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], ReadWrite);
        let first = put(&transaction, "a", 1.0, "first");
        let mut last = get(&transaction, "a", 1.0);
        let found = last.try_execute();
        assert_eq!(text(found.unwrap()).unwrap(), "first", "{executor:?}");
        assert!(first.is_done(), "{executor:?}");
        assert!(last.try_execute().is_none(), "a result is there once");
        drop(first);
        commit(&transaction).unwrap();
    }
}

#[test]
fn a_transaction_whose_turn_has_not_come_is_not_waited_for() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let first = begin(&connection, &["a"], ReadWrite);
        let second = begin(&connection, &["a"], ReadWrite);
        let mut waiting = put(&second, "a", 1.0, "second");
        assert!(waiting.try_execute().is_none(), "{executor:?}");
        assert!(put(&first, "a", 1.0, "first").try_execute().is_some());
        assert!(waiting.try_execute().is_none(), "{executor:?}");
        commit(&first).unwrap();
        // Perhaps a thread of the storage's has it by now.
        let executed = waiting.try_execute().unwrap_or_else(|| waiting.wait());
        assert_eq!(executed.unwrap(), Key::Number(1.0));
        commit(&second).unwrap();
        assert_eq!(look(&connection, "a", 1.0).unwrap(), "second");
    }
}

#[test]
fn after_an_abort_the_error_is_there() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], ReadOnly);
        let mut asked = get(&transaction, "a", 1.0);
        transaction.abort(None).unwrap();
        let failed = asked.try_execute().unwrap_or_else(|| asked.wait());
        assert_eq!(failed.unwrap_err().name(), ErrorName::AbortError);
    }
}

/// A blob of one byte that can be read once something has been received.
#[derive(Debug)]
struct Gated(Mutex<Receiver<()>>, SyncSender<()>);

impl BlobSource for Gated {
    fn size_bytes(&self) -> u64 {
        1
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.1.send(()).map_err(io::Error::other)?;
        self.0.lock().unwrap().recv().map_err(io::Error::other)?;
        Ok(Box::new(&b"x"[..]))
    }
}

#[test]
fn what_another_thread_executes_is_not_waited_for() {
    let storage = storage(EXECUTORS[0]);
    let connection = open(&storage).wait().unwrap();
    let transaction = begin(&connection, &["a"], ReadWrite);
    let (open_gate, gate) = sync_channel(1);
    let (is_reading, reading) = sync_channel(1);
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(Gated(Mutex::new(gate), is_reading)),
    };
    let value = Value::serialize("a blob").unwrap().and_objects(vec![blob]);
    let store = transaction.object_store("a").unwrap();
    store.put(value, Some(Key::Number(1.0))).unwrap().detach();
    let mut end = transaction.finished();
    transaction.commit().unwrap().detach();
    // A thread of the storage's commits, and waits at the gate.
    reading.recv().unwrap();
    assert!(end.try_execute().is_none());
    open_gate.send(()).unwrap();
    end.wait().unwrap();
    assert_eq!(look(&connection, "a", 1.0).unwrap(), "a blob");
}
