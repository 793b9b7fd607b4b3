//! What requests do when their turn comes (specification, 6).

use super::cursor::{self, Direction};
use super::database::{Content, World};
use super::key::to_value;
use super::store::Record;
use super::transaction::{Operation, Outcome, Source, What};

impl World {
    /// Executes a request against its database.
    pub(crate) fn execute(&mut self, request: usize) -> Outcome {
        let transaction = self.requests[request].transaction;
        let connection = self.transactions[transaction].connection;
        let operation = self.requests[request].operation.clone();
        let Some(content) = (self.databases).get_mut(&self.connections[connection].database) else {
            unreachable!("a live transaction has a database");
        };
        match operation {
            Operation::Iterate {
                cursor,
                key,
                primary_key,
                count,
            } => {
                let cursor = &mut self.cursors[cursor];
                let source = Source {
                    store: cursor.store,
                    index: cursor.index,
                };
                let records = list(content, source);
                cursor.iterate(&records, key.as_ref(), primary_key.as_ref(), count);
                let what = match cursor.key_only {
                    true => What::Keys,
                    false => What::Values,
                };
                let rows = cursor.record.iter().map(|record| {
                    let [_, primary_key, value] = row(record, What::Records);
                    let value = value.filter(|_| what == What::Values);
                    [Some(to_value(&record.key)), primary_key, value]
                });
                Outcome::Rows(rows.collect())
            }
            Operation::Get {
                source,
                range,
                what,
            } => first(content, source, &range, what),
            Operation::GetMany { source, ranges } => {
                let mut rows = Vec::new();
                for range in ranges {
                    let records = list(content, source);
                    let found = records.iter().find(|record| range.includes(&record.key));
                    rows.extend(found.map(|record| row(record, What::Records)));
                }
                Outcome::Rows(rows)
            }
            Operation::GetAll {
                source,
                range,
                direction,
                skip,
                count,
                what,
            } => {
                let mut records = cursor::walk(&list(content, source), &range, direction);
                records.drain(..skip.min(records.len()));
                if count != 0 {
                    records.truncate(count as usize);
                }
                Outcome::Rows(records.iter().map(|record| row(record, what)).collect())
            }
            Operation::Count { source, range } => {
                let records = cursor::walk(&list(content, source), &range, Direction::Next);
                Outcome::Count(records.len() as u64)
            }
            writing => write(content, writing),
        }
    }
}

fn write(content: &mut Content, operation: Operation) -> Outcome {
    let store = match &operation {
        Operation::Put { store, .. }
        | Operation::PutMany { store, .. }
        | Operation::Delete { store, .. }
        | Operation::Clear { store } => *store,
        _ => unreachable!("reads are executed elsewhere"),
    };
    let Some(store) = content.store_mut(store) else {
        unreachable!("requests of a deleted store are executed before it is deleted");
    };
    match operation {
        Operation::Put {
            value,
            key,
            no_overwrite,
            ..
        } => match store.put(value, key, no_overwrite) {
            Ok(key) => Outcome::Rows(vec![[None, Some(to_value(&key)), None]]),
            Err(exception) => Outcome::Error(exception),
        },
        Operation::PutMany { records, .. } => {
            let mut rows = Vec::new();
            for (value, key) in records {
                match store.put(value, key, false) {
                    Ok(key) => rows.push([None, Some(to_value(&key)), None]),
                    Err(exception) => return Outcome::Error(exception),
                }
            }
            Outcome::Rows(rows)
        }
        Operation::Delete { range, .. } => {
            store.delete(&range);
            Outcome::Done
        }
        _ => {
            store.clear();
            Outcome::Done
        }
    }
}

fn list(content: &Content, source: Source) -> Vec<Record> {
    let store = content.store(source.store);
    let records = store.and_then(|store| store.list(source.index));
    records.unwrap_or_default()
}

fn first(content: &Content, source: Source, range: &super::Range, what: What) -> Outcome {
    let records = list(content, source);
    let found = records.iter().find(|record| range.includes(&record.key));
    Outcome::Rows(found.map(|record| row(record, what)).into_iter().collect())
}

fn row(record: &Record, what: What) -> [Option<super::Value>; 3] {
    let primary_key = Some(to_value(&record.primary_key));
    match what {
        What::Keys => [None, primary_key, None],
        What::Values => [None, None, Some(record.value.clone())],
        What::Records => [
            Some(to_value(&record.key)),
            primary_key,
            Some(record.value.clone()),
        ],
    }
}
