//! The table `larder.segments` as blobs.

use super::{Postgres, errors, strange};
use crate::blobs::{Blobs, Segment};
use crate::error::{ErrorKind, Result};
use crate::namespace::Namespace;
use crate::segment_key::{numbers_of, segment_key};
use std::ops::Range;

impl Blobs for Postgres {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        let keys = segments
            .iter()
            .map(|segment| segment_key(namespace, blob, segment.offset));
        let keys: Vec<Vec<u8>> = keys.collect();
        let bytes = segments.iter().map(|segment| segment.bytes.clone());
        let bytes: Vec<Vec<u8>> = bytes.collect();
        self.run(ErrorKind::OutcomeUnknown, |lease| async move {
            let statement = &lease.statements.append;
            let sent = lease.client.execute(statement, &[&keys, &bytes]).await;
            sent.map_err(|error| errors::of_change(&error))?;
            Ok((lease, ()))
        })
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let start = segment_key(namespace, blob, offsets.start);
        let end = segment_key(namespace, blob, offsets.end);
        self.run(ErrorKind::Unavailable, |lease| async move {
            let statement = &lease.statements.read;
            let rows = lease.client.query(statement, &[&start, &end]).await;
            let rows = rows.map_err(|error| errors::of(&error))?;
            let segments = rows.iter().map(|row| {
                let key: &[u8] = row.try_get(0).map_err(|_| strange("no bytes"))?;
                let bytes: &[u8] = row.try_get(1).map_err(|_| strange("no bytes"))?;
                Ok(Segment {
                    offset: numbers_of(key)?.1,
                    bytes: bytes.to_vec(),
                })
            });
            let segments = segments.collect::<Result<Vec<Segment>>>()?;
            Ok((lease, segments))
        })
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        let start = segment_key(namespace, blob, 0);
        let end = segment_key(namespace, blob, u64::MAX);
        self.run(ErrorKind::OutcomeUnknown, |lease| async move {
            let statement = &lease.statements.delete;
            let sent = lease.client.execute(statement, &[&start, &end]).await;
            sent.map_err(|error| errors::of_change(&error))?;
            Ok((lease, ()))
        })
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        let Some(first) = after.map_or(Some(0), |after| after.checked_add(1)) else {
            return Ok(Vec::new());
        };
        let start = segment_key(namespace, first, 0);
        let end = segment_key(namespace, u64::MAX, u64::MAX);
        let limit = i64::try_from(count_max).unwrap_or(i64::MAX);
        self.run(ErrorKind::Unavailable, move |lease| async move {
            let statement = &lease.statements.list;
            let rows = lease.client.query(statement, &[&start, &end, &limit]).await;
            let rows = rows.map_err(|error| errors::of(&error))?;
            let numbers = rows.iter().map(|row| {
                let key: &[u8] = row.try_get(0).map_err(|_| strange("no bytes"))?;
                Ok(numbers_of(key)?.0)
            });
            let numbers = numbers.collect::<Result<Vec<u64>>>()?;
            Ok((lease, numbers))
        })
    }
}
