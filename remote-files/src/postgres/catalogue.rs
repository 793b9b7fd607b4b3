//! The table `larder.rows` as a catalogue.

use super::pool::Lease;
use super::{Postgres, errors, strange};
use crate::catalogue::{Catalogue, Commit, Outcome, Page, Row, Snapshot, Write};
use crate::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

/// The parameters of `larder.make_commit_2`.
#[derive(Debug, Default)]
struct Parameters {
    required: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    absent: Vec<Vec<u8>>,
    put: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    deleted: Vec<Vec<u8>>,
    ranges: (Vec<Vec<u8>>, Vec<Vec<u8>>),
}

impl Parameters {
    fn of(commit: &Commit) -> Parameters {
        let mut all = Parameters::default();
        for condition in &commit.conditions {
            match &condition.expected {
                Some(value) => {
                    all.required.0.push(condition.key.clone());
                    all.required.1.push(value.clone());
                }
                None => all.absent.push(condition.key.clone()),
            }
        }
        for write in &commit.writes {
            match write {
                Write::Put(row) => {
                    all.put.0.push(row.key.clone());
                    all.put.1.push(row.value.clone());
                }
                Write::Delete(key) => all.deleted.push(key.clone()),
                Write::DeleteRange(range) => {
                    all.ranges.0.push(range.start.clone());
                    all.ranges.1.push(range.end.clone());
                }
            }
        }
        all
    }

    /// Takes out the row that is replaced, if that is all that the commit is besides rows that are put.
    fn fence(&mut self) -> Option<Fence> {
        let is_plain =
            self.absent.is_empty() && self.deleted.is_empty() && self.ranges.0.is_empty();
        let ([key], [current]) = (&self.required.0[..], &self.required.1[..]) else {
            return None;
        };
        let at = self.put.0.iter().position(|put| put == key);
        let at = at.filter(|_| is_plain)?;
        Some(Fence {
            current: current.clone(),
            key: self.put.0.swap_remove(at),
            next: self.put.1.swap_remove(at),
        })
    }

    async fn send(&self, lease: &Lease) -> Result<Outcome, tokio_postgres::Error> {
        let parameters: [&(dyn ToSql + Sync); 8] = [
            &self.required.0,
            &self.required.1,
            &self.absent,
            &self.put.0,
            &self.put.1,
            &self.deleted,
            &self.ranges.0,
            &self.ranges.1,
        ];
        outcome(lease, &lease.statements.commit, &parameters).await
    }
}

/// A row that a commit requires and replaces.
#[derive(Debug)]
struct Fence {
    key: Vec<u8>,
    current: Vec<u8>,
    next: Vec<u8>,
}

impl Fence {
    /// Replaces the row and puts others.
    async fn send(
        &self,
        put: &(Vec<Vec<u8>>, Vec<Vec<u8>>),
        lease: &Lease,
    ) -> Result<Outcome, tokio_postgres::Error> {
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&self.key, &self.current, &self.next, &put.0, &put.1];
        outcome(lease, &lease.statements.replace, &parameters).await
    }
}

/// What a statement says that became of its commit.
async fn outcome(
    lease: &Lease,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Outcome, tokio_postgres::Error> {
    // The row of the result comes before the commit is made; what ends the query, and is waited for, comes after.
    let is_made = lease
        .client
        .query_one_scalar::<bool, _>(statement, parameters);
    Ok(match is_made.await? {
        true => Outcome::Committed,
        false => Outcome::Refused,
    })
}

impl Catalogue for Postgres {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let keys = keys.to_vec();
        self.run(ErrorKind::Unavailable, |lease| async move {
            let rows = lease.client.query(&lease.statements.get, &[&keys]).await;
            let rows = rows.map_err(|error| errors::of(&error))?;
            let mut found: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
            for row in &rows {
                found.insert(bytes(row, 0)?, bytes(row, 1)?);
            }
            let values = keys.iter().map(|key| found.get(key).cloned()).collect();
            Ok((lease, values))
        })
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(PostgresSnapshot {
            postgres: self,
            lease: None,
            is_begun: false,
        }))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        let mut parameters = Parameters::of(commit);
        let fence = parameters.fence();
        self.run(ErrorKind::OutcomeUnknown, |lease| async move {
            let sent = match fence {
                Some(fence) => fence.send(&parameters.put, &lease).await,
                None => parameters.send(&lease).await,
            };
            Ok((lease, sent.map_err(|error| errors::of_change(&error))?))
        })
    }
}

