//! The keys under `s` as blobs.

use super::{Etcd, OPERATIONS_MAX, REPLY_ROWS_MAX, SEGMENTS, TRANSACTION_LEN_MAX, errors, page};
use crate::blobs::{Blobs, Segment};
use crate::error::{ErrorKind, Result};
use crate::namespace::Namespace;
use crate::segment_key::{numbers_of, segment_key};
use etcd_client::{DeleteOptions, GetOptions, Txn, TxnOp};
use std::ops::Range;

/// Numbers that one call of `list` asks for before it waits for answers anew.
const KEYS_MAX: i64 = 10_000;

impl Etcd {
    fn segment_key(&self, namespace: &Namespace, blob: u64, offset: u64) -> Vec<u8> {
        self.key(SEGMENTS, &segment_key(namespace, blob, offset))
    }
}

impl Blobs for Etcd {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        let mut rest = segments;
        while !rest.is_empty() {
            let mut len_bytes = 0;
            let fitting = rest.iter().take(OPERATIONS_MAX).take_while(|segment| {
                len_bytes += segment.bytes.len() + 1000;
                len_bytes <= TRANSACTION_LEN_MAX
            });
            let (now, later) = rest.split_at(fitting.count().max(1));
            rest = later;
            let puts = now.iter().map(|segment| {
                let key = self.segment_key(namespace, blob, segment.offset);
                TxnOp::put(key, segment.bytes.clone(), None)
            });
            let transaction = Txn::new().and_then(puts.collect::<Vec<_>>());
            let mut kv = self.kv();
            self.run(ErrorKind::OutcomeUnknown, async move {
                let sent = kv.txn(transaction).await;
                sent.map(drop).map_err(|error| errors::of_change(&error))
            })?;
        }
        Ok(())
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let mut segments = Vec::new();
        let mut start = self.segment_key(namespace, blob, offsets.start);
        let end = self.segment_key(namespace, blob, offsets.end);
        while start < end {
            let (mut kv, range) = (self.kv(), start.clone()..end.clone());
            let (rows, has_more, _) = self.run(ErrorKind::Unavailable, async move {
                let read = page(&mut kv, range, REPLY_ROWS_MAX, 0).await;
                read.map_err(|error| errors::of(&error))
            })?;
            let last = rows.last().map(|(key, _)| [&key[..], &[0]].concat());
            for (key, bytes) in rows {
                let offset = numbers_of(&key)?.1;
                segments.push(Segment { offset, bytes });
            }
            match last {
                Some(next) if has_more => start = next,
                _ => break,
            }
        }
        Ok(segments)
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        let start = self.segment_key(namespace, blob, 0);
        let end = self.segment_key(namespace, blob, u64::MAX);
        let mut kv = self.kv();
        self.run(ErrorKind::OutcomeUnknown, async move {
            let options = DeleteOptions::new().with_range(end);
            let sent = kv.delete(start, Some(options)).await;
            sent.map(drop).map_err(|error| errors::of_change(&error))
        })
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        let mut numbers: Vec<u64> = Vec::new();
        let mut next = after.map_or(Some(0), |after| after.checked_add(1));
        while let Some(first) = next.filter(|_| numbers.len() < count_max) {
            // Keys without their values: of a blob of some chunks, many blobs at once.
            let start = self.segment_key(namespace, first, 0);
            let end = self.segment_key(namespace, u64::MAX, u64::MAX);
            let options = GetOptions::new().with_range(end);
            let options = options.with_keys_only().with_limit(KEYS_MAX);
            let mut kv = self.kv();
            let (keys, has_more) = self.run(ErrorKind::Unavailable, async move {
                let answer = kv.get(start, Some(options)).await;
                let answer = answer.map_err(|error| errors::of(&error))?;
                let keys = answer.kvs().iter().map(|row| numbers_of(row.key()));
                let keys = keys.collect::<Result<Vec<(u64, u64)>>>()?;
                Ok((keys, answer.more()))
            })?;
            numbers.extend(keys.iter().map(|(blob, _)| *blob));
            numbers.dedup();
            let last = numbers.last().copied();
            next = last
                .filter(|_| has_more)
                .and_then(|last| last.checked_add(1));
        }
        numbers.truncate(count_max);
        Ok(numbers)
    }
}
