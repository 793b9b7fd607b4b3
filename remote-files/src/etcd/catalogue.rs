//! The keys under `r` as a catalogue.

use super::{Etcd, OPERATIONS_MAX, ROWS, errors, page};
use crate::catalogue::{Catalogue, Commit, Outcome, Page, Row, Snapshot, Write};
use crate::error::{Error, ErrorKind, Result};
use etcd_client::{Compare, CompareOp, DeleteOptions, PutOptions, Txn, TxnOp, TxnOpResponse};
use std::ops::Range;
use std::time::Duration;

/// What a lease is longer than what was asked for: it begins before its row is there.
const LEASE_SPARE: Duration = Duration::from_secs(1);

impl Etcd {
    fn comparisons(&self, commit: &Commit) -> Vec<Compare> {
        let conditions = commit.conditions.iter().map(|condition| {
            let key = self.key(ROWS, &condition.key);
            match &condition.expected {
                Some(value) => Compare::value(key, CompareOp::Equal, value.clone()),
                None => Compare::create_revision(key, CompareOp::Equal, 0),
            }
        });
        conditions.collect()
    }

    fn operations(&self, commit: &Commit, lease: Option<i64>) -> Vec<TxnOp> {
        let lasting = commit.lasting.as_ref().map(|lasting| &lasting.key);
        let mut operations = Vec::new();
        for write in &commit.writes {
            match write {
                Write::Put(row) => {
                    let lease = lease.filter(|_| lasting == Some(&row.key));
                    let options = lease.map(|id| PutOptions::new().with_lease(id));
                    let (key, value) = (self.key(ROWS, &row.key), row.value.clone());
                    operations.push(TxnOp::put(key, value, options));
                }
                Write::Delete(key) => operations.push(TxnOp::delete(self.key(ROWS, key), None)),
                Write::DeleteRange(range) if range.start < range.end => {
                    let end = DeleteOptions::new().with_range(self.key(ROWS, &range.end));
                    operations.push(TxnOp::delete(self.key(ROWS, &range.start), Some(end)));
                }
                Write::DeleteRange(_) => {}
            }
        }
        operations
    }
}

fn incomplete() -> Error {
    Error::corruption("a reply has not as many parts as the request")
}

impl Catalogue for Etcd {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        if keys.len() > OPERATIONS_MAX {
            let what = format!(
                "{} rows are asked for, and {OPERATIONS_MAX} may be",
                keys.len()
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let gets = keys.iter().map(|key| TxnOp::get(self.key(ROWS, key), None));
        let transaction = Txn::new().and_then(gets.collect::<Vec<_>>());
        let (mut kv, count) = (self.kv(), keys.len());
        self.run(ErrorKind::Unavailable, async move {
            let answer = kv.txn(transaction).await;
            let parts = answer.map_err(|error| errors::of(&error))?.op_responses();
            if parts.len() != count {
                return Err(incomplete());
            }
            let values = parts.into_iter().map(|part| match part {
                TxnOpResponse::Get(mut answer) => {
                    Ok(answer.take_kvs().pop().map(|row| row.into_key_value().1))
                }
                _ => Err(incomplete()),
            });
            values.collect()
        })
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(EtcdSnapshot {
            etcd: self,
            revision: 0,
        }))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        let lease = match &commit.lasting {
            Some(lasting) => Some(self.grant(lasting.time)?),
            None => None,
        };
        let transaction = Txn::new()
            .when(self.comparisons(commit))
            .and_then(self.operations(commit, lease));
        let mut kv = self.kv();
        self.run(ErrorKind::OutcomeUnknown, async move {
            let answer = kv.txn(transaction).await;
            match answer
                .map_err(|error| errors::of_change(&error))?
                .succeeded()
            {
                true => Ok(Outcome::Committed),
                false => Ok(Outcome::Refused),
            }
        })
    }
}

impl Etcd {
    /// A lease of so much time or a little more. One that no row has ends by itself.
    fn grant(&self, time: Duration) -> Result<i64> {
        let seconds = time.saturating_add(LEASE_SPARE).as_secs_f64().ceil() as i64;
        let mut client = self.shared.client.lease_client();
        self.run(ErrorKind::Unavailable, async move {
            let granted = client.grant(seconds, None).await;
            Ok(granted.map_err(|error| errors::of(&error))?.id())
        })
    }
}

/// Pages of one revision, which etcd keeps until it is compacted.
#[derive(Debug)]
struct EtcdSnapshot<'a> {
    etcd: &'a Etcd,
    /// Zero: the first page is still to be read.
    revision: i64,
}

impl Snapshot for EtcdSnapshot<'_> {
    fn page(&mut self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Page> {
        if range.start >= range.end || rows_max == 0 {
            return Ok(Page::default());
        }
        let (etcd, revision) = (self.etcd, self.revision);
        let keys = etcd.key(ROWS, &range.start)..etcd.key(ROWS, &range.end);
        let mut kv = etcd.kv();
        let (rows, has_more, at) = etcd.run(ErrorKind::Unavailable, async move {
            let read = page(&mut kv, keys, rows_max, revision).await;
            read.map_err(|error| errors::of(&error))
        })?;
        if self.revision == 0 {
            self.revision = at;
        }
        let prefix_len = etcd.prefix_len();
        let rows = rows.into_iter().map(|(key, value)| Row {
            key: key.get(prefix_len..).unwrap_or_default().to_vec(),
            value,
        });
        Ok(Page {
            rows: rows.collect(),
            has_more,
        })
    }
}