fn bytes(row: &tokio_postgres::Row, at: usize) -> Result<Vec<u8>> {
    let bytes: Result<&[u8], _> = row.try_get(at);
    Ok(bytes.map_err(|_| strange("no bytes"))?.to_vec())
}

/// A transaction that only reads, on a connection of its own.
#[derive(Debug)]
struct PostgresSnapshot<'a> {
    postgres: &'a Postgres,
    lease: Option<Lease>,
    is_begun: bool,
}

const BEGIN: &str = "begin transaction isolation level repeatable read read only";

impl Snapshot for PostgresSnapshot<'_> {
    fn page(&mut self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Page> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let shared = &self.postgres.shared;
        let lease = match (self.lease.take(), is_first) {
            (Some(lease), _) => Some(lease),
            (None, true) => None,
            (None, false) => {
                let what = "an earlier page of the snapshot has failed";
                return Err(Error::new(ErrorKind::SnapshotGone, what));
            }
        };
        let (range, pool) = (range.clone(), Arc::clone(&shared.pool));
        let request = async move {
            let lease = match lease {
                Some(lease) => lease,
                None => pool.lease().await?,
            };
            let page = read_page(&lease, &range, rows_max, is_first).await;
            Ok((lease, page.map_err(|error| errors::of(&error))?))
        };
        let (time_max, late) = (shared.time_max, ErrorKind::Unavailable);
        let (lease, rows) = shared.thread.run(time_max, late, request)?;
        self.lease = Some(lease);
        let mut page = Page {
            has_more: rows.len() > rows_max,
            rows: Vec::with_capacity(rows.len()),
        };
        for row in rows.iter().take(rows_max) {
            page.rows.push(Row {
                key: bytes(row, 0)?,
                value: bytes(row, 1)?,
            });
        }
        Ok(page)
    }
}

/// One more row than the page has, if there is one. The transaction begins with its first page: both are sent at once.
async fn read_page(
    lease: &Lease,
    range: &Range<Vec<u8>>,
    rows_max: usize,
    is_first: bool,
) -> Result<Vec<tokio_postgres::Row>, tokio_postgres::Error> {
    let limit = i64::try_from(rows_max)
        .unwrap_or(i64::MAX)
        .saturating_add(1);
    let (start, end) = (&range.start, &range.end);
    let parameters: [&(dyn ToSql + Sync); 3] = [start, end, &limit];
    let rows = lease.client.query(&lease.statements.page, &parameters);
    if !is_first {
        return rows.await;
    }
    let (begun, rows) = both(lease.client.batch_execute(BEGIN), rows).await;
    begun?;
    rows
}

/// The results of two futures, of which the first is polled first.
async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    let (mut of_one, mut of_other) = (None, None);
    std::future::poll_fn(|context| {
        if of_one.is_none()
            && let Poll::Ready(result) = one.as_mut().poll(context)
        {
            of_one = Some(result);
        }
        if of_other.is_none()
            && let Poll::Ready(result) = other.as_mut().poll(context)
        {
            of_other = Some(result);
        }
        match (of_one.take(), of_other.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (one, other) => {
                (of_one, of_other) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

impl Drop for PostgresSnapshot<'_> {
    /// The transaction ends, and nothing waits for that: what is sent on the connection next comes after it.
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else {
            return;
        };
        let is_sent = {
            let ended = std::pin::pin!(lease.client.batch_execute("rollback"));
            // Sent when it is polled, or failed at once.
            let polled = ended.poll(&mut Context::from_waker(Waker::noop()));
            !matches!(polled, Poll::Ready(Err(_)))
        };
        if is_sent {
            lease.give_back();
        }
    }
}
