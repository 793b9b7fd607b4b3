//! One operation of the engine's on `larder-idb`: requests with values of another engine.

use std::sync::mpsc::Sender;

use larder_idb::{
    Cursor, Error, ErrorName, Foreign, GetAllOptions, KeyRange, ObjectStore, Records, StoredValue,
    Transaction, Value,
};

use crate::backend::{Answer, IndexKeys, Operation, Request, Result};

/// Whose values they are, and in which version of its format.
const ENGINE: &str = "example";
const FORMAT: u32 = 1;

/// Where the answer of a request goes, and the transaction, which a failure aborts.
struct Reply {
    transaction: Transaction,
    sender: Sender<Result<Answer>>,
}

impl Reply {
    fn send_when_done<T: Send + 'static>(
        self,
        request: larder_idb::Request<T>,
        answer: impl FnOnce(T) -> Result<Answer> + Send + 'static,
    ) {
        request.on_done(move |result| {
            let answer = result.and_then(answer);
            if let Err(error) = &answer {
                // Unless it was aborted before.
                drop(self.transaction.abort(Some(error.clone())));
            }
            // The engine need not wait for it.
            drop(self.sender.send(answer));
        });
    }
}

/// Queues an operation. Its answer is sent when it is there; a failure aborts the transaction.
pub(crate) fn queue(transaction: &Transaction, request: Request) -> Result<()> {
    let store = transaction.object_store(&*request.store)?;
    let reply = Reply {
        transaction: transaction.clone(),
        sender: request.reply,
    };
    let all = GetAllOptions::default();
    match request.operation {
        Operation::Put {
            key,
            bytes,
            index_keys,
            overwrite,
        } => {
            let value = value(&bytes, index_keys)?;
            let put = match overwrite {
                true => store.put(value, key)?,
                false => store.add(value, key)?,
            };
            reply.send_when_done(put, |key| Ok(Answer::Key(key)));
        }
        Operation::Get(range) => reply.send_when_done(store.get(range)?, found),
        Operation::GetAll(range) => reply.send_when_done(store.get_all(range, all)?, values),
        Operation::Keys(range) => reply.send_when_done(store.get_all_keys(range, all)?, keys),
        Operation::Count(range) => {
            reply.send_when_done(store.count(range)?, |count| Ok(Answer::Count(count)));
        }
        Operation::Remove(range) => {
            reply.send_when_done(store.delete(range)?, |()| Ok(Answer::Done));
        }
        Operation::Clear => reply.send_when_done(store.clear()?, |()| Ok(Answer::Done)),
        Operation::Iterate {
            index,
            range,
            direction,
        } => {
            let cursor = open_cursor(&store, index, range, direction)?;
            reply.send_when_done(cursor, record);
        }
        Operation::GenerateKey => {
            reply.send_when_done(store.generate_key()?, |key| Ok(Answer::Key(key)));
        }
    }
    Ok(())
}

fn value(bytes: &[u8], index_keys: IndexKeys) -> Result<Value> {
    let index_keys = index_keys.into_iter();
    let named = index_keys.map(|(name, keys)| ((&*name).into(), keys));
    Value::foreign(ENGINE, FORMAT, bytes, named)
}

fn open_cursor(
    store: &ObjectStore,
    index: Option<String>,
    range: KeyRange,
    direction: larder_idb::CursorDirection,
) -> Result<larder_idb::Request<Option<Cursor>>> {
    match index {
        None => store.open_cursor(range, direction),
        Some(name) => {
            let index = store.index(&*name)?;
            index.open_cursor(range, direction)
        }
    }
}

fn found(value: Option<StoredValue>) -> Result<Answer> {
    let bytes = value.map(|value| bytes_of(value.foreign())).transpose();
    bytes.map(Answer::Value)
}

fn values(records: Records) -> Result<Answer> {
    let values = records.iter().map(|entry| bytes_of(entry.foreign()));
    values.collect::<Result<_>>().map(Answer::Values)
}

fn keys(records: Records) -> Result<Answer> {
    let keys = records.iter().map(|entry| entry.primary_key());
    Ok(Answer::Keys(keys.collect()))
}

fn record(cursor: Option<Cursor>) -> Result<Answer> {
    let Some(cursor) = cursor else {
        return Ok(Answer::Record(None));
    };
    let entry = cursor.record();
    let bytes = bytes_of(entry.foreign())?;
    Ok(Answer::Record(Some((
        entry.key(),
        entry.primary_key(),
        bytes,
    ))))
}

fn bytes_of(value: Option<Foreign<'_>>) -> Result<Vec<u8>> {
    let none = || {
        let what = "the value is not one of this engine's";
        Error::new(ErrorName::DataError, what)
    };
    let value = value.ok_or_else(none)?;
    check_format(&value)?;
    Ok(value.bytes().to_vec())
}

/// An engine reads what it has written itself.
pub(crate) fn check_format(value: &Foreign<'_>) -> Result<()> {
    match (value.engine(), value.format()) {
        (ENGINE, 1..=FORMAT) => Ok(()),
        (engine, format) => {
            let what = format!("the value is one of {engine} (format {format})");
            Err(Error::new(ErrorName::DataError, what))
        }
    }
}
